/* ops_forest.h - growing trees of forests on a device: what ml/forest/forest_device.c asks of a
 * backend (ml/ops/ops.h).
 *
 * The contract is equality: nodes, values and gains are those of ml/forest/forest_grow.c bit for
 * bit, whatever the sizes of blocks; only the order of the nodes is the device's own. One thread
 * per context. C++-clean. */
#ifndef ML_OPS_OPS_FOREST_H
#define ML_OPS_OPS_FOREST_H

#include "base/err.h"

#include <stdint.h>

struct ml_ctx;
struct ml_boost_table; /* ops_boost.h: the bins */
struct ml_forest;

enum ml_forest_criterion { ML_FOREST_GINI, ML_FOREST_ENTROPY, ML_FOREST_SQUARED };
/* the most classes, and the most trees at once */
enum { ML_FOREST_CLASSES = 32, ML_FOREST_TREES = 64 };

struct ml_forest_in {
    enum ml_forest_criterion criterion;
    /* 0 = targets of numbers */
    int n_classes;
    int is_extra, n_visit, max_depth, min_split, min_leaf;
    /* [rows]: the table's rows */
    const int32_t *at;
    /* [rows]: class, or target in fixed point */
    const int32_t *y;
    const uint32_t
        *places; /* [cols][256], where bins lie for random cuts; NULL: at their numbers */
    int64_t rows;
    /* trees wanted at once */
    int trees;
    /* of a block; 0 = the device's own choice */
    int threads;
};

struct ml_forest_node {
    uint64_t key;
    /* the bins that go left, where is_set */
    uint64_t set[4];
    /* the right child is the next one; 0 = leaf */
    int32_t left;
    int32_t rows, depth, col, bin, missing_left, is_set;
    float gain;
    /* for the device's own use */
    int32_t from, buffer;
};

struct ml_forest_ops {
    /* Borrows the table, and the arrays for the call. ERR_NOMEM where the device has too little
     * memory. */
    int (*open)(struct ml_ctx *c, struct ml_boost_table *t, const struct ml_forest_in *in,
                struct ml_forest **out, struct err *err);
    void (*close)(struct ml_forest *f);
    /* trees that fit at once */
    int (*trees)(const struct ml_forest *f);
    /* n trees: keys of their roots, weights [n][rows] of the rows (0 = not in the tree); n_nodes:
     * how large they are. */
    int (*grow)(struct ml_forest *f, int n, const uint64_t *keys, const uint16_t *weights,
                int32_t *n_nodes, struct err *err);
    /* Tree i of those: its nodes, and [n_nodes][outputs] values. */
    int (*get)(struct ml_forest *f, int i, int n_nodes, struct ml_forest_node *nodes, float *values,
               struct err *err);
};

#endif
