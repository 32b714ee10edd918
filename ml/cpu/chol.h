/* chol.h - the Cholesky factor of a positive definite matrix whose lines come and go: A = R'R with R
 * upper triangular. Called by ml/linear. Allocates nothing.
 *
 * Elements are doubles at r[i * wide + j] for i <= j < n. wide is at least n + 8, and best no multiple
 * of 64, because then the lines of a column share a few places of the cache. What lies below the
 * diagonal or right of the last column means nothing, but is to be set before the first call. Every
 * sum has a fixed order, so that no instruction set changes a bit. */
#ifndef ML_CPU_CHOL_H
#define ML_CPU_CHOL_H

#include <stdbool.h>
#include <stdint.h>

struct chol {
    double *r;
    int64_t wide, n;
};

/* Takes in `more` columns. Before the call elements i <= j of the columns n to n + more - 1 are those of A. False: a
 * pivot is below `least` times the element of A on the diagonal; the factor is useless then. Golub and
 * Van Loan, Matrix Computations, section 4.2; n^2 more / 2 products for few columns. */
bool chol_append(struct chol *c, int64_t more, double least);
/* Takes line and column q out, by Givens rotations (section 6.5.3 there); about 2 (n - q)^2
 * products. scratch: [n]. */
void chol_delete(struct chol *c, int64_t q, double *scratch);
/* In place: b becomes the solution of A x = b. */
void chol_solve(const struct chol *c, double *b);

#endif
