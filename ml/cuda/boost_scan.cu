/* boost_scan.cu - histograms of the children of a batch, and their best splits.
 *
 * Three kernels, queued once per step for all trees of the round (boost.h):
 *
 * boost_hist_kernel: as hist.cu. A block takes a group of columns and a tile of rows of a smaller
 * child, adds up 32-bit sums in shared memory, and then adds them to the child's histogram.
 * scan_kernel: a warp takes one column of one entry. It gets the larger child's histogram by
 * subtracting the smaller child's from the parent's, in place, and finds the best split of both
 * children. Each of the 32 lanes holds eight neighbouring bins; running sums over the 256 bins are
 * made by a scan over the lanes.
 * best_kernel: a warp takes one child and chooses among the best splits of its columns.
 *
 * A histogram cell is a packed word as in ml/math/tree_math.h: the sum of g in the upper 32 bits
 * and the sum of h in the lower 32, both in units of the quantised gradients. Scores, and what wins
 * among equal scores (the smaller column, then missing values to the right, then the smaller bin),
 * are those of ml/cpu/scan.c. */
#include "ml/cuda/gpu.h"

#include "base/rng.h"
#include "ml/cuda/boost.h"

/* Bins of a column that one lane of a warp holds: lane k has the bins 8 k to 8 k + 7. */
enum { LANE_BINS = BOOST_BINS / 32, PER_WARP = BOOST_BINS };
/* the mask of all lanes of a warp */
#define ALL 0xffffffffu

/* What a block adds up: some columns of the tree, and whether they stand side by side, so that one
 * load fetches the bins of all of them. layout: by column, in shared memory (layout_of). */
struct hist_group {
    const uint8_t *bins;
    int64_t stride;
    const int32_t *cols;
    const unsigned *layout;
    int width, is_side_by_side, has_narrow; /* has_narrow: some columns lie as copies */
};

/* How a column lies in its 256 cells of shared memory: the cell of missing values in the lower 16
 * bits, and above them s, where each cell is there 2^s times, side by side. Rows of a warp that have
 * the same bin wait for each other, and in a column of two values nearly all have: so a narrow
 * column, which leaves most cells free, has a copy for each of 2^s groups of lanes. */
__device__ static unsigned layout_of(int n_bins)
{
    unsigned s = 0;

    while (s < 5 && (n_bins + 1) << (s + 1) <= BOOST_BINS)
        s++;
    return s ? s << 16 | (unsigned)n_bins : BOOST_MISSING;
}

/* The cell of a bin, among the column's own, that this thread adds to. A group without narrow
 * columns is spared the look at the layout. */
template <int HAS_NARROW>
__device__ static int cell_of(unsigned layout, unsigned bin)
{
    if (!HAS_NARROW)
        return (int)bin;
    unsigned s = layout >> 16, last = layout & 0xffffu, at = bin < last ? bin : last;

    return (int)(at << s | (threadIdx.x & ((1u << s) - 1)));
}

/* The sum of a bin over its copies; bin: 0 to n_bins, which is the missing one, or to 255. */
__device__ static long long cell_sum(const int *cells, unsigned layout, int bin)
{
    unsigned s = layout >> 16;
    long long sum = 0;

    for (unsigned i = 0; i < 1u << s; i++)
        sum += cells[((unsigned)bin << s) + i];
    return sum;
}

/* Sixteen columns that begin at a multiple of sixteen, in rows of a multiple of sixteen bytes: one
 * aligned 16-byte load has all their bins. */
__device__ static int is_side_by_side(const struct hist_group *k)
{
    return k->width == BOOST_GROUP && k->stride % BOOST_GROUP == 0 &&
           k->cols[0] % BOOST_GROUP == 0 &&
           k->cols[BOOST_GROUP - 1] == k->cols[0] + BOOST_GROUP - 1;
}

/* Adds one row to the sums of all columns of the group: its g to the cell of its bin in the first
 * half of `sums`, and its h in the second half. word: g, signed, in the upper 16 bits, h in the
 * lower. */
template <int HAS_NARROW>
__device__ static void row_add(const struct hist_group *k, int32_t row, uint32_t word, int *sums)
{
    const uint8_t *b = k->bins + row * k->stride;
    int g = (int)(int16_t)(word >> 16), h = (int)(word & 0xffffu), cells = k->width * BOOST_BINS;

    if (k->is_side_by_side) {
        uint4 all = *(const uint4 *)(b + k->cols[0]);
        const unsigned four[4] = { all.x, all.y, all.z, all.w };
        for (int j = 0; j < BOOST_GROUP; j++) {
            int cell = j * BOOST_BINS +
                       cell_of<HAS_NARROW>(k->layout[j], four[j / 4] >> 8 * (j % 4) & 255u);
            atomicAdd(&sums[cell], g);
            atomicAdd(&sums[BOOST_GROUP * BOOST_BINS + cell], h);
        }
        return;
    }
    for (int j = 0; j < k->width; j++) {
        int cell = j * BOOST_BINS + cell_of<HAS_NARROW>(k->layout[j], b[k->cols[j]]);
        atomicAdd(&sums[cell], g);
        atomicAdd(&sums[cells + cell], h);
    }
}

/* Adds the sums that are not zero to `out`, the child's histogram in global memory. */
__device__ static void sums_flush(const struct hist_group *k, const int *sums,
                                  unsigned long long *out)
{
    int cells = k->width * BOOST_BINS;

    for (int i = (int)threadIdx.x; i < cells; i += (int)blockDim.x) {
        unsigned layout = k->layout[i / BOOST_BINS];
        int first = i & ~(BOOST_BINS - 1), bin = i & (BOOST_BINS - 1), last = layout & 0xffffu;
        if (bin > last)
            continue;
        long long g = cell_sum(sums + first, layout, bin);
        long long h = cell_sum(sums + cells + first, layout, bin);
        if (g != 0 || h != 0)
            atomicAdd(&out[first + (bin == last ? BOOST_MISSING : bin)],
                      (unsigned long long)(g * 4294967296LL + h));
    }
}

/* One tile: adds up n rows in [2][width][256] words of shared memory, and then adds the sums to the
 * child's histogram. The sums fit into 32 bits because |g| and h are below 2^16 and a tile has at
 * most BOOST_HIST_ROWS = 2^14 rows. The atomic additions are of whole numbers, so their order does
 * not matter. q is indexed by row number. All threads of the block take part. */
__device__ static void hist_tile(const struct hist_group *k, const int32_t *rows, int n,
                                 const uint32_t *q, int *sums, unsigned long long *out)
{
    for (int i = (int)threadIdx.x; i < 2 * k->width * BOOST_BINS; i += (int)blockDim.x)
        sums[i] = 0;
    __syncthreads();
    for (int i = (int)threadIdx.x; i < n && !k->has_narrow; i += (int)blockDim.x)
        row_add<0>(k, rows[i], q[rows[i]], sums);
    for (int i = (int)threadIdx.x; i < n && k->has_narrow; i += (int)blockDim.x)
        row_add<1>(k, rows[i], q[rows[i]], sums);
    __syncthreads();
    sums_flush(k, sums, out);
    __syncthreads();
}

/* blockIdx: group of columns, first tile, tree. Only the smaller child of each entry is summed,
 * because scan_kernel gets the larger one by subtraction. The tiles of all entries of a tree are
 * numbered through (hist_tiles holds the running counts), and a block takes every gridDim.y-th of
 * them, so that many small nodes and one large node keep the device equally busy. */
__global__ void boost_hist_kernel(struct boost_view v)
{
    DYN_SHARED(int, sums);
    __shared__ unsigned layout[BOOST_GROUP];
    int t = (int)blockIdx.z, first = (int)blockIdx.x * BOOST_GROUP;
    const struct boost_rule *rule = boost_rule_of(&v, t);
    int width = rule->in.n_cols - first < BOOST_GROUP ? rule->in.n_cols - first : BOOST_GROUP;
    int n_batch = width > 0 ? v.trees[t].n_batch : 0;
    const int32_t *tiles = v.hist_tiles + (int64_t)t * (v.batch_cap + 1);
    struct hist_group k = { rule->bins, v.stride, v.cols + (int64_t)t * v.cols_most + first,
                            layout,     width,    0,
                            0 };
    int n_tiles = n_batch > 0 ? tiles[n_batch] : 0;

    k.is_side_by_side = is_side_by_side(&k);
    if ((int)threadIdx.x < width)
        layout[threadIdx.x] = layout_of(rule->n_bins[k.cols[threadIdx.x]]);
    __syncthreads();
    for (int j = 0; j < width; j++)
        k.has_narrow |= layout[j] >> 16 != 0;
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

/* What the score of a split depends on besides the histogram. */
struct node_rule {
    struct scan_node node;
    /* set only where is_bounded, that is, with monotone constraints */
    struct scan_bounds bounds;
    int is_bounded;
};

/* The CPU's score of a pair of children (ml/math/tree_math.h), with bounds where there are
 * constraints. */
__device__ static double pair_score(const struct node_rule *r, int64_t left, double l2)
{
    return r->is_bounded ? scan_bounded_score(&r->node, &r->bounds, left, l2)
                         : scan_score(&r->node, left, l2);
}

/* A candidate and its score. */
struct pick {
    /* -1 = none; every allowed split has at least 0 */
    double score;
    /* What the caller numbers its candidates by. Of equal scores the smaller number wins. */
    int at;
};

/* The best candidate of the warp; all lanes get it. Five exchanges with the lane at distance 16, 8,
 * 4, 2 and 1. The order of the exchanges cannot show in the result, because no two candidates have
 * the same number. */
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

/* The sum of `own` over all lanes with a smaller number: an exclusive prefix sum in five steps
 * (Hillis and Steele 1986). */
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

/* The running sum up to `bin`, which lane bin / 8 holds; all lanes get it. All lanes must ask for
 * the same bin, because each offers the sum at its own place bin % 8. */
__device__ static int64_t sum_at(const int64_t *sums, int bin)
{
    int64_t mine = sums[bin % LANE_BINS];

    return __shfl_sync(ALL, mine, bin / LANE_BINS);
}

/* Writes the split at p into *s. Candidates are numbered bin + 256 * (missing values go left), so
 * among equal scores missing values to the right win, and then the smaller bin. Where the node has
 * no missing value, later ones go with the heavier child. left: the packed sum of the left
 * child. */
__device__ static void numeric_done(const struct scan_node *nd, struct pick p, int64_t left,
                                    int has_missing, struct boost_split *s)
{
    s->score = p.score;
    s->bin = p.at & (BOOST_BINS - 1);
    s->add = has_missing ? p.at >> 8 : scan_is_left_heavy(nd, left);
    s->is_categorical = 0;
    s->left = left;
}

/* The best threshold of a numeric column: rows with a bin up to the threshold go left. words: the
 * lane's eight cells, in order; missing values are bin 255, the last cell of lane 31. The threshold
 * n_bins - 1, with all present values on the left, is a candidate only if values are missing. Where
 * they are, each threshold is tried with them on either side. */
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

/* One random threshold between the lowest and the highest bin that holds rows, drawn by the 32
 * random bits u. Where all rows that have a value are in one bin, the only split is between them
 * and the missing ones; without missing ones there is none. All lanes take the same branches. */
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

/* Shared memory of a warp, 5 KiB: the levels of a categorical column, sorted by g / h. Without
 * smoothing and penalties the best division into two sets is one of the prefixes of that order
 * (Fisher 1958); LightGBM does the same. */
struct levels {
    /* of the levels that occur, in the order of their bins: g / (h + cat_smooth) */
    double ratio[BOOST_BINS];
    /* by rank: the level's packed sum */
    int64_t word[BOOST_BINS];
    /* by bin: the level's rank; -1 = the node has no row of it */
    int rank[BOOST_BINS];
};

/* Whether a level occurs in the node; word: its packed sum. Missing values are a level too. */
__device__ static int is_level(int bin, int n_bins, int64_t word)
{
    return (bin < n_bins || bin == BOOST_MISSING) && word != 0;
}

/* Ranks the levels that occur in the node by their ratio; of equal ratios the smaller bin comes
 * first, so missing values (255) come last. Returns how many there are.
 *
 * A rank is found by counting the smaller ratios, because there are too few levels for a sort by
 * the warp to pay: a column of ten levels takes at most eighty comparisons of a lane, one of 256
 * levels two thousand. */
__device__ static int rank_levels(const struct scan_node *nd, const int64_t *words, int n_bins,
                                  struct levels *lv)
{
    int lane = (int)threadIdx.x % 32, own = 0;

    for (int i = 0; i < LANE_BINS; i++)
        own += is_level(lane * LANE_BINS + i, n_bins, words[i]);
    int place = (int)sum_below(own), n = place + own;
    n = __shfl_sync(ALL, n, 31);
    /* the column before is no longer read */
    __syncwarp(ALL);
    for (int i = 0, at = place; i < LANE_BINS; i++) {
        if (is_level(lane * LANE_BINS + i, n_bins, words[i]))
            lv->ratio[at++] = hist_g(words[i]) / (hist_h(words[i]) + nd->cat_smooth);
    }
    __syncwarp(ALL);
    for (int i = 0; i < LANE_BINS; i++) {
        int bin = lane * LANE_BINS + i, rank = -1;
        if (is_level(bin, n_bins, words[i])) {
            double ratio = lv->ratio[place];
            rank = 0;
            for (int k = 0; k < n; k++)
                rank += lv->ratio[k] < ratio || (lv->ratio[k] == ratio && k < place);
            lv->word[rank] = words[i];
            place++;
        }
        lv->rank[bin] = rank;
    }
    __syncwarp(ALL);
    return n;
}

/* Writes the set of levels that go left into *s: those of ranks `from` to `to` - 1. Levels that the
 * node lacks go with the heavier child. A lane's eight bins are one byte of the set; the 64-bit
 * words are put together by OR over the lanes. */
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

/* The best set of levels of a categorical column. Each rank is a candidate: where the node has at
 * most max_onehot levels, the level alone against the rest; else all levels up to that rank, with
 * cat_l2 added to the penalty. Lane k has the ranks 8 k to 8 k + 7. */
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

/* The parameters of a node's scores, in units of the quantised gradients: what is compared with or
 * added to a sum of g is multiplied by g_scale, and of h by h_scale, as in ml/boost/boost_grow.c.
 * The bounds of leaf values are quotients g / h, hence `unit`. */
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

/* One warp: the best split of the node at place `at` in column j of the tree's columns, to *out;
 * score -1 when there is none. words: the lane's eight cells of the node's histogram. The column is
 * passed over where it was not drawn for the node's depth (col_level). */
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

/* One warp: both children of an entry in column j. The larger child's histogram takes the place of
 * the parent's (kids_of in boost_rows.cu gave it that slot); this warp alone reads and writes these
 * 256 cells. found: [entry][small, big][column]. */
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

/* A warp per (entry, column); blockIdx: columns by BOOST_WARPS, first entry, tree. The warps of a
 * block have nothing to do with each other (each has its own `levels`), so they need no barrier. */
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

/* A warp per child that may be split: the best of its columns' splits; of equal scores the earlier
 * column. It also turns the score into the gain over leaving the node whole; scores with bounds are
 * gains already. nd->gain <= 0 leaves the node a leaf. */
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

/* Queues the three kernels for the batch at hand of all trees. The histograms take 32 KiB of shared
 * memory a block; the scan takes some only where there are categorical columns. */
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
