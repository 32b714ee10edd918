/* scan.c - the best threshold, or the best set of levels, from a column's histogram (scan.h).
 *
 * The numeric scan adds up the packed words, both halves at once, and then scores many thresholds
 * at a time. Each score is one fixed expression of whole numbers, so all instruction sets give
 * equal bits. Called once per (node, column). */
#include "ml/cpu/scan.h"

#include "ml/cpu/hist.h"
#include "ml/cpu/scan_middle.h"
#include "ml/cpu/simd.h"

#include <string.h>
#ifdef SIMD_WIDE
#include <immintrin.h>
#endif

/* The scores of n running sums, as the bits of doubles. Every score is -1 or not negative, so
 * ordering the bits as integers orders the scores, and the maximum is found with integer
 * comparisons. *top: the largest. */
SIMD_BODY void scan_scores_body(const struct scan_node *nd, const int64_t *sums, int n,
                                int64_t *bits, int64_t *top)
{
    double gt = hist_g(nd->total), ht = (double)(int32_t)hist_h(nd->total);
    double l1 = nd->l1, l2 = nd->l2, min_h = nd->min_h;
    int64_t best = INT64_MIN;

    for (int i = 0; i < n; i++) {
        double gl = (double)(int32_t)(sums[i] >> 32), hl = (double)(int32_t)(sums[i] & 0x7fffffff);
        double gr = gt - gl, hr = ht - hl;
        double tl = (gl > l1 ? gl - l1 : 0.0) + (gl < -l1 ? gl + l1 : 0.0);
        double tr = (gr > l1 ? gr - l1 : 0.0) + (gr < -l1 ? gr + l1 : 0.0);
        double a = hl + l2, b = hr + l2, s = (tl * tl * b + tr * tr * a) / (a * b);
        s = ((hl >= min_h) & (hr >= min_h)) ? s : -1.0;
        memcpy(bits + i, &s, sizeof s);
    }
    for (int i = 0; i < n; i++)
        best = bits[i] > best ? bits[i] : best;
    *top = best;
}
SIMD_KERNEL_STATIC(scan_scores,
                   (const struct scan_node *nd, const int64_t *sums, int n, int64_t *bits,
                    int64_t *top),
                   (nd, sums, n, bits, top))

/* The score of one pair of children, with bounds on their values unless b is NULL. */
static double score_of(const struct scan_node *nd, const struct scan_bounds *b, int64_t left,
                       double l2)
{
    return b ? scan_bounded_score(nd, b, left, l2) : scan_score(nd, left, l2);
}

static int take_numeric(struct scan_best *best, double score, int bin, int add, int64_t left)
{
    if (!(score > best->score))
        return 0;
    best->score = score;
    best->bin = bin;
    best->add = add;
    best->is_categorical = 0;
    best->left = left;
    return 1;
}

/* In a node without missing values, those of later rows follow the heavier child. */
static int follow_heavier(const struct scan_node *nd, int better, int64_t missing,
                          struct scan_best *best)
{
    if (better && !missing)
        best->add = scan_is_left_heavy(nd, best->left);
    return better;
}

/* Scores n running sums and takes the first place with the best score, if it beats *best. bin[i]:
 * the bin of sums[i]. add: 1 when the sums hold the missing values on the left. */
static int scan_sums(const struct scan_node *nd, const int64_t *sums, const uint8_t *bin, int n,
                     int add, struct scan_best *best)
{
    int64_t bits[256], top;
    double score;
    int at = 0;

    scan_scores(nd, sums, n, bits, &top);
    memcpy(&score, &top, sizeof score);
    if (!(score > best->score))
        return 0;
    while (at + 1 < n && bits[at] != top)
        at++;
    return take_numeric(best, score, bin[at], add, sums[at]);
}

/* With fewer bins, adding them up one by one is as fast. */
enum { WIDE_BINS = 32 };

#ifdef SIMD_WIDE
/* Running sums at the n bins that hold rows, and which bins these are. */
struct sums_wide {
    int64_t sum[256];
    uint8_t bin[256];
    int n;
};

/* Eight bins at a time: running sums within the vector in three doubling steps, then the empty bins
 * are pressed out. What is written past the end stays within 256 entries. */
SIMD_WIDE static void sums_used_wide(const int64_t *hist, int end, struct sums_wide *out)
{
    __m512i zero = _mm512_setzero_si512(), seven = _mm512_set1_epi64(7), before = zero;
    __m512i first = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    int n = 0;

    for (int b = 0; b < end; b += 8) {
        __mmask8 in = (__mmask8)(end - b < 8 ? (1 << (end - b)) - 1 : 255);
        __m512i sum = _mm512_maskz_loadu_epi64(in, hist + b);
        __mmask8 used = _mm512_test_epi64_mask(sum, sum);
        if (!used)
            continue;
        sum = _mm512_add_epi64(sum, _mm512_alignr_epi64(sum, zero, 7));
        sum = _mm512_add_epi64(sum, _mm512_alignr_epi64(sum, zero, 6));
        sum = _mm512_add_epi64(sum, _mm512_alignr_epi64(sum, zero, 4));
        sum = _mm512_add_epi64(sum, before);
        before = _mm512_permutexvar_epi64(seven, sum);
        _mm512_storeu_si512(out->sum + n, _mm512_maskz_compress_epi64(used, sum));
        __m512i at = _mm512_add_epi64(first, _mm512_set1_epi64(b));
        __m128i bytes = _mm512_cvtepi64_epi8(_mm512_maskz_compress_epi64(used, at));
        _mm_storel_epi64((__m128i *)(void *)(out->bin + n), bytes);
        n += __builtin_popcount(used);
    }
    out->n = n;
}

/* What the scores of a node's pairs are computed from, in every lane. */
struct lanes {
    __m512d gt, ht, l1, minus_l1, l2, min_h;
    bool is_shrunk;
};

SIMD_WIDE static inline struct lanes lanes_of(const struct scan_node *nd)
{
    return (struct lanes){ _mm512_set1_pd(hist_g(nd->total)),
                           _mm512_set1_pd((double)(int32_t)hist_h(nd->total)),
                           _mm512_set1_pd(nd->l1),
                           _mm512_set1_pd(-nd->l1),
                           _mm512_set1_pd(nd->l2),
                           _mm512_set1_pd(nd->min_h),
                           nd->l1 > 0.0 };
}

SIMD_WIDE static inline __m512d shrunk_wide(const struct lanes *c, __m512d g)
{
    __m512d up = _mm512_maskz_sub_pd(_mm512_cmp_pd_mask(g, c->l1, _CMP_GT_OQ), g, c->l1);
    __m512d down = _mm512_maskz_add_pd(_mm512_cmp_pd_mask(g, c->minus_l1, _CMP_LT_OQ), g, c->l1);

    return _mm512_add_pd(up, down);
}

/* The numerators and denominators of eight scores, by the operations of scan_scores; takes pairs
 * that are not allowed out of *in. Without l1, T(g) is g. */
SIMD_WIDE static inline void scores_eight(const struct lanes *c, __m512i sum, __mmask8 *in,
                                          __m512d *top, __m512d *under)
{
    __m512d gl = _mm512_cvtepi64_pd(_mm512_srai_epi64(sum, 32));
    __m512d hl = _mm512_cvtepi64_pd(_mm512_and_si512(sum, _mm512_set1_epi64(0x7fffffff)));
    __m512d gr = _mm512_sub_pd(c->gt, gl), hr = _mm512_sub_pd(c->ht, hl);

    if (c->is_shrunk) {
        gl = shrunk_wide(c, gl);
        gr = shrunk_wide(c, gr);
    }
    __m512d a = _mm512_add_pd(hl, c->l2), b = _mm512_add_pd(hr, c->l2);
    *top = _mm512_add_pd(_mm512_mul_pd(_mm512_mul_pd(gl, gl), b),
                         _mm512_mul_pd(_mm512_mul_pd(gr, gr), a));
    *under = _mm512_mul_pd(a, b);
    *in = _mm512_mask_cmp_pd_mask(*in, hl, c->min_h, _CMP_GE_OQ);
    *in = _mm512_mask_cmp_pd_mask(*in, hr, c->min_h, _CMP_GE_OQ);
}

/* Scores all places with `missing` added to the left side and takes the first with the best score,
 * if it beats *best. Dividing eight pairs takes longer than all else, so scores are first taken
 * with a reciprocal of 14 bits; only places near the largest are divided, and none where that one
 * is below *best by more. */
SIMD_WIDE static int take_wide(const struct scan_node *nd, const struct sums_wide *s,
                               int64_t missing, int add, struct scan_best *best)
{
    const double near = 0x1p-12;
    struct lanes c = lanes_of(nd);
    __m512d rough[32], none = _mm512_set1_pd(-1.0), most = none, top, under;
    __m512i more = _mm512_set1_epi64(missing);
    int at = -1;

    for (int k = 0; k < s->n; k += 8) {
        __mmask8 in = (__mmask8)(s->n - k < 8 ? (1 << (s->n - k)) - 1 : 255);
        __m512i sum = _mm512_add_epi64(_mm512_loadu_si512(s->sum + k), more);
        scores_eight(&c, sum, &in, &top, &under);
        rough[k / 8] = _mm512_mask_mul_pd(none, in, top, _mm512_rcp14_pd(under));
        most = _mm512_max_pd(most, rough[k / 8]);
    }
    double largest = _mm512_reduce_max_pd(most), score = best->score;
    if (largest * (1.0 + near) <= score)
        return 0;
    __m512d least = _mm512_set1_pd(largest * (1.0 - near));
    for (int k = 0; k < s->n; k += 8) {
        __mmask8 in = _mm512_cmp_pd_mask(rough[k / 8], least, _CMP_GE_OQ);
        double exact[8];
        if (!in)
            continue;
        __m512i sum = _mm512_add_epi64(_mm512_loadu_si512(s->sum + k), more);
        scores_eight(&c, sum, &in, &top, &under);
        _mm512_storeu_pd(exact, _mm512_mask_div_pd(none, in, top, under));
        for (int j = 0; j < 8; j++) {
            at = exact[j] > score ? k + j : at;
            score = exact[j] > score ? exact[j] : score;
        }
    }
    return at >= 0 ? take_numeric(best, score, s->bin[at], add, s->sum[at] + missing) : 0;
}

static int numeric_wide(const struct scan_node *nd, const int64_t *hist, int end, int64_t missing,
                        struct scan_best *best)
{
    struct sums_wide s;

    sums_used_wide(hist, end, &s);
    int better = follow_heavier(nd, take_wide(nd, &s, 0, 0, best), missing, best);
    return missing ? better | take_wide(nd, &s, missing, 1, best) : better;
}
#endif

#ifdef SIMD_MIDDLE
static int numeric_middle(const struct scan_node *nd, const int64_t *hist, int end, int64_t missing,
                          struct scan_best *best)
{
    struct scan_middle s;
    int better = 0;

    scan_middle_sums(hist, end, &s);
    for (int add = 0; add <= (missing != 0); add++) {
        int64_t more = add ? missing : 0;
        double score = best->score;
        int at = scan_middle_best(nd, &s, more, &score);
        if (at >= 0)
            better |= take_numeric(best, score, s.bin[at / 4] + at % 4, add, s.sum[at] + more);
    }
    return follow_heavier(nd, better, missing, best);
}
#endif

/* Running sums at the bins that hold rows, and which bins these are (room for 256 of each). Returns
 * how many. */
static int sums_used(const int64_t *hist, int end, int64_t *sums, uint8_t *bin)
{
    int64_t sum = 0;
    int n = 0;

    for (int b = 0; b < end; b++) {
        sum += hist[b];
        sums[n] = sum;
        bin[n] = (uint8_t)b;
        n += hist[b] != 0;
    }
    return n;
}

/* Thresholds with missing values to the right come first, then to the left, so that of equal scores
 * the right side wins. */
int scan_numeric(const struct scan_node *nd, const int64_t *hist, int n_bins,
                 struct scan_best *best)
{
    int64_t sums[256], missing = hist[HIST_MISSING];
    uint8_t bin[256];
    int better, n, end;

    /* An empty bin cuts where the one before it does, and a cut below all bins is the mirror image
     * of one above all: neither is scored. */
    end = missing ? n_bins : n_bins - 1;
#ifdef SIMD_WIDE
    if (end >= WIDE_BINS && simd_level() == SIMD_AVX512)
        return numeric_wide(nd, hist, end, missing, best);
#endif
#ifdef SIMD_MIDDLE
    if (end >= SCAN_MIDDLE_BINS && simd_level() == SIMD_AVX2 && scan_middle_suits(nd))
        return numeric_middle(nd, hist, end, missing, best);
#endif
    n = sums_used(hist, end, sums, bin);
    if (n == 0)
        return 0;
    better = follow_heavier(nd, scan_sums(nd, sums, bin, n, 0, best), missing, best);
    if (missing) {
        for (int k = 0; k < n; k++)
            sums[k] += missing;
        better |= scan_sums(nd, sums, bin, n, 1, best);
    }
    return better;
}

/* The threshold is drawn between the lowest and the highest bin with rows. Where all values are
 * equal, only missing against present can be split. */
static int random_cut(const struct scan_node *nd, const struct scan_bounds *bd, const int64_t *hist,
                      int n_bins, uint32_t u, struct scan_best *best)
{
    int64_t missing = hist[HIST_MISSING], sum = 0;
    int lo = 0, hi = n_bins - 1, better = 0;

    while (lo < n_bins && hist[lo] == 0)
        lo++;
    while (hi > lo && hist[hi] == 0)
        hi--;
    if (lo >= hi)
        return missing && lo < n_bins
                   ? take_numeric(best, score_of(nd, bd, nd->total - missing, nd->l2), lo, 0,
                                  nd->total - missing)
                   : 0;
    int cut = lo + (int)((uint64_t)u * (uint64_t)(hi - lo) >> 32);
    for (int b = lo; b <= cut; b++)
        sum += hist[b];
    better |= take_numeric(best, score_of(nd, bd, sum, nd->l2), cut,
                           !missing && scan_is_left_heavy(nd, sum), sum);
    if (missing)
        better |=
            take_numeric(best, score_of(nd, bd, sum + missing, nd->l2), cut, 1, sum + missing);
    return better;
}

int scan_random(const struct scan_node *nd, const int64_t *hist, int n_bins, uint32_t u,
                struct scan_best *best)
{
    return random_cut(nd, NULL, hist, n_bins, u, best);
}

int scan_bounded_random(const struct scan_node *nd, const struct scan_bounds *b,
                        const int64_t *hist, int n_bins, uint32_t u, struct scan_best *best)
{
    return random_cut(nd, b, hist, n_bins, u, best);
}

/* With bounds each score needs the values of both leaves, so the bins are scored one by one. */
int scan_bounded_numeric(const struct scan_node *nd, const struct scan_bounds *b,
                         const int64_t *hist, int n_bins, struct scan_best *best)
{
    int64_t missing = hist[HIST_MISSING];
    int better = 0, n = missing ? n_bins : n_bins - 1;

    for (int add = 0; add <= (missing != 0); add++) {
        int64_t sum = add ? missing : 0;
        for (int bin = 0; bin < n; bin++) {
            sum += hist[bin];
            better |= take_numeric(best, score_of(nd, b, sum, nd->l2), bin,
                                   missing ? add : scan_is_left_heavy(nd, sum), sum);
        }
    }
    return better;
}

/* A level of a categorical column: its sum, and the ratio that orders it. */
struct level {
    double ratio;
    int64_t word;
    int bin;
};

/* Runs of so many levels are sorted by insertion, which is faster than merging for few. */
enum { RUN = 8 };

static void run_sort(struct level *lv, int n)
{
    for (int i = 1; i < n; i++) {
        struct level x = lv[i];
        int at = i;
        for (; at > 0 && lv[at - 1].ratio > x.ratio; at--)
            lv[at] = lv[at - 1];
        lv[at] = x;
    }
}

static void runs_merge(const struct level *a, int n_a, const struct level *b, int n_b,
                       struct level *out)
{
    int i = 0, j = 0;

    for (int k = 0; k < n_a + n_b; k++)
        out[k] = j == n_b || (i < n_a && !(a[i].ratio > b[j].ratio)) ? a[i++] : b[j++];
}

/* A stable merge sort. Returns where the result lies: lv or spare. */
static struct level *levels_sort(struct level *lv, struct level *spare, int n)
{
    for (int at = 0; at < n; at += RUN)
        run_sort(lv + at, n - at < RUN ? n - at : RUN);
    for (int run = RUN; run < n; run *= 2) {
        for (int at = 0; at < n; at += 2 * run) {
            int n_a = n - at < run ? n - at : run, n_b = n - at - n_a < run ? n - at - n_a : run;
            runs_merge(lv + at, n_a, lv + at + n_a, n_b, spare + at);
        }
        struct level *swap = lv;
        lv = spare;
        spare = swap;
    }
    return lv;
}

/* The levels that occur in the node, missing values among them, in the order of g / (h + smooth):
 * the best set of levels is then a prefix of that order (Fisher, On grouping for maximum
 * homogeneity, 1958). Equal ratios stay in the order of the bin. both: 2 x 256 entries. */
static int levels_sorted(const struct scan_node *nd, const int64_t *hist, int n_bins,
                         struct level *both, struct level **out)
{
    int n = 0;

    for (int i = 0; i <= n_bins; i++) {
        int b = i < n_bins ? i : HIST_MISSING;
        if (hist[b] != 0)
            both[n++] =
                (struct level){ hist_g(hist[b]) / (hist_h(hist[b]) + nd->cat_smooth), hist[b], b };
    }
    *out = levels_sort(both, both + 256, n);
    return n;
}

/* Levels that do not occur in the node go to the heavier child. */
static void take_set(struct scan_best *best, double score, const struct scan_node *nd,
                     const struct level *lv, int from, int to, int n, int64_t left)
{
    uint64_t in[4] = { 0 }, out[4] = { 0 };

    for (int i = 0; i < n; i++) {
        uint64_t *set = i >= from && i < to ? in : out;
        set[lv[i].bin >> 6] |= 1ull << (lv[i].bin & 63);
    }
    best->score = score;
    best->is_categorical = 1;
    best->bin = best->add = 0;
    best->left = left;
    for (int i = 0; i < 4; i++)
        best->left_set[i] = scan_is_left_heavy(nd, left) ? ~out[i] : in[i];
}

/* With at most max_onehot levels each level alone is tried against all others; with more, every
 * prefix of the sorted levels, with the extra penalty cat_l2. */
static int best_set(const struct scan_node *nd, const struct scan_bounds *bd, const int64_t *hist,
                    int n_bins, struct scan_best *best)
{
    struct level both[512], *lv;
    int n = levels_sorted(nd, hist, n_bins, both, &lv), from = -1, to = -1;
    int64_t sum = 0, left = 0;
    double top = best->score;

    if (n < 2)
        return 0;
    int one = n <= nd->max_onehot;
    double l2 = one ? nd->l2 : nd->l2 + nd->cat_l2;
    for (int i = 0; i + 1 < n || (one && i < n); i++) {
        sum = one ? lv[i].word : sum + lv[i].word;
        double s = score_of(nd, bd, sum, l2);
        if (s > top) {
            top = s;
            from = one ? i : 0;
            to = i + 1;
            left = sum;
        }
    }
    if (from < 0)
        return 0;
    take_set(best, top, nd, lv, from, to, n, left);
    return 1;
}

int scan_categorical(const struct scan_node *nd, const int64_t *hist, int n_bins,
                     struct scan_best *best)
{
    return best_set(nd, NULL, hist, n_bins, best);
}

int scan_bounded_categorical(const struct scan_node *nd, const struct scan_bounds *b,
                             const int64_t *hist, int n_bins, struct scan_best *best)
{
    return best_set(nd, b, hist, n_bins, best);
}
