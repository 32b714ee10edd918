/* boost_rows.cu - which rows a node has.
 *
 * The root of a tree has those training rows of its lane that the round's row sample drew and that
 * thinning kept. The other training rows get g = h = 0, so that later sums over all rows are sums
 * over the rows of the tree.
 *
 * A tree has two lists of row numbers, and a node's rows are a range of one of them (struct
 * boost_node: buffer, from, n). When a batch is split, the parent's rows are copied into the same
 * range of the other list: rows that go left from the front, the others from the back, at places
 * that atomic counters give out. So the order of rows inside a node differs from run to run; it
 * does not matter, because all sums over them are of whole numbers. */
#include "ml/cuda/gpu.h"

#include "base/rng.h"
#include "ml/cuda/boost.h"
#include "ml/cuda/place.h"

/* Whether the round's sample has the row: 32 random bits that depend only on the lane's seed, the
 * round and the row are at most row_limit = row_sample * 2^32. They are the bits that
 * ml/boost/boost_round.c uses, where one block of the generator serves four rows; 0x726f7773 spells
 * "rows" and keeps them apart from other draws. */
__device__ static int is_drawn(const struct boost_view *v, int lane, int32_t row)
{
    uint32_t u[4];

    rng_block(v->seed[lane], (uint32_t)v->round[lane], 0x726f7773u, (uint64_t)(row >> 2), u);
    return u[row & 3] <= v->rules[lane].row_limit;
}

/* Counts the rows that the round draws into n_picked, because root_rows_kernel ignores a sample of
 * fewer than two rows. blockIdx.y is the lane. Only lanes that sample rows are counted. */
__global__ void count_kernel(struct boost_view v)
{
    int lane = (int)blockIdx.y;
    const int32_t *train = v.train + lane * v.n_train_most;
    int64_t step = (int64_t)gridDim.x * blockDim.x, end = v.n_train[lane];
    unsigned n = 0;

    if (v.round[lane] < 0 || !(v.rules[lane].in.row_sample < 1.0))
        end = 0;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < end; i += step)
        n += (unsigned)is_drawn(&v, lane, train[i]);
    if (n > 0)
        atomicAdd(&v.n_picked[lane], n);
}

/* Clears the histogram in a slot; all blocks of the tree together, each its share. The sums are
 * added by a later kernel of the stream, so no barrier is needed between. */
__device__ static void slot_clear(const struct boost_view *v, int t, int slot)
{
    unsigned long long *cells = boost_slot(v, t, slot);
    int64_t n = (int64_t)boost_rule_of(v, t)->in.n_cols * BOOST_BINS;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * blockDim.x)
        cells[i] = 0;
}

/* Makes the list of the root's rows, their number and the packed sum of their gradients, and clears
 * the root's histogram. blockIdx.y is the tree. Where fewer than two rows were drawn, all training
 * rows are used. */
__global__ void root_rows_kernel(struct boost_view v)
{
    int t = (int)blockIdx.y, lane = t / v.in.outputs;
    int is_sampled = v.rules[lane].in.row_sample < 1.0 && v.n_picked[lane] >= 2;
    const int32_t *train = v.train + lane * v.n_train_most;
    int64_t n = v.round[lane] < 0 ? 0 : v.n_train[lane], at = t * v.rows,
            step = (int64_t)gridDim.x * blockDim.x;
    int64_t total = 0;

    if (n > 0)
        slot_clear(&v, t, 0);
    /* All threads of a block run the same number of turns, because block_place is called by whole
     * blocks; i < n says whether a thread has a row. */
    for (int64_t from = (int64_t)blockIdx.x * blockDim.x; from < n; from += step) {
        int64_t i = from + threadIdx.x;
        int32_t row = i < n ? train[i] : 0;
        int is_in = i < n;
        if (is_in && is_sampled)
            is_in = is_drawn(&v, lane, row);
        /* A thinned row has the word 0 (grad_thin_factor). */
        if (is_in && v.scale[3 * lane + 2] > 0.0f)
            is_in = v.q[at + row] != 0;
        if (i < n && !is_in) {
            v.g[at + row] = v.h[at + row] = 0.0f;
        }
        unsigned place = block_place(is_in, &v.trees[t].n_rows);
        if (is_in) {
            v.list[0][t * v.n_train_most + place] = row;
            total += hist_word(v.q[at + row]);
        }
    }
    for (int d = 16; d > 0; d >>= 1) {
        int64_t other = __shfl_xor_sync(0xffffffffu, total, d);
        total += other;
    }
    if (threadIdx.x % 32 == 0 && total != 0)
        atomicAdd((unsigned long long *)&v.trees[t].total, (unsigned long long)total);
}

/* Whether a row with this bin in the split's column goes left. Missing values are bin 255: with
 * `add` = 1 that wraps to 0 and goes left, with `add` = 0 it is above every threshold. */
__device__ static int goes_left(const struct boost_split *s, unsigned bin)
{
    if (s->is_categorical)
        return (int)(s->left_set[bin >> 6] >> (bin & 63) & 1);
    return ((bin + (unsigned)s->add) & 255u) <= (unsigned)(s->bin + s->add);
}

/* Divides the rows of each parent of the batch between its children, and clears the histograms of
 * the smaller children. blockIdx.y is the tree; a block takes every gridDim.x-th tile of part_rows
 * rows, of whatever entry. Rows that go left are placed from the front of the node's range, the
 * others from its end, so the counters n_left and n_right end as the children's numbers of rows.
 * All threads of a block go through the inner loop equally often, because block_place has
 * barriers. */
__global__ void partition_kernel(struct boost_view v)
{
    int t = (int)blockIdx.y, n_batch = v.trees[t].n_batch;
    const int32_t *tiles = v.part_tiles + (int64_t)t * (v.batch_cap + 1);
    struct boost_node *nodes = v.nodes + (int64_t)t * v.node_cap;
    const uint8_t *bins = boost_rule_of(&v, t)->bins;

    for (int at = 0; at < n_batch; at++)
        slot_clear(&v, t, v.batch[(int64_t)t * v.batch_cap + at].slot);
    for (int tile = (int)blockIdx.x; tile < tiles[n_batch]; tile += (int)gridDim.x) {
        int at = boost_entry_of(tiles, n_batch, tile);
        struct boost_entry *e = &v.batch[(int64_t)t * v.batch_cap + at];
        const struct boost_node *nd = &nodes[e->parent];
        const int32_t *from = v.list[nd->buffer] + t * v.n_train_most + nd->from;
        int32_t *to = v.list[!nd->buffer] + t * v.n_train_most + nd->from;
        int first = (tile - tiles[at]) * v.part_rows, end = first + v.part_rows;
        end = end < nd->n ? end : nd->n;
        for (int i = first; i < end; i += (int)blockDim.x) {
            int k = i + (int)threadIdx.x, is_here = k < end;
            int32_t row = is_here ? from[k] : 0;
            int left = is_here && goes_left(&nd->best, bins[row * v.stride + nd->best.col]);
            unsigned l = block_place(left, &e->n_left);
            unsigned r = block_place(is_here && !left, &e->n_right);
            if (is_here)
                to[left ? l : (unsigned)nd->n - 1 - r] = row;
        }
    }
}

/* Whether a child may be split at all, as far as its depth and number of rows tell: each child of a
 * split must have min_leaf rows. Only such a child is scanned. */
__device__ static int may_split(const struct ml_boost_rule *in, const struct boost_node *nd)
{
    return nd->depth < in->depth && nd->n >= 2 * in->min_leaf && nd->n >= 2;
}

/* The numbers of rows of an entry's children are known now. The smaller child's histogram is summed
 * from its rows into the entry's slot; the larger child's is got by subtraction in the parent's
 * slot, which saves at least half of the additions. Of equal children the left one is summed. The
 * children of the split that ends the tree stay leaves and need no scan. */
__device__ static void kids_of(const struct ml_boost_rule *in, struct boost_node *nodes,
                               struct boost_entry *e)
{
    struct boost_node *nd = &nodes[e->parent], *l = &nodes[nd->kid[0]], *r = &nodes[nd->kid[1]];

    l->from = nd->from;
    l->n = (int32_t)e->n_left;
    r->from = nd->from + l->n;
    r->n = nd->n - l->n;
    int is_left_small = l->n <= r->n;
    struct boost_node *small = is_left_small ? l : r, *big = is_left_small ? r : l;
    e->small = nd->kid[!is_left_small];
    e->big = nd->kid[is_left_small];
    e->want = 0;
    if (!e->is_last && may_split(in, small))
        e->want |= WANT_SMALL;
    if (!e->is_last && may_split(in, big))
        e->want |= WANT_BIG;
    small->slot = e->slot;
    big->slot = nd->slot;
}

/* A block per tree: completes the entries of its batch, and numbers the tiles of hist_rows rows
 * through all its smaller children for boost_hist_kernel. One thread makes the running counts,
 * because a batch has few entries (at most 512). */
__global__ void kids_kernel(struct boost_view v)
{
    int t = (int)blockIdx.x, n_batch = v.trees[t].n_batch;
    struct boost_node *nodes = v.nodes + (int64_t)t * v.node_cap;
    int32_t *tiles = v.hist_tiles + (int64_t)t * (v.batch_cap + 1);

    for (int at = (int)threadIdx.x; at < n_batch; at += (int)blockDim.x) {
        struct boost_entry *e = &v.batch[(int64_t)t * v.batch_cap + at];
        if (e->parent >= 0)
            kids_of(&boost_rule_of(&v, t)->in, nodes, e);
        tiles[at + 1] = e->want ? (nodes[e->small].n + v.hist_rows - 1) / v.hist_rows : 0;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        tiles[0] = 0;
        for (int at = 0; at < n_batch; at++)
            tiles[at + 1] += tiles[at];
    }
}

/* Begins the trees of a round: after it, list 0 of every tree holds the rows of its root. */
extern "C" int cuda_boost_rows(struct ml_ctx *c, const struct boost_view *v, struct err *err)
{
    unsigned threads = (unsigned)v->in.threads,
             blocks = boost_blocks(c, v->n_train_most, threads, v->n_trees);

    if (v->is_sampled)
        LAUNCH(count_kernel, dim3(blocks, (unsigned)v->in.n_lanes), threads, 0, c->stream, *v);
    LAUNCH(root_rows_kernel, dim3(blocks, (unsigned)v->n_trees), threads, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}

/* Divides the rows of the batch that select_kernel (boost_grow.cu) chose. kids_kernel takes 128
 * threads a block, because it has one thread's work for each entry. */
extern "C" int cuda_boost_partition(struct ml_ctx *c, const struct boost_view *v, struct err *err)
{
    unsigned threads = (unsigned)v->in.threads, trees = (unsigned)v->n_trees;

    LAUNCH(partition_kernel,
           dim3(boost_blocks(c, v->n_train_most, v->part_rows, v->n_trees), trees), threads, 0,
           c->stream, *v);
    LAUNCH(kids_kernel, trees, 128, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}
