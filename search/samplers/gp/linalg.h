/* linalg.h - the dense linear algebra that a Gaussian process needs: lower triangular factors, row
 * by row. Matrices are row-major with a stride of at least n, and only the lower triangle is read
 * or written. Sums have one fixed order, so results have the same bits on every machine, and a factor
 * that was extended row by row has the same bits as one made at once. A dot product has four
 * interleaved partial sums. A solve takes away the whole fours of a row's products in this way, then
 * the rest one by one, and multiplies by the reciprocal of the diagonal. */
#ifndef SEARCH_SAMPLERS_GP_LINALG_H
#define SEARCH_SAMPLERS_GP_LINALG_H

#include <stddef.h>

/* Room for n numbers that starts at a cache line, in `room`, which is what must be freed: vectors that
 * cross lines take twice as long to load. */
double *la_array(size_t n, double **room);

double la_dot(const double *a, const double *b, int n);

/* Row i of the Cholesky factor, in place. Rows 0..i-1 of l are factored, and row i holds the
 * matrix's a[i][0..i]. A pivot below `floor` is raised to it, so every positive semi-definite
 * matrix has a factor; jitter is added only where it is needed. */
void la_cholesky_row(double *l, int stride, int i, double floor);
/* Solves L v = b in place for rows from..n-1; v[0..from) is already solved. */
void la_solve_lower(const double *l, int stride, int from, int n, double *v);
/* Solves L' v = b in place. */
void la_solve_lower_transposed(const double *l, int stride, int n, double *v);
/* The other way round, and several times as fast, for a matrix that is factored once and inverted: A =
 * U' U, where only the upper triangle is read or written, n is a multiple of 8 (fill up with rows of the
 * unit matrix), and what stands below the diagonal in its block of eight is lost. */
void la_upper_factor(double *u, int stride, int n, double floor);        /* in place */
void la_upper_solve(const double *u, int stride, int n, double *v);      /* U' v = b in place */
void la_upper_solve_back(const double *u, int stride, int n, double *v); /* U v = b in place */
/* inverse = A^-1, its upper triangle. m is scratch of n x stride numbers. */
void la_upper_inverse(const double *u, int stride, int n, double *m, double *inverse);

#endif
