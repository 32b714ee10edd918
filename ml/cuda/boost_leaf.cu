/* boost_leaf.cu - the end of a round. Its kernels, in order: write the finished trees in the CPU's
 * numbers; find every row's leaf; sum the unrounded gradients of each leaf as whole units; make the
 * leaf values; add them to the scores.
 *
 * Rows that the tree did not grow on have g = h = 0 and so add nothing to a leaf, but their scores
 * move too. */
#include "ml/cuda/gpu.h"

#include "ml/cuda/boost.h"

/* The most 64-bit sums of a tree's nodes that walk_kernel keeps in shared memory (32 KiB with two
 * per node). */
enum { SHARED_LEAVES = 2048 };

/* Writes a tree as the host takes it: a thread per node that the replay has reached, in the CPU's
 * numbering. */
__global__ void emit_kernel(struct boost_view v)
{
    int t = (int)blockIdx.y, cap = v.out_cap;
    const struct boost_tree *tree = &v.trees[t];
    const struct boost_node *nodes = v.nodes + (int64_t)t * v.node_cap;
    struct ml_boost_node *out = v.out + (int64_t)t * cap;
    int step = (int)(gridDim.x * blockDim.x), n = boost_sits_out(&v, t) ? 0 : tree->n_order;

    for (int o = (int)(blockIdx.x * blockDim.x + threadIdx.x); o < n; o += step) {
        const struct boost_node *nd = &nodes[v.by_order[(int64_t)t * v.node_cap + o]];
        struct ml_boost_node e = {};
        /* A node whose split was made ahead of need, but never reached by the replay, is a leaf. */
        e.kid[0] = nd->is_popped ? nodes[nd->kid[0]].order : -1;
        e.kid[1] = nd->is_popped ? nodes[nd->kid[1]].order : -1;
        e.n = nd->n;
        e.depth = nd->depth;
        if (nd->is_popped) {
            e.col = nd->best.col;
            e.bin = nd->best.bin;
            e.add = nd->best.add;
            e.is_categorical = nd->best.is_categorical;
            for (int k = 0; k < 4; k++)
                e.left_set[k] = nd->best.left_set[k];
            e.gain = nd->gain;
        }
        out[o] = e;
        v.sums[2 * ((int64_t)t * cap + o)] = v.sums[2 * ((int64_t)t * cap + o) + 1] = 0;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        struct ml_boost_tree done = { n, 0, tree->g_scale, tree->h_scale };
        v.out_trees[t] = done;
    }
}

/* The leaf of a row; nodes are in the CPU's order, with the root at 0. */
__device__ static int leaf_of(const struct ml_boost_node *nodes, const uint8_t *bins)
{
    int at = 0;

    while (nodes[at].kid[0] >= 0) {
        const struct ml_boost_node *nd = &nodes[at];
        unsigned bin = bins[nd->col];
        int is_right = nd->is_categorical
                           ? !(nd->left_set[bin >> 6] >> (bin & 63) & 1)
                           : ((bin + (unsigned)nd->add) & 255u) > (unsigned)(nd->bin + nd->add);
        at = nd->kid[is_right];
    }
    return at;
}

/* In shared memory two 32-bit additions with a carry, because a 64-bit addition is a loop of
 * compare and swap there. */
__device__ static void near_add(unsigned *word, int64_t x)
{
    unsigned low = (unsigned)x, high = (unsigned)((uint64_t)x >> 32), before = 0;

    if (low != 0)
        before = atomicAdd(&word[0], low);
    high += before + low < before;
    if (high != 0)
        atomicAdd(&word[1], high);
}

/* In global memory a 64-bit addition is one instruction. A negative x is added as its two's
 * complement, which gives the right sum. */
__device__ static void far_add(unsigned long long *word, int64_t x)
{
    atomicAdd(word, (unsigned long long)x);
}

/* Finds the leaf of every row of the table, because the scores of all rows move, and adds up the
 * leaf units of g and h of the rows of the tree; blockIdx.y is the tree. With is_shared a block
 * adds up in shared memory first, two 64-bit words a node, because many rows share few leaves and
 * would wait for each other in global memory. */
__global__ void walk_kernel(struct boost_view v, int is_shared)
{
    DYN_SHARED(unsigned long long, near); /* [nodes][2] */
    int t = (int)blockIdx.y, cap = v.out_cap, sits_out = boost_sits_out(&v, t);
    int n = sits_out ? 0 : v.trees[t].n_order;
    const struct ml_boost_node *nodes = v.out + (int64_t)t * cap;
    unsigned long long *far = v.sums + 2 * ((int64_t)t * cap);
    double gs = v.trees[t].g_scale, hs = v.trees[t].h_scale;
    int64_t step = (int64_t)gridDim.x * blockDim.x, at = t * v.rows;
    int64_t end = sits_out ? 0 : v.rows;
    const uint8_t *bins = boost_rule_of(&v, t)->bins;

    for (int i = (int)threadIdx.x; i < 2 * n && is_shared; i += (int)blockDim.x)
        near[i] = 0;
    __syncthreads();
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < end; i += step) {
        int leaf = leaf_of(nodes, bins + i * v.stride);
        float g = v.g[at + i], h = v.h[at + i];
        v.leaf[at + i] = (uint16_t)leaf;
        /* A row outside the tree adds nothing. */
        if (g == 0.0f && h == 0.0f)
            continue;
        if (is_shared) {
            near_add((unsigned *)&near[2 * leaf], leaf_units(g, gs));
            near_add((unsigned *)&near[2 * leaf + 1], leaf_units(h, hs));
        } else {
            far_add(&far[2 * leaf], leaf_units(g, gs));
            far_add(&far[2 * leaf + 1], leaf_units(h, hs));
        }
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < 2 * n && is_shared; i += (int)blockDim.x) {
        if (near[i] != 0)
            atomicAdd(&far[i], near[i]);
    }
}

/* The value of leaf o, before the learning rate, by the lane's loss: a quantile or a refined median
 * of the residuals, the exact Poisson value, or a Newton step. */
__device__ static double value_of(const struct boost_view *v, int t, int o)
{
    const struct ml_boost_rule *in = &boost_rule_of(v, t)->in;
    const struct boost_tree *tree = &v->trees[t];
    const unsigned long long *sums = v->sums + 2 * ((int64_t)t * v->out_cap + o);
    int64_t g = (int64_t)sums[0], h = (int64_t)sums[1];

    if (in->loss == ML_BOOST_QUANTILE || in->loss == ML_BOOST_HUBER) {
        const struct boost_pick *p = &v->picks[(int64_t)t * v->out_cap + o];
        double value = p->n ? (double)boost_pick_value(p) : 0.0, n = (double)p->n;
        if (in->loss == ML_BOOST_HUBER && p->n)
            value = huber_step(value, p->units, (double)v->far[t], n);
        return leaf_refit(value, n, in->l1, in->l2);
    }
    if (in->loss == ML_BOOST_POISSON)
        return leaf_poisson(g, h, tree->g_scale, tree->h_scale, in->l1, in->l2);
    return leaf_step(g, h, tree->g_scale, tree->h_scale, in->l1, in->l2);
}

/* Leaf values within their bounds, then the learning rate, then one rounding to float: the order of
 * boost_grow.c. */
__global__ void value_kernel(struct boost_view v)
{
    int t = (int)blockIdx.y, n = boost_sits_out(&v, t) ? 0 : v.trees[t].n_order;
    struct ml_boost_node *nodes = v.out + (int64_t)t * v.out_cap;
    const struct ml_boost_rule *in = &boost_rule_of(&v, t)->in;
    int step = (int)(gridDim.x * blockDim.x);

    for (int o = (int)(blockIdx.x * blockDim.x + threadIdx.x); o < n; o += step) {
        if (nodes[o].kid[0] >= 0)
            continue;
        double value = value_of(&v, t, o);
        if (in->is_monotone) {
            const struct boost_node *nd =
                &v.nodes[(int64_t)t * v.node_cap + v.by_order[(int64_t)t * v.node_cap + o]];
            value = value > nd->lo ? value : nd->lo;
            value = value < nd->hi ? value : nd->hi;
        }
        nodes[o].value = (float)(value * in->rate);
    }
}

/* One float addition per row and tree, as on the CPU. */
__global__ void score_kernel(struct boost_view v)
{
    int t = (int)blockIdx.y, cap = v.out_cap;
    const struct ml_boost_node *nodes = v.out + (int64_t)t * cap;
    int64_t step = (int64_t)gridDim.x * blockDim.x, at = t * v.rows;
    int64_t end = boost_sits_out(&v, t) ? 0 : v.rows;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < end; i += step)
        v.f[at + i] += nodes[v.leaf[at + i]].value;
}

/* Ends the round: after it, v->out and v->out_trees hold the trees and v->f the new scores. */
extern "C" int cuda_boost_leaves(struct ml_ctx *c, const struct boost_view *v, struct err *err)
{
    unsigned threads = (unsigned)v->in.threads, trees = (unsigned)v->n_trees;
    unsigned rows = boost_blocks(c, v->rows, threads, v->n_trees);
    unsigned nodes = boost_blocks(c, v->out_cap, threads, v->n_trees);
    /* Two 64-bit sums per node fit into 32 KiB of shared memory up to here; larger trees add
     * straight into global memory. */
    int is_shared = v->leaves_most <= SHARED_LEAVES / 2;

    LAUNCH(emit_kernel, dim3(nodes, trees), threads, 0, c->stream, *v);
    LAUNCH(walk_kernel, dim3(rows, trees), threads,
           is_shared ? (size_t)(2 * v->leaves_most) * 2 * sizeof(*v->sums) : 0, c->stream, *v,
           is_shared);
    if (v->picks && cuda_boost_leaf_picks(c, v, err) < 0)
        return -1;
    LAUNCH(value_kernel, dim3(nodes, trees), threads, 0, c->stream, *v);
    LAUNCH(score_kernel, dim3(rows, trees), threads, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}
