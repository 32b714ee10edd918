/* forest_split.cuh - the best split of a node in one column, found by one warp: the column's
 * histogram goes into shared memory, then every lane scores the cuts at eight positions.
 *
 * A position is a bin, or a level in its order. Scores and ties (the smaller position, then missing
 * values to the right) are those of ml/forest/forest_split.c and ml/forest/forest_random.c.
 * Included by forest.cu. */
#ifndef ML_CUDA_FOREST_SPLIT_CUH
#define ML_CUDA_FOREST_SPLIT_CUH

#include "ml/cuda/forest_view.h"

#define ALL 0xffffffffu
/* -DBL_MAX: no cut */
#define RF_NOT (-1.7976931348623157e308)
enum { LANE_BINS = RF_BINS / 32 };

/* A warp's part of shared memory. count: [width][256]; for two classes the weights, then the
 * weights of class 1; for more classes the weights by class; for numbers the weights. */
struct rf_area {
    /* [256]: sums of targets, for numbers */
    long long *sum;
    /* [256]: the value that a level is sorted by */
    double *order;
    /* [256]: position to bin */
    int *level_of;
    unsigned *count;
};

/* The node at hand: its rows, their words (weight and target), and their totals. */
struct rf_node_view {
    const struct rf_view *v;
    const int32_t *rows;
    const int64_t *words;
    /* by class; or the sum of targets */
    const long long *total;
    int64_t weight;
    uint64_t key;
    int n;
};

/* The best split so far. visit: how many columns were looked at before this one, which decides
 * ties. */
struct rf_found {
    double score;
    int visit, col, bin, missing_left, is_set;
    uint64_t set[4];
};

/* Counts of a bin: one per class, or two for two classes, or one for numbers. */
__device__ static int rf_width(const struct rf_view *v)
{
    return v->kind == RF_MANY ? v->in.n_classes : v->kind == RF_TWO ? 2 : 1;
}

/* All lanes of a warp: the histogram of a column over the node's rows, in the warp's shared memory.
 * The sums are whole numbers, so the order of the atomic additions does not matter. */
__device__ static void rf_hist(const struct rf_node_view *nd, int col, struct rf_area *a)
{
    const struct rf_view *v = nd->v;
    int lane = (int)threadIdx.x % 32, width = rf_width(v);

    for (int i = lane; i < width * RF_BINS; i += 32)
        a->count[i] = 0;
    for (int i = lane; i < RF_BINS && v->kind == RF_NUMBER; i += 32)
        a->sum[i] = 0;
    __syncwarp(ALL);
    for (int i = lane; i < nd->n; i += 32) {
        int bin = v->bins[nd->rows[i] * v->stride + col];
        unsigned weight = (unsigned)(nd->words[i] & 0xffff);
        int64_t y = nd->words[i] >> 32;
        if (v->kind == RF_MANY) {
            atomicAdd(&a->count[y * RF_BINS + bin], weight);
            continue;
        }
        atomicAdd(&a->count[bin], weight);
        if (v->kind == RF_NUMBER)
            atomicAdd((unsigned long long *)&a->sum[bin],
                      (unsigned long long)((long long)weight * y));
        else if (y)
            atomicAdd(&a->count[RF_BINS + bin], weight);
    }
    __syncwarp(ALL);
}

/* The weight of the rows in a bin. */
__device__ static unsigned rf_weight(const struct rf_view *v, const struct rf_area *a, int bin)
{
    unsigned n = a->count[bin];

    for (int k = 1; v->kind == RF_MANY && k < v->in.n_classes; k++)
        n += a->count[k * RF_BINS + bin];
    return n;
}

/* ---- the sides of a cut ---- */

/* A cut. n: weight to the left. a, b: the sums that the score is made of; two classes: a = the
 * weight of class 1 to the left; more classes: a, b = sums of squared class weights to the left and
 * right; numbers: a = the sum of targets to the left. */
struct rf_side {
    int64_t n, a, b;
    /* used for entropy with several classes */
    double left, right;
};

/* n log n, from the table. */
__device__ static double rf_x(const struct rf_view *v, int64_t n)
{
    return v->xlogx[n];
}

/* Larger is better; RF_NOT where a side is lighter than the least weight. The expressions are those
 * of ml/math/forest_math.h. */
__device__ static double rf_score(const struct rf_node_view *nd, const struct rf_side *s)
{
    const struct rf_view *v = nd->v;
    int64_t rn = nd->weight - s->n, least = v->in.min_leaf > 1 ? v->in.min_leaf : 1;

    if (s->n < least || rn < least)
        return RF_NOT;
    if (v->kind == RF_NUMBER)
        return rf_squared(s->n, s->a, rn, nd->total[0] - s->a);
    if (v->kind == RF_MANY && !v->xlogx)
        return rf_many_gini(s->n, s->a, rn, s->b);
    if (v->kind == RF_MANY)
        return (s->left - rf_x(v, s->n)) + (s->right - rf_x(v, rn));
    int64_t rs = nd->total[1] - s->a;
    if (!v->xlogx)
        return rf_two_gini(s->n, s->a, rn, rs);
    return (rf_x(v, s->a) + rf_x(v, s->n - s->a) - rf_x(v, s->n)) +
           (rf_x(v, rs) + rf_x(v, rn - rs) - rf_x(v, rn));
}

/* The sum of `own` over the lanes with a smaller number (an exclusive prefix sum of a warp). */
__device__ static int64_t rf_below(int64_t own)
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

/* The bin at a position: the position itself, or the level at that place of the order. */
__device__ static int rf_bin_at(const struct rf_area *a, int is_level, int at)
{
    return is_level ? a->level_of[at] : at;
}

/* Adds class k, of which the node has `total`, to the cuts at the lane's eight positions:
 * side[.][0] with missing values on the right, side[.][1] with them on the left. */
__device__ static void rf_add_class(const struct rf_view *v, const struct rf_area *a, int k,
                                    int is_level, int n, int64_t total,
                                    struct rf_side side[LANE_BINS][2])
{
    const unsigned *count = a->count + k * RF_BINS;
    int lane = (int)threadIdx.x % 32;
    int64_t own = 0, missing = count[RF_MISSING];

    for (int i = 0; i < LANE_BINS; i++) {
        int at = lane * LANE_BINS + i;
        own += at < n ? count[rf_bin_at(a, is_level, at)] : 0;
    }
    int64_t run = rf_below(own);
    for (int i = 0; i < LANE_BINS; i++) {
        int at = lane * LANE_BINS + i;
        run += at < n ? count[rf_bin_at(a, is_level, at)] : 0;
        for (int m = 0; m < 2; m++) {
            struct rf_side *s = &side[i][m];
            int64_t left = run + (m ? missing : 0), right = total - left;
            s->n += left;
            s->a += left * left;
            s->b += right * right;
            if (v->xlogx && at < n) {
                s->left += rf_x(v, left);
                s->right += rf_x(v, right);
            }
        }
    }
}

/* The same for two classes and for numbers: weights, and the weight of class 1 or the sum of
 * targets. The first pass over the lane's positions finds its totals, which rf_below turns into the
 * sums before it; the second makes the running sums. */
__device__ static void rf_add_sums(const struct rf_view *v, const struct rf_area *a, int is_level,
                                   int n, struct rf_side side[LANE_BINS][2])
{
    int lane = (int)threadIdx.x % 32;
    int64_t weight = 0, sum = 0, miss_n = a->count[RF_MISSING];
    int64_t miss_s = v->kind == RF_NUMBER ? a->sum[RF_MISSING] : a->count[RF_BINS + RF_MISSING];

    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < LANE_BINS; i++) {
            int at = lane * LANE_BINS + i, bin = at < n ? rf_bin_at(a, is_level, at) : 0;
            weight += at < n ? a->count[bin] : 0;
            if (at < n)
                sum += v->kind == RF_NUMBER ? a->sum[bin] : a->count[RF_BINS + bin];
            for (int m = 0; m < 2 && pass == 1; m++) {
                side[i][m].n = weight + (m ? miss_n : 0);
                side[i][m].a = sum + (m ? miss_s : 0);
            }
        }
        if (pass == 0) {
            weight = rf_below(weight);
            sum = rf_below(sum);
        }
    }
}

/* The best cut after one of n positions, or after position `only`. *at: 2 * position + (1 if
 * missing values go left). For classes under Gini empty bins are cuts too, as in ml/cpu/cuts.c,
 * because before the first bin with rows missing values stand alone on the left; but not in a node
 * of two rows, which the CPU splits by rf_split_pair. */
__device__ static void rf_best_cut(const struct rf_node_view *nd, const struct rf_area *a,
                                   int is_level, int n, int only, double *score, int *at)
{
    const struct rf_view *v = nd->v;
    int lane = (int)threadIdx.x % 32, has_missing = rf_weight(v, a, RF_MISSING) > 0;
    int with_empty = !is_level && v->kind != RF_NUMBER && !v->xlogx && nd->n > 2;
    struct rf_side side[LANE_BINS][2] = {};

    if (v->kind == RF_MANY) {
        for (int k = 0; k < v->in.n_classes; k++)
            rf_add_class(v, a, k, is_level, n, nd->total[k], side);
    } else {
        rf_add_sums(v, a, is_level, n, side);
    }
    *score = RF_NOT;
    *at = 0x7fffffff;
    for (int i = 0; i < LANE_BINS; i++) {
        int p = lane * LANE_BINS + i;
        if (p >= n ||
            (only >= 0 ? p != only : !with_empty && !rf_weight(v, a, rf_bin_at(a, is_level, p))))
            continue;
        for (int m = 0; m <= has_missing; m++) {
            double s = rf_score(nd, &side[i][m]);
            if (s > *score) {
                *score = s;
                *at = 2 * p + m;
            }
        }
    }
    for (int d = 16; d > 0; d >>= 1) {
        double s = __shfl_xor_sync(ALL, *score, d);
        int p = __shfl_xor_sync(ALL, *at, d);
        if (s > *score || (s == *score && p < *at)) {
            *score = s;
            *at = p;
        }
    }
}

/* ---- numbers ---- */

/* Of the n_bins first bins that hold something: the least and the largest that is not below `from`;
 * 256 and -1 where there is none. */
__device__ static void rf_span(const struct rf_view *v, const struct rf_area *a, int from,
                               int n_bins, int *least, int *most)
{
    *least = RF_BINS;
    *most = -1;
    for (int b = (int)threadIdx.x % 32; b < n_bins; b += 32) {
        if (b >= from && rf_weight(v, a, b)) {
            *least = b < *least ? b : *least;
            *most = b;
        }
    }
    for (int d = 16; d > 0; d >>= 1) {
        int lo = __shfl_xor_sync(ALL, *least, d), hi = __shfl_xor_sync(ALL, *most, d);
        *least = lo < *least ? lo : *least;
        *most = hi > *most ? hi : *most;
    }
}

/* The best threshold of a numeric column, or for extra trees one random threshold (rf_random_cut)
 * between the lowest and the highest bin that holds rows. */
__device__ static void rf_numeric(const struct rf_node_view *nd, int col, struct rf_area *a,
                                  struct rf_found *f)
{
    const struct rf_view *v = nd->v;
    int n_bins = v->n_bins[col], at, lo, hi, only = -1;

    if (v->in.is_extra) {
        rf_span(v, a, 0, n_bins, &lo, &hi);
        if (hi < 0 || (lo == hi && !rf_weight(v, a, RF_MISSING)))
            return;
        const uint32_t *places = v->places ? v->places + (ptrdiff_t)col * RF_BINS : NULL;
        only = rf_random_cut(places, rf_cut_key(nd->key, col), lo, hi);
    }
    rf_best_cut(nd, a, 0, n_bins, only, &f->score, &at);
    if (!(f->score > RF_NOT))
        return;
    f->missing_left = at & 1;
    f->bin = at >> 1;
    /* midway between the nearest bins that hold rows */
    if (only < 0) {
        rf_span(v, a, f->bin + 1, n_bins, &lo, &hi);
        f->bin = lo < RF_BINS ? (f->bin + lo) / 2 : f->bin;
    }
}

/* ---- categories ---- */

/* What levels are sorted by: the mean target, the share of class 1, or with several classes the
 * share of the node's most frequent one. With two classes or numbers the best division into two
 * sets is then a prefix of the order (Breiman and others 1984, theorem 4.5). */
__device__ static double rf_level_order(const struct rf_view *v, const struct rf_area *a, int bin,
                                        int main_class)
{
    double weight = (double)rf_weight(v, a, bin);

    if (v->kind == RF_NUMBER)
        return (double)a->sum[bin] / weight;
    return (double)a->count[(v->kind == RF_TWO ? 1 : main_class) * RF_BINS + bin] / weight;
}

/* The levels that occur, in the order of the bin; or sorted by their share of class 1 or their
 * mean, equal ones by the smaller bin. */
__device__ static int rf_levels(const struct rf_node_view *nd, int n_bins, int is_sorted,
                                struct rf_area *a)
{
    const struct rf_view *v = nd->v;
    int lane = (int)threadIdx.x % 32, n = 0, main_class = 0;

    for (int k = 1; v->kind == RF_MANY && k < v->in.n_classes; k++)
        main_class = nd->total[k] > nd->total[main_class] ? k : main_class;
    for (int b = lane; b < n_bins; b += 32) {
        if (rf_weight(v, a, b))
            a->order[b] = is_sorted ? rf_level_order(v, a, b, main_class) : 0.0;
    }
    __syncwarp(ALL);
    for (int b = lane; b < n_bins; b += 32) {
        int rank = 0;
        if (!rf_weight(v, a, b))
            continue;
        for (int o = 0; o < n_bins; o++)
            rank += o != b && rf_weight(v, a, o) &&
                    (a->order[o] < a->order[b] || (a->order[o] == a->order[b] && o < b));
        a->level_of[rank] = b;
        n++;
    }
    for (int d = 16; d > 0; d >>= 1) {
        int other = __shfl_xor_sync(ALL, n, d);
        n += other;
    }
    __syncwarp(ALL);
    return n;
}

/* Fisher-Yates by one lane, with draws that depend only on the key and the place, as on the CPU. */
__device__ static void rf_shuffle(struct rf_area *a, int n, uint64_t key)
{
    if (threadIdx.x % 32 == 0) {
        for (int i = n - 1; i > 0; i--) {
            int j = (int)((rf_mix(key, (uint64_t)i) >> 32) * (uint64_t)(i + 1) >> 32);
            int level = a->level_of[i];
            a->level_of[i] = a->level_of[j];
            a->level_of[j] = level;
        }
    }
    __syncwarp(ALL);
}

/* The best set of levels that go left: a prefix of the sorted levels, or for extra trees one random
 * prefix of a random order. */
__device__ static void rf_categorical(const struct rf_node_view *nd, int col, struct rf_area *a,
                                      struct rf_found *f)
{
    const struct rf_view *v = nd->v;
    uint64_t key = rf_cut_key(nd->key, col);
    int n = rf_levels(nd, v->n_bins[col], !v->in.is_extra, a), only = -1, at;

    /* a random order of the levels, and a random prefix of it */
    if (v->in.is_extra && n > 0) {
        rf_shuffle(a, n, key);
        only = n > 1 ? (int)((rf_mix(key, 256) >> 32) * (uint64_t)(n - 1) >> 32) : 0;
    }
    rf_best_cut(nd, a, 1, n, only, &f->score, &at);
    if (!(f->score > RF_NOT))
        return;
    f->is_set = 1;
    f->missing_left = at & 1;
    f->bin = 0;
    for (int i = 0; i <= at >> 1; i++)
        f->set[a->level_of[i] >> 6] |= 1ull << (a->level_of[i] & 63);
    f->set[3] |= f->missing_left ? 1ull << 63 : 0;
}

/* The best split in column `col`, which is number `visit` of the columns looked at. All lanes get
 * it; score RF_NOT = the column cannot be split. */
__device__ static struct rf_found rf_column(const struct rf_node_view *nd, int col, int visit,
                                            struct rf_area *a)
{
    struct rf_found f = {};

    f.score = RF_NOT;
    f.visit = visit;
    f.col = col;
    rf_hist(nd, col, a);
    if (nd->v->is_categorical[col])
        rf_categorical(nd, col, a, &f);
    else
        rf_numeric(nd, col, a, &f);
    __syncwarp(ALL);
    return f;
}

#endif
