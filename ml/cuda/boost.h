/* boost.h - private to the device's boosting: what its kernels share. Contract: ml/ops/ops_boost.h;
 * the order of launches: boost.c.
 *
 * All trees of a round (lane x output) grow at the same time, whatever their trials, rules and
 * rounds; the last dimension of blockIdx is the tree. A step splits a batch of nodes of each tree,
 * in six launches: select (which nodes), partition (their rows), kids (which child is summed, the
 * other is got by subtraction), hist, scan, best.
 *
 * Depth-wise a batch is a level. Leaf-wise it is the best open leaf and, ahead of need, the next
 * best ones. A tree is thus grown somewhat larger than asked for, and select replays the order of
 * one leaf at a time on what is known, so that the resulting tree is that of ml/boost/boost_grow.c.
 * A node has a place (in the order of creation) and an order (its number on the CPU; -1 = the
 * replay has not reached it).
 *
 * Every sum is of whole numbers, so block sizes and the order of rows within a node cannot show in
 * a result. */
#ifndef ML_CUDA_BOOST_H
#define ML_CUDA_BOOST_H

#include "ml/cuda/cuda.h"
#include "ml/math/sort.h"
#include "ml/math/tree_math.h"
#include "ml/ops/ops_boost.h"

enum { BOOST_BINS = 256, BOOST_MISSING = 255, BOOST_GROUP = 16, BOOST_WARPS = 4 };
/* Rows whose sums fit into a block's 32-bit sums: |g| and h are below 2^16. */
enum { BOOST_HIST_ROWS = 16384 };
enum { WANT_SMALL = 1, WANT_BIG = 2 };

struct boost_split {
    /* -1 = none */
    double score;
    int64_t left;
    uint64_t left_set[4];
    int32_t col, bin, add, is_categorical;
};

struct boost_node {
    int64_t total;
    uint64_t path;
    /* > 0: the node may be split */
    double gain;
    /* bounds of the values of its leaves; used with constraints */
    double lo, hi;
    struct boost_split best;
    int32_t from, n, depth, slot;
    /* places; -1 = not split yet */
    int32_t kid[2];
    int32_t order;
    /* split by the replay too */
    int32_t is_popped;
    /* in the batch at hand */
    int32_t is_batched;
    /* which of the two row lists holds its rows */
    int32_t buffer;
};

/* One split of a batch: the parent (-1: the root is only scanned), its children, and the slot where
 * the smaller child's histogram goes. */
struct boost_entry {
    int32_t parent, small, big, want, slot, is_last;
    /* rows placed so far */
    unsigned n_left, n_right;
};

struct boost_tree {
    uint64_t seed;
    int64_t total;
    double g_scale, h_scale;
    unsigned n_rows;
    int32_t n_nodes, n_slots, n_leaves, n_order, is_done, n_batch;
};

/* A value of given rank among a leaf's residuals, or among a lane's, found digit by digit from the
 * highest (ml_quantile, ml/math/sort.h). */
struct boost_pick {
    /* share of the way to the next value */
    double share;
    /* rank among the values that the digits so far leave */
    int64_t rank;
    int64_t units; /* huber_units */
    /* number of values in all, and of those left */
    unsigned n, left;
    /* the digits so far; the least key above, where it is wanted */
    uint32_t prefix, next;
    int32_t wants_next;
};

/* The rules of a lane. */
struct boost_rule {
    struct ml_boost_rule in;
    const uint8_t *bins;
    const int32_t *n_bins;
    /* where the histograms of its trees begin in the pool */
    int64_t pool_at;
    int32_t slot_cap;
    /* from row_sample: a row is drawn when its hash is below */
    unsigned row_limit;
};

/* Everything that a kernel sees; passed by value. Arrays of trees and of lanes stand one after
 * another, spaced as the largest of them needs. */
struct boost_view {
    struct ml_boost_in in;
    int n_trees, node_cap, batch_cap, out_cap, leaves_most, cols_most, levels_most;
    int64_t rows, stride, n_train_most;
    const uint8_t *is_categorical;
    /* rows of a tile */
    int hist_rows, part_rows;
    int has_categorical, is_sampled, is_number, has_bounds;
    int table_cols;
    int n_of_loss[ML_BOOST_LOSSES];
    /* By lane: */
    const struct boost_rule *rules;
    /* -1: the lane takes no part in the call */
    const int64_t *round;
    const uint64_t *seed;
    const int32_t *train;   /* [lanes][n_train_most] */
    const int64_t *n_train; /* [lanes] */
    /* [lanes][3]: scale of g, scale of h, thin */
    const float *scale;
    const float *y, *w; /* [lanes][rows] */
    float *f, *p;       /* [lanes][outputs][rows] */
    unsigned *n_picked; /* [lanes] */
    /* [lanes]: the bound of Huber's loss */
    float *far;
    const int8_t *monotone; /* [lanes][table_cols], or NULL */
    /* By tree: */
    struct boost_tree *trees;
    float *g, *h; /* [trees][rows] */
    uint32_t *q;
    int32_t *list[2]; /* [trees][n_train_most] */
    /* [trees][rows]: order of the row's leaf */
    uint16_t *leaf;
    /* [trees][size blocks][4]: sum and largest value of g, and of h */
    double *sizes;
    int64_t size_blocks;
    struct boost_node *nodes;  /* [trees][node_cap] */
    int32_t *by_order;         /* [trees][node_cap] */
    struct boost_entry *batch; /* [trees][batch_cap] */
    /* [trees][batch_cap + 1]: running counts of tiles */
    int32_t *part_tiles, *hist_tiles;
    struct boost_split *found; /* [trees][batch_cap][2][cols_most] */
    unsigned long long *pool;  /* by lane [outputs][slot_cap][n_cols][256] */
    const int32_t *cols;       /* [trees][cols_most] */
    const uint8_t *open;       /* [trees][levels_most][cols_most] */
    unsigned long long *sums;  /* [trees][out_cap][2] */
    /* [trees][batch_cap][2][2]: with constraints; else NULL */
    unsigned long long *kid_sums;
    /* [trees][out_cap]: for quantile and Huber; else NULL */
    struct boost_pick *picks;
    unsigned *digits; /* [trees][out_cap][256]: counts, zero between uses */
    /* [trees][out_cap]; a tree of l leaves has 2 l - 1 nodes */
    struct ml_boost_node *out;
    struct ml_boost_tree *out_trees;
    int32_t *n_unfinished;
};

/* Blocks for n items with `per_block` of them in each, when `others` launches like it run at the
 * same time. All loops stride, so fewer blocks than tiles are right too. */
static inline unsigned boost_blocks(const struct ml_ctx *c, int64_t n, int64_t per_block,
                                    int64_t others)
{
    int64_t blocks = (n + per_block - 1) / per_block, most = 16LL * c->multiprocessors / others;

    most = most < 1 ? 1 : most;
    return (unsigned)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

#ifdef __cplusplus
__device__ inline const struct boost_rule *boost_rule_of(const struct boost_view *v, int tree)
{
    return &v->rules[tree / v->in.outputs];
}

__device__ inline int boost_sits_out(const struct boost_view *v, int tree)
{
    return v->round[tree / v->in.outputs] < 0;
}

/* A histogram of the tree: [n_cols][256]. */
__device__ inline unsigned long long *boost_slot(const struct boost_view *v, int tree, int slot)
{
    const struct boost_rule *r = boost_rule_of(v, tree);
    int64_t at = (int64_t)(tree % v->in.outputs) * r->slot_cap + slot;

    return v->pool + r->pool_at + at * r->in.n_cols * BOOST_BINS;
}

/* The value that the pick has found. */
__device__ inline float boost_pick_value(const struct boost_pick *p)
{
    float low = ml_key_f32_value(p->prefix);

    if (!p->wants_next)
        return low;
    return (float)((double)low + p->share * ((double)ml_key_f32_value(p->next) - (double)low));
}

/* The constraint on the column of a node's split: 1, -1, or 0 for none. */
__device__ inline int boost_direction(const struct boost_view *v, int tree,
                                      const struct boost_split *s)
{
    if (!boost_rule_of(v, tree)->in.is_monotone || s->is_categorical)
        return 0;
    int sign = v->monotone[(int64_t)(tree / v->in.outputs) * v->table_cols + s->col];
    return (sign > 0) - (sign < 0);
}

/* The entry of a batch of n that owns tile number `tile`. tiles: running counts. */
__device__ inline int boost_entry_of(const int32_t *tiles, int n, int tile)
{
    int lo = 0, hi = n;

    while (hi - lo > 1) {
        int middle = (lo + hi) / 2;
        if (tiles[middle] <= tile)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

extern "C" {
#endif

/* boost_grad.cu: the round's gradients, their scale and packed words. */
int cuda_boost_gradients(struct ml_ctx *c, const struct boost_view *v, struct err *err);
/* boost_rows.cu: the root's rows; the rows of a batch to its children, and which child is
 * summed. */
int cuda_boost_rows(struct ml_ctx *c, const struct boost_view *v, struct err *err);
int cuda_boost_partition(struct ml_ctx *c, const struct boost_view *v, struct err *err);
/* boost_grow.cu: the next batch. n_unfinished counts the trees that have one. */
int cuda_boost_root(struct ml_ctx *c, const struct boost_view *v, struct err *err);
int cuda_boost_select(struct ml_ctx *c, const struct boost_view *v, struct err *err);
/* boost_bound.cu: the bounds of the children of a batch. */
int cuda_boost_bounds(struct ml_ctx *c, const struct boost_view *v, struct err *err);
/* boost_quantile.cu: the bound of Huber's loss by lane; quantiles of the residuals of leaves, and
 * what Huber's loss adds to them. */
int cuda_boost_far(struct ml_ctx *c, const struct boost_view *v, struct err *err);
int cuda_boost_leaf_picks(struct ml_ctx *c, const struct boost_view *v, struct err *err);
/* boost_scan.cu: histograms of the children of a batch, and their best splits. */
int cuda_boost_scan(struct ml_ctx *c, const struct boost_view *v, struct err *err);
/* boost_leaf.cu: the finished trees, leaf values, scores. */
int cuda_boost_leaves(struct ml_ctx *c, const struct boost_view *v, struct err *err);

#ifdef __cplusplus
}
#endif
#endif
