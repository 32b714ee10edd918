/* forest_view.h - forests as the kernels see them: the arrays on the device that a call works on,
 * passed to every kernel by value. forest.c fills it in; forest.cu and forest_split.cuh read it.
 *
 * Arrays of trees stand one after another: tree t has the rows [t * rows, (t + 1) * rows) of list
 * and word, and the nodes [t * node_cap, (t + 1) * node_cap) of nodes and values. The rows of a
 * node stand in any order, because every sum over them is of whole numbers and so does not depend
 * on it. */
#ifndef ML_CUDA_FOREST_VIEW_H
#define ML_CUDA_FOREST_VIEW_H

#include "ml/math/forest_math.h"
#include "ml/ops/ops_forest.h"

/* RF_LEVELS: the deepest level of a tree. RF_WARPS: warps of a block; each looks at one column at a
 * time. */
enum { RF_BINS = 256, RF_MISSING = 255, RF_LEVELS = 128, RF_WARPS = 8 };
/* Two classes, more classes, or numbers. */
enum rf_kind { RF_TWO, RF_MANY, RF_NUMBER };

/* A node that is still to be grown. */
struct rf_open {
    int32_t tree, node;
};

struct rf_tree_state {
    unsigned n_rows;
    int32_t n_nodes;
    /* weight of all its rows */
    long long weight;
};

/* The layout is described above. */
struct rf_view {
    struct ml_forest_in in;
    enum rf_kind kind;
    int outputs, n_trees, cols, has_categorical, warps;
    int64_t rows, stride, node_cap;
    const uint8_t *bins, *is_categorical;
    const int32_t *n_bins, *at, *y;
    /* n log n of whole numbers, for entropy; else NULL */
    const double *xlogx;
    const uint32_t *places;  /* [cols][RF_BINS], or NULL */
    const uint16_t *weights; /* [trees][rows] */
    const uint64_t *keys;    /* [trees] */
    int32_t *list[2];        /* [trees][rows] */
    /* [trees][rows]: the weight, and the target or class << 32 */
    int64_t *word[2];
    struct rf_tree_state *trees;
    struct ml_forest_node *nodes; /* [trees][node_cap] */
    float *values;                /* [trees][node_cap][outputs] */
    struct rf_open *queue[2];     /* [trees * rows] */
    /* [RF_LEVELS + 2]: nodes of each level */
    int32_t *count;
    int32_t *perm, *swaps; /* [blocks][cols] */
    int blocks;
};

/* Bytes of shared memory that a warp needs for one column. */
FM_FN size_t cuda_forest_area(const struct rf_view *v)
{
    size_t width = v->kind == RF_MANY ? (size_t)v->in.n_classes : v->kind == RF_TWO ? 2 : 1;
    size_t per_bin = width * sizeof(unsigned) + (v->kind == RF_NUMBER ? sizeof(long long) : 0) +
                     (v->has_categorical ? sizeof(double) + sizeof(int) : 0);

    return RF_BINS * per_bin;
}

#endif
