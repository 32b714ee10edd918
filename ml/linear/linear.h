/* linear.h - private to the linear files. A lane walks a path of penalties, C = 1e-4 ... 1e4 by half decades, each point
 * started from the last one; a step of the lane is a point of the path. Regression with up to LINEAR_GRAM_COLS columns
 * solves each point from the Gram matrix of its training rows; everything else minimises
 *   (sum of losses + |w|^2 / (2 C)) / rows      (the intercept is free)
 * by L-BFGS, with the training rows read in tiles of 512.
 *
 * linear.c        the family's functions, prediction, bytes
 * linear_lbfgs.c  the minimiser, which can be left between tiles
 * linear_ridge.c  Gram matrices per fold and their Cholesky solutions */
#ifndef ML_LINEAR_LINEAR_H
#define ML_LINEAR_LINEAR_H

#include "ml/model/fold_rows.h"
#include "ml/model/model.h"
#include <stdbool.h>

enum { LINEAR_GRAM_COLS = 512, LBFGS_MEMORY = 8 };

struct lbfgs {
    int64_t size;                                /* doubles of a weight vector */
    double *w, *g, *w_try, *g_try, *dir, *block; /* block: all memory */
    double *s[LBFGS_MEMORY], *y[LBFGS_MEMORY], rho[LBFGS_MEMORY];
    int kept, newest;
    double f, f_try, slope, step;
    int iteration, small_gains;
    bool is_started, is_first;
    int64_t at; /* rows of the pass in progress already added */
};

struct gram_set {    /* per fold: (cols + 2)^2, upper triangle; shared by the lanes of a trial */
    int folds, fold; /* folds, and the one being summed */
    double share;    /* of the rows: lane.share, the same for all lanes of a call */
    int64_t at, wide;
    double *fold_gram[20];
    double *tile;
};

struct linear_lane {
    struct fold_rows r;
    enum ml_task task;
    int outputs, lanes, cols;
    double mean, spread; /* prediction = mean + spread * score */
    double unit;         /* Gram: power of two that the target is divided by */
    int32_t *label;      /* [n_train] classes */
    double *target;      /* [n_train] standardised */
    const struct prep_dense *x;
    double *path[17]; /* weights after each step */
    double *z;        /* scratch of one tile */
    struct lbfgs opt;
    struct gram_set *grams; /* owned by at most one lane of a trial */
    double *gram;           /* of this lane's training rows */
    int64_t bytes;
};

bool linear_uses_gram(const struct linear_lane *l);
int64_t linear_weights(const struct linear_lane *l); /* doubles */

/* linear_lbfgs.c: 1 = converged, w is the solution; 0 = stopped. */
int lbfgs_init(struct lbfgs *o, int64_t size, struct err *err);
void lbfgs_fini(struct lbfgs *o);
void lbfgs_start(struct lbfgs *o, const double *w);
int lbfgs_run(struct lbfgs *o, struct linear_lane *l, double c, const struct ml_stop *stop);

/* linear_ridge.c */
struct gram_set *gram_set_new(const struct ml_data *d, int cols, double share, struct err *err);
void gram_set_free(struct gram_set *g);
int gram_set_run(struct gram_set *g, const struct ml_data *d, const struct linear_lane *l,
                 const struct ml_stop *stop); /* 1, 0 */
int ridge_take_gram(const struct gram_set *g, int fold, struct linear_lane *l, struct err *err);
int ridge_solve(const struct linear_lane *l, double c, double *w, struct err *err);

#endif
