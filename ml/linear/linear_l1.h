/* linear_l1.h - private to the linear files: models with an L1 penalty or an elastic net.
 *
 * At each point of its path a lane minimises
 *
 *   sum of losses + lambda (ratio |w|_1 + (1 - ratio) / 2 |w|^2 / spread)
 *
 * where spread is that of the target in the unit in which it is learnt (1 for classes), so that the
 * unit changes nothing. The intercept carries no penalty. lambda falls from the smallest one at which
 * all weights are 0. The method: Newton's with the penalty kept as it is (Lee, Sun and Saunders,
 * Proximal Newton-type methods for minimizing composite functions, 2014); the quadratic models are
 * minimised by coordinate descent with covariance updates (Friedman, Hastie and Tibshirani,
 * Regularization paths for generalized linear models, 2010) over a set of columns from the sequential
 * strong rule (Tibshirani et al., Strong rules for discarding predictors in lasso-type problems,
 * 2012), and by Newton's steps on the weights that are not 0 where sweeps are slow. From the Gram
 * matrix all columns take part once a quarter would. The gradient of all columns is at hand after each iteration: columns that the rule left out
 * by mistake enter, and the duality gap over all columns ends the search. The squared loss needs one
 * iteration. Several classes are moved at once: with the exact curvature while they use few columns,
 * else with a bound that is diagonal between classes. One matrix of all classes costs more than some
 * passes, so that only weights take part that are not 0 or have a reason to move, chosen anew with
 * each matrix.
 *
 * A relaxed point is the mean of that minimum and of the one over the same weights with next to no
 * penalty (Meinshausen, Relaxed lasso, 2007; Hastie, Tibshirani and Tibshirani, Best subset, forward
 * stepwise or lasso?, 2020), because an L1 penalty that leaves out what says nothing shrinks the rest.
 *
 * A point depends on the solution before it and on nothing else, so that a loaded lane goes on with
 * equal bits.
 *
 * linear_l1_path.c   points of the path: steps, the gap
 * linear_l1_sets.c   which weights may change
 * linear_l1_pass.c   sums over rows, or from the Gram matrix
 * linear_descent.[ch]   the coordinate descent
 * linear_newton.[ch]   Newton's steps within it */
#ifndef ML_LINEAR_LINEAR_L1_H
#define ML_LINEAR_LINEAR_L1_H

#include "base/err.h"
#include "ml/linear/linear_newton.h"
#include "ml/model/model.h"

#include <stdbool.h>
#include <stdint.h>

struct linear_lane;

/* Weights that may change now, by output, each output's intercept before its columns; and the
 * curvature of the loss along them. The number of an intercept's column is that of the columns. */
struct l1_set {
    int n, room;
    /* [room] column, output, and the place in a weight vector */
    int32_t *col, *output, *at;
    /* [room][room] symmetric, of hess_room doubles; and the columns whose lines are missing,
     * ascending */
    double *hess;
    int64_t hess_room;
    int32_t *missing;
    int n_missing;
    /* [room] the step that the quadratic model wants */
    double *step;
};

enum l1_phase { L1_REST, L1_FIRST, L1_CURVE, L1_TRY };

struct l1_fit {
    int cols, outputs, lanes;
    double ratio, spread;
    /* the sum of the rows' weights */
    double n;
    /* lambda, that of the point before, and the smallest one at which all weights are 0; NaN = not
     * known yet */
    double lambda, before, top;
    /* [cols + 1][lanes] weights and the gradient of the losses, at the accepted point and at the one
     * that is tried */
    double *w, *g, *w_try, *g_try;
    /* sums of losses there; model: what the step should gain at length 1 */
    double loss, loss_try, model, length;
    /* [n_sets] of [outputs]. Several outputs that use few columns make one set, and their curvature
     * is exact; else each has its own. */
    struct l1_set *set;
    int n_sets;
    /* [cols + 1][lanes] whether a weight is in a set */
    uint8_t *is_in;
    enum l1_phase phase;
    /* of this point, and of this step */
    int iteration, halves;
    /* the gap at the point whose curvature is at hand, as a share of the objective */
    double left;
    /* the curvature at hand is not that of the accepted point */
    bool is_stale;
    /* w, g and loss are those of the last point's solution, or of what came of it since */
    bool has_point;
    /* The points are relaxed. While one is, is_relaxing is set, ratio and lambda are those of the second
     * fit, path_ratio is that of the path; lasso: [cols + 1][lanes] the weights of the first. */
    bool relaxes, is_relaxing;
    double path_ratio, *lasso;
    /* The sets have no more room: the path ends here, and later points equal this one. */
    bool is_full;
    /* the pass in progress: its next row; and which part of the curvature it adds up */
    int64_t at;
    int part;
    /* [n_train][outputs] probabilities at the point that was tried last; NULL for numbers */
    float *p;
    /* [GLM_TILE][wide]; [GLM_TILE][outputs] */
    double *tile, *root;
    int64_t tile_wide;
    /* the curvature of one output of a joint set */
    double *block;
    /* From the Gram matrix: [cols][gram_wide] centred, the products with the target, its sum of
     * squares and mean, and the means of the columns. NULL = rows are read. */
    double *gram, *xy, *mean;
    int64_t gram_wide;
    double yy, y_mean;
    /* scratch of the descent */
    struct newton newton;
    int64_t bytes;
};

struct l1_fit *l1_new(struct linear_lane *l, double ratio, bool relaxes, struct err *err);
void l1_free(struct l1_fit *f);
/* Whether the path has ended at w, the point after `from`: they are equal. */
bool l1_is_end(const struct l1_fit *f, const double *from, const double *w);
/* Fits the point of the path with lambda = share x top, from the weights `from` (NULL = this is the
 * first point, share 1) into w. 1 = done, 0 = `stop` asked it to pause, -1 = failed. */
int l1_point(struct l1_fit *f, struct linear_lane *l, double share, double share_before,
             const double *from, double *w, const struct ml_stop *stop, struct err *err);

/* linear_l1_pass.c; 1 = done, 0 = `stop` asked it to pause, -1 = no memory. */
/* Loss and gradient at w_try. */
int l1_pass(struct l1_fit *f, const struct linear_lane *l, const struct ml_stop *stop);
/* The missing lines of the sets' curvature at the point that was tried last. */
int l1_curve(struct l1_fit *f, const struct linear_lane *l, const struct ml_stop *stop,
             struct err *err);
/* Centres the lane's Gram matrix. */
int l1_take_gram(struct l1_fit *f, struct linear_lane *l, struct err *err);

/* linear_l1_sets.c */
/* The share of the objective that a point may be away from the best. */
double l1_tolerance(const struct l1_fit *f);
/* Makes the sets: of the weights whose gradient is at least `least`, and of those that are not 0
 * (fresh) or that are in already. While a point is relaxed: of those that are not 0 alone. 1 = done,
 * 0 = these are too many, -1 = no memory. */
int l1_sets_take(struct l1_fit *f, double least, bool fresh, struct err *err);
/* All losses but the squared one have another curvature at each point. */
void l1_curve_forget(struct l1_fit *f);
void l1_sets_free(struct l1_fit *f);

#endif
