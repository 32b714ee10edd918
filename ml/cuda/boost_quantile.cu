/* boost_quantile.cu - exact quantiles of residuals (target - score), for every leaf of every tree
 * at once. They are the leaf values of the quantile loss, and half of those of Huber's loss.
 *
 * Radix selection, as in ml_quantile (ml/math/sort.h): a residual becomes a 32-bit key of the same
 * order, and the key of the wanted rank is found in four passes of one byte ("digit") each, the
 * highest first. In a pass, digits_kernel counts, by leaf, the digits of the rows whose higher
 * digits are those found so far; then choose_kernel finds the digit that the rank falls into, one
 * warp a leaf. Counting needs no sorting of rows and does not depend on their order, so the result
 * is the CPU's bit for bit.
 *
 * The same kernels, with of_lane = 1, find the bound of Huber's loss: a quantile of the absolute
 * residuals of all training rows of a lane. units_kernel adds what Huber's loss adds to a leaf's
 * median. Only for targets of numbers, where each lane has one tree, so t is both. */
#include "ml/cuda/gpu.h"

#include "ml/cuda/boost.h"

/* LANE_DIGITS: digits that one lane of a warp looks at. NEAR_BYTES: up to here the counts of a tree
 * are kept in shared memory; a leaf's take 1 KiB, so that is 32 nodes. */
enum { DIGITS = 256, LANE_DIGITS = DIGITS / 32, PASSES = 4, NEAR_BYTES = 32 << 10 };
/* the mask of all lanes of a warp */
#define ALL 0xffffffffu

/* Whether tree t has anything to select: absolute residuals of the lane for Huber's loss (of_lane =
 * 1), or residuals of leaves for the quantile and Huber losses (of_lane = 0). */
__device__ static int takes_part(const struct boost_view *v, int t, int of_lane)
{
    enum ml_boost_loss loss = v->rules[t].in.loss;

    return !boost_sits_out(v, t) &&
           (loss == ML_BOOST_HUBER || (!of_lane && loss == ML_BOOST_QUANTILE));
}

/* Item i of what tree t selects from. Returns the number of its leaf, or 0 for the lane, and its
 * key; -1 where the row is not among the rows of the tree, which have h > 0. */
__device__ static int item_of(const struct boost_view *v, int t, int64_t i, int of_lane,
                              uint32_t *key)
{
    int64_t row = of_lane ? v->train[t * v->n_train_most + i] : i, at = t * v->rows + row;
    float e = v->y[at] - v->f[at];

    if (of_lane) {
        *key = ml_key_f32(e < 0.0f ? -e : e);
        return 0;
    }
    *key = ml_key_f32(e);
    return v->h[at] > 0.0f ? v->leaf[at] : -1;
}

/* How many items tree t selects from; 0 where it takes no part. */
__device__ static int64_t items(const struct boost_view *v, int t, int of_lane)
{
    if (!takes_part(v, t, of_lane))
        return 0;
    return of_lane ? v->n_train[t] : v->rows;
}

/* How many ranks are looked for: one for each node of the tree, of which only leaves have items; or
 * one for the lane. */
__device__ static int leaves(const struct boost_view *v, int t, int of_lane)
{
    return !takes_part(v, t, of_lane) ? 0 : of_lane ? 1 : v->trees[t].n_order;
}

/* Counts the digits of pass number `pass`, bits 24 - 8 pass and up, among the items whose higher
 * digits are the ones chosen so far. blockIdx.y is the tree; a thread takes every step-th item.
 * With is_near a block counts in shared memory first, because atomic additions are fast there, and
 * then adds its counts to v.digits. */
__global__ void digits_kernel(struct boost_view v, int pass, int of_lane, int is_near)
{
    DYN_SHARED(unsigned, near); /* [leaves][256] */
    int t = (int)blockIdx.y, shift = 24 - 8 * pass, n = leaves(&v, t, of_lane) * DIGITS;
    const struct boost_pick *picks = v.picks + (int64_t)t * v.out_cap;
    unsigned *far = v.digits + (int64_t)t * v.out_cap * DIGITS, *to = is_near ? near : far;
    int64_t step = (int64_t)gridDim.x * blockDim.x, end = items(&v, t, of_lane);

    for (int i = (int)threadIdx.x; i < n && is_near; i += (int)blockDim.x)
        near[i] = 0;
    __syncthreads();
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < end; i += step) {
        uint32_t key;
        int leaf = item_of(&v, t, i, of_lane, &key);
        if (leaf >= 0 &&
            (pass == 0 || (uint32_t)((uint64_t)key >> (shift + 8)) == picks[leaf].prefix))
            atomicAdd(&to[leaf * DIGITS + (int)(key >> shift & 255)], 1u);
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < n && is_near; i += (int)blockDim.x) {
        if (near[i] != 0)
            atomicAdd(&far[i], near[i]);
    }
}

/* The sum of `own` over the lanes with a smaller number, and in *all that over all lanes. */
__device__ static unsigned count_below(unsigned own, unsigned *all)
{
    int lane = (int)threadIdx.x % 32;
    unsigned sum = own;

    for (int d = 1; d < 32; d <<= 1) {
        unsigned other = __shfl_sync(ALL, sum, lane - d);
        if (lane >= d)
            sum += other;
    }
    *all = __shfl_sync(ALL, sum, 31);
    return sum - own;
}

/* The rank of a quantile: alpha (n - 1), split into a whole rank and the share of the way to the
 * next value. */
__device__ static void pick_start(struct boost_pick *p, unsigned n, double alpha)
{
    double at = n > 0 ? alpha * (double)(n - 1) : 0.0;

    p->n = n;
    p->rank = (int64_t)at;
    p->share = at - (double)p->rank;
    p->prefix = 0;
    p->next = 0xffffffffu;
    p->wants_next = 0;
    p->units = 0;
}

/* One lane: the rank falls among its eight digits. Appends the digit to the prefix, and makes the
 * rank one among the items that are left. below: items with smaller digits than the lane's. After
 * the last pass the prefix is the key; where all left items are equal to it and the rank is the
 * last of them, interpolation needs the next larger key too. */
__device__ static void pick_digit(struct boost_pick *p, const unsigned counts[LANE_DIGITS],
                                  int64_t below, int is_last)
{
    int i = 0;

    while (i + 1 < LANE_DIGITS && p->rank >= below + counts[i])
        below += counts[i++];
    p->rank -= below;
    p->left = counts[i];
    p->prefix = p->prefix << 8 | (uint32_t)((int)threadIdx.x % 32 * LANE_DIGITS + i);
    p->wants_next = is_last && p->share > 0.0 && p->rank + 1 >= p->left;
}

/* A warp per leaf: finds the digit that its rank falls into; each lane has eight of the 256 counts.
 * The first pass also sets the rank, because only then the number of items is known. alpha: the
 * quantile that is wanted, 0.5 for the median of Huber's leaves. Leaves the counts at zero for the
 * next pass. Exactly one lane finds the rank among its digits, and it writes the pick; a leaf
 * without items is written by lane 0. */
__global__ void choose_kernel(struct boost_view v, int pass, int of_lane)
{
    int t = (int)blockIdx.y, n = leaves(&v, t, of_lane), lane = (int)threadIdx.x % 32;
    const struct ml_boost_rule *in = &v.rules[t].in;
    double alpha = of_lane || in->loss == ML_BOOST_QUANTILE ? in->alpha : 0.5;
    int step = (int)(gridDim.x * (blockDim.x / 32));

    for (int o = (int)(blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32); o < n; o += step) {
        struct boost_pick *to = &v.picks[(int64_t)t * v.out_cap + o], p = { 0 };
        unsigned *digits = v.digits + ((int64_t)t * v.out_cap + o) * DIGITS + lane * LANE_DIGITS;
        unsigned counts[LANE_DIGITS], own = 0, all;
        for (int i = 0; i < LANE_DIGITS; i++) {
            counts[i] = digits[i];
            own += counts[i];
            digits[i] = 0;
        }
        int64_t below = count_below(own, &all);
        if (pass == 0) /* nothing was stored yet */
            pick_start(&p, all, alpha);
        else
            p = *to;
        /* all lanes have read the pick */
        __syncwarp(ALL);
        if (p.n == 0 && lane == 0)
            *to = p;
        if (p.rank >= below && p.rank < below + own) {
            pick_digit(&p, counts, below, pass == PASSES - 1);
            *to = p;
        }
    }
}

/* The least key above the one that was picked, for the leaves that want it (pick_digit). A thread
 * per item; atomicMin does not depend on their order. */
__global__ void next_kernel(struct boost_view v, int of_lane)
{
    int t = (int)blockIdx.y;
    struct boost_pick *picks = v.picks + (int64_t)t * v.out_cap;
    int64_t step = (int64_t)gridDim.x * blockDim.x, end = items(&v, t, of_lane);

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < end; i += step) {
        uint32_t key;
        int leaf = item_of(&v, t, i, of_lane, &key);
        if (leaf >= 0 && picks[leaf].wants_next && key > picks[leaf].prefix)
            atomicMin(&picks[leaf].next, key);
    }
}

/* Stores the bound of Huber's loss for this round's gradients, in units of the target; a thread per
 * lane. */
__global__ void far_kernel(struct boost_view v)
{
    int t = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (t < v.n_trees && takes_part(&v, t, 1))
        v.far[t] = boost_pick_value(&v.picks[(int64_t)t * v.out_cap]);
}

/* For Huber's loss: adds up, by leaf, how far each residual is from the leaf's median, cut at
 * plus or minus the bound, in whole units of bound / 2^31 (huber_units, ml/math/tree_math.h), so
 * that the order of rows does not matter. The leaf's value is then the median plus the mean of
 * these, as Friedman (2001, algorithm 4) has it. */
__global__ void units_kernel(struct boost_view v)
{
    int t = (int)blockIdx.y;
    struct boost_pick *picks = v.picks + (int64_t)t * v.out_cap;
    int64_t step = (int64_t)gridDim.x * blockDim.x, at = t * v.rows;
    int64_t end = takes_part(&v, t, 1) ? v.rows : 0;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < end; i += step) {
        if (!(v.h[at + i] > 0.0f))
            continue;
        struct boost_pick *p = &picks[v.leaf[at + i]];
        double e = (double)(v.y[at + i] - v.f[at + i]) - (double)boost_pick_value(p);
        atomicAdd((unsigned long long *)&p->units,
                  (unsigned long long)huber_units(e, (double)v.far[t]));
    }
}

/* Queues four passes of a byte each, then the search for the next larger key. v->digits is zero
 * before and after. Warps of choose_kernel: four to a block of 128 threads. */
static void select_all(struct ml_ctx *c, const struct boost_view *v, int of_lane)
{
    unsigned threads = (unsigned)v->in.threads, trees = (unsigned)v->n_trees;
    unsigned rows = boost_blocks(c, of_lane ? v->n_train_most : v->rows, threads, v->n_trees);
    unsigned warps = boost_blocks(c, of_lane ? 1 : v->out_cap, 4, v->n_trees);
    size_t bytes = (size_t)(of_lane ? 1 : v->out_cap) * DIGITS * sizeof(*v->digits);
    int is_near = bytes <= NEAR_BYTES;

    for (int pass = 0; pass < PASSES; pass++) {
        LAUNCH(digits_kernel, dim3(rows, trees), threads, is_near ? bytes : 0, c->stream, *v, pass,
               of_lane, is_near);
        LAUNCH(choose_kernel, dim3(warps, trees), 128, 0, c->stream, *v, pass, of_lane);
    }
    LAUNCH(next_kernel, dim3(rows, trees), threads, 0, c->stream, *v, of_lane);
}

/* After it, v->far holds the bound of Huber's loss of each lane that has this loss. */
extern "C" int cuda_boost_far(struct ml_ctx *c, const struct boost_view *v, struct err *err)
{
    select_all(c, v, 1);
    LAUNCH(far_kernel, ((unsigned)v->n_trees + 31) / 32, 32, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}

/* After it, v->picks holds the median or quantile of each leaf. v->leaf must be known (walk_kernel,
 * boost_leaf.cu). */
extern "C" int cuda_boost_leaf_picks(struct ml_ctx *c, const struct boost_view *v, struct err *err)
{
    unsigned threads = (unsigned)v->in.threads;

    select_all(c, v, 0);
    if (v->n_of_loss[ML_BOOST_HUBER] > 0)
        LAUNCH(units_kernel,
               dim3(boost_blocks(c, v->rows, threads, v->n_trees), (unsigned)v->n_trees), threads,
               0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}
