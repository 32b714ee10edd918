/* ridge.h - ridge regression on sparse rows, SPARSE_WIDE or SPARSE_HALF fits at once.
 *
 * The fits share the rows and differ in weights and targets, so one reading of the entries serves all
 * of them: the out-of-fold fits of a column cost little more than one fit. Each fit c minimises
 *   sum over rows i of weight(i, c) (x_i w_c - t(i, c))^2 + lambda |w_c|^2
 * over the directions that so many steps of conjugate gradients from 0 can reach. These directions
 * are the same for every lambda, so they are made once, by Lanczos's method, and every penalty is
 * then solved in them. There is no intercept: targets come centred. Called by score*.c. */
#ifndef ML_TEXT_RIDGE_H
#define ML_TEXT_RIDGE_H

#include "base/err.h"
#include "ml/cpu/sparse.h"

#include <stdbool.h>

/* How many steps a fit takes, and one that only shows how far words are doubted, or where few steps
 * gain as much: the order of doubts is the same then. That of rules is not: with 5 steps two of four
 * tables of texts took a worse one. */
enum { RIDGE_STEPS = 10, RIDGE_SOME_STEPS = 7, RIDGE_FEW_STEPS = 5, RIDGE_MOST_PLACES = 16 };

struct ridge {
    const struct sparse *x;
    /* the same column by column; NULL = there is no memory for that */
    const struct sparse_columns *columns;
    int wide, steps;
    /* whether ridge_gains will be called */
    bool keeps_products;
    /* [rows][wide]; at least 0 */
    const float *weight;
    /* [rows][wide] weight(i, c) t(i, c) */
    const float *sum;
    /* [columns of x][wide] 0 to 1: how far a fit may use a feature; the penalty is then on
     * w(j, c) / trust(j, c). NULL = all 1. */
    const float *trust;
};

/* The directions of each fit, of length 1 and at right angles, and what x gives of them. In them the
 * squares of a fit are a matrix of three diagonals. */
struct ridge_basis {
    int wide, steps;
    int64_t rows, cols;
    float *direction; /* [steps][cols][wide] before trust */
    float *product;   /* [steps][rows][wide]; of the last step only, where none are kept */
    double main[RIDGE_STEPS][SPARSE_WIDE], side[RIDGE_STEPS][SPARSE_WIDE];
    double length[SPARSE_WIDE]; /* of x' sum, which is along the first direction */
};

int ridge_basis_make(const struct ridge *in, struct ridge_basis *out, struct err *err);
void ridge_basis_fini(struct ridge_basis *b);

/* How far fits go along each direction. */
struct ridge_place {
    int steps;
    float along[RIDGE_STEPS][SPARSE_WIDE];
};
/* The places of all fits with a penalty above 0, after so many steps of those made. */
void ridge_place_of(const struct ridge_basis *b, double lambda, int steps, struct ridge_place *out);
/* w: [cols][wide]; trust: as in struct ridge */
void ridge_weights(const struct ridge_basis *b, const struct ridge_place *at, const float *trust,
                   float *w);
/* Of other rows of the same texts, with weight n and sum of targets `sum` ([rows][wide]): the sums of
 * score times target, and of weight times score^2, of each fit at each of `places` places. */
void ridge_gains(const struct ridge_basis *b, const struct ridge_place *at, int places,
                 const float *n, const float *sum, double (*along)[SPARSE_WIDE],
                 double (*squares)[SPARSE_WIDE]);

#endif
