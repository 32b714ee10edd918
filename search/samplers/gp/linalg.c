/* linalg.c - dot products, axpys, and the triangular recurrences made of them (Golub and Van Loan,
 * Matrix Computations, sections 4.2 and 3.1). Four elements are handled at a time, in one vector
 * register where the processor has it (base/simd.h), without changing the order of a sum. */
#include "search/samplers/gp/linalg.h"

#include "base/mem.h"
#include "base/simd.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double quad __attribute__((vector_size(32), aligned(8), may_alias));

#define QUAD_AT(x) (*(const quad *)(x))

enum { LINE = 64 /* bytes of a cache line */ };

/* How many bytes after `room` a cache line begins. */
static size_t to_line(const void *room)
{
    return (LINE - (size_t)((uintptr_t)room % LINE)) % LINE;
}

double *la_array(size_t n, double **room)
{
    *room = mem_alloc((n + LINE / sizeof **room) * sizeof **room);
    return *room + to_line(*room) / sizeof **room;
}

float *la_floats(size_t n, float **room)
{
    *room = mem_array(n + LINE / sizeof **room, sizeof **room);
    return *room + to_line(*room) / sizeof **room;
}

/* The end of a dot product: adds the products from..n-1 to the first of the four sums of the
 * products before, and those to each other. */
SIMD_BODY double dot_end(const quad *s, const double *a, const double *b, int from, int n)
{
    double first = (*s)[0];

    for (int i = from; i < n; i++)
        first += a[i] * b[i];
    return (first + (*s)[2]) + ((*s)[1] + (*s)[3]);
}

SIMD_BODY double dot(const double *a, const double *b, int n)
{
    quad s = { 0 };
    int i = 0;

    for (; i + 4 <= n; i += 4)
        s += QUAD_AT(a + i) * QUAD_AT(b + i);
    return dot_end(&s, a, b, i, n);
}

double la_dot(const double *a, const double *b, int n)
{
    return dot(a, b, n);
}

SIMD_BODY void axpy(double *restrict y, double a, const double *restrict x, int n)
{
    quad factor = { a, a, a, a };
    int i = 0;

    for (; i + 4 <= n; i += 4)
        *(quad *)(y + i) = QUAD_AT(y + i) + factor * QUAD_AT(x + i);
    for (; i < n; i++)
        y[i] += a * x[i];
}

/* What is left of v[i] once the whole quads before it are taken away. */
SIMD_BODY double without(double v, const quad *s)
{
    return v - (((*s)[0] + (*s)[2]) + ((*s)[1] + (*s)[3]));
}

SIMD_BODY void solve_row(const double *row, int i, double *v)
{
    quad s = { 0 };
    int k = 0;

    for (; k + 4 <= i; k += 4)
        s += QUAD_AT(row + k) * QUAD_AT(v + k);
    double rest = without(v[i], &s);
    for (; k < i; k++)
        rest -= row[k] * v[k];
    v[i] = rest * (1 / row[i]);
}

/* Rows i..i+3, where i is a multiple of 4. Their dot products with what is solved are computed side
 * by side: one alone would wait for its own additions. What each row then waits for is only the
 * rows before it among the four: a product, a difference and a product; the divisions are made
 * before. */
SIMD_BODY void solve_corner(const double *r0, const double *r1, const double *r2, const double *r3,
                            const quad *s, int i, double *v)
{
    double d0 = 1 / r0[i], d1 = 1 / r1[i + 1], d2 = 1 / r2[i + 2], d3 = 1 / r3[i + 3];
    double v0 = without(v[i], &s[0]) * d0;
    double v1 = (without(v[i + 1], &s[1]) - r1[i] * v0) * d1;
    double v2 = (without(v[i + 2], &s[2]) - r2[i] * v0 - r2[i + 1] * v1) * d2;
    double v3 = (without(v[i + 3], &s[3]) - r3[i] * v0 - r3[i + 1] * v1 - r3[i + 2] * v2) * d3;
    v[i] = v0;
    v[i + 1] = v1;
    v[i + 2] = v2;
    v[i + 3] = v3;
}

SIMD_BODY void solve_four(const double *l, size_t stride, int i, double *v)
{
    const double *r0 = l + (size_t)i * stride, *r1 = r0 + stride, *r2 = r1 + stride,
                 *r3 = r2 + stride;
    quad s[4] = { 0 };

    for (int k = 0; k < i; k += 4) {
        quad x = QUAD_AT(v + k);
        s[0] += QUAD_AT(r0 + k) * x;
        s[1] += QUAD_AT(r1 + k) * x;
        s[2] += QUAD_AT(r2 + k) * x;
        s[3] += QUAD_AT(r3 + k) * x;
    }
    solve_corner(r0, r1, r2, r3, s, i, v);
}

/* The same for two right sides. */
SIMD_BODY void solve_four_of_two(const double *l, size_t stride, int i, double *v, double *w)
{
    const double *r0 = l + (size_t)i * stride, *r1 = r0 + stride, *r2 = r1 + stride,
                 *r3 = r2 + stride;
    quad s[4] = { 0 }, t[4] = { 0 };

    for (int k = 0; k < i; k += 4) {
        quad rows[4] = { QUAD_AT(r0 + k), QUAD_AT(r1 + k), QUAD_AT(r2 + k), QUAD_AT(r3 + k) };
#pragma GCC unroll 4
        for (int r = 0; r < 4; r++) {
            s[r] += rows[r] * QUAD_AT(v + k);
            t[r] += rows[r] * QUAD_AT(w + k);
        }
    }
    solve_corner(r0, r1, r2, r3, s, i, v);
    solve_corner(r0, r1, r2, r3, t, i, w);
}

/* The same for four right sides, at v and each a stride further: they share the reading of rows, and
 * none waits for its own end alone. */
SIMD_BODY void solve_sixteen(const double *l, size_t stride, int i, double *v)
{
    const double *r0 = l + (size_t)i * stride, *r1 = r0 + stride, *r2 = r1 + stride,
                 *r3 = r2 + stride;
    quad s[4][4] = { 0 };

    for (int k = 0; k < i; k += 4) {
        quad x[4] = { QUAD_AT(r0 + k), QUAD_AT(r1 + k), QUAD_AT(r2 + k), QUAD_AT(r3 + k) };
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++) {
            quad y = QUAD_AT(v + (size_t)q * stride + k);
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++)
                s[q][r] += x[r] * y;
        }
    }
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++)
        solve_corner(r0, r1, r2, r3, s[q], i, v + (size_t)q * stride);
}

/* Solves L v = v in place by forward substitution, from row `from` on. */
SIMD_BODY void la_solve_lower_body(const double *l, int stride, int from, int n, double *v)
{
    int i = from;

    for (; i < n && i % 4 != 0; i++)
        solve_row(l + (size_t)i * (size_t)stride, i, v);
    for (; i + 4 <= n; i += 4)
        solve_four(l, (size_t)stride, i, v);
    for (; i < n; i++)
        solve_row(l + (size_t)i * (size_t)stride, i, v);
}

SIMD_KERNEL(la_solve_lower, (const double *l, int stride, int from, int n, double *v),
            (l, stride, from, n, v))

SIMD_BODY void la_solve_lower_two_body(const double *l, int stride, int n, double *v, double *w)
{
    int i = 0;

    for (; i + 4 <= n; i += 4)
        solve_four_of_two(l, (size_t)stride, i, v, w);
    for (; i < n; i++) {
        solve_row(l + (size_t)i * (size_t)stride, i, v);
        solve_row(l + (size_t)i * (size_t)stride, i, w);
    }
}

SIMD_KERNEL(la_solve_lower_two, (const double *l, int stride, int n, double *v, double *w),
            (l, stride, n, v, w))

/* A pivot below `floor` means that rounding has made the matrix indefinite. */
SIMD_BODY void la_cholesky_pivot_body(double *l, int stride, int i, double floor)
{
    double *row = l + (size_t)i * (size_t)stride, pivot = row[i] - dot(row, row, i);

    row[i] = sqrt(pivot > floor ? pivot : floor);
}

SIMD_KERNEL(la_cholesky_pivot, (double *l, int stride, int i, double floor), (l, stride, i, floor))

/* Row i of the factor L solves the triangle above it; its first `solved` numbers are solved already. */
SIMD_BODY void cholesky_row(double *l, size_t stride, int i, int solved, double floor)
{
    la_solve_lower_body(l, (int)stride, solved, i, l + (size_t)i * stride);
    la_cholesky_pivot_body(l, (int)stride, i, floor);
}

/* Four rows go side by side as far as they do not need each other. */
SIMD_BODY void la_cholesky_rows_body(double *l, int stride, int from, int to, double floor)
{
    int i = from;

    for (; i + 4 <= to; i += 4) {
        int solved = 0;
        for (; solved + 4 <= i; solved += 4)
            solve_sixteen(l, (size_t)stride, solved, l + (size_t)i * (size_t)stride);
        for (int q = i; q < i + 4; q++)
            cholesky_row(l, (size_t)stride, q, solved, floor);
    }
    for (; i < to; i++)
        cholesky_row(l, (size_t)stride, i, 0, floor);
}

SIMD_KERNEL(la_cholesky_rows, (double *l, int stride, int from, int to, double floor),
            (l, stride, from, to, floor))

/* y less the sum of a[q] times row q of four, which are a stride apart. */
SIMD_BODY void take_four(double *restrict y, const double *a, const double *restrict rows,
                         size_t stride, int n)
{
    const double *r1 = rows + stride, *r2 = r1 + stride, *r3 = r2 + stride;

    for (int i = 0; i < n; i++)
        y[i] -= (a[0] * rows[i] + a[1] * r1[i]) + (a[2] * r2[i] + a[3] * r3[i]);
}

/* Solves L' v = v in place by back substitution. Going along rows of L keeps the memory reads in
 * order, and four rows share the reading and writing of v. */
SIMD_BODY void la_solve_lower_transposed_body(const double *l, int stride, int n, double *v)
{
    int i = n - 1;

    for (; i >= 0 && i % 4 != 3; i--) {
        const double *row = l + (size_t)i * (size_t)stride;
        v[i] /= row[i];
        axpy(v, -v[i], row, i);
    }
    for (; i >= 0; i -= 4) {
        const double *first = l + (size_t)(i - 3) * (size_t)stride;
        for (int q = 3; q >= 0; q--) {
            const double *row = first + (size_t)q * (size_t)stride;
            v[i - 3 + q] /= row[i - 3 + q];
            for (int k = 0; k < q; k++)
                v[i - 3 + k] -= v[i - 3 + q] * row[i - 3 + k];
        }
        take_four(v, v + i - 3, first, (size_t)stride, i - 3);
    }
}

SIMD_KERNEL(la_solve_lower_transposed, (const double *l, int stride, int n, double *v),
            (l, stride, n, v))
