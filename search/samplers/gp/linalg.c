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

enum { FOUR = 4, EIGHT = 8, LINE = 64 /* bytes of a cache line */ };

double *la_array(size_t n, double **room)
{
    *room = mem_array(n + LINE / sizeof **room, sizeof **room);
    size_t beyond = (size_t)((uintptr_t)*room % LINE);
    return *room + (beyond > 0 ? (LINE - beyond) / sizeof **room : 0);
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
SIMD_BODY void solve_four(const double *l, size_t stride, int i, double *v)
{
    const double *r0 = l + (size_t)i * stride, *r1 = r0 + stride, *r2 = r1 + stride,
                 *r3 = r2 + stride;
    quad s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, s3 = { 0 };

    for (int k = 0; k < i; k += 4) {
        quad x = QUAD_AT(v + k);
        s0 += QUAD_AT(r0 + k) * x;
        s1 += QUAD_AT(r1 + k) * x;
        s2 += QUAD_AT(r2 + k) * x;
        s3 += QUAD_AT(r3 + k) * x;
    }
    double d0 = 1 / r0[i], d1 = 1 / r1[i + 1], d2 = 1 / r2[i + 2], d3 = 1 / r3[i + 3];
    double v0 = without(v[i], &s0) * d0;
    double v1 = (without(v[i + 1], &s1) - r1[i] * v0) * d1;
    double v2 = (without(v[i + 2], &s2) - r2[i] * v0 - r2[i + 1] * v1) * d2;
    double v3 = (without(v[i + 3], &s3) - r3[i] * v0 - r3[i + 1] * v1 - r3[i + 2] * v2) * d3;
    v[i] = v0;
    v[i + 1] = v1;
    v[i + 2] = v2;
    v[i + 3] = v3;
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

/* Row i of the factor L solves the triangle above it. A pivot below `floor` means that rounding has
 * made the matrix indefinite. */
void la_cholesky_row(double *l, int stride, int i, double floor)
{
    double *row = l + (size_t)i * (size_t)stride;

    la_solve_lower(l, stride, 0, i, row);
    double pivot = row[i] - la_dot(row, row, i);
    row[i] = sqrt(pivot > floor ? pivot : floor);
}

/* Solves L' v = v in place by back substitution. Going along rows of L keeps the memory reads in
 * order. */
SIMD_BODY void la_solve_lower_transposed_body(const double *l, int stride, int n, double *v)
{
    for (int i = n - 1; i >= 0; i--) {
        const double *row = l + (size_t)i * (size_t)stride;
        v[i] /= row[i];
        axpy(v, -v[i], row, i);
    }
}

SIMD_KERNEL(la_solve_lower_transposed, (const double *l, int stride, int n, double *v),
            (l, stride, n, v))

/* ---- upper factors, in blocks of FOUR rows and EIGHT columns ---- */

/* s[2 r] and s[2 r + 1], the eight columns of row r, less a[k][r] b[k] for k = from..to-1. */
SIMD_BODY void panel(const double *a, const double *b, size_t stride, int from, int to, quad *s)
{
    quad p0 = s[0], q0 = s[1], p1 = s[2], q1 = s[3], p2 = s[4], q2 = s[5], p3 = s[6], q3 = s[7];

    for (int k = from; k < to; k++) {
        const double *f = a + (size_t)k * stride;
        quad x = QUAD_AT(b + (size_t)k * stride), y = QUAD_AT(b + (size_t)k * stride + 4);
        p0 -= f[0] * x;
        q0 -= f[0] * y;
        p1 -= f[1] * x;
        q1 -= f[1] * y;
        p2 -= f[2] * x;
        q2 -= f[2] * y;
        p3 -= f[3] * x;
        q3 -= f[3] * y;
    }
    s[0] = p0;
    s[1] = q0;
    s[2] = p1;
    s[3] = q1;
    s[4] = p2;
    s[5] = q2;
    s[6] = p3;
    s[7] = q3;
}

SIMD_BODY void panel_load(const double *from, size_t stride, quad *s)
{
    for (int r = 0; r < FOUR; r++) {
        s[2 * r] = QUAD_AT(from + (size_t)r * stride);
        s[2 * r + 1] = QUAD_AT(from + (size_t)r * stride + 4);
    }
}

/* Solves with the triangle u[r][q], q >= r, of the four rows, and stores them. */
SIMD_BODY void panel_store(double u[FOUR][FOUR], const quad *s, double *to, size_t stride)
{
    double d0 = 1 / u[0][0], d1 = 1 / u[1][1], d2 = 1 / u[2][2], d3 = 1 / u[3][3];

    for (int h = 0; h < 2; h++) {
        quad a = s[h] * d0, b = (s[2 + h] - u[0][1] * a) * d1;
        quad c = (s[4 + h] - u[0][2] * a - u[1][2] * b) * d2;
        quad d = (s[6 + h] - u[0][3] * a - u[1][3] * b - u[2][3] * c) * d3;
        *(quad *)(to + 4 * h) = a;
        *(quad *)(to + stride + 4 * h) = b;
        *(quad *)(to + 2 * stride + 4 * h) = c;
        *(quad *)(to + 3 * stride + 4 * h) = d;
    }
}

/* The factor of a block of the diagonal whose first column stands at `at` of the eight. */
SIMD_BODY void corner_factor(const quad *s, int at, double floor, double u[FOUR][FOUR])
{
    double a[FOUR][EIGHT];

    memcpy(a, s, sizeof a);
    for (int r = 0; r < FOUR; r++) {
        for (int q = 0; q < FOUR; q++) {
            double sum = a[r][at + q];
            for (int p = 0; p < r; p++)
                sum -= u[p][r] * u[p][q];
            u[r][q] = q < r ? 0 : q > r ? sum / u[r][r] : sqrt(sum > floor ? sum : floor);
        }
    }
}

SIMD_BODY void la_upper_factor_body(double *u, int stride, int n, double floor)
{
    size_t width = (size_t)stride;
    double corner[FOUR][FOUR];
    quad s[2 * FOUR];

    for (int j = 0; j < n; j += FOUR) {
        double *rows = u + (size_t)j * width;
        for (int c = j / EIGHT * EIGHT; c < n; c += EIGHT) {
            panel_load(rows + c, width, s);
            panel(u + j, u + c, width, 0, j, s);
            if (c <= j)
                corner_factor(s, j - c, floor, corner);
            panel_store(corner, s, rows + c, width);
        }
        for (int r = 0; r < FOUR; r++)
            memcpy(rows + (size_t)r * width + j, corner[r], sizeof corner[r]);
    }
}

SIMD_KERNEL(la_upper_factor, (double *u, int stride, int n, double floor), (u, stride, n, floor))

/* m = U'^-1, with zeros right of the diagonal as far as its block of eight. */
SIMD_BODY void invert(const double *u, size_t width, int n, double *m)
{
    double corner[FOUR][FOUR];
    quad s[2 * FOUR];

    for (int i = 0; i < n; i += FOUR) {
        double *rows = m + (size_t)i * width;
        for (int r = 0; r < FOUR; r++)
            memcpy(corner[r], u + (size_t)(i + r) * width + i, sizeof corner[r]);
        for (int c = 0; c < i + FOUR; c += EIGHT) {
            for (int r = 0; r < FOUR; r++)
                for (int q = 0; q < EIGHT; q++)
                    rows[(size_t)r * width + (size_t)(c + q)] = c + q == i + r;
            panel_load(rows + c, width, s);
            panel(u + i, m + c, width, c, i, s);
            panel_store(corner, s, rows + c, width);
        }
    }
}

/* inverse = m' m. */
SIMD_BODY void la_upper_inverse_body(const double *u, int stride, int n, double *m, double *inverse)
{
    size_t width = (size_t)stride;

    invert(u, width, n, m);
    for (int i = 0; i < n; i += FOUR) {
        for (int c = i / EIGHT * EIGHT; c < n; c += EIGHT) {
            quad s[2 * FOUR] = { 0 };
            panel(m + i, m + c, width, c < i ? i : c, n, s);
            for (int r = 0; r < FOUR; r++) {
                double *out = inverse + (size_t)(i + r) * width + c;
                *(quad *)out = -s[2 * r];
                *(quad *)(out + 4) = -s[2 * r + 1];
            }
        }
    }
}

SIMD_KERNEL(la_upper_inverse, (const double *u, int stride, int n, double *m, double *inverse),
            (u, stride, n, m, inverse))

SIMD_BODY void la_upper_solve_body(const double *u, int stride, int n, double *v)
{
    for (int i = 0; i < n; i++) {
        const double *row = u + (size_t)i * (size_t)stride;
        int j = i + 1;
        v[i] /= row[i];
        for (; j % 4 != 0; j++)
            v[j] -= row[j] * v[i];
        axpy(v + j, -v[i], row + j, n - j);
    }
}

SIMD_KERNEL(la_upper_solve, (const double *u, int stride, int n, double *v), (u, stride, n, v))

SIMD_BODY void la_upper_solve_back_body(const double *u, int stride, int n, double *v)
{
    for (int i = n - 1; i >= 0; i--) {
        const double *row = u + (size_t)i * (size_t)stride;
        v[i] = (v[i] - dot(row + i + 1, v + i + 1, n - i - 1)) / row[i];
    }
}

SIMD_KERNEL(la_upper_solve_back, (const double *u, int stride, int n, double *v), (u, stride, n, v))
