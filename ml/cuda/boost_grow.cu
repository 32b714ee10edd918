/* boost_grow.cu - which nodes are split next, and in which order they are numbered.
 *
 * The CPU (ml/boost/boost_grow.c) splits one open leaf at a time: the one with the largest gain,
 * or, depth-wise, the first of its level; of equal ones the one with the smaller number. Here one
 * warp per tree replays that order over the nodes whose splits are already known, and gives out the
 * same numbers. When the replay meets a leaf that is not split yet, that leaf goes into the batch
 * of this step.
 *
 * Depth-wise, the batch is the whole level. Otherwise it also takes the next best leaves ahead of
 * need, up to half of the leaves still to come, as long as the nodes reserved for them last. */
#include "ml/cuda/gpu.h"

#include "ml/cuda/boost.h"

enum { WARP = 32 };

/* The root: its histogram is built and scanned as if it were the smaller child of a split. One
 * thread per tree. A tree that takes no part (is_done) gets n_batch 0, and the later kernels find
 * nothing to do for it. */
__global__ void root_kernel(struct boost_view v)
{
    int t = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (t < v.n_trees) {
        struct boost_tree *tree = &v.trees[t];
        struct boost_node *nd = &v.nodes[(int64_t)t * v.node_cap];
        const struct ml_boost_rule *in = &boost_rule_of(&v, t)->in;
        int n = (int)tree->n_rows;
        int may_split = !tree->is_done && in->leaves > 1 && in->n_cols > 0 && in->depth > 0 &&
                        n >= 2 && n >= 2 * in->min_leaf && hist_h(tree->total) > 0;
        nd->total = tree->total;
        nd->path = 1;
        nd->gain = -1.0;
        nd->lo = -(double)INFINITY;
        nd->hi = (double)INFINITY;
        nd->from = nd->depth = nd->slot = nd->order = 0;
        nd->n = n;
        nd->kid[0] = nd->kid[1] = -1;
        nd->is_popped = nd->is_batched = nd->buffer = 0;
        v.by_order[(int64_t)t * v.node_cap] = 0;
        tree->n_batch = may_split;
        tree->n_slots = 1;
        struct boost_entry root = { -1, 0, -1, WANT_SMALL, 0, 0, 0, 0 };
        v.batch[(int64_t)t * v.batch_cap] = root;
        v.hist_tiles[(int64_t)t * (v.batch_cap + 1)] = 0;
        v.hist_tiles[(int64_t)t * (v.batch_cap + 1) + 1] = (n + v.hist_rows - 1) / v.hist_rows;
    }
}

/* ---- the replay ---- */

/* A candidate of one lane, and after best_of_warp that of the warp. */
struct best_leaf {
    /* its gain; 0 = none */
    double gain;
    /* its order, or its place, as the caller looks for */
    int at;
};

/* The largest gain of the warp; of equal ones the smallest `at`. All lanes get it. */
__device__ static struct best_leaf best_of_warp(struct best_leaf b)
{
    for (int d = WARP / 2; d > 0; d >>= 1) {
        double gain = __shfl_xor_sync(0xffffffffu, b.gain, d);
        int at = __shfl_xor_sync(0xffffffffu, b.at, d);
        if (gain > b.gain || (gain == b.gain && at < b.at)) {
            b.gain = gain;
            b.at = at;
        }
    }
    return b;
}

/* The order of the open leaf with the largest gain; -1 = none. */
__device__ static int next_best(const struct boost_tree *tree, const struct boost_node *nodes,
                                const int32_t *by_order)
{
    struct best_leaf b = { 0.0, 0x7fffffff };

    for (int o = (int)threadIdx.x; o < tree->n_order; o += WARP) {
        const struct boost_node *nd = &nodes[by_order[o]];
        if (!nd->is_popped && nd->gain > b.gain) {
            b.gain = nd->gain;
            b.at = o;
        }
    }
    b = best_of_warp(b);
    return b.gain > 0.0 ? b.at : -1;
}

/* Depth-wise: the first open leaf from number `from` on, because numbers rise with depth. */
__device__ static int next_first(const struct boost_tree *tree, const struct boost_node *nodes,
                                 const int32_t *by_order, int from)
{
    for (int base = from; base < tree->n_order; base += WARP) {
        int o = base + (int)threadIdx.x, is_open = 0;
        if (o < tree->n_order)
            is_open = !nodes[by_order[o]].is_popped && nodes[by_order[o]].gain > 0.0;
        unsigned vote = __ballot_sync(0xffffffffu, is_open);
        if (vote)
            return base + __ffs((int)vote) - 1;
    }
    return -1;
}

/* The place of the best leaf that is neither split nor in the batch; -1 = none. */
__device__ static int next_ahead(const struct boost_tree *tree, const struct boost_node *nodes)
{
    struct best_leaf b = { 0.0, 0x7fffffff };

    for (int i = (int)threadIdx.x; i < tree->n_nodes; i += WARP) {
        const struct boost_node *nd = &nodes[i];
        if (nd->kid[0] < 0 && !nd->is_batched && nd->gain > b.gain) {
            b.gain = nd->gain;
            b.at = i;
        }
    }
    b = best_of_warp(b);
    return b.gain > 0.0 ? b.at : -1;
}

/* The replay splits the node at place `at`, as the CPU would now: its children get the next two
 * numbers. */
__device__ static void pop(struct boost_tree *tree, struct boost_node *nodes, int32_t *by_order,
                           int at)
{
    nodes[at].is_popped = 1;
    for (int side = 0; side < 2; side++) {
        nodes[nodes[at].kid[side]].order = tree->n_order;
        by_order[tree->n_order++] = nodes[at].kid[side];
    }
    tree->n_leaves++;
}

/* ---- the batch ---- */

/* Bounds are inherited; boost_bound.cu narrows them where the split is constrained. */
__device__ static void kid_init(struct boost_node *kid, const struct boost_node *nd, int is_right)
{
    kid->total = is_right ? nd->total - nd->best.left : nd->best.left;
    kid->path = grow_path(nd->path, is_right);
    kid->gain = -1.0;
    kid->lo = nd->lo;
    kid->hi = nd->hi;
    kid->depth = nd->depth + 1;
    kid->order = -1;
    kid->kid[0] = kid->kid[1] = -1;
    kid->slot = -1;
    kid->is_popped = kid->is_batched = 0;
    kid->buffer = !nd->buffer;
}

/* One thread: reserves room for the children of the node at `at`, and its tiles. */
__device__ static void batch_add(const struct boost_view *v, int t, int at, int is_last)
{
    struct boost_tree *tree = &v->trees[t];
    struct boost_node *nodes = v->nodes + (int64_t)t * v->node_cap, *nd = &nodes[at];
    int32_t *tiles = v->part_tiles + (int64_t)t * (v->batch_cap + 1);
    int n = tree->n_batch++;

    nd->kid[0] = tree->n_nodes++;
    nd->kid[1] = tree->n_nodes++;
    kid_init(&nodes[nd->kid[0]], nd, 0);
    /* The slot is for the smaller child; the larger one takes over the parent's slot
     * (boost_rows.cu). */
    kid_init(&nodes[nd->kid[1]], nd, 1);
    struct boost_entry e = { at, -1, -1, 0, tree->n_slots++, is_last, 0, 0 };
    v->batch[(int64_t)t * v->batch_cap + n] = e;
    for (int k = 0; k < 4 && v->has_bounds; k++)
        v->kid_sums[4 * ((int64_t)t * v->batch_cap + n) + k] = 0;
    tiles[n + 1] = tiles[n] + (nd->n + v->part_rows - 1) / v->part_rows;
}

/* The next level, or as much of it as leaves and batch hold: open leaves in order, all at the depth
 * of the first. */
__device__ static void batch_level(const struct boost_view *v, int t, int first)
{
    const struct boost_tree *tree = &v->trees[t];
    struct boost_node *nodes = v->nodes + (int64_t)t * v->node_cap;
    const int32_t *by_order = v->by_order + (int64_t)t * v->node_cap;
    int left = boost_rule_of(v, t)->in.leaves - tree->n_leaves,
        depth = nodes[by_order[first]].depth;

    for (int o = first; o < tree->n_order && left > 0 && tree->n_batch < v->batch_cap; o++) {
        const struct boost_node *nd = &nodes[by_order[o]];
        if (nd->depth != depth)
            break;
        if (nd->gain > 0.0 && nd->kid[0] < 0) {
            left--;
            batch_add(v, t, by_order[o], left == 0);
        }
    }
}

/* The leaf at place `first`, which the replay waits for, and the best other leaves ahead of
 * need. */
__device__ static void batch_best(const struct boost_view *v, int t, int first)
{
    struct boost_tree *tree = &v->trees[t];
    struct boost_node *nodes = v->nodes + (int64_t)t * v->node_cap;
    const struct boost_rule *rule = boost_rule_of(v, t);
    int left = rule->in.leaves - tree->n_leaves, want = (left + 1) / 2, at = first;
    /* Leaves split ahead may turn out not to be needed: room must stay for the splits that are
     * still to come. */
    int spare = rule->slot_cap - tree->n_slots - left;

    __syncwarp(0xffffffffu);
    want = want < v->batch_cap ? want : v->batch_cap;
    want = want < spare + 1 ? want : spare + 1;
    /* at least one: room for the splits that the replay waits for is always there */
    want = want > 1 ? want : 1;
    for (int i = 0; i < want && at >= 0; i++) {
        if (threadIdx.x == 0) {
            nodes[at].is_batched = 1;
            batch_add(v, t, at, left == 1);
        }
        __syncwarp(0xffffffffu);
        if (i + 1 < want)
            at = next_ahead(tree, nodes);
        __syncwarp(0xffffffffu);
    }
}

/* One warp per tree. The lanes read tree and nodes together, and only lane 0 writes; each
 * __syncwarp separates a write from the reads around it.
 *
 * The loop replays as long as the next leaf in the CPU's order is split already. It ends at a
 * leaf that is not split yet, which starts the batch, or with none (at < 0): then the tree is
 * finished. */
__global__ void select_kernel(struct boost_view v)
{
    int t = (int)blockIdx.x, at = -1;
    struct boost_tree *tree = &v.trees[t];
    struct boost_node *nodes = v.nodes + (int64_t)t * v.node_cap;
    int32_t *by_order = v.by_order + (int64_t)t * v.node_cap;
    const struct ml_boost_rule *in = &boost_rule_of(&v, t)->in;
    int is_done = tree->is_done, from = 0;

    __syncwarp(0xffffffffu);
    if (threadIdx.x == 0) {
        tree->n_batch = 0;
        v.part_tiles[(int64_t)t * (v.batch_cap + 1)] = 0;
    }
    while (!is_done) {
        __syncwarp(0xffffffffu);
        if (tree->n_leaves >= in->leaves)
            at = -1;
        else if (in->is_depth_wise)
            at = next_first(tree, nodes, by_order, from);
        else
            at = next_best(tree, nodes, by_order);
        if (at < 0 || nodes[by_order[at]].kid[0] < 0)
            break;
        __syncwarp(0xffffffffu);
        if (threadIdx.x == 0)
            pop(tree, nodes, by_order, by_order[at]);
        from = at;
    }
    __syncwarp(0xffffffffu);
    if (at < 0) {
        if (threadIdx.x == 0)
            tree->is_done = 1;
    } else if (in->is_depth_wise) {
        if (threadIdx.x == 0)
            batch_level(&v, t, at);
    } else {
        batch_best(&v, t, by_order[at]);
    }
    /* The host looks at this count to see whether more steps must be queued. */
    if (threadIdx.x == 0 && at >= 0)
        atomicAdd(v.n_unfinished, 1);
}

extern "C" int cuda_boost_root(struct ml_ctx *c, const struct boost_view *v, struct err *err)
{
    LAUNCH(root_kernel, ((unsigned)v->n_trees + 31) / 32, 32, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}

extern "C" int cuda_boost_select(struct ml_ctx *c, const struct boost_view *v, struct err *err)
{
    if (cuda_try(cudaMemsetAsync(v->n_unfinished, 0, sizeof(*v->n_unfinished), c->stream), err) < 0)
        return -1;
    LAUNCH(select_kernel, (unsigned)v->n_trees, WARP, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}
