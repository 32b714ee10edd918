/* forest_model.h - private to the forest files: a forest as it is kept, cut and walked. A grown tree is written as bytes at
 * once (a third of its size in memory, and the very bytes of checkpoints and model files); every node keeps its value, so
 * that one forest answers for each of its prunings. To be walked, one tree at a time is read into a flat form.
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

/* Leaves t what a growth would have grown that splits a node only where its gain is min_gain or more, and of those the ones of
 * largest gain first until there are max_leaves leaves (0 = no limit); ties: the earlier node. -1 = no memory. */
int rf_tree_cut(struct rf_tree *t, int outputs, double min_gain, int64_t max_leaves);

/* ---- forest_bytes.c ---- */

struct rf_bytes {
    uint8_t *data; /* mem_try_free */
    size_t len;
};
/* -1 = no memory. */
int rf_bytes_of_tree(const struct rf_tree *t, int outputs, struct rf_bytes *out);
/* The same tree cut at the axes: what a growth to this depth and split size gives. b as rf_flat_read checked it. */
int rf_bytes_cut(const struct rf_bytes *b, int outputs, int cols, const struct forest_axis *cut,
                 struct rf_bytes *out, struct err *err);

struct rf_flat_node {
    uint32_t left; /* the right kid is the next; leaves: their own number */
    uint32_t
        test; /* bin | add << 8 | is_set << 9 | column << 10; right when (uint8)(x + add) > bin; leaves: bin 255 */
};
enum { RF_TEST_ADD = 1 << 8, RF_TEST_SET = 1 << 9, RF_TEST_COL = 10, RF_MAX_COLS = 1 << 22 };

/* A list of the classes in a node: shares of all others are 0. */
struct rf_share {
    uint32_t class;
    float share;
};

struct rf_flat {
    int n, n_sets;
    struct rf_flat_node *nodes;
    int32_t *set_of; /* [n], of set nodes; NULL when there are no sets */
    uint64_t (*sets)[4];
    float *values;      /* [n] when outputs == 1 */
    uint32_t *share_at; /* [n][2] else: where the shares of a node begin, and how many */
    struct rf_share *shares;
    int32_t *rows;  /* [n] */
    uint8_t *depth; /* [n] */
};
/* Bytes from a stranger: all is checked. keep_axes: depth and the values of inner nodes are wanted. gains: NULL, or what the
 * splits gained is added by column. */
int rf_flat_read(struct rf_flat *t, const uint8_t *data, size_t len, int outputs, int cols,
                 bool keep_axes, double *gains, struct err *err);
void rf_flat_fini(struct rf_flat *t);

/* ---- forest_walk.c ---- */

struct forest_head { /* of the saved form */
    enum ml_task task;
    int outputs, cols;
    double mean, scale; /* regression: target = mean + scale * value */
    double least;       /* classes: no probability is below it */
    uint32_t n_trees;
};
/* What n_trees trees add up to, acc with `pitch` floats from row to row, as the engine wants it: [n][outputs]. A class that no
 * tree has seen in the row's leaves is not impossible: probabilities are raised to `least`, half a training row, and add up
 * to one again. */
void forest_finish(const struct forest_head *h, const float *acc, int64_t pitch, int64_t n,
                   int64_t n_trees, float *out);

enum { RF_WALK_SLACK = 4 }; /* floats behind the end of rf_walk_axes's sums that it adds zeros to */
/* acc[i][a][k] += value of output k of row i under axes[a]. Rows are bins, row-major; rows NULL = 0..n-1. -1 = no memory. */
int rf_walk_axes(const struct rf_flat *t, int outputs, const struct forest_axis *axes, int n_axes,
                 const uint8_t *bins, int64_t stride, const int32_t *rows, int64_t n, float *acc);
/* acc[i][k] += value of the row's leaf. */
void rf_walk(const struct rf_flat *t, int outputs, const uint8_t *bins, int64_t stride,
             const int32_t *rows, int64_t n, float *acc);

/* ---- forest_model.c ---- */

int forest_head_load(struct forest_head *h, enum ml_task task, int outputs, int cols,
                     struct view *in, struct err *err);
struct forest_lane {
    struct rf_params p; /* grown to the loosest of the axes */
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
    double y_unit; /* of the fixed-point target */
    float *acc;    /* [n_held][n_axes][outputs] of the trees so far */
    struct rf_bytes *trees;
    int n_trees, trees_cap;
    int64_t bytes;
    struct forest_work *work; /* owned by at most one lane of a trial */
};

/* What a lane needs to grow trees; the lanes of a call share one, which is made anew when another lane takes it. */
struct forest_work {
    const struct forest_lane *owner;
    struct rf_data d;
    struct fold_rows r;
    int32_t *y;
    struct rf_work *grow;
    struct forest_device *device; /* NULL before the first tree, and without one */
    int64_t bytes;
};
int forest_work_take(struct forest_work *w, struct ml_data *d, const struct forest_lane *l,
                     struct err *err);
void forest_work_free(struct forest_work *w);

/* ---- forest_device.c ---- */

/* As rf_grow, tree number l->n_trees, of `until` in all; 2 = there is no device for it. */
int forest_device_grow(struct forest_work *w, struct ml_data *d, const struct forest_lane *l,
                       int until, const struct ml_stop *stop, struct rf_tree *out, struct err *err);
void forest_device_free(struct forest_device *v);

/* ---- forest_predict.c and forest_explain.c: as in model.h ---- */

struct predictor {
    struct forest_head head;
    uint32_t n;
    struct rf_flat *trees;
    double *gains; /* by input, of all trees */
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

/* Predictions of the lane's training rows (ascending) by the trees that did not draw them; NaN where every tree did. out:
 * [n_train][outputs]; trees: the first so many. Bootstrapped forests only. */
int forest_oob(struct ml_data *d, const struct lane *lane, int trees, float *out, struct err *err);

#endif
