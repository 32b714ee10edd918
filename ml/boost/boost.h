/* boost.h - private to the boost files: gradient boosting over the shared bins. A round fits one tree per output; a lane's
 * scores of all rows advance with it. What a lane keeps: its trees and scores. What it borrows: a workspace (gradients, row
 * lists, histograms) that the lanes of one call share, because only one of them is inside a round at a time.
 *
 * boost.c        the family's functions: open, advance, predictions, save, load
 * boost_round.c  one round: gradients, trees in turn, scores
 * boost_loss.c   the losses: targets, gradients, leaf values, predictions
 * boost_bound.c  monotone constraints
 * boost_grow.c   one tree: histograms, splits, partition; can be left and continued between splits
 * boost_device.c, boost_device_round.c  rounds on a device that has them (ml/ops/ops_boost.h)
 * boost_tree.c   trees as bytes
 * boost_explain.c  gains of columns, SHAP values
 * Kernels: ml/cpu/{hist,scan,grad,tree}.h. Sums that choose splits are whole numbers, so that no order, slicing or
 * machine changes a tree; leaf values are sums of unrounded gradients in whole units (ml/math/tree_math.h). */
#ifndef ML_BOOST_BOOST_H
#define ML_BOOST_BOOST_H

#include "ml/cpu/hist.h"
#include "ml/cpu/scan.h"
#include "ml/cpu/tree.h"
#include "ml/model/fold_rows.h"
#include "ml/model/model.h"

#include <stdbool.h>

struct boost_params {
    double learning_rate, row_sample, col_sample, col_level, l1, l2, min_hessian, cat_smooth;
    int leaves, depth, min_leaf, max_bins, max_onehot;
    bool is_depth_wise, is_random;
};

enum boost_loss { /* the choices of parameter `objective`, in order */
                  BOOST_AUTO,
                  BOOST_ABSOLUTE,
                  BOOST_HUBER,
                  BOOST_SQUARED,
                  BOOST_QUANTILE,
                  BOOST_POISSON,
                  BOOST_LOGISTIC,
                  BOOST_SOFTMAX,
                  BOOST_LOSSES
};

struct boost_forest {
    int outputs;
    int n_trees, cap; /* round r, output k = tree r * outputs + k */
    struct tree *trees;
    int64_t bytes;
};

struct boost_lane {
    struct boost_params p;
    enum ml_task task;
    enum boost_loss loss; /* never auto */
    double alpha;
    const int8_t *monotone; /* by column: 1, -1, 0; NULL = none */
    float thin;             /* multiclass: gradients below are thinned; 0 = none */
    uint64_t seed;
    const struct prep_bins *fine; /* what trees are walked on; work->bins may be coarser */
    int64_t rows;                 /* of the frame; arrays below are by frame row */
    int outputs;
    float *f; /* [outputs][rows] scores, link scale */
    float *y,
        *w; /* target in units of the loss; weight, 0 for rows not for training, else 1 or by class */
    double w_largest, w_sum; /* classes only */
    struct fold_rows r;
    double *base; /* [outputs]: score before the first tree */
    double y_mean, y_scale;
    struct boost_forest forest;
    struct boost_work *work;     /* owned by at most one lane of a trial */
    struct boost_device *device; /* shared by lanes that are or were trained together there */
    int64_t f_version;           /* counts changes of f by others than the device */
};

struct grow_node {
    int32_t from, n; /* in work->rows */
    int depth, slot; /* slot of the histogram pool, -1 = none */
    uint64_t path;   /* from the root (1): what draws of this node are keyed by */
    int kid[2];      /* -1 = leaf */
    int64_t total;
    struct scan_best best;
    double gain;
    double lo,
        hi;      /* of the values of its leaves, before the learning rate; with constraints only */
    float value; /* of a leaf, where a device found it */
};

struct boost_work {
    const struct prep_bins *bins;
    const uint8_t *columns; /* ml_data_columns of them */
    float *p, *g, *h;       /* p: [outputs][rows] */
    uint32_t *q;
    double g_scale, h_scale;
    float far;             /* huber: residuals beyond are cut, this round */
    int32_t *rows, *spare; /* of the tree being grown, in order of the leaves */
    int32_t *picked;       /* training rows of this round; NULL = all */
    int64_t n_rows, n_picked;
    int32_t *cols;    /* columns of this tree */
    int *n_bins;      /* of them */
    uint8_t *is_used; /* scanned at all; false = only there to keep the columns dense */
    int n_cols;
    bool is_dense;
    int64_t *pool, *tile; /* histograms; tile: of 64 columns, for nodes without a slot */
    int64_t pool_words;
    int n_slots, slots_cap;
    int *free_slots, n_free;
    struct grow_node *nodes;
    int *heap, *links, n_heap, n_nodes, n_leaves, nodes_cap;
    /* The round in progress: NULL = none. */
    struct boost_lane *busy;
    int busy_output;
    bool busy_tree; /* a tree is half grown */
    int64_t bytes;
};

/* boost_grow.c: the tree of (round, output) from work->q; grow_run: 1 = grown, 0 = stopped. */
void boost_grow_start(struct boost_work *wk, const struct boost_lane *l, uint64_t tree_seed);
int boost_grow_run(struct boost_work *wk, const struct boost_lane *l, uint64_t tree_seed,
                   const struct ml_stop *stop);
/* The tree from work->nodes. has_values: those of the leaves stand there already. */
int boost_grow_tree(struct boost_work *wk, const struct boost_lane *l, bool has_values,
                    struct tree *out);
/* For a device: columns of a tree, those open at a depth (of work->cols), most leaves, room for a tree's nodes. */
void boost_grow_columns(struct boost_work *wk, const struct boost_lane *l, uint64_t tree_seed);
void boost_grow_level(const struct boost_work *wk, const struct boost_lane *l, uint64_t tree_seed,
                      int depth, uint8_t *is_open);
int boost_grow_leaves(const struct boost_lane *l);
void boost_grow_room(struct boost_work *wk, int leaves);

/* boost_round.c */
struct boost_work *boost_work_new(const struct boost_lane *l, const struct prep_bins *b,
                                  const uint8_t *columns, struct err *err);
struct boost_work *boost_work_small(const struct prep_bins *b); /* columns and nodes only */
void boost_work_free(struct boost_work *wk);
/* The scores of an output, of all rows of the frame, by one more tree. */
void boost_scores_add(const struct boost_lane *l, const struct tree *t, float *f);
int boost_round(struct boost_work *wk, struct boost_lane *l, int64_t round,
                const struct ml_stop *stop); /* 1 done, 0 stopped, -1 no memory */

/* boost_device_round.c: as boost_advance where the data has a device that can train these lanes, of any trials. 1 done, 0 cannot,
 * -1 error. */
int boost_device_advance(struct ml_data *d, struct lane *lanes, int n, int64_t steps,
                         const struct ml_stop *stop, struct err *err);
/* boost_device.c */
bool boost_device_suits(const struct ml_data *d, const struct boost_lane *l);
void boost_device_leave(struct boost_lane *l);            /* a lane that goes */
int64_t boost_device_bytes(const struct boost_device *v); /* on the host, of a lane */

/* boost_loss.c */
struct boost_scores { /* link scale, class-major with `stride` */
    int outputs;
    double mean, scale; /* of a standardised target */
    float *f;
    int64_t stride;
};
enum boost_loss boost_loss_auto(enum ml_task task, enum metric_id metric);
bool boost_loss_suits(enum boost_loss loss, enum ml_task task);
float boost_loss_h_factor(const struct boost_lane *l); /* of classes */
bool boost_loss_is_refit(enum boost_loss loss);        /* leaf values are no Newton steps */
/* Fills loss, alpha, thin, y, w, base and scale of a lane whose rows are known; w is 1 for training rows. */
int boost_loss_open(struct boost_lane *l, const double *params, const struct ml_data *d,
                    struct err *err);
void boost_loss_round(struct boost_work *wk, const struct boost_lane *l); /* once per round */
void boost_loss_gradients(struct boost_work *wk, const struct boost_lane *l, int output,
                          uint64_t tree_seed); /* work->g, h, q */
/* The best step of a leaf with these rows, before the learning rate. Uses work->spare. */
double boost_loss_leaf(const struct boost_work *wk, const struct boost_lane *l, const int32_t *rows,
                       int64_t n);
/* To row-major probabilities or target units; s->f is spoilt. */
void boost_loss_predict(enum boost_loss loss, const struct boost_scores *s, int64_t n, float *out);

/* boost_bound.c */
double boost_bound_leaf(const struct boost_work *wk, const struct boost_lane *l,
                        const struct grow_node *nd); /* boost_loss_leaf within the bounds */
void boost_bound_scan(const struct boost_work *wk, const struct boost_lane *l,
                      const struct grow_node *nd, const struct scan_node *node,
                      struct scan_bounds *out);
/* scan_* of column number j of the tree; draw: for a random threshold. */
int boost_bound_column(const struct boost_work *wk, const struct boost_lane *l,
                       const struct scan_node *node, const struct scan_bounds *bounds, int j,
                       const int64_t *hist, uint32_t draw, struct scan_best *best);
void boost_bound_split(struct boost_work *wk, const struct boost_lane *l,
                       const struct grow_node *nd); /* bounds of its kids */

/* boost_tree.c */
int tree_init(struct tree *t, int n_nodes, int n_sets); /* zeroed, set_of all -1; -1 no memory */
void tree_fini(struct tree *t);
int64_t tree_bytes(const struct tree *t);
int forest_add(struct boost_forest *fo, struct tree *t); /* takes it; -1 no memory */
void forest_cut(struct boost_forest *fo, int n_trees);
void forest_fini(struct boost_forest *fo);
int forest_save(const struct boost_forest *fo, int n_trees, int cols, struct buf *out,
                struct err *err);
int forest_load(struct boost_forest *fo, int outputs, int cols, int format, struct view *in,
                struct err *err); /* format 1 has neither gains nor rows */

/* boost_explain.c: out[cols] += unit * total gain of the splits on each column; shap_rows (ml/model/shap.h) of scale * trees + base. */
int boost_gains(const struct boost_forest *fo, double unit, double *out, struct err *err);
int boost_shap(const struct boost_forest *fo, const double *base, double scale,
               const struct prep *prep, const struct explain_rows *rows, double *out,
               struct err *err);

#endif
