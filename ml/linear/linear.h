/* linear.h - private to the linear files: linear and logistic models with an L2 penalty, an L1
 * penalty or both (linear_l1.h has the latter two).
 *
 * A lane (one fold of one trial) fits the model at several penalties in turn, C = 1e-4 to 1e4 in
 * steps of half a decade; large C means little penalty. Each point of this path starts from the
 * solution of the one before (warm starts; Friedman, Hastie and Tibshirani, Regularization paths
 * for generalized linear models, 2010). A step of the lane is a point of the path. Regression with
 * up to LINEAR_GRAM_COLS columns solves each point exactly, from the Gram matrix of its training
 * rows. Everything else minimises
 *
 *   (sum of losses + |w|^2 / (2 C)) / rows
 *
 * by L-BFGS, reading the training rows in tiles of 512. The intercept carries no penalty.
 *
 * linear.c        the family's functions, prediction
 * linear_bytes.c   the bytes of a model
 * linear_lbfgs.c  the minimiser, which can be left between tiles
 * linear_ridge.c  Gram matrices per fold, and their Cholesky solutions */
#ifndef ML_LINEAR_LINEAR_H
#define ML_LINEAR_LINEAR_H

#include "ml/family/family_params.h"
#include "ml/linear/linear_l1.h"
#include "ml/model/fold_rows.h"
#include "ml/model/model.h"
#include "ml/model/split.h"
#include <stdbool.h>

/* LINEAR_GRAM_COLS: the most columns for which a Gram matrix is made; L1_GRAM_COLS: with an L1
 * penalty, where there are as many rows. LBFGS_MEMORY: pairs of steps and gradient changes that approximate the Hessian. */
enum { LINEAR_GRAM_COLS = 512, L1_GRAM_COLS = 1024, LBFGS_MEMORY = 8 };

/* The state of a minimisation, complete enough to be left after any tile of rows. */
struct lbfgs {
    /* doubles of a weight vector */
    int64_t size;
    /* weights and gradient at the last accepted point, and at the point that is tried; the search
     * direction; block: the one allocation that all vectors lie in */
    double *w, *g, *w_try, *g_try, *dir, *block;
    /* the last pairs: s = change of w, y = change of g, rho = 1 / (s . y) */
    double *s[LBFGS_MEMORY], *y[LBFGS_MEMORY], rho[LBFGS_MEMORY];
    /* how many pairs there are, and the place of the newest one */
    int kept, newest;
    /* the objective at both points; slope: its derivative along dir at w; step: the length tried */
    double f, f_try, slope, step;
    /* small_gains: how many times in a row the objective has hardly fallen */
    int iteration, small_gains;
    /* is_first: nothing is accepted yet */
    bool is_started, is_first;
    /* rows of the pass in progress that are already added */
    int64_t at;
};

/* The Gram matrix of each part of the rows (fold_rows.h): (cols + 2)^2 doubles, upper triangle, where the last two
 * columns are the target and 1. Shared by the lanes of a trial. */
struct gram_set {
    /* number of parts, and the part whose rows are being added up */
    int parts, part;
    /* share of the rows (lane.share), the same for all lanes of a call */
    double share;
    /* at: the next row of the table; wide: doubles from line to line of a matrix */
    int64_t at, wide;
    double *part_gram[SPLIT_MAX_FOLDS + 1];
    double *tile;
};

/* What a lane of the family holds between steps. */
struct linear_lane {
    struct fold_rows r;
    enum ml_task task;
    /* lanes: outputs, rounded up to what the product of ml/cpu/glm.h works on */
    int outputs, lanes, cols;
    /* prediction = mean + spread * score */
    double mean, spread;
    /* with a Gram matrix: the power of two that the target is divided by */
    double unit;
    /* [n_train] classes */
    int32_t *label;
    /* [n_train] weights of the training rows, NULL = all count 1; and their sum */
    double *weight, n;
    /* [n_train] standardised targets */
    double *target;
    const struct prep_dense *x;
    /* weights after each step */
    double *path[LINEAR_MOST_STEPS];
    /* scratch of one tile */
    double *z;
    struct lbfgs opt;
    /* the share of L1 in the penalty, and the fit with it; 0 and NULL = L2 alone */
    double l1_ratio;
    bool is_relaxed;
    struct l1_fit *l1;
    /* at most one lane of a trial owns the sums by fold; the others use those */
    struct gram_set *grams;
    /* Gram matrix of this lane's training rows */
    double *gram;
    int64_t bytes;
};

/* Whether the lane solves from Gram matrices, and not by L-BFGS. */
bool linear_uses_gram(const struct linear_lane *l);
/* Doubles of a weight vector: [cols + 1][lanes], the intercepts last. */
int64_t linear_weights(const struct linear_lane *l);

/* linear.c: memory for the weights of a step. */
int linear_step_start(struct linear_lane *l, int step, struct err *err);

/* linear_lbfgs.c. The losses of n rows from the `at`th training row on, with scores z; z becomes their
 * derivatives. */
double linear_loss(const struct linear_lane *l, double *z, int64_t at, int64_t n);
/* lbfgs_start begins a minimisation at w. lbfgs_run goes on with it for the penalty
 * 1 / c: 1 = ended, o->w is the solution; 0 = `stop` asked it to pause. */
int lbfgs_init(struct lbfgs *o, int64_t size, struct err *err);
void lbfgs_fini(struct lbfgs *o);
void lbfgs_start(struct lbfgs *o, const double *w);
int lbfgs_run(struct lbfgs *o, struct linear_lane *l, double c, const struct ml_stop *stop);

/* linear_ridge.c */
struct gram_set *gram_set_new(const struct ml_data *d, int cols, double share, struct err *err);
void gram_set_free(struct gram_set *g);
/* Adds up the rows of all parts; 1 = done, 0 = `stop` asked it to pause. */
int gram_set_run(struct gram_set *g, const struct ml_data *d, const struct linear_lane *l,
                 const struct ml_stop *stop);
/* Makes the lane's own matrix, that of the parts that `fold` is trained on. */
int ridge_take_gram(const struct gram_set *g, const struct ml_data *d, int fold,
                    struct linear_lane *l, struct err *err);
/* w: the weights and the intercept that minimise the squared loss with penalty 1 / c. */
int ridge_solve(const struct linear_lane *l, double c, double *w, struct err *err);

#endif
