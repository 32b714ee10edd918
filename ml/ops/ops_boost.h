/* ops_boost.h - boosting whole rounds on a device: what ml/boost/boost_device.c asks of the backend that ml/ops/ops.h names. The
 * contract is equality: trees and scores are those of ml/boost/boost_round.c bit for bit, whatever the block sizes and whoever
 * grows beside whom. A booster holds lanes of any number of trials on one table of rows, each with its own rule and its own
 * round; lane x output = tree of a round, number lane * outputs + output. All of them grow in the same launches. Nothing
 * returns before its results are on the host, but rounds are queued without a host round trip per split or level. One
 * thread per context. C++-clean. */
#ifndef ML_OPS_OPS_BOOST_H
#define ML_OPS_OPS_BOOST_H

#include "base/err.h"

#include <stdint.h>

struct ml_ctx;
struct ml_boost_table; /* bins on the device, shared by all trials on the data */
struct ml_booster;

struct ml_boost_table_in {
    const uint8_t *bins; /* [rows][stride] */
    int64_t rows, stride;
    int cols;
    const int *n_bins;             /* [cols] */
    const uint8_t *is_categorical; /* [cols] */
};

/* As ml/boost/boost_loss.c; absolute error is the quantile .5. */
enum ml_boost_loss {
    ML_BOOST_LOGISTIC,
    ML_BOOST_SOFTMAX,
    ML_BOOST_SQUARED,
    ML_BOOST_QUANTILE,
    ML_BOOST_HUBER,
    ML_BOOST_POISSON,
    ML_BOOST_LOSSES
};

enum { ML_BOOST_TREES = 65535 }; /* of a booster, at most: a dimension of a launch */

/* How the trees of a lane grow. */
struct ml_boost_rule {
    enum ml_boost_loss loss;
    int leaves, depth, min_leaf, max_onehot;
    int is_depth_wise, is_random;
    double rate, l1, l2, min_hessian, cat_smooth, row_sample;
    double alpha;    /* quantile, huber */
    int is_monotone; /* not with quantile, huber */
    float h_factor;  /* of classes */
    int n_cols;      /* of a tree */
    int levels;      /* > 0: columns are drawn for so many depths */
};

struct ml_boost_in {
    int outputs, n_lanes;
    int threads, tile_rows; /* of a block; 0 = the device's own */
    int batch;              /* nodes of a tree split at a time, at most; likewise */
};

/* Arrays of all rows of the table, on the host. Tables of lanes differ in bins only. */
struct ml_boost_lane {
    struct ml_boost_rule rule;
    struct ml_boost_table *table;
    const int8_t *monotone; /* [cols of the table], where the rule says so: 1, -1, 0 */
    uint64_t seed;
    const float *y, *w;   /* [rows]; w = 0 outside the training rows */
    const int32_t *train; /* ascending */
    int64_t n_train;
    float g_scale, h_scale; /* of classes; numbers find their own */
    float thin;             /* softmax: smaller gradients are thinned (ml/cpu/grad.h); 0 = none */
};

/* The columns of a round's trees, ascending. n_cols, levels: the largest of the lanes. */
struct ml_boost_columns {
    const int32_t *cols; /* [trees][n_cols]; NULL = as in the round before */
    const uint8_t *open; /* [trees][levels][n_cols], where there are levels */
};

/* A node of a finished tree; 0 is the root, kids are -1 in a leaf. */
struct ml_boost_node {
    int32_t kid[2];
    int32_t n, depth;
    int32_t col, bin, add, is_categorical;
    uint64_t left_set[4];
    double gain;
    float value, unused;
};

/* A finished tree. */
struct ml_boost_tree {
    int32_t n_nodes, unused;
    double g_scale, h_scale;
};

struct ml_boost_ops {
    int (*table_new)(struct ml_ctx *c, const struct ml_boost_table_in *in,
                     struct ml_boost_table **out, struct err *err);
    void (*table_free)(struct ml_boost_table *t);
    /* Borrows the tables. ERR_NOMEM where the device lacks the memory. */
    int (*open)(struct ml_ctx *c, const struct ml_boost_in *in, const struct ml_boost_lane *lanes,
                struct ml_booster **out, struct err *err);
    void (*close)(struct ml_booster *b);
    int64_t (*bytes)(const struct ml_booster *b); /* on the device */
    int (*scores_put)(struct ml_booster *b, int lane, const float *f, struct err *err);
    int (*scores_get)(struct ml_booster *b, int lane, float *f,
                      struct err *err); /* [outputs][rows] */
    /* Lane i does its round rounds[i]; -1 = it sits out. nodes: [trees][2 leaves - 1], of the most leaves of a lane. */
    int (*round)(struct ml_booster *b, const int64_t *rounds,
                 const struct ml_boost_columns *columns, struct ml_boost_tree *trees,
                 struct ml_boost_node *nodes, struct err *err);
};

#endif
