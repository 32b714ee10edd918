/* boost.h - private to the boost files: gradient boosting of trees over the bins that all trials
 * share.
 *
 * A lane is one fold of one trial. A round fits one tree for each output, and adds the values of
 * its leaves to the lane's scores of all rows. A lane keeps its trees and its scores. It borrows a
 * workspace (gradients, row lists, histograms), which the lanes of a trial share, because only one
 * of them is inside a round at a time.
 *
 * boost.c         the family's functions: open, advance, predictions, save, load
 * boost_round.c   one round: gradients, trees in turn, scores
 * boost_loss.c    the losses: targets, gradients, leaf values, predictions
 * boost_bound.c   monotone constraints
 * boost_grow.c    one tree: histograms, splits, partition; may be left and continued between splits
 * boost_device.c, boost_device_round.c  rounds on a device that has them (ml/ops/ops_boost.h)
 * boost_tree.c    trees as bytes
 * boost_explain.c gains of columns, SHAP values
 *
 * Kernels: ml/cpu/{hist,scan,grad,tree}.h. Sums that choose splits are of whole numbers, so no
 * order, slicing or machine changes a tree. Leaf values are sums of unrounded gradients in whole
 * units (ml/math/tree_math.h). */
#ifndef ML_BOOST_BOOST_H
#define ML_BOOST_BOOST_H

#include "ml/cpu/hist.h"
#include "ml/cpu/scan.h"
#include "ml/cpu/tree.h"
#include "ml/model/fold_rows.h"
#include "ml/model/model.h"

#include <stdbool.h>

/* The parameters of the family (ml/family/family_params.def), as the code needs them. */
struct boost_params {
    double learning_rate, row_sample, col_sample, col_level, l1, l2, min_hessian, cat_smooth;
    int leaves, depth, min_leaf, max_bins, max_onehot;
    bool is_depth_wise, is_random;
};

/* The choices of the parameter `objective`, in its order. */
enum boost_loss {
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

/* The trees of a lane or of a loaded model. */
struct boost_forest {
    int outputs;
    /* tree r * outputs + k is that of round r and output k */
    int n_trees, cap;
    struct tree *trees;
    int64_t bytes;
};

/* What a lane holds between rounds. */
struct boost_lane {
    struct boost_params p;
    enum ml_task task;
    /* never auto */
    enum boost_loss loss;
    /* the level of the quantile loss, or of Huber's bound */
    double alpha;
    /* by column: 1, -1 or 0; NULL = no constraint */
    const int8_t *monotone;
    /* multiclass: of rows whose |gradient| is below it, some are left out of a tree and the others
     * count for more (ml/cpu/grad.h); 0 = none */
    float thin;
    uint64_t seed;
    /* the bins that trees are walked on; those of the workspace may be coarser */
    const struct prep_bins *fine;
    /* those that it trains on, and ml_data_columns of them; NULL until it does */
    const struct prep_bins *bins;
    const uint8_t *columns;
    int fold;
    /* rows of the frame; the arrays below are by frame row */
    int64_t rows;
    int outputs;
    /* [outputs][rows]: scores on the link scale */
    float *f;
    /* target in units of the loss; weight: 0 for rows not for training, else 1, or that of the
     * class */
    float *y, *w;
    /* the largest weight and the sum of all; for classes only */
    double w_largest, w_sum;
    struct fold_rows r;
    /* [outputs]: the score before the first tree */
    double *base;
    /* a standardised target is (target - mean) / scale */
    double y_mean, y_scale;
    struct boost_forest forest;
    /* at most one lane of a trial owns a workspace; the others use that one */
    struct boost_work *work;
    /* NULL, or shared by the lanes that train, or have trained, together on a device */
    struct boost_device *device;
    /* counts the changes of f that were made on the host, so that a device knows whether the
     * scores that it has are old */
    int64_t f_version;
    /* training rows have weights of their own (ml_data.weight); w holds them */
    bool is_weighted;
};

/* A node of the tree in growth. */
struct grow_node {
    /* its range in work->rows */
    int32_t from, n;
    /* slot: where its histogram is in the pool; -1 = nowhere */
    int depth, slot;
    /* The way from the root (grow_path, ml/math/tree_math.h; the root has 1). Random draws of the
     * node depend on it and not on the order in which nodes are split. */
    uint64_t path;
    /* -1 = leaf */
    int kid[2];
    /* packed sum of its rows */
    int64_t total;
    struct scan_best best;
    /* > 0: the node may be split, at `best` */
    double gain;
    /* bounds of the values of its leaves, before the learning rate; used with constraints only */
    double lo, hi;
    /* the value of a leaf, where a device found it */
    float value;
    /* of a leaf of a finished tree, where boost_loss_leaves found them: grad_leaf of its rows */
    int64_t sums[2];
};

/* The workspace of a round. Its arrays by row have the frame's rows. */
struct boost_work {
    const struct prep_bins *bins;
    /* ml_data_columns of the bins */
    const uint8_t *columns;
    /* p: [outputs][rows] probabilities of classes; g, h: [rows] first and second derivatives of the
     * loss; q: [rows] both, quantised (ml/cpu/hist.h) */
    float *p, *g, *h;
    uint32_t *q;
    /* a quantised number is the gradient times its scale */
    double g_scale, h_scale;
    /* the bound of Huber's loss in this round */
    float far;
    /* rows of the tree in growth, in the order of its leaves */
    int32_t *rows, *spare;
    /* for quantiles of weighted rows; NULL = rows are not weighted, or the loss needs none */
    uint64_t *word;
    /* training rows that the round drew; NULL = all */
    int32_t *picked;
    int64_t n_rows, n_picked;
    /* the columns of this tree */
    int32_t *cols;
    /* their numbers of bins */
    int *n_bins;
    /* Whether a column was drawn for the tree. One that was not is in the list only where all
     * columns are added up together (is_dense); it is not scanned. The second half of the array is
     * room for the columns that are open at a depth. */
    uint8_t *is_used;
    int n_cols;
    bool is_dense;
    /* histograms; pool: slots of n_cols columns; tile: 64 columns of a node without a slot */
    int64_t *pool, *tile;
    int64_t pool_words;
    int n_slots, slots_cap;
    int *free_slots, n_free;
    struct grow_node *nodes;
    int *heap, *links, n_heap, n_nodes, n_leaves, nodes_cap;
    /* the lane whose round is in progress; NULL = none */
    struct boost_lane *busy;
    int busy_output;
    /* a tree is half grown */
    bool busy_tree;
    int64_t bytes;
};

/* boost_grow.c: grows the tree of a round and output on the words in work->q. boost_grow_run
 * returns 1 when the tree is complete and 0 when `stop` asked it to pause; called again, it goes
 * on. */
void boost_grow_start(struct boost_work *wk, const struct boost_lane *l, uint64_t tree_seed);
int boost_grow_run(struct boost_work *wk, const struct boost_lane *l, uint64_t tree_seed,
                   const struct ml_stop *stop);
/* Makes the finished tree from work->nodes. has_values: the values of the leaves are in the nodes
 * already, because a device found them. -1 = no memory. */
int boost_grow_tree(struct boost_work *wk, const struct boost_lane *l, bool has_values,
                    struct tree *out);
/* For devices: the columns of a tree, those open at a depth (of work->cols), the most leaves, and
 * room for the nodes of a tree. */
void boost_grow_columns(struct boost_work *wk, const struct boost_lane *l, uint64_t tree_seed);
void boost_grow_level(const struct boost_work *wk, const struct boost_lane *l, uint64_t tree_seed,
                      int depth, uint8_t *is_open);
int boost_grow_leaves(const struct boost_lane *l);
void boost_grow_room(struct boost_work *wk, int leaves);

/* boost_round.c */
struct boost_work *boost_work_new(const struct boost_lane *l, const struct prep_bins *b,
                                  const uint8_t *columns, struct err *err);
/* columns and nodes only */
struct boost_work *boost_work_small(const struct prep_bins *b);
void boost_work_free(struct boost_work *wk);
/* Advances the scores of one output, for all rows of the frame, by one more tree. */
void boost_scores_add(const struct boost_lane *l, const struct tree *t, float *f);
/* 1 = done, 0 = stopped, -1 = no memory */
int boost_round(struct boost_work *wk, struct boost_lane *l, int64_t round,
                const struct ml_stop *stop);

/* boost_device_round.c: does what boost_advance does, where the data has a device that can train
 * these lanes, which may be of different trials. 1 = done, 0 = cannot, -1 = error. */
int boost_device_advance(struct ml_data *d, struct lane *lanes, int n, int64_t steps,
                         const struct ml_stop *stop, struct err *err);
/* boost_device.c */
bool boost_device_suits(const struct ml_data *d, const struct boost_lane *l);
/* called for a lane that closes */
void boost_device_leave(struct boost_lane *l);
/* on the host, for one lane */
int64_t boost_device_bytes(const struct boost_device *v);

/* boost_loss.c */
/* Scores on the link scale, class-major, `stride` floats from class to class. */
struct boost_scores {
    int outputs;
    /* mean and standard deviation of a standardised target */
    double mean, scale;
    float *f;
    int64_t stride;
};
enum boost_loss boost_loss_auto(enum ml_task task, enum metric_id metric);
bool boost_loss_suits(enum boost_loss loss, enum ml_task task);
/* for classes */
float boost_loss_h_factor(const struct boost_lane *l);
/* whether leaf values are no Newton steps */
bool boost_loss_is_refit(enum boost_loss loss);
/* Fills in loss, alpha, thin, y, w, base and scale of a lane whose rows are known; w is 1 for
 * training rows. */
int boost_loss_open(struct boost_lane *l, const double *params, const struct ml_data *d,
                    struct err *err);
/* once per round */
void boost_loss_round(struct boost_work *wk, const struct boost_lane *l);
/* fills in work->g, h and q */
void boost_loss_gradients(struct boost_work *wk, const struct boost_lane *l, int output,
                          uint64_t tree_seed);
/* The best step of a leaf with these rows, before the learning rate. Uses work->spare. */
double boost_loss_leaf(const struct boost_work *wk, const struct boost_lane *l, const int32_t *rows,
                       int64_t n);
/* The same from grad_leaf of these rows, for a loss whose leaf values are Newton steps. */
double boost_loss_step(const struct boost_work *wk, const struct boost_lane *l,
                       const int64_t sums[2]);
/* Finds the sums of all leaves at once, if that pays: of BOOST_SUM_ROWS rows and more, reading the
 * gradients leaf by leaf fetches most lines of the cache once for each leaf. Uses work->spare. */
enum { BOOST_SUM_ROWS = 200000 };
bool boost_loss_leaves(struct boost_work *wk, const struct boost_lane *l);
/* Writes row-major probabilities or target units. s->f is overwritten. */
void boost_loss_predict(enum boost_loss loss, const struct boost_scores *s, int64_t n, float *out);

/* boost_bound.c */
/* boost_loss_leaf within the bounds, or boost_loss_step of nd->sums. */
double boost_bound_leaf(const struct boost_work *wk, const struct boost_lane *l,
                        const struct grow_node *nd, bool has_sums);
void boost_bound_scan(const struct boost_work *wk, const struct boost_lane *l,
                      const struct grow_node *nd, const struct scan_node *node,
                      struct scan_bounds *out);
/* The scan of column number j of the tree. draw: for a random threshold. */
int boost_bound_column(const struct boost_work *wk, const struct boost_lane *l,
                       const struct scan_node *node, const struct scan_bounds *bounds, int j,
                       const int64_t *hist, uint32_t draw, struct scan_best *best);
/* Sets the bounds of the node's children. */
void boost_bound_split(struct boost_work *wk, const struct boost_lane *l,
                       const struct grow_node *nd);

/* boost_tree.c */
/* zeroed, set_of all -1; -1 = no memory */
int tree_init(struct tree *t, int n_nodes, int n_sets);
void tree_fini(struct tree *t);
int64_t tree_bytes(const struct tree *t);
/* takes the tree; -1 = no memory */
int forest_add(struct boost_forest *fo, struct tree *t);
void forest_cut(struct boost_forest *fo, int n_trees);
void forest_fini(struct boost_forest *fo);
int forest_save(const struct boost_forest *fo, int n_trees, int cols, struct buf *out,
                struct err *err);
/* Format 1 holds neither gains nor rows. */
int forest_load(struct boost_forest *fo, int outputs, int cols, int format, struct view *in,
                struct err *err);

/* boost_explain.c. boost_gains: out[cols] += unit * the total gain of the splits on each column.
 * boost_shap: shap_rows (ml/model/shap.h) of scale * trees + base. */
int boost_gains(const struct boost_forest *fo, double unit, double *out, struct err *err);
int boost_shap(const struct boost_forest *fo, const double *base, double scale,
               const struct prep *prep, const struct explain_rows *rows, double *out,
               struct err *err);

#endif
