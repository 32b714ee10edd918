/* linear.h - private to the linear files.
 *
 * A lane goes along a path of penalties, C = 1e-4 to 1e4 by half decades, each point started from
 * the solution of the last one (warm starts; Friedman, Hastie and Tibshirani, Regularization paths
 * for generalized linear models, 2010). A step of the lane is a point of the path. Regression with
 * up to LINEAR_GRAM_COLS columns solves each point from the Gram matrix of its training rows.
 * Everything else minimises
 *
 *   (sum of losses +
 * w
 * ^2 / (2 C)) / rows
 *
 * with a free intercept, by L-BFGS, reading the training rows in tiles of 512.
 *
 * linear.c        the family's functions, prediction, bytes
 * linear_lbfgs.c  the minimiser, which can be left between tiles
 * linear_ridge.c  Gram matrices per fold, and their Cholesky solutions */
#ifndef ML_LINEAR_LINEAR_H
#define ML_LINEAR_LINEAR_H

#include "ml/model/fold_rows.h"
#include "ml/model/model.h"
#include <stdbool.h>

enum { LINEAR_GRAM_COLS = 512, LBFGS_MEMORY = 8 };

struct lbfgs {
    /* doubles of a weight vector */
    int64_t size;
    /* block: one allocation for all of them */
    double *w, *g, *w_try, *g_try, *dir, *block;
    double *s[LBFGS_MEMORY], *y[LBFGS_MEMORY], rho[LBFGS_MEMORY];
    int kept, newest;
    double f, f_try, slope, step;
    int iteration, small_gains;
    bool is_started, is_first;
    /* rows of the pass in progress that are already added */
    int64_t at;
};

/* By fold: (cols + 2)^2 doubles, upper triangle; shared by the lanes of a trial. */
struct gram_set {
    /* number of folds, and the one that is being summed */
    int folds, fold;
    /* share of the rows (lane.share), the same for all lanes of a call */
    double share;
    int64_t at, wide;
    double *fold_gram[20];
    double *tile;
};

struct linear_lane {
    struct fold_rows r;
    enum ml_task task;
    int outputs, lanes, cols;
    /* prediction = mean + spread * score */
    double mean, spread;
    /* with a Gram matrix: the power of two that the target is divided by */
    double unit;
    /* [n_train] classes */
    int32_t *label;
    /* [n_train] standardised targets */
    double *target;
    const struct prep_dense *x;
    /* weights after each step */
    double *path[17];
    /* scratch of one tile */
    double *z;
    struct lbfgs opt;
    /* owned by at most one lane of a trial */
    struct gram_set *grams;
    /* Gram matrix of this lane's training rows */
    double *gram;
    int64_t bytes;
};

bool linear_uses_gram(const struct linear_lane *l);
/* number of doubles */
int64_t linear_weights(const struct linear_lane *l);

/* linear_lbfgs.c. lbfgs_run: 1 = converged, w is the solution; 0 = stopped. */
int lbfgs_init(struct lbfgs *o, int64_t size, struct err *err);
void lbfgs_fini(struct lbfgs *o);
void lbfgs_start(struct lbfgs *o, const double *w);
int lbfgs_run(struct lbfgs *o, struct linear_lane *l, double c, const struct ml_stop *stop);

/* linear_ridge.c */
struct gram_set *gram_set_new(const struct ml_data *d, int cols, double share, struct err *err);
void gram_set_free(struct gram_set *g);
/* 1 = done, 0 = stopped */
int gram_set_run(struct gram_set *g, const struct ml_data *d, const struct linear_lane *l,
                 const struct ml_stop *stop);
int ridge_take_gram(const struct gram_set *g, int fold, struct linear_lane *l, struct err *err);
int ridge_solve(const struct linear_lane *l, double c, double *w, struct err *err);

#endif
