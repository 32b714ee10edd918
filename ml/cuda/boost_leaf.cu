/* boost_leaf.cu - the end of a round: finished trees in the CPU's numbers, every row of the table walked down to its leaf,
 * leaf values from unrounded gradients in whole units (rows that the tree did not grow on have g = h = 0), scores. */
#include "ml/cuda/gpu.h"

#include "ml/cuda/boost.h"

enum { SHARED_LEAVES = 2048 };

/* A thread per node that the replay reached. */
__global__ void emit_kernel(struct boost_view v)
{
    int t = (int)blockIdx.y, cap = 2 * v.in.leaves - 1;
    const struct boost_tree *tree = &v.trees[t];
    const struct boost_node *nodes = v.nodes + (int64_t)t * v.node_cap;
    struct ml_boost_node *out = v.out + (int64_t)t * cap;
    int step = (int)(gridDim.x * blockDim.x);

    for (int o = (int)(blockIdx.x * blockDim.x + threadIdx.x); o < tree->n_order; o += step) {
        const struct boost_node *nd = &nodes[v.by_order[(int64_t)t * v.node_cap + o]];
        struct ml_boost_node e = {};
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
        struct ml_boost_tree done = { tree->n_order, 0, tree->g_scale, tree->h_scale };
        v.out_trees[t] = done;
    }
}

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

/* Sums in shared memory where they fit, then in global memory; 64-bit words. */
__global__ void walk_kernel(struct boost_view v, int is_shared)
{
    DYN_SHARED(unsigned long long, near); /* [nodes][2] */
    int t = (int)blockIdx.y, cap = 2 * v.in.leaves - 1, n = v.trees[t].n_order;
    const struct ml_boost_node *nodes = v.out + (int64_t)t * cap;
    unsigned long long *far = v.sums + 2 * ((int64_t)t * cap), *sums = is_shared ? near : far;
    double gs = v.trees[t].g_scale, hs = v.trees[t].h_scale;
    int64_t step = (int64_t)gridDim.x * blockDim.x, at = t * v.rows;

    for (int i = (int)threadIdx.x; i < 2 * n && is_shared; i += (int)blockDim.x)
        near[i] = 0;
    __syncthreads();
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < v.rows; i += step) {
        int leaf = leaf_of(nodes, v.bins + i * v.stride);
        float g = v.g[at + i], h = v.h[at + i];
        v.leaf[at + i] = (uint16_t)leaf;
        if (g != 0.0f || h != 0.0f) {
            atomicAdd(&sums[2 * leaf], (unsigned long long)leaf_units(g, gs));
            atomicAdd(&sums[2 * leaf + 1], (unsigned long long)leaf_units(h, hs));
        }
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < 2 * n && is_shared; i += (int)blockDim.x) {
        if (near[i] != 0)
            atomicAdd(&far[i], near[i]);
    }
}

__global__ void value_kernel(struct boost_view v)
{
    int t = (int)blockIdx.y, cap = 2 * v.in.leaves - 1;
    const struct boost_tree *tree = &v.trees[t];
    struct ml_boost_node *nodes = v.out + (int64_t)t * cap;
    const unsigned long long *sums = v.sums + 2 * ((int64_t)t * cap);
    int step = (int)(gridDim.x * blockDim.x);

    for (int o = (int)(blockIdx.x * blockDim.x + threadIdx.x); o < tree->n_order; o += step) {
        if (nodes[o].kid[0] < 0)
            nodes[o].value = leaf_value((int64_t)sums[2 * o], (int64_t)sums[2 * o + 1],
                                        tree->g_scale, tree->h_scale, v.in.l1, v.in.l2, v.in.rate);
    }
}

__global__ void score_kernel(struct boost_view v)
{
    int t = (int)blockIdx.y, cap = 2 * v.in.leaves - 1;
    const struct ml_boost_node *nodes = v.out + (int64_t)t * cap;
    int64_t step = (int64_t)gridDim.x * blockDim.x, at = t * v.rows;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < v.rows; i += step)
        v.f[at + i] += nodes[v.leaf[at + i]].value;
}

extern "C" int cuda_boost_leaves(struct ml_ctx *c, const struct boost_view *v, struct err *err)
{
    unsigned threads = (unsigned)v->in.threads, trees = (unsigned)v->n_trees;
    unsigned rows = boost_blocks(c, v->rows, threads, v->n_trees);
    unsigned nodes = boost_blocks(c, 2 * v->in.leaves, threads, v->n_trees);
    int is_shared = v->in.leaves <= SHARED_LEAVES / 2;

    LAUNCH(emit_kernel, dim3(nodes, trees), threads, 0, c->stream, *v);
    LAUNCH(walk_kernel, dim3(rows, trees), threads,
           is_shared ? (size_t)(2 * v->in.leaves) * 2 * sizeof(*v->sums) : 0, c->stream, *v,
           is_shared);
    LAUNCH(value_kernel, dim3(nodes, trees), threads, 0, c->stream, *v);
    LAUNCH(score_kernel, dim3(rows, trees), threads, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}
