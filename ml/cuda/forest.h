/* forest.h - private to the device's forests (contract: ml/ops/ops_forest.h): what forest.c and the kernels of forest.cu and
 * forest_split.cuh share. All trees of a call grow at once, level by level: a block per open node of any tree adds up the
 * node's rows, looks at its columns (a warp each), splits the rows and puts the kids into the next level's queue. Rows of a
 * node stand in any order: every sum is of whole numbers. */
#ifndef ML_CUDA_FOREST_H
#define ML_CUDA_FOREST_H

#include "ml/cuda/cuda.h"
#include "ml/math/forest_math.h"
#include "ml/ops/ops_forest.h"

enum { RF_BINS = 256, RF_MISSING = 255, RF_LEVELS = 128, RF_WARPS = 8 };
enum rf_kind { RF_TWO, RF_MANY, RF_NUMBER };

struct rf_open {
    int32_t tree, node;
};

struct rf_tree_state {
    unsigned n_rows;
    int32_t n_nodes;
    long long weight; /* of all its rows */
};

/* Passed by value. Arrays of trees stand one after another. */
struct rf_view {
    struct ml_forest_in in;
    enum rf_kind kind;
    int outputs, n_trees, cols, has_categorical, warps;
    int64_t rows, stride, node_cap;
    const uint8_t *bins, *is_categorical;
    const int32_t *n_bins, *at, *y;
    const double *xlogx;     /* entropy; else NULL */
    const uint32_t *places;  /* [cols][RF_BINS], or NULL */
    const uint16_t *weights; /* [trees][rows] */
    const uint64_t *keys;    /* [trees] */
    int32_t *list[2];        /* [trees][rows] */
    int64_t *word[2];        /* [trees][rows]: weight | target or class << 32 */
    struct rf_tree_state *trees;
    struct ml_forest_node *nodes; /* [trees][node_cap] */
    float *values;                /* [trees][node_cap][outputs] */
    struct rf_open *queue[2];     /* [trees * rows] */
    int32_t *count;               /* [RF_LEVELS + 2]: nodes of a level */
    int32_t *perm, *swaps;        /* [blocks][cols] */
    int blocks;
};

/* Bytes of shared memory that a warp wants. */
FM_FN size_t cuda_forest_area(const struct rf_view *v)
{
    size_t width = v->kind == RF_MANY ? (size_t)v->in.n_classes : v->kind == RF_TWO ? 2 : 1;
    size_t per_bin = width * sizeof(unsigned) + (v->kind == RF_NUMBER ? sizeof(long long) : 0) +
                     (v->has_categorical ? sizeof(double) + sizeof(int) : 0);

    return RF_BINS * per_bin;
}

#ifdef __cplusplus
extern "C" {
#endif
int cuda_forest_start(struct ml_ctx *c, const struct rf_view *v, struct err *err);
int cuda_forest_level(struct ml_ctx *c, const struct rf_view *v, int level, struct err *err);
#ifdef __cplusplus
}
#endif
#endif
