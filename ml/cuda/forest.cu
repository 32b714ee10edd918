/* forest.cu - trees of forests, level by level: the rows of each tree and its root, then a kernel
 * per level in which each block grows one open node after another (forest.h).
 *
 * Columns are looked at in the order of the permutation that the node's key draws, one warp a
 * column. After n_visit columns further ones are looked at until one can be split: as in
 * ml/forest/forest_grow.c. */
#include "ml/cuda/gpu.h"

#include "ml/cuda/forest.h"
#include "ml/cuda/forest_split.cuh"
#include "ml/cuda/place.h"

/* ---- the rows of a tree, and its root ---- */

/* Lists the rows that a tree has drawn (weight > 0), in any order, with their words: the target or
 * class in the upper 32 bits, the weight in the lower 16. Also adds up the tree's weight.
 * blockIdx.y is the tree. All threads go through the loop equally often (block_place has
 * barriers). */
__global__ void rows_kernel(struct rf_view v)
{
    int t = (int)blockIdx.y;
    struct rf_tree_state *tree = &v.trees[t];
    const uint16_t *weights = v.weights + t * v.rows;
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    unsigned long long sum = 0;

    for (int64_t from = (int64_t)blockIdx.x * blockDim.x; from < v.rows; from += step) {
        int64_t i = from + threadIdx.x;
        unsigned weight = i < v.rows ? weights[i] : 0;
        unsigned place = block_place(weight > 0, &tree->n_rows);
        if (weight > 0) {
            v.list[0][t * v.rows + place] = v.at[i];
            v.word[0][t * v.rows + place] = (int64_t)v.y[i] * 4294967296LL + weight;
            sum += weight;
        }
    }
    if (sum > 0)
        atomicAdd((unsigned long long *)&tree->weight, sum);
}

/* A thread per tree: its root, which is also its first open node. */
__global__ void roots_kernel(struct rf_view v)
{
    int t = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (t < v.n_trees) {
        struct ml_forest_node root = {};
        root.key = v.keys[t];
        root.rows = (int32_t)v.trees[t].n_rows;
        v.nodes[t * v.node_cap] = root;
        v.trees[t].n_nodes = 1;
        v.queue[0][t].tree = t;
        v.queue[0][t].node = 0;
        if (t == 0)
            v.count[0] = v.n_trees;
    }
}

/* Fills in the blocks' permutations with the columns in order; a block per permutation. A block
 * of level_kernel restores the order after every node, so this runs once per call. */
__global__ void perm_kernel(struct rf_view v)
{
    for (int i = (int)threadIdx.x; i < v.cols; i += (int)blockDim.x)
        v.perm[(int64_t)blockIdx.x * v.cols + i] = i;
}

/* ---- a node ---- */

/* What the block knows of its node; in shared memory. */
struct node_state {
    /* by class the weight of its rows; for numbers total[0] is the sum of weight times target */
    long long total[ML_FOREST_CLASSES], weight;
    /* rows whose target differs from the first row's: 0 = a pure node; rows placed so far */
    unsigned n_differ, n_left, n_right;
    /* The bins of the rows in the column of the split; for numeric columns only the missing one. */
    unsigned bins[RF_BINS / 32];
    /* seen: columns looked at so far; is_found: one of them can be split */
    int is_leaf, seen, is_found;
    struct rf_found best;
};

/* All threads: adds up the node's weight and its classes (or the sum of its targets), and counts
 * the rows whose target differs from the first row's. */
__device__ static void totals_add(const struct rf_node_view *nd, struct node_state *s)
{
    const struct rf_view *v = nd->v;
    long long weight = 0, sum = 0;
    unsigned n_differ = 0;

    for (int i = (int)threadIdx.x; i < nd->n; i += (int)blockDim.x) {
        long long w = nd->words[i] & 0xffff, y = nd->words[i] >> 32;
        weight += w;
        n_differ += (unsigned)(y != nd->words[0] >> 32);
        if (v->kind == RF_MANY)
            atomicAdd((unsigned long long *)&s->total[y], (unsigned long long)w);
        else
            sum += w * y;
    }
    atomicAdd((unsigned long long *)&s->weight, (unsigned long long)weight);
    if (v->kind != RF_MANY)
        atomicAdd((unsigned long long *)&s->total[v->kind == RF_TWO], (unsigned long long)sum);
    if (n_differ > 0)
        atomicAdd(&s->n_differ, n_differ);
}

/* One thread: the node's value, and whether it stays a leaf whatever its columns are. */
__device__ static void value_take(const struct rf_view *v, const struct ml_forest_node *node,
                                  float *value, struct node_state *s)
{
    double n = (double)s->weight;
    int is_pure = s->n_differ == 0;

    if (v->kind == RF_TWO)
        s->total[0] = s->weight - s->total[1];
    if (v->kind == RF_MANY) {
        for (int k = 0; k < v->in.n_classes; k++)
            value[k] = (float)((double)s->total[k] / n);
    } else {
        *value = (float)((double)s->total[v->kind == RF_TWO] / n);
    }
    s->is_leaf = is_pure || node->rows < v->in.min_split || node->depth >= v->in.max_depth ||
                 s->weight < 2 * (long long)v->in.min_leaf;
    s->seen = s->is_found = 0;
    s->best.score = RF_NOT;
    s->n_left = s->n_right = 0;
    for (int i = 0; i < RF_BINS / 32; i++)
        s->bins[i] = 0;
}

/* One thread: draws the next `n` columns without replacement, by the first steps of a Fisher-Yates
 * shuffle whose draws depend on the node's key. Returns how many it drew: n, or fewer where no more
 * are left. Notes its swaps, because undoing them costs less than writing all columns anew. */
__device__ static int columns_draw(const struct rf_view *v, uint64_t key, int seen, int n)
{
    int32_t *perm = v->perm + (int64_t)blockIdx.x * v->cols;
    int32_t *swaps = v->swaps + (int64_t)blockIdx.x * v->cols;
    int k = 0;

    for (; k < n && seen + k < v->cols; k++) {
        int at = seen + k, j = rf_visit(key, at, v->cols);
        int32_t col = perm[j];
        perm[j] = perm[at];
        perm[at] = col;
        swaps[at] = j;
    }
    return k;
}

/* Undoes the swaps, last one first. */
__device__ static void columns_back(const struct rf_view *v, int seen)
{
    int32_t *perm = v->perm + (int64_t)blockIdx.x * v->cols;
    const int32_t *swaps = v->swaps + (int64_t)blockIdx.x * v->cols;

    while (seen-- > 0) {
        int32_t col = perm[seen];
        perm[seen] = perm[swaps[seen]];
        perm[swaps[seen]] = col;
    }
}

/* The block looks at the columns drawn from number `seen` on; each warp leaves its best split in
 * found[warp]. Among the first n_visit columns the best split counts, of equal ones the first;
 * beyond them the first column that can be split. */
__device__ static void columns_look(const struct rf_node_view *nd, int n, int is_beyond,
                                    struct rf_area *a, struct rf_found *found, struct node_state *s)
{
    int warp = (int)threadIdx.x / 32, warps = (int)(blockDim.x / 32);
    const int32_t *perm = nd->v->perm + (int64_t)blockIdx.x * nd->v->cols + s->seen;
    struct rf_found best = {};

    best.score = RF_NOT;
    for (int k = warp; k < n; k += warps) {
        struct rf_found f = rf_column(nd, perm[k], k, a);
        if (f.score > best.score)
            best = f;
    }
    if (threadIdx.x % 32 == 0)
        found[warp] = best;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < warps; i++) {
            const struct rf_found *f = &found[i];
            int is_better =
                is_beyond
                    ? f->score > RF_NOT && (!s->is_found || f->visit < s->best.visit)
                    : f->score > s->best.score || (f->score > RF_NOT && f->score == s->best.score &&
                                                   f->visit < s->best.visit);
            if (is_better)
                s->best = *f;
            s->is_found |= f->score > RF_NOT;
        }
        s->seen += n;
    }
    __syncthreads();
}

/* Looks at n_visit columns, then further ones, as many at a time as the block has warps, until one
 * can be split or none is left. */
__device__ static void split_find(const struct rf_node_view *nd, struct rf_area *a,
                                  struct rf_found *found, int *drawn, struct node_state *s)
{
    const struct rf_view *v = nd->v;
    int least = v->in.n_visit < v->cols ? v->in.n_visit : v->cols;

    for (int is_beyond = 0; !s->is_found && s->seen < v->cols; is_beyond = 1) {
        __syncthreads();
        if (threadIdx.x == 0)
            *drawn = columns_draw(v, nd->key, s->seen, is_beyond ? (int)(blockDim.x / 32) : least);
        __syncthreads();
        columns_look(nd, *drawn, is_beyond, a, found, s);
    }
    if (threadIdx.x == 0)
        columns_back(v, s->seen);
}

/* The score of the node left whole, in the terms of the criterion: what a split must gain over. */
__device__ static double own_score(const struct rf_view *v, const struct node_state *s)
{
    long long squares = 0;
    double sum = 0;

    if (v->kind == RF_NUMBER)
        return (double)s->total[0] * (double)s->total[0] / (double)s->weight;
    if (v->kind == RF_TWO && v->xlogx)
        return rf_x(v, s->total[1]) + rf_x(v, s->weight - s->total[1]) - rf_x(v, s->weight);
    if (v->kind == RF_TWO)
        return rf_two_gini_own(s->weight, s->total[1]);
    for (int k = 0; k < v->in.n_classes; k++) {
        squares += s->total[k] * s->total[k];
        sum += v->xlogx ? rf_x(v, s->total[k]) : 0.0;
    }
    return v->xlogx ? sum - rf_x(v, s->weight) : (double)squares / (double)s->weight;
}

/* Which side a bin goes to under the split found. */
__device__ static int goes_left(const struct rf_found *f, unsigned bin)
{
    if (f->is_set)
        return (int)(f->set[bin >> 6] >> (bin & 63) & 1);
    return bin == RF_MISSING ? f->missing_left : (int)bin <= f->bin;
}

/* Parts the node's rows into the other list: left ones from the front, right ones from the back.
 * Notes the bins that rows had, for values that the node never showed (rf_unseen). */
__device__ static void rows_split(const struct rf_view *v, int t, const struct ml_forest_node *node,
                                  struct node_state *s)
{
    int64_t at = t * v->rows + node->from;
    const int32_t *rows = v->list[node->buffer] + at;
    const int64_t *words = v->word[node->buffer] + at;
    int32_t *to = v->list[!node->buffer] + at;
    int64_t *to_words = v->word[!node->buffer] + at;

    for (int from = 0; from < node->rows; from += (int)blockDim.x) {
        int i = from + (int)threadIdx.x, is_here = i < node->rows;
        int32_t row = is_here ? rows[i] : 0;
        unsigned bin = v->bins[row * v->stride + s->best.col];
        int left = is_here && goes_left(&s->best, bin);
        if (is_here && (s->best.is_set || bin == RF_MISSING))
            atomicOr(&s->bins[bin / 32], 1u << (bin % 32));
        unsigned l = block_place(left, &s->n_left), r = block_place(is_here && !left, &s->n_right);
        unsigned place = left ? l : (unsigned)node->rows - 1 - r;
        if (is_here) {
            to[place] = row;
            to_words[place] = words[i];
        }
    }
}

/* One thread: the children, and their places in the next queue. */
__device__ static void kids_make(const struct rf_view *v, int t, int level, int at,
                                 const struct node_state *s)
{
    struct ml_forest_node *nodes = v->nodes + t * v->node_cap, *node = &nodes[at];
    int left = atomicAdd(&v->trees[t].n_nodes, 2);
    int place = atomicAdd(&v->count[level + 1], 2);
    uint64_t seen[4];

    node->left = left;
    node->col = s->best.col;
    node->bin = s->best.bin;
    node->is_set = s->best.is_set;
    for (int k = 0; k < 4; k++) {
        node->set[k] = s->best.set[k];
        seen[k] = s->bins[2 * k] | (uint64_t)s->bins[2 * k + 1] << 32;
    }
    node->missing_left = rf_unseen(seen, v->n_bins[s->best.col],
                                   rf_unseen_left(node->key, (int32_t)s->n_left, node->rows),
                                   s->best.missing_left, node->is_set ? node->set : (uint64_t *)0);
    node->gain = (float)((s->best.score - own_score(v, s)) / (double)v->trees[t].weight);
    for (int side = 0; side < 2; side++) {
        struct ml_forest_node kid = {};
        kid.key = rf_mix(node->key, ~(uint64_t)side);
        kid.rows = (int32_t)(side ? s->n_right : s->n_left);
        kid.from = side ? node->from + (int32_t)s->n_left : node->from;
        kid.depth = node->depth + 1;
        kid.buffer = !node->buffer;
        nodes[left + side] = kid;
        v->queue[(level + 1) & 1][place + side].tree = t;
        v->queue[(level + 1) & 1][place + side].node = left + side;
    }
}

/* All threads of a block: one open node, from its totals to its two children. A block per node
 * suits both ends of a tree: near the root the warps share the many rows by columns, and far down
 * thousands of nodes keep all multiprocessors busy. The barriers separate what one thread writes
 * into *s from what all read. */
__device__ static void node_grow(const struct rf_view *v, int level, struct rf_open open,
                                 struct rf_area *a, struct rf_found *found, int *drawn,
                                 struct node_state *s)
{
    struct ml_forest_node *node = &v->nodes[open.tree * v->node_cap + open.node];
    int64_t at = open.tree * v->rows + node->from;
    struct rf_node_view nd = {
        v,         v->list[node->buffer] + at, v->word[node->buffer] + at, s->total, 0, node->key,
        node->rows
    };

    for (int k = (int)threadIdx.x; k < ML_FOREST_CLASSES; k += (int)blockDim.x)
        s->total[k] = 0;
    if (threadIdx.x == 0) {
        s->weight = 0;
        s->n_differ = 0;
    }
    __syncthreads();
    totals_add(&nd, s);
    __syncthreads();
    if (threadIdx.x == 0)
        value_take(v, node, v->values + (open.tree * v->node_cap + open.node) * v->outputs, s);
    __syncthreads();
    nd.weight = s->weight;
    if (!s->is_leaf) {
        split_find(&nd, a, found, drawn, s);
        __syncthreads();
    }
    if (!s->is_leaf && s->is_found) {
        rows_split(v, open.tree, node, s);
        __syncthreads();
        if (threadIdx.x == 0)
            kids_make(v, open.tree, level, open.node, s);
    }
    __syncthreads();
}

/* Lays out a warp's part of the block's dynamic shared memory (cuda_forest_area bytes): the arrays
 * of 8-byte words first, so that all are aligned. */
__device__ static struct rf_area area_of(const struct rf_view *v, unsigned char *memory)
{
    struct rf_area a = {};
    unsigned char *at = memory + (threadIdx.x / 32) * cuda_forest_area(v);

    if (v->kind == RF_NUMBER) {
        a.sum = (long long *)at;
        at += RF_BINS * sizeof(*a.sum);
    }
    if (v->has_categorical) {
        a.order = (double *)at;
        at += RF_BINS * sizeof(*a.order);
        a.level_of = (int *)at;
        at += RF_BINS * sizeof(*a.level_of);
    }
    a.count = (unsigned *)at;
    return a;
}

/* Grows the open nodes of one level of all trees: a block takes every gridDim.x-th of them, and
 * puts their children into the other queue. The launch bound asks for two blocks to a
 * multiprocessor, on the assumption that spilled registers cost less than idle warps: the kernel was
 * timed on an H100, but not without the bound. */
__global__ void __launch_bounds__(32 * RF_WARPS, 2) level_kernel(struct rf_view v, int level)
{
    DYN_SHARED(unsigned char, memory);
    __shared__ struct node_state s;
    __shared__ struct rf_found found[RF_WARPS];
    __shared__ int drawn;
    struct rf_area a = area_of(&v, memory);
    int n = v.count[level];

    for (int i = (int)blockIdx.x; i < n; i += (int)gridDim.x)
        node_grow(&v, level, v.queue[level & 1][i], &a, found, &drawn, &s);
}

/* After it, each tree has the list of its rows and its root, and queue 0 holds the roots. The
 * number of blocks is limited to 16 for each multiprocessor over all trees; their loops take the
 * rest. */
extern "C" int cuda_forest_start(struct ml_ctx *c, const struct rf_view *v, struct err *err)
{
    unsigned trees = (unsigned)v->n_trees;
    int64_t most = 16LL * c->multiprocessors / v->n_trees, want = (v->rows + 255) / 256;
    unsigned blocks = (unsigned)(want < 1 ? 1 : most < 1 ? 1 : want < most ? want : most);

    if (cuda_try(cudaMemsetAsync(v->count, 0, (RF_LEVELS + 2) * sizeof(*v->count), c->stream),
                 err) < 0 ||
        cuda_try(cudaMemsetAsync(v->trees, 0, trees * sizeof(*v->trees), c->stream), err) < 0)
        return -1;
    LAUNCH(rows_kernel, dim3(blocks, trees), 256, 0, c->stream, *v);
    LAUNCH(roots_kernel, (trees + 31) / 32, 32, 0, c->stream, *v);
    LAUNCH(perm_kernel, (unsigned)v->blocks, 64, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}

/* Always launches v->blocks blocks, because the host does not know how many nodes are open; those
 * without one end at once. */
extern "C" int cuda_forest_level(struct ml_ctx *c, const struct rf_view *v, int level,
                                 struct err *err)
{
    LAUNCH(level_kernel, (unsigned)v->blocks, (unsigned)(32 * v->warps),
           (size_t)v->warps * cuda_forest_area(v), c->stream, *v, level);
    return cuda_try(cudaGetLastError(), err);
}
