/* boost_bound.cu - monotone constraints, as in ml/boost/boost_bound.c. Where a batch splits a
 * column that must rise or fall, the middle of the two children's values becomes the upper bound of
 * one subtree's leaves and the lower bound of the other's. A child's value is what it would predict
 * as a leaf, from the unrounded gradients of its rows, added up as whole units (leaf_units), so
 * that the order of rows does not matter. Runs after partition_kernel and before the children are
 * scanned. */
#include "ml/cuda/gpu.h"

#include "ml/cuda/boost.h"

/* Adds up `own` over a warp and adds the result to *to. Whole numbers, so the order does not
 * matter. All 32 threads call it. */
__device__ static void sum_put(unsigned long long *to, int64_t own)
{
    for (int d = 16; d > 0; d >>= 1) {
        int64_t other = __shfl_xor_sync(0xffffffffu, own, d);
        own += other;
    }
    if (threadIdx.x % 32 == 0 && own != 0)
        atomicAdd(to, (unsigned long long)own);
}

/* Sums of g and h of both children of each constrained split, to kid_sums[entry] = { left g, left
 * h, right g, right h }, which batch_add (boost_grow.cu) has cleared. blockIdx.y is the tree; a
 * block takes tiles of part_rows rows of a parent. In the new list the left child's rows stand
 * first. */
__global__ void kid_sums_kernel(struct boost_view v)
{
    int t = (int)blockIdx.y, n_batch = v.trees[t].n_batch;
    const int32_t *tiles = v.part_tiles + (int64_t)t * (v.batch_cap + 1);
    const struct boost_tree *tree = &v.trees[t];
    const float *g = v.g + t * v.rows, *h = v.h + t * v.rows;

    for (int tile = (int)blockIdx.x; tile < tiles[n_batch]; tile += (int)gridDim.x) {
        int at = boost_entry_of(tiles, n_batch, tile);
        const struct boost_entry *e = &v.batch[(int64_t)t * v.batch_cap + at];
        const struct boost_node *nd = &v.nodes[(int64_t)t * v.node_cap + e->parent];
        const int32_t *rows = v.list[!nd->buffer] + t * v.n_train_most + nd->from;
        unsigned long long *sums = v.kid_sums + 4 * ((int64_t)t * v.batch_cap + at);
        int first = (tile - tiles[at]) * v.part_rows, end = first + v.part_rows;
        int64_t own[4] = { 0, 0, 0, 0 };
        end = end < nd->n ? end : nd->n;
        if (boost_direction(&v, t, &nd->best) == 0)
            continue;
        for (int i = first + (int)threadIdx.x; i < end; i += (int)blockDim.x) {
            int64_t a = leaf_units(g[rows[i]], tree->g_scale);
            int64_t b = leaf_units(h[rows[i]], tree->h_scale);
            int is_left = i < (int)e->n_left;
            own[0] += is_left ? a : 0;
            own[1] += is_left ? b : 0;
            own[2] += is_left ? 0 : a;
            own[3] += is_left ? 0 : b;
        }
        for (int k = 0; k < 4; k++)
            sum_put(&sums[k], own[k]);
    }
}

/* What a child would predict before the learning rate if it stayed a leaf, within the bounds that
 * it inherits. */
__device__ static double kid_value(const struct ml_boost_rule *in, const struct boost_tree *tree,
                                   const struct boost_node *nd, const unsigned long long *sums)
{
    int64_t g = (int64_t)sums[0], h = (int64_t)sums[1];
    double value = in->loss == ML_BOOST_POISSON
                       ? leaf_poisson(g, h, tree->g_scale, tree->h_scale, in->l1, in->l2)
                       : leaf_step(g, h, tree->g_scale, tree->h_scale, in->l1, in->l2);

    value = value > nd->lo ? value : nd->lo;
    return value < nd->hi ? value : nd->hi;
}

/* A block per tree, a thread per split of the batch: sets the bounds of its children. kid_init has
 * given both the parent's bounds; only a constrained split narrows them. */
__global__ void bounds_kernel(struct boost_view v)
{
    int t = (int)blockIdx.x, n_batch = v.trees[t].n_batch;
    struct boost_node *nodes = v.nodes + (int64_t)t * v.node_cap;
    const struct ml_boost_rule *in = &boost_rule_of(&v, t)->in;

    for (int at = (int)threadIdx.x; at < n_batch; at += (int)blockDim.x) {
        const struct boost_node *nd = &nodes[v.batch[(int64_t)t * v.batch_cap + at].parent];
        const unsigned long long *sums = v.kid_sums + 4 * ((int64_t)t * v.batch_cap + at);
        struct boost_node *left = &nodes[nd->kid[0]], *right = &nodes[nd->kid[1]];
        int direction = boost_direction(&v, t, &nd->best);
        double middle = 0.0;
        if (direction != 0)
            middle = (kid_value(in, &v.trees[t], left, sums) +
                      kid_value(in, &v.trees[t], right, sums + 2)) /
                     2;
        if (direction > 0)
            left->hi = right->lo = middle;
        else if (direction < 0)
            left->lo = right->hi = middle;
    }
}

/* Queued only where a lane has constraints. */
extern "C" int cuda_boost_bounds(struct ml_ctx *c, const struct boost_view *v, struct err *err)
{
    unsigned trees = (unsigned)v->n_trees;

    LAUNCH(kid_sums_kernel, dim3(boost_blocks(c, v->n_train_most, v->part_rows, v->n_trees), trees),
           (unsigned)v->in.threads, 0, c->stream, *v);
    LAUNCH(bounds_kernel, trees, 128, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}
