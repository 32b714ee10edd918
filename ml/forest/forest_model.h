/* forest_model.h - private to the forest files, the upper half: a forest as it is kept, cut and
 * walked.
 *
 * A grown tree is written as bytes at once: a third of its size in memory, and the very bytes of
 * checkpoints and model files. Every node keeps its value, so one forest answers for each of its
 * prunings. To be walked, one tree at a time is read into a flat form.
 *
 * forest_bytes.c    a tree as bytes: written, cut, read
 * forest_cut.c      a grown tree cut by impurity decrease and number of leaves (best first)
 * forest_walk.c     rows down a tree, for all prunings in one pass
 * forest_model.c    the families behind the lane interface
 * forest_predict.c  model files
 * forest_explain.c  gains of columns, SHAP values
 * forest_device.c   trees grown on a device that has a form for it (ml/ops/ops_forest.h)
 * forest_oob.c      out-of-bag predictions */
#ifndef ML_FOREST_FOREST_MODEL_H
#define ML_FOREST_FOREST_MODEL_H

#include "base/buf.h"
#include "ml/family/family_params.h"
#include "ml/forest/forest.h"
#include "ml/model/fold_rows.h"
#include "ml/model/model.h"

enum { RF_MAX_DEPTH = FOREST_WHOLE_DEPTH, RF_FORMAT = 1 };

/* ---- forest_cut.c ---- */

/* Leaves in t only what a growth with these limits would have grown: nodes are split only where
 * their gain is at least min_gain, and of these the ones with the largest gain first, until there
 * are max_leaves leaves (0 = no limit). Ties: the earlier node. -1 = no memory. */
int rf_tree_cut(struct rf_tree *t, int outputs, double min_gain, int64_t max_leaves);

/* ---- forest_bytes.c ---- */

struct rf_bytes {
    /* to be freed by mem_try_free */
    uint8_t *data;
    size_t len;
};
/* -1 = no memory. */
int rf_bytes_of_tree(const struct rf_tree *t, int outputs, struct rf_bytes *out);
/* The same tree cut at the axes: what a growth to this depth and split size gives. b must be
 * checked by rf_flat_read. */
int rf_bytes_cut(const struct rf_bytes *b, int outputs, int cols, const struct forest_axis *cut,
                 struct rf_bytes *out, struct err *err);

struct rf_flat_node {
    /* the right child is the next; leaves: their own number */
    uint32_t left;
    uint32_t
        test; /* bin | add << 8 | is_set << 9 | column << 10; right when (uint8)(x + add) > bin; leaves: bin 255 */
};
enum { RF_TEST_ADD = 1 << 8, RF_TEST_SET = 1 << 9, RF_TEST_COL = 10, RF_MAX_COLS = 1 << 22 };

/* An entry of the list of classes in a node; the shares of all others are 0. */
struct rf_share {
    uint32_t class;
    float share;
};

struct rf_flat {
    int n, n_sets;
    struct rf_flat_node *nodes;
    /* [n], for nodes that split by a set; NULL when there are none */
    int32_t *set_of;
    uint64_t (*sets)[4];
    /* [n], when outputs == 1 */
    float *values;
    /* [n][2], else: where the shares of a node begin, and how many there are */
    uint32_t *share_at;
    struct rf_share *shares;
    int32_t *rows;  /* [n] */
    uint8_t *depth; /* [n] */
};
/* The bytes may come from a stranger: everything is checked. keep_axes: depth and the values of
 * inner nodes are wanted. gains: NULL, or the gains of the splits are added to it by column. */
int rf_flat_read(struct rf_flat *t, const uint8_t *data, size_t len, int outputs, int cols,
                 bool keep_axes, double *gains, struct err *err);
void rf_flat_fini(struct rf_flat *t);

/* ---- forest_walk.c ---- */

/* the head of the saved form */
struct forest_head {
    enum ml_task task;
    int outputs, cols;
    /* regression: target = mean + scale * value */
    double mean, scale;
    /* classes: no probability is below it */
    double least;
    uint32_t n_trees;
};
/* Turns the sums of n_trees trees, acc with `pitch` floats from row to row, into predictions
 * [n][outputs]. A class that no tree has seen in the row's leaves is not impossible: probabilities
 * are raised to `least`, which is half a training row, and scaled to add up to one again. */
void forest_finish(const struct forest_head *h, const float *acc, int64_t pitch, int64_t n,
                   int64_t n_trees, float *out);

/* floats behind the end of rf_walk_axes's sums, to which it adds zeros */
enum { RF_WALK_SLACK = 4 };
/* acc[i][a][k] += the value of output k of row i under axes[a]. Rows are bins, row-major; rows NULL
 * = rows 0 to n - 1. -1 = no memory. */
int rf_walk_axes(const struct rf_flat *t, int outputs, const struct forest_axis *axes, int n_axes,
                 const uint8_t *bins, int64_t stride, const int32_t *rows, int64_t n, float *acc);
/* acc[i][k] += the value of the row's leaf. */
void rf_walk(const struct rf_flat *t, int outputs, const uint8_t *bins, int64_t stride,
             const int32_t *rows, int64_t n, float *acc);

/* ---- forest_model.c ---- */

int forest_head_load(struct forest_head *h, enum ml_task task, int outputs, int cols,
                     struct view *in, struct err *err);
/* The bytes of the next tree, borrowed. Their length stands before them and may claim more than
 * there are. */
int forest_tree_bytes(struct view *in, const void **data, size_t *len, struct err *err);
struct forest_lane {
    /* grown to the loosest of the axes */
    struct rf_params p;
    double min_gain;
    int64_t max_leaves;
    struct forest_axis axes[FOREST_MAX_AXES];
    int n_axes;
    struct forest_head head;
    uint64_t seed;
    int fold;
    double share; /* lane.share */
    const struct prep_bins *bins;
    int64_t rows, n_train, n_held;
    int32_t *held;
    /* [n_train] sums of the weights of the training rows; NULL = all count 1 */
    double *up_to;
    /* unit of the fixed-point target */
    double y_unit;
    /* [n_held][n_axes][outputs]: sums of the trees so far */
    float *acc;
    struct rf_bytes *trees;
    int n_trees, trees_cap;
    int64_t bytes;
    /* owned by at most one lane of a trial */
    struct forest_work *work;
};

/* What a lane needs to grow trees. The lanes of a call share one; it is made anew when another lane
 * takes it. */
struct forest_work {
    const struct forest_lane *owner;
    struct rf_data d;
    struct fold_rows r;
    int32_t *y;
    struct rf_work *grow;
    /* NULL before the first tree, and without a device */
    struct forest_device *device;
    int64_t bytes;
};
int forest_work_take(struct forest_work *w, struct ml_data *d, const struct forest_lane *l,
                     struct err *err);
void forest_work_free(struct forest_work *w);

/* ---- forest_device.c ---- */

/* As rf_grow, for tree number l->n_trees, of `until` in all; 2 = there is no device for it. */
int forest_device_grow(struct forest_work *w, struct ml_data *d, const struct forest_lane *l,
                       int until, const struct ml_stop *stop, struct rf_tree *out, struct err *err);
void forest_device_free(struct forest_device *v);

/* ---- forest_predict.c and forest_explain.c: as in model.h ---- */

struct predictor {
    struct forest_head head;
    uint32_t n;
    struct rf_flat *trees;
    /* by input, of all trees */
    double *gains;
};

struct predictor *forest_predictor_load(const struct prep *prep, int n_outputs, enum ml_task task,
                                        struct view *in, struct err *err);
void forest_predictor_free(struct predictor *p);
int forest_predict(const struct predictor *p, const struct prep_view *v, int64_t from, int64_t n,
                   float *out, struct err *err);

int forest_importance(const struct predictor *p, const struct prep *prep, double *out,
                      struct err *err);
int forest_explain(const struct predictor *p, const struct prep *prep,
                   const struct explain_rows *rows, double *out, struct err *err);

/* ---- forest_oob.c ---- */

/* Predictions of the lane's training rows (ascending) by the trees that did not draw them; NaN
 * where every tree did. out: [n_train][outputs]. trees: only the first so many. For bootstrapped
 * forests only. */
int forest_oob(struct ml_data *d, const struct lane *lane, int trees, float *out, struct err *err);

#endif
