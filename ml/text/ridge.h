/* ridge.h - ridge regression on sparse rows, SPARSE_WIDE or SPARSE_HALF fits at once.
 *
 * The fits share the rows and differ in weights, targets and penalties, so one reading of the
 * entries serves all of them: the out-of-fold fits of a column cost little more than one fit. Each
 * fit c minimises
 *   sum over rows i of weight(i, c) (x_i w_c - t(i, c))^2 + lambda_c |w_c|^2
 * by some steps of conjugate gradients from 0. There is no intercept: targets come
 * centred. Called by score.c. */
#ifndef ML_TEXT_RIDGE_H
#define ML_TEXT_RIDGE_H

#include "base/err.h"
#include "ml/cpu/sparse.h"

/* How many steps a fit takes, and one that only shows how far words are doubted: the order of doubts is
 * the same then. That of rules is not: with 5 steps two of four tables of texts took a worse one. */
enum { RIDGE_STEPS = 10, RIDGE_DOUBT_STEPS = 5 };

struct ridge {
    const struct sparse *x;
    /* the same column by column; NULL = there is no memory for that */
    const struct sparse_columns *columns;
    int wide, steps;
    /* [rows][wide]; at least 0 */
    const float *weight;
    /* [rows][wide] weight(i, c) t(i, c) */
    const float *sum;
    double lambda[SPARSE_WIDE];
    /* [columns of x][wide] 0 to 1: how far a fit may use a feature; the penalty is then on
     * w(j, c) / trust(j, c). NULL = all 1. */
    const float *trust;
};

/* w: [columns of x][wide] */
int ridge_fit(const struct ridge *in, float *w, struct err *err);

#endif
