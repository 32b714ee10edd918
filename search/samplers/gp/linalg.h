/* linalg.h - the dense linear algebra that a Gaussian process needs: lower triangular factors, row
 * by row. Matrices are row-major with a stride of at least n, and only the lower triangle is read
 * or written. Sums have one fixed order, so results have the same bits on every machine, and a factor
 * that was extended row by row has the same bits as one made at once. A dot product has four
 * interleaved partial sums. A solve takes away the whole fours of a row's products in this way, then
 * the rest one by one, and multiplies by the reciprocal of the diagonal. */
#ifndef SEARCH_SAMPLERS_GP_LINALG_H
#define SEARCH_SAMPLERS_GP_LINALG_H

#include <stddef.h>
#include <stdint.h>

/* Eight numbers side by side, in one vector register where the processor has it (base/simd.h). */
typedef float la_octo __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t la_octo_mask __attribute__((vector_size(32), aligned(4), may_alias));
#define LA_OCTO(x) (*(const la_octo *)(x))

/* Room for n numbers that starts at a cache line, in `room`, which is what must be freed: vectors that
 * cross lines take twice as long to load. */
double *la_array(size_t n, double **room);
float *la_floats(size_t n, float **room);

double la_dot(const double *a, const double *b, int n);

/* Rows from..to-1 of the Cholesky factor, in place. The rows before are factored, and row i holds the
 * matrix's a[i][0..i]. A pivot below `floor` is raised to it, so every positive semi-definite
 * matrix has a factor; jitter is added only where it is needed. */
void la_cholesky_rows(double *l, int stride, int from, int to, double floor);
/* Solves L v = b in place for rows from..n-1; v[0..from) is already solved. */
void la_solve_lower(const double *l, int stride, int from, int n, double *v);
/* Solves L v = b and L w = c in place: for little more than one of them, as they share the reading of L
 * and none waits for its own sums. */
void la_solve_lower_two(const double *l, int stride, int n, double *v, double *w);
/* Ends row i of a factor whose numbers left of the diagonal are solved already. */
void la_cholesky_pivot(double *l, int stride, int i, double floor);
/* Solves L' v = b in place. */
void la_solve_lower_transposed(const double *l, int stride, int n, double *v);
/* linalg_upper.c: the other way round, in single precision and many times as fast, for a matrix that is
 * factored once and inverted: A = U' U by blocks of 8 x 8, row-major and one after the other. n is the
 * number of blocks in a row; fill up with rows of the unit matrix. Of a symmetric or upper matrix there
 * are the blocks (i, j), j >= i, row by row, of a lower one the blocks (i, j), j <= i. */
enum { LA_BLOCK = 64 };
static inline size_t la_upper_at(int n, int i, int j)
{
    return (size_t)(i * n - i * (i - 1) / 2 + (j - i)) * LA_BLOCK;
}
static inline size_t la_lower_at(int i, int j)
{
    return (size_t)(i * (i + 1) / 2 + j) * LA_BLOCK;
}
/* In place. Left of the diagonal there are zeros afterwards. */
void la_upper_factor(float *u, int n, float floor);
void la_upper_solve(const float *u, int n, float *v); /* U' v = b in place */
/* m = U'^-1, a lower matrix, and inverse = A^-1. */
void la_upper_inverse(const float *u, int n, float *m, float *inverse);
/* out = m' v; after la_upper_solve out is A^-1 b. */
void la_transposed_times(const float *m, int n, const float *v, float *out);

#endif
