/* ops_boost.h - boosting in whole rounds on a device: what ml/boost/boost_device.c asks of a
 * backend (ml/ops/ops.h).
 *
 * The contract is equality: trees and scores are those of ml/boost/boost_round.c bit for bit,
 * whatever the sizes of blocks, and whichever lanes grow together. A booster holds lanes of any
 * number of trials on one table of rows, each with its own rule and its own round. Lane x output is
 * a tree of the round, number lane * outputs + output; all trees grow in the same launches. Nothing
 * returns before its results are on the host, but a round is queued without a round trip to the
 * host for each split or level. One thread per context. C++-clean. */
#ifndef ML_OPS_OPS_BOOST_H
#define ML_OPS_OPS_BOOST_H

#include "base/err.h"

#include <stdint.h>

struct ml_ctx;
/* bins on the device, shared by all trials on the data */
struct ml_boost_table;
struct ml_booster;

struct ml_boost_table_in {
    const uint8_t *bins; /* [rows][stride] */
    int64_t rows, stride;
    int cols;
    const int *n_bins;             /* [cols] */
    const uint8_t *is_categorical; /* [cols] */
};

/* The losses of ml/boost/boost_loss.c; the absolute error is the quantile .5. */
enum ml_boost_loss {
    ML_BOOST_LOGISTIC,
    ML_BOOST_SOFTMAX,
    ML_BOOST_SQUARED,
    ML_BOOST_QUANTILE,
    ML_BOOST_HUBER,
    ML_BOOST_POISSON,
    ML_BOOST_LOSSES
};

/* trees of a booster, at most: a dimension of a launch */
enum { ML_BOOST_TREES = 65535 };

/* How the trees of a lane grow. */
struct ml_boost_rule {
    enum ml_boost_loss loss;
    int leaves, depth, min_leaf, max_onehot;
    int is_depth_wise, is_random;
    double rate, l1, l2, min_hessian, cat_smooth, row_sample;
    /* for quantile and Huber */
    double alpha;
    /* not together with quantile or Huber */
    int is_monotone;
    /* for classes */
    float h_factor;
    /* columns of a tree */
    int n_cols;
    /* > 0: columns are drawn for so many depths */
    int levels;
};

struct ml_boost_in {
    int outputs, n_lanes;
    /* of a block; 0 = the device's own choice */
    int threads, tile_rows;
    /* nodes of a tree split at a time, at most; 0 as above */
    int batch;
};

/* Arrays are of all rows of the table, on the host. The tables of the lanes differ in their bins
 * only. */
struct ml_boost_lane {
    struct ml_boost_rule rule;
    struct ml_boost_table *table;
    /* [columns of the table]: 1, -1 or 0, where the rule is monotone */
    const int8_t *monotone;
    uint64_t seed;
    /* [rows]; w = 0 outside the training rows */
    const float *y, *w;
    /* ascending */
    const int32_t *train;
    int64_t n_train;
    /* for classes; losses of numbers find their own */
    float g_scale, h_scale;
    /* softmax: smaller gradients are thinned (ml/cpu/grad.h); 0 = none */
    float thin;
};

/* The columns of a round's trees, ascending. n_cols and levels are the largest among the lanes. */
struct ml_boost_columns {
    /* [trees][n_cols]; NULL = those of the round before */
    const int32_t *cols;
    /* [trees][levels][n_cols], where there are levels */
    const uint8_t *open;
};

/* A node of a finished tree. 0 is the root; a leaf has -1 as children. */
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
    /* Borrows the tables. ERR_NOMEM where the device has too little memory. */
    int (*open)(struct ml_ctx *c, const struct ml_boost_in *in, const struct ml_boost_lane *lanes,
                struct ml_booster **out, struct err *err);
    void (*close)(struct ml_booster *b);
    /* on the device */
    int64_t (*bytes)(const struct ml_booster *b);
    int (*scores_put)(struct ml_booster *b, int lane, const float *f, struct err *err);
    int (*scores_get)(struct ml_booster *b, int lane, float *f,
                      struct err *err); /* [outputs][rows] */
    /* Lane i does its round rounds[i]; -1 = it takes no part. nodes: [trees][2 leaves - 1], for the
     * most leaves of any lane. */
    int (*round)(struct ml_booster *b, const int64_t *rounds,
                 const struct ml_boost_columns *columns, struct ml_boost_tree *trees,
                 struct ml_boost_node *nodes, struct err *err);
};

#endif
