/* linalg.c - dot products, axpys, and the triangular recurrences made of them (Golub and Van Loan,
 * Matrix Computations, sections 4.2 and 3.1). Loops handle four elements at a time, which lets the
 * compiler use vector registers without changing the order of a sum. */
#include "search/samplers/gp/linalg.h"

#include <math.h>
#include <string.h>

double la_dot(const double *a, const double *b, int n)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int i = 0;

    for (; i + 4 <= n; i += 4) {
        s0 += a[i] * b[i];
        s1 += a[i + 1] * b[i + 1];
        s2 += a[i + 2] * b[i + 2];
        s3 += a[i + 3] * b[i + 3];
    }
    for (; i < n; i++)
        s0 += a[i] * b[i];
    return (s0 + s2) + (s1 + s3);
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

/* Row i of the factor L, from the rows above it. A pivot below `floor` means that rounding has made
 * the matrix indefinite. */
void la_cholesky_row(double *l, int stride, int i, double floor)
{
    double *row = l + (size_t)i * (size_t)stride;

    for (int j = 0; j < i; j++) {
        const double *other = l + (size_t)j * (size_t)stride;
        row[j] = (row[j] - la_dot(row, other, j)) / other[j];
    }
    double pivot = row[i] - la_dot(row, row, i);
    row[i] = sqrt(pivot > floor ? pivot : floor);
}

/* Solves L v = v in place by forward substitution, from row `from` on. */
void la_solve_lower(const double *l, int stride, int from, int n, double *v)
{
    for (int i = from; i < n; i++) {
        const double *row = l + (size_t)i * (size_t)stride;
        v[i] = (v[i] - la_dot(row, v, i)) / row[i];
    }
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
