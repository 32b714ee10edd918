/* svd.h - the strongest directions of a sparse matrix: a truncated singular value decomposition by
 * subspace iteration from random vectors (Halko, Martinsson, Tropp, "Finding Structure with
 * Randomness", SIAM Review 2011). Called by topics.c. */
#ifndef ML_TEXT_SVD_H
#define ML_TEXT_SVD_H

#include "base/err.h"
#include "ml/cpu/sparse.h"

#include <stdint.h>

enum {
    SVD_MOST = 256,
    /* further vectors that make the last directions exact */
    SVD_SPARE = 8,
    /* readings of the matrix forth and back */
    SVD_ROUNDS = 4
};

/* v: [columns of x][dims], the right singular vectors, strongest first; the largest element of each
 * is positive. values: [dims] singular values, 0 where the matrix has fewer. dims: 1 to SVD_MOST.
 * columns: x column by column, or NULL. The result depends on x and the seed only. */
int svd(const struct sparse *x, const struct sparse_columns *columns, int dims, uint64_t seed,
        float *v, double *values, struct err *err);

/* Eigenvalues (descending) and vectors of a symmetric matrix a [n][n], which is overwritten, by
 * Jacobi's method. vector: [n][n], the columns are the vectors. */
void svd_eigen(double *a, int n, double *value, double *vector);

#endif
