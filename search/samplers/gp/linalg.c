/* linalg.c - dot products, axpys, and the triangular recurrences made of them (Golub and Van Loan,
 * Matrix Computations, sections 4.2 and 3.1). Four elements are handled at a time, in one vector
 * register where the processor has it (base/simd.h), without changing the order of a sum. */
#include "search/samplers/gp/linalg.h"

#include "base/simd.h"

#include <math.h>
#include <string.h>

typedef double quad __attribute__((vector_size(32), aligned(8), may_alias));

#define QUAD_AT(x) (*(const quad *)(x))

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

void la_axpy(double *restrict y, double a, const double *restrict x, int n)
{
    int i = 0;

    for (; i + 4 <= n; i += 4) {
        y[i] += a * x[i];
        y[i + 1] += a * x[i + 1];
        y[i + 2] += a * x[i + 2];
        y[i + 3] += a * x[i + 3];
    }
    for (; i < n; i++)
        y[i] += a * x[i];
}

SIMD_BODY void solve_row(const double *row, int i, double *v)
{
    v[i] = (v[i] - dot(row, v, i)) / row[i];
}

/* Rows i..i+3, where i is a multiple of 4. Their dot products with what is solved have the same
 * length but for the last few elements, and are computed side by side: one alone would wait for its
 * own additions. */
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
    v[i] = (v[i] - dot_end(&s0, r0, v, i, i)) / r0[i];
    v[i + 1] = (v[i + 1] - dot_end(&s1, r1, v, i, i + 1)) / r1[i + 1];
    v[i + 2] = (v[i + 2] - dot_end(&s2, r2, v, i, i + 2)) / r2[i + 2];
    v[i + 3] = (v[i + 3] - dot_end(&s3, r3, v, i, i + 3)) / r3[i + 3];
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
void la_solve_lower_transposed(const double *l, int stride, int n, double *v)
{
    for (int i = n - 1; i >= 0; i--) {
        const double *row = l + (size_t)i * (size_t)stride;
        v[i] /= row[i];
        la_axpy(v, -v[i], row, i);
    }
}

/* First m = L^-1 row by row, then inverse = m' m as a sum of outer products. Both need only axpys
 * along rows. */
void la_inverse(const double *l, int stride, int n, double *m, double *inverse)
{
    size_t width = (size_t)stride;

    for (int i = 0; i < n; i++) {
        const double *row = l + (size_t)i * width;
        double *out = m + (size_t)i * width;
        memset(out, 0, (size_t)n * sizeof *out);
        for (int k = 0; k < i; k++)
            la_axpy(out, -row[k] / row[i], m + (size_t)k * width, k + 1);
        out[i] = 1 / row[i];
        memset(inverse + (size_t)i * width, 0, (size_t)n * sizeof *inverse);
    }
    for (int k = 0; k < n; k++) {
        const double *row = m + (size_t)k * width;
        for (int i = 0; i <= k; i++)
            la_axpy(inverse + (size_t)i * width, row[i], row, i + 1);
    }
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            inverse[(size_t)i * width + (size_t)j] = inverse[(size_t)j * width + (size_t)i];
}
