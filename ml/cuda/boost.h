/* boost.h - private to the device's boosting: what its kernels share. Contract: ml/ops/ops_boost.h; how a round goes: boost.c.
 *
 * All trees of a round (lane x output) grow at the same time, whatever their trials, rules and rounds; blockIdx's last
 * dimension is the tree. A step splits a batch of nodes of each tree: select (which), partition (their rows), kids (which child is summed), hist, scan, best. Depth-wise
 * a batch is a level. Leaf-wise it is the best open leaf and, ahead of need, the next best ones: a tree is grown somewhat
 * larger than asked for, and select replays the one-leaf-at-a-time order on what is known, so that the tree that comes out
 * is the one of ml/boost/boost_grow.c. Nodes have a place (in order of creation) and an order (the CPU's number; -1 = not reached
 * by the replay). Every sum is of whole numbers, so neither block sizes nor the order of rows in a node show. */
#ifndef ML_CUDA_BOOST_H
#define ML_CUDA_BOOST_H

#include "ml/cuda/cuda.h"
#include "ml/math/sort.h"
#include "ml/math/tree_math.h"
#include "ml/ops/ops_boost.h"

enum { BOOST_BINS = 256, BOOST_MISSING = 255, BOOST_GROUP = 16, BOOST_WARPS = 4 };
/* 32-bit sums of a block hold so many rows: |g|, h < 2^16. */
enum { BOOST_HIST_ROWS = 16384 };
enum { WANT_SMALL = 1, WANT_BIG = 2 };

struct boost_split {
    double score; /* -1 = none */
    int64_t left;
    uint64_t left_set[4];
    int32_t col, bin, add, is_categorical;
};

struct boost_node {
    int64_t total;
    uint64_t path;
    double gain;   /* > 0: may be split */
    double lo, hi; /* of the values of its leaves, with constraints */
    struct boost_split best;
    int32_t from, n, depth, slot;
    int32_t kid[2]; /* places; -1 = not split yet */
    int32_t order;
    int32_t is_popped;  /* split by the replay too */
    int32_t is_batched; /* in the batch under way */
    int32_t buffer;     /* which of the two row lists holds its rows */
};

/* Of a batch: the parent (-1: the root is only scanned), its children, and the slot that the smaller one's histogram gets. */
struct boost_entry {
    int32_t parent, small, big, want, slot, is_last;
    unsigned n_left, n_right; /* rows placed so far */
};

struct boost_tree {
    uint64_t seed;
    int64_t total;
    double g_scale, h_scale;
    unsigned n_rows;
    int32_t n_nodes, n_slots, n_leaves, n_order, is_done, n_batch;
};

/* The value of a rank among a leaf's residuals, or a lane's, found digit by digit from the highest (ml_quantile). */
struct boost_pick {
    double share;          /* of the way to the next value */
    int64_t rank;          /* among those that the digits so far leave */
    int64_t units;         /* huber_units */
    unsigned n, left;      /* values in all, left */
    uint32_t prefix, next; /* digits so far; the least key above, where it is wanted */
    int32_t wants_next;
};

/* Of a lane. */
struct boost_rule {
    struct ml_boost_rule in;
    const uint8_t *bins;
    const int32_t *n_bins;
    int64_t pool_at; /* where its trees' histograms begin */
    int32_t slot_cap;
    unsigned row_limit; /* of row_sample */
};

/* Everything a kernel sees; passed by value. Arrays of trees and lanes stand one after another, as far apart as the lane
 * that needs most wants. */
struct boost_view {
    struct ml_boost_in in;
    int n_trees, node_cap, batch_cap, out_cap, leaves_most, cols_most, levels_most;
    int64_t rows, stride, n_train_most;
    const uint8_t *is_categorical;
    int hist_rows, part_rows; /* of a tile */
    int has_categorical, is_sampled, is_number, has_bounds;
    int table_cols;
    int n_of_loss[ML_BOOST_LOSSES];
    /* by lane */
    const struct boost_rule *rules;
    const int64_t *round; /* -1: the lane sits out */
    const uint64_t *seed;
    const int32_t *train;   /* [lanes][n_train_most] */
    const int64_t *n_train; /* [lanes] */
    const float *scale;     /* [lanes][3]: of g, of h, thin */
    const float *y, *w;     /* [lanes][rows] */
    float *f, *p;           /* [lanes][outputs][rows] */
    unsigned *n_picked;     /* [lanes] */
    float *far;             /* [lanes]: huber */
    const int8_t *monotone; /* [lanes][table_cols], or NULL */
    /* by tree */
    struct boost_tree *trees;
    float *g, *h; /* [trees][rows] */
    uint32_t *q;
    int32_t *list[2]; /* [trees][n_train_most] */
    uint16_t *leaf;   /* [trees][rows]: order of the row's leaf */
    double *sizes;    /* [trees][size blocks][4]: sum and largest of g, of h */
    int64_t size_blocks;
    struct boost_node *nodes;         /* [trees][node_cap] */
    int32_t *by_order;                /* [trees][node_cap] */
    struct boost_entry *batch;        /* [trees][batch_cap] */
    int32_t *part_tiles, *hist_tiles; /* [trees][batch_cap + 1]: running counts */
    struct boost_split *found;        /* [trees][batch_cap][2][cols_most] */
    unsigned long long *pool;         /* by lane [outputs][slot_cap][n_cols][256] */
    const int32_t *cols;              /* [trees][cols_most] */
    const uint8_t *open;              /* [trees][levels_most][cols_most] */
    unsigned long long *sums;         /* [trees][out_cap][2] */
    unsigned long long *kid_sums;     /* [trees][batch_cap][2][2]: with constraints; else NULL */
    struct boost_pick *picks;         /* [trees][out_cap]: quantile and huber; else NULL */
    unsigned *digits;                 /* [trees][out_cap][256]: counts, zero between uses */
    struct ml_boost_node *out;        /* [trees][out_cap]: 2 leaves - 1 */
    struct ml_boost_tree *out_trees;
    int32_t *n_unfinished;
};

/* Blocks for n items, `per_block` of them in one, where `others` like it are launched together: all loops stride. */
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

/* The value that the pick has come to. */
__device__ inline float boost_pick_value(const struct boost_pick *p)
{
    float low = ml_key_f32_value(p->prefix);

    if (!p->wants_next)
        return low;
    return (float)((double)low + p->share * ((double)ml_key_f32_value(p->next) - (double)low));
}

/* Of the split of a node: 1, -1, or 0 where it does not matter. */
__device__ inline int boost_direction(const struct boost_view *v, int tree,
                                      const struct boost_split *s)
{
    if (!boost_rule_of(v, tree)->in.is_monotone || s->is_categorical)
        return 0;
    int sign = v->monotone[(int64_t)(tree / v->in.outputs) * v->table_cols + s->col];
    return (sign > 0) - (sign < 0);
}

/* The entry of a batch of n whose tiles, by their running counts, hold number `tile`. */
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

/* boost_grad.cu: the round's gradients, their scale and words. */
int cuda_boost_gradients(struct ml_ctx *c, const struct boost_view *v, struct err *err);
/* boost_rows.cu: the root's rows, the rows of a batch to its kids, which kid is summed. */
int cuda_boost_rows(struct ml_ctx *c, const struct boost_view *v, struct err *err);
int cuda_boost_partition(struct ml_ctx *c, const struct boost_view *v, struct err *err);
/* boost_grow.cu: the next batch; n_unfinished counts the trees that have one. */
int cuda_boost_root(struct ml_ctx *c, const struct boost_view *v, struct err *err);
int cuda_boost_select(struct ml_ctx *c, const struct boost_view *v, struct err *err);
/* boost_bound.cu: the bounds of a batch's kids. */
int cuda_boost_bounds(struct ml_ctx *c, const struct boost_view *v, struct err *err);
/* boost_quantile.cu: what huber calls far, of the lane; quantiles of the residuals of leaves, and what huber adds to them. */
int cuda_boost_far(struct ml_ctx *c, const struct boost_view *v, struct err *err);
int cuda_boost_leaf_picks(struct ml_ctx *c, const struct boost_view *v, struct err *err);
/* boost_scan.cu: histograms of the batch's kids and their best splits. */
int cuda_boost_scan(struct ml_ctx *c, const struct boost_view *v, struct err *err);
/* boost_leaf.cu: the finished trees, leaf values, scores. */
int cuda_boost_leaves(struct ml_ctx *c, const struct boost_view *v, struct err *err);

#ifdef __cplusplus
}
#endif
#endif
