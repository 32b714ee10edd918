/* boost_scan.cu - histograms of the children of a batch, and their best splits.
 *
 * Histograms as in hist.cu: a block per group of columns and tile of rows adds up 32-bit sums in
 * shared memory and adds them to the smaller child's slot. Scan: a warp per (entry, column) makes
 * the larger child's histogram from its parent's, in place, and finds the best split of both, eight
 * bins a lane. Scores and ties (score, then column, then missing values to the right, then bin) are
 * those of ml/cpu/scan.c. */
#include "ml/cuda/gpu.h"

#include "base/rng.h"
#include "ml/cuda/boost.h"

enum { LANE_BINS = BOOST_BINS / 32, PER_WARP = BOOST_BINS };
#define ALL 0xffffffffu

/* What a block adds up: some columns of the tree, and whether they stand side by side, so that one
 * load fetches the bins of all of them. */
struct hist_group {
    const uint8_t *bins;
    int64_t stride;
    const int32_t *cols;
    int width, is_side_by_side;
};

/* Sixteen columns that begin at a multiple of sixteen, in rows of a multiple of sixteen bytes: one
 * aligned 16-byte load has all their bins. */
__device__ static int is_side_by_side(const struct hist_group *k)
{
    return k->width == BOOST_GROUP && k->stride % BOOST_GROUP == 0 &&
           k->cols[0] % BOOST_GROUP == 0 &&
           k->cols[BOOST_GROUP - 1] == k->cols[0] + BOOST_GROUP - 1;
}

/* Adds one row to the sums of all columns of the group. */
__device__ static void row_add(const struct hist_group *k, int32_t row, uint32_t word, int *sums)
{
    const uint8_t *b = k->bins + row * k->stride;
    int g = (int)(int16_t)(word >> 16), h = (int)(word & 0xffffu), cells = k->width * BOOST_BINS;

    if (k->is_side_by_side) {
        uint4 all = *(const uint4 *)(b + k->cols[0]);
        const unsigned four[4] = { all.x, all.y, all.z, all.w };
        for (int j = 0; j < BOOST_GROUP; j++) {
            int cell = j * BOOST_BINS + (int)(four[j / 4] >> 8 * (j % 4) & 255u);
            atomicAdd(&sums[cell], g);
            atomicAdd(&sums[BOOST_GROUP * BOOST_BINS + cell], h);
        }
        return;
    }
    for (int j = 0; j < k->width; j++) {
        int cell = j * BOOST_BINS + b[k->cols[j]];
        atomicAdd(&sums[cell], g);
        atomicAdd(&sums[cells + cell], h);
    }
}

/* One tile: sums in [2][width][256] words of shared memory, then to `out`. All threads of the block
 * take part. */
__device__ static void hist_tile(const struct hist_group *k, const int32_t *rows, int n,
                                 const uint32_t *q, int *sums, unsigned long long *out)
{
    int cells = k->width * BOOST_BINS;

    for (int i = (int)threadIdx.x; i < 2 * cells; i += (int)blockDim.x)
        sums[i] = 0;
    __syncthreads();
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        row_add(k, rows[i], q[rows[i]], sums);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < cells; i += (int)blockDim.x) {
        long long g = sums[i], h = sums[cells + i];
        if (g != 0 || h != 0)
            atomicAdd(&out[i], (unsigned long long)(g * 4294967296LL + h));
    }
    __syncthreads();
}

/* blockIdx: column group, tile, tree. Only the smaller child of each entry is summed. */
__global__ void boost_hist_kernel(struct boost_view v)
{
    DYN_SHARED(int, sums);
    int t = (int)blockIdx.z, first = (int)blockIdx.x * BOOST_GROUP;
    const struct boost_rule *rule = boost_rule_of(&v, t);
    int width = rule->in.n_cols - first < BOOST_GROUP ? rule->in.n_cols - first : BOOST_GROUP;
    int n_batch = width > 0 ? v.trees[t].n_batch : 0;
    const int32_t *tiles = v.hist_tiles + (int64_t)t * (v.batch_cap + 1);
    struct hist_group k = { rule->bins, v.stride, v.cols + (int64_t)t * v.cols_most + first, width,
                            0 };
    int n_tiles = n_batch > 0 ? tiles[n_batch] : 0;

    k.is_side_by_side = is_side_by_side(&k);
    for (int tile = (int)blockIdx.y; tile < n_tiles; tile += (int)gridDim.y) {
        int at = boost_entry_of(tiles, n_batch, tile);
        const struct boost_entry *e = &v.batch[(int64_t)t * v.batch_cap + at];
        const struct boost_node *nd = &v.nodes[(int64_t)t * v.node_cap + e->small];
        int from = (tile - tiles[at]) * v.hist_rows;
        int n = nd->n - from < v.hist_rows ? nd->n - from : v.hist_rows;
        hist_tile(&k, v.list[nd->buffer] + t * v.n_train_most + nd->from + from, n,
                  v.q + t * v.rows, sums,
                  boost_slot(&v, t, nd->slot) + (int64_t)first * BOOST_BINS);
    }
}

/* ---- the best split of a column, by one warp ---- */

struct node_rule {
    struct scan_node node;
    struct scan_bounds bounds; /* where is_bounded */
    int is_bounded;
};

/* The CPU's score of a pair of children (ml/math/tree_math.h), with bounds where there are
 * constraints. */
__device__ static double pair_score(const struct node_rule *r, int64_t left, double l2)
{
    return r->is_bounded ? scan_bounded_score(&r->node, &r->bounds, left, l2)
                         : scan_score(&r->node, left, l2);
}

struct pick {
    double score;
    /* the place, in the order of ties */
    int at;
};

/* The best of the warp; of equal scores the earlier place. */
__device__ static struct pick pick_of_warp(struct pick p)
{
    for (int d = 16; d > 0; d >>= 1) {
        double score = __shfl_xor_sync(ALL, p.score, d);
        int at = __shfl_xor_sync(ALL, p.at, d);
        if (score > p.score || (score == p.score && at < p.at)) {
            p.score = score;
            p.at = at;
        }
    }
    return p;
}

/* Keeps the better of two candidates; of equal scores the earlier place. */
__device__ static void offer(struct pick *p, double score, int at)
{
    if (score > p->score || (score == p->score && at < p->at)) {
        p->score = score;
        p->at = at;
    }
}

/* The sum over the lanes below. */
__device__ static int64_t sum_below(int64_t own)
{
    int lane = (int)threadIdx.x % 32;
    int64_t sum = own;

    for (int d = 1; d < 32; d <<= 1) {
        int64_t other = __shfl_sync(ALL, sum, lane - d);
        if (lane >= d)
            sum += other;
    }
    return sum - own;
}

/* The running sum up to `bin`, which one of the lanes has. */
__device__ static int64_t sum_at(const int64_t *sums, int bin)
{
    int64_t mine = sums[bin % LANE_BINS];

    return __shfl_sync(ALL, mine, bin / LANE_BINS);
}

/* Places are numbered bin + 256 * (missing values go left): a smaller bin wins a tie, and missing
 * values to the right win over the left. */
__device__ static void numeric_done(const struct scan_node *nd, struct pick p, int64_t left,
                                    int has_missing, struct boost_split *s)
{
    s->score = p.score;
    s->bin = p.at & (BOOST_BINS - 1);
    s->add = has_missing ? p.at >> 8 : scan_is_left_heavy(nd, left);
    s->is_categorical = 0;
    s->left = left;
}

/* words: the lane's eight bins, in order. */
__device__ static void scan_numeric(const struct node_rule *r, const int64_t *words, int n_bins,
                                    struct boost_split *s)
{
    int lane = (int)threadIdx.x % 32;
    int64_t sums[LANE_BINS], run = 0, missing = __shfl_sync(ALL, words[LANE_BINS - 1], 31);
    int n = missing ? n_bins : n_bins - 1;
    struct pick p = { -1.0, 0x7fffffff };

    for (int i = 0; i < LANE_BINS; i++) {
        run += lane * LANE_BINS + i < n_bins ? words[i] : 0;
        sums[i] = run;
    }
    int64_t below = sum_below(run);
    for (int i = 0; i < LANE_BINS; i++) {
        int bin = lane * LANE_BINS + i;
        sums[i] += below;
        if (bin < n) {
            offer(&p, pair_score(r, sums[i], r->node.l2), bin);
            if (missing)
                offer(&p, pair_score(r, sums[i] + missing, r->node.l2), BOOST_BINS + bin);
        }
    }
    p = pick_of_warp(p);
    if (p.score > -1.0) {
        int64_t left = sum_at(sums, p.at & (BOOST_BINS - 1));
        left += p.at >> 8 ? missing : 0;
        numeric_done(&r->node, p, left, missing != 0, s);
    }
}

/* The lowest and the highest bin that holds rows; lo = 256 when none does. */
__device__ static void span_of(const int64_t *words, int n_bins, int *lo, int *hi)
{
    int lane = (int)threadIdx.x % 32;

    *lo = BOOST_BINS;
    *hi = -1;
    for (int i = 0; i < LANE_BINS; i++) {
        int bin = lane * LANE_BINS + i;
        if (bin < n_bins && words[i] != 0) {
            *lo = *lo < bin ? *lo : bin;
            *hi = bin;
        }
    }
    for (int d = 16; d > 0; d >>= 1) {
        int a = __shfl_xor_sync(ALL, *lo, d), b = __shfl_xor_sync(ALL, *hi, d);
        *lo = a < *lo ? a : *lo;
        *hi = b > *hi ? b : *hi;
    }
}

/* The packed sum of the bins up to `last`, known to all lanes. */
__device__ static int64_t sum_to(const int64_t *words, int last)
{
    int lane = (int)threadIdx.x % 32;
    int64_t sum = 0;

    for (int i = 0; i < LANE_BINS; i++)
        sum += lane * LANE_BINS + i <= last ? words[i] : 0;
    for (int d = 16; d > 0; d >>= 1) {
        int64_t other = __shfl_xor_sync(ALL, sum, d);
        sum += other;
    }
    return sum;
}

/* One random threshold. All lanes take the same way, except within the sums. */
__device__ static void scan_random(const struct node_rule *r, const int64_t *words, int n_bins,
                                   uint32_t u, struct boost_split *s)
{
    int lo, hi;
    int64_t missing = __shfl_sync(ALL, words[LANE_BINS - 1], 31);
    struct pick p = { -1.0, 0x7fffffff };

    span_of(words, n_bins, &lo, &hi);
    int is_one = lo >= hi, is_none = is_one && (!missing || lo >= n_bins);
    int cut = is_one ? lo : lo + (int)((uint64_t)u * (uint64_t)(hi - lo) >> 32);
    int64_t left = sum_to(words, cut < n_bins ? cut : n_bins - 1);
    if (is_none)
        return;
    if (is_one)
        left = r->node.total - missing;
    offer(&p, pair_score(r, left, r->node.l2), cut);
    if (missing && !is_one)
        offer(&p, pair_score(r, left + missing, r->node.l2), BOOST_BINS + cut);
    if (p.score > -1.0) {
        left += p.at >> 8 ? missing : 0;
        numeric_done(&r->node, p, left, missing != 0, s);
    }
}

/* Shared memory of a warp: levels in the order of g / h. */
struct levels {
    double ratio[BOOST_BINS];
    int64_t word[BOOST_BINS];
    int rank[BOOST_BINS];
};

/* Ranks of the levels that occur; of equal ratios the smaller bin comes first, missing (255) last.
 * Returns how many there are. */
__device__ static int rank_levels(const struct scan_node *nd, const int64_t *words, int n_bins,
                                  struct levels *lv)
{
    int lane = (int)threadIdx.x % 32, n = 0;

    /* the column before is no longer read */
    __syncwarp(ALL);
    for (int i = 0; i < LANE_BINS; i++) {
        int bin = lane * LANE_BINS + i;
        int is_here = (bin < n_bins || bin == BOOST_MISSING) && words[i] != 0;
        lv->rank[bin] = is_here ? 0 : -1;
        lv->ratio[bin] = hist_g(words[i]) / (hist_h(words[i]) + nd->cat_smooth);
        n += is_here;
    }
    __syncwarp(ALL);
    for (int i = 0; i < LANE_BINS; i++) {
        int bin = lane * LANE_BINS + i, rank = 0;
        double own = lv->ratio[bin];
        for (int b = 0; b < BOOST_BINS && lv->rank[bin] >= 0; b++)
            rank += lv->rank[b] >= 0 && (lv->ratio[b] < own || (lv->ratio[b] == own && b < bin));
        if (lv->rank[bin] >= 0)
            lv->word[rank] = words[i];
        __syncwarp(ALL);
        if (lv->rank[bin] >= 0)
            lv->rank[bin] = rank;
        __syncwarp(ALL);
    }
    for (int d = 16; d > 0; d >>= 1) {
        int other = __shfl_xor_sync(ALL, n, d);
        n += other;
    }
    return n;
}

/* The set of the levels of rank from to to - 1. Levels that the node lacks go with the heavier
 * child. */
__device__ static void set_done(const struct scan_node *nd, const struct levels *lv, int from,
                                int to, struct boost_split *s)
{
    int lane = (int)threadIdx.x % 32, heavy = scan_is_left_heavy(nd, s->left);
    unsigned byte = 0;

    for (int i = 0; i < LANE_BINS; i++) {
        int rank = lv->rank[lane * LANE_BINS + i];
        int is_left = rank < 0 ? heavy : rank >= from && rank < to;
        byte |= (unsigned)is_left << i;
    }
    for (int k = 0; k < 4; k++) {
        uint64_t word = lane / 8 == k ? (uint64_t)byte << (8 * (lane % 8)) : 0;
        for (int d = 16; d > 0; d >>= 1) {
            uint64_t other = __shfl_xor_sync(ALL, word, d);
            word |= other;
        }
        s->left_set[k] = word;
    }
}

/* Each rank is a candidate: the level alone where there are few levels, else all levels up to it.
 * The lane's ranks are lane * 8 + i. */
__device__ static void scan_categorical(const struct node_rule *r, const int64_t *words, int n_bins,
                                        struct levels *lv, struct boost_split *s)
{
    const struct scan_node *nd = &r->node;
    int lane = (int)threadIdx.x % 32, n = rank_levels(nd, words, n_bins, lv);
    int is_one = n <= nd->max_onehot, most = is_one ? n : n - 1;
    double l2 = is_one ? nd->l2 : nd->l2 + nd->cat_l2;
    int64_t sums[LANE_BINS], run = 0;
    struct pick p = { -1.0, 0x7fffffff };

    if (n < 2)
        return;
    for (int i = 0; i < LANE_BINS; i++) {
        int64_t word = lane * LANE_BINS + i < n ? lv->word[lane * LANE_BINS + i] : 0;
        run = is_one ? word : run + word;
        sums[i] = run;
    }
    int64_t below = sum_below(run);
    for (int i = 0; i < LANE_BINS; i++) {
        sums[i] += is_one ? 0 : below;
        if (lane * LANE_BINS + i < most)
            offer(&p, pair_score(r, sums[i], l2), lane * LANE_BINS + i);
    }
    p = pick_of_warp(p);
    if (!(p.score > -1.0))
        return;
    s->score = p.score;
    s->left = sum_at(sums, p.at);
    s->is_categorical = 1;
    s->bin = s->add = 0;
    set_done(nd, lv, is_one ? p.at : 0, p.at + 1, s);
}

/* ---- nodes ---- */

/* Parameters in units of the quantised gradients, as in boost_grow.c. */
__device__ static void rule_of(const struct ml_boost_rule *in, const struct boost_tree *tree,
                               const struct boost_node *nd, struct node_rule *r)
{
    struct scan_node *s = &r->node;
    double unit = tree->g_scale / tree->h_scale;

    s->total = nd->total;
    s->l1 = in->l1 * tree->g_scale;
    s->l2 = in->l2 * tree->h_scale;
    s->cat_l2 = 10.0 * tree->h_scale;
    s->cat_smooth = in->cat_smooth * tree->h_scale;
    s->max_onehot = in->max_onehot;
    s->min_h = scan_min_h(nd->total, nd->n, in->min_leaf, in->min_hessian * tree->h_scale);
    r->is_bounded = in->is_monotone;
    if (in->is_monotone) {
        /* Leaf values of Poisson are no Newton steps, so the scan knows the directions only
         * (ml/boost/boost_bound.c). */
        int is_newton = in->loss != ML_BOOST_POISSON;
        r->bounds.lo = is_newton ? nd->lo * unit : -(double)INFINITY;
        r->bounds.hi = is_newton ? nd->hi * unit : (double)INFINITY;
        r->bounds.direction = 0;
        r->bounds.own = scan_bounded_own(s, &r->bounds);
    }
}

/* The best split of the node at `at` in column j of the tree; score -1 when there is none. */
__device__ static void scan_node(const struct boost_view *v, int t, int at, int j,
                                 const int64_t *words, struct levels *lv, struct boost_split *out)
{
    const struct boost_tree *tree = &v->trees[t];
    const struct boost_rule *r = boost_rule_of(v, t);
    const struct ml_boost_rule *in = &r->in;
    const struct boost_node *nd = &v->nodes[(int64_t)t * v->node_cap + at];
    int col = v->cols[(int64_t)t * v->cols_most + j], n_bins = r->n_bins[col];
    struct boost_split s = {};
    struct node_rule rule;
    uint32_t u[4] = { 0, 0, 0, 0 };
    int level = nd->depth < in->levels ? nd->depth : in->levels - 1;

    s.score = -1.0;
    s.col = col;
    s.is_categorical = v->is_categorical[col];
    rule_of(in, tree, nd, &rule);
    rule.bounds.direction = boost_direction(v, t, &s);
    if (in->levels > 0 && !v->open[((int64_t)t * v->levels_most + level) * v->cols_most + j]) {
        /* the column was not drawn for this depth */
    } else if (s.is_categorical) {
        scan_categorical(&rule, words, n_bins, lv, &s);
    } else if (in->is_random) {
        rng_block(rng_derive(tree->seed, nd->path), 0, 0, (uint64_t)col, u);
        scan_random(&rule, words, n_bins, u[0], &s);
    } else {
        scan_numeric(&rule, words, n_bins, &s);
    }
    if (threadIdx.x % 32 == 0)
        *out = s;
}

/* The two children of the entry in column j. */
__device__ static void scan_entry(const struct boost_view *v, int t, int at, int j,
                                  struct levels *lv)
{
    const struct boost_entry *e = &v->batch[(int64_t)t * v->batch_cap + at];
    const struct boost_node *nodes = v->nodes + (int64_t)t * v->node_cap;
    struct boost_split *found =
        v->found + (((int64_t)t * v->batch_cap + at) * 2) * v->cols_most + j;
    int64_t cell = (int64_t)j * BOOST_BINS + threadIdx.x % 32 * LANE_BINS;
    const unsigned long long *small = boost_slot(v, t, nodes[e->small].slot) + cell;
    int64_t words[LANE_BINS];

    for (int i = 0; i < LANE_BINS; i++)
        words[i] = (int64_t)small[i];
    if (e->want & WANT_SMALL)
        scan_node(v, t, e->small, j, words, lv, found);
    if (e->want & WANT_BIG) {
        unsigned long long *big = boost_slot(v, t, nodes[e->big].slot) + cell;
        for (int i = 0; i < LANE_BINS; i++) {
            words[i] = (int64_t)big[i] - words[i];
            big[i] = (unsigned long long)words[i];
        }
        scan_node(v, t, e->big, j, words, lv, found + v->cols_most);
    }
}

/* A warp per (entry, column). Warps of a block only share memory for levels, so they need no
 * barrier between them. */
__global__ void scan_kernel(struct boost_view v)
{
    DYN_SHARED(struct levels, shared); /* [warps], where there are categorical columns */
    int warp = (int)threadIdx.x / 32, t = (int)blockIdx.z, n_batch = v.trees[t].n_batch;
    int j = (int)blockIdx.x * (int)(blockDim.x / 32) + warp;
    int n_cols = boost_rule_of(&v, t)->in.n_cols;

    for (int at = (int)blockIdx.y; at < n_batch && j < n_cols; at += (int)gridDim.y) {
        if (v.batch[(int64_t)t * v.batch_cap + at].want)
            scan_entry(&v, t, at, j, &shared[warp]);
    }
}

/* A warp per child: the best of its columns; of equal scores the earlier column. */
__global__ void best_kernel(struct boost_view v)
{
    int t = (int)blockIdx.y, n_kids = 2 * v.trees[t].n_batch;
    int step = (int)(gridDim.x * (blockDim.x / 32));
    const struct ml_boost_rule *in = &boost_rule_of(&v, t)->in;

    for (int k = (int)(blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32); k < n_kids; k += step) {
        const struct boost_entry *e = &v.batch[(int64_t)t * v.batch_cap + k / 2];
        const struct boost_split *found =
            v.found + ((int64_t)t * v.batch_cap * 2 + k) * v.cols_most;
        struct pick p = { -1.0, 0x7fffffff };
        struct node_rule rule;
        if (!(e->want & (k & 1 ? WANT_BIG : WANT_SMALL)))
            continue;
        struct boost_node *nd = &v.nodes[(int64_t)t * v.node_cap + (k & 1 ? e->big : e->small)];
        for (int j = (int)threadIdx.x % 32; j < in->n_cols; j += 32)
            offer(&p, found[j].score, j);
        p = pick_of_warp(p);
        if (threadIdx.x % 32 == 0) {
            rule_of(in, &v.trees[t], nd, &rule);
            nd->best = found[p.at];
            nd->gain = rule.is_bounded ? p.score : scan_gain(&rule.node, p.score);
        }
    }
}

extern "C" int cuda_boost_scan(struct ml_ctx *c, const struct boost_view *v, struct err *err)
{
    unsigned groups = (unsigned)((v->cols_most + BOOST_GROUP - 1) / BOOST_GROUP);
    unsigned trees = (unsigned)v->n_trees, batch = (unsigned)v->batch_cap;
    unsigned cols = (unsigned)((v->cols_most + BOOST_WARPS - 1) / BOOST_WARPS);
    unsigned tiles =
        boost_blocks(c, v->n_train_most / v->hist_rows + batch, 1, (int64_t)groups * trees);

    LAUNCH(boost_hist_kernel, dim3(groups, tiles, trees), (unsigned)v->in.threads,
           2 * BOOST_GROUP * BOOST_BINS * sizeof(int), c->stream, *v);
    LAUNCH(scan_kernel, dim3(cols, boost_blocks(c, batch, 1, (int64_t)cols * trees), trees),
           32 * BOOST_WARPS, v->has_categorical ? BOOST_WARPS * sizeof(struct levels) : 0,
           c->stream, *v);
    LAUNCH(best_kernel, dim3(boost_blocks(c, 2 * batch, BOOST_WARPS, trees), trees),
           32 * BOOST_WARPS, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}
