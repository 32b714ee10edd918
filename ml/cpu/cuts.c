/* cuts.c - cuts of one column, eight scores at a time (cuts.h).
 *
 * There are two ways. With many rows, the column's histogram is summed up from bin to bin, and
 * every bin is a cut. With at most CUTS_ROWS rows there is no histogram: every row's own bin is a
 * cut, and for all of these cuts at once the weight to their left is summed up in bytes, one row
 * after another. At most eight rows need no loop at all: a 64-bit word holds a byte for each row.
 * On CPUs with the instructions for it, cuts_few.c takes over for at most 64 rows, and with AVX2
 * cuts_middle.c for more than eight.
 *
 * The second half of each way is for more than two classes. Its score is that of rf_many_gini; the
 * weights of the classes are added class by class, and only their sums and sums of squares are
 * kept. */
#include "ml/cpu/cuts.h"

#include "base/base.h"
#include "ml/cpu/cuts_few.h"
#include "ml/cpu/cuts_middle.h"
#include "ml/cpu/cuts_two.h"
#include "ml/cpu/simd.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

/* The score of a cut that is not allowed; lower than every real score. */
#define CUTS_NONE (-DBL_MAX)
/* A byte times this fills a word with it. */
#define EVERY_BYTE 0x0101010101010101ull
/* Sizes of vectors by element: LANES doubles, SIXTEEN 32-bit integers, WIDE bytes are 64 bytes
 * each: a register of AVX-512. */
enum { LANES = 8, SIXTEEN = 16, WIDE = 64, HALF = 32, BINS = 256 };

typedef uint8_t bytes __attribute__((vector_size(WIDE)));
typedef double reals __attribute__((vector_size(LANES * 8)));
typedef uint8_t few __attribute__((vector_size(LANES)));
typedef int32_t ints __attribute__((vector_size(LANES * 4)));
typedef int32_t wide_ints __attribute__((vector_size(SIXTEEN * 4)));
typedef int64_t longs __attribute__((vector_size(LANES * 8)));
/* Half of these: a register of AVX2. gcc keeps vectors that are wider than the CPU's registers in
 * memory and compares them element by element, which takes ten to fifty times as long. So what runs
 * most has a form for either size; both give the same bits. */
typedef uint8_t half_bytes __attribute__((vector_size(HALF)));
typedef int32_t half_ints __attribute__((vector_size(HALF / 2)));
typedef double half_reals __attribute__((vector_size(HALF)));
typedef int64_t half_longs __attribute__((vector_size(HALF)));
typedef uint64_t half_words __attribute__((vector_size(HALF)));

/* The largest of n scores; n is a multiple of LANES. */
SIMD_BODY double top_of(const double *score, int n)
{
    double best = CUTS_NONE;
    half_reals top = (half_reals){ 0 } + CUTS_NONE;

    for (int i = 0; i < n; i += LANES / 2) {
        half_reals v;
        memcpy(&v, score + i, sizeof v);
        half_longs is_more = v > top;
        top = (half_reals)((is_more & (half_longs)v) | (~is_more & (half_longs)top));
    }
    for (int j = 0; j < LANES / 2; j++)
        best = top[j] > best ? top[j] : best;
    return best;
}

/* Scores of n cuts. l, s: weight and weight of class 1 to the left of each cut. A cut with less
 * than the least weight on a side gets CUTS_NONE. */
SIMD_BODY double cuts_weigh(const double *l, const double *s, int n, const struct cuts_node *node,
                            double *score)
{
    double all_n = (double)node->n, all_s = (double)node->s, least = (double)node->least;

    for (int i = 0; i < n; i++) {
        double ln = l[i], ls = s[i], rn = all_n - ln, rs = all_s - ls;
        double mixed_l = ls * (ln - ls), mixed_r = rs * (rn - rs);
        double v = all_n - 2.0 * (mixed_l * rn + mixed_r * ln) / (ln * rn);
        v = ln >= least ? v : CUTS_NONE;
        score[i] = rn >= least ? v : CUTS_NONE;
    }
    return top_of(score, n);
}

/* The same for more classes. l: weight to the left of each cut; l2, r2: sums of the squared weights
 * of the classes on either side. */
SIMD_BODY double many_weigh(const double *l, const double *l2, const double *r2, int n,
                            const struct cuts_node *node, double *score)
{
    double all_n = (double)node->n, least = (double)node->least;

    for (int i = 0; i < n; i++) {
        double ln = l[i], rn = all_n - ln, v = (l2[i] * rn + r2[i] * ln) / (ln * rn);
        v = ln >= least ? v : CUTS_NONE;
        score[i] = rn >= least ? v : CUTS_NONE;
    }
    return top_of(score, n);
}

/* ---- from a histogram ---- */

/* The place of the first score equal to `what`, which must occur. The masks of eight lanes are
 * narrowed to bytes, so that one count of trailing zeros finds the lane. */
SIMD_BODY int first_of(const double *score, double what)
{
    uint64_t is_one = 0;
    int at = -LANES;

    /* ends, because the score is among them */
    while (!is_one) {
        reals v;
        memcpy(&v, score + (at += LANES), sizeof v);
        few here = __builtin_convertvector((longs)(v == what), few);
        memcpy(&is_one, &here, sizeof is_one);
    }
    return at + __builtin_ctzll(is_one) / 8;
}

/* sums[b]: packed weights of the bins up to b. more is added to each: the missing values, when they
 * go left. */
SIMD_BODY double sums_weigh(const int64_t *sums, int n, int64_t more, const struct cuts_node *node,
                            double *score)
{
    double l[BINS], s[BINS];

    for (int b = 0; b < n; b++) {
        l[b] = (double)(int32_t)(sums[b] + more);
        s[b] = (double)(int32_t)((sums[b] + more) >> 32);
    }
    return cuts_weigh(l, s, n, node, score);
}

/* Takes the better of the best cuts with missing values to the right and to the left, if it beats
 * *best. */
SIMD_BODY void best_take(double right, int right_at, double left, int left_at, int col,
                         struct cuts_best *best)
{
    best->is_better = right > best->score || left > best->score;
    if (!best->is_better)
        return;
    best->missing_left = left > right || (left == right && left_at < right_at);
    best->score = best->missing_left ? left : right;
    best->bin = best->missing_left ? left_at : right_at;
    best->col = col;
}

SIMD_BODY void any_hist_body(int64_t *hist, int n_bins, const struct cuts_node *node, int col,
                             struct cuts_best *best)
{
    int64_t sum = 0, missing = hist[CUTS_MISSING];
    int n = (n_bins + LANES - 1) / LANES * LANES, right_at = BINS, left_at = BINS;
    double score[BINS] = { 0 }, right, left = CUTS_NONE;

    hist[CUTS_MISSING] = 0;
    for (int b = 0; b < n; b++)
        hist[b] = sum += hist[b];
    right = sums_weigh(hist, n, 0, node, score);
    if (right > best->score)
        right_at = first_of(score, right);
    if (missing)
        left = sums_weigh(hist, n, missing, node, score);
    if (missing && left > best->score)
        left_at = first_of(score, left);
    best_take(right, right_at, left, left_at, col, best);
    if (best->is_better) {
        int next = best->bin;
        while (next < n && hist[next] == hist[best->bin])
            next++;
        best->bin = next < n ? (best->bin + next) / 2 : best->bin;
    }
    memset(hist, 0, (size_t)n * sizeof *hist);
}

SIMD_KERNEL_STATIC(any_hist,
                   (int64_t * hist, int n_bins, const struct cuts_node *node, int col,
                    struct cuts_best *best),
                   (hist, n_bins, node, col, best))

void cuts_hist(int64_t *hist, int n_bins, const struct cuts_node *node, int col,
               struct cuts_best *best)
{
    if (hist[CUTS_MISSING] == 0 && cuts_two_is_fast(node))
        cuts_two_hist(hist, n_bins, node, col, best);
    else
        any_hist(hist, n_bins, node, col, best);
}

/* Weights to the left of the cuts at eight bins from `at` on, class by class; with the missing
 * values where asked. For AVX-512. */
SIMD_BODY void many_eight(const int32_t *hist, bool with_missing, const int32_t *total,
                          int n_classes, int at, double *l, double *l2, double *r2)
{
    reals sum = { 0 }, squares = { 0 }, rests = { 0 };

    for (int k = 0; k < n_classes; k++, hist += BINS) {
        ints v;
        memcpy(&v, hist + at, sizeof v);
        if (with_missing)
            v += hist[CUTS_MISSING];
        reals x = __builtin_convertvector(v, reals), rest = (double)total[k] - x;
        sum += x;
        squares += x * x;
        rests += rest * rest;
    }
    memcpy(l + at, &sum, sizeof sum);
    memcpy(l2 + at, &squares, sizeof squares);
    memcpy(r2 + at, &rests, sizeof rests);
}

/* The same at four bins, for shorter registers. */
SIMD_BODY void many_four(const int32_t *hist, bool with_missing, const int32_t *total,
                         int n_classes, int at, double *l, double *l2, double *r2)
{
    half_reals sum = { 0 }, squares = { 0 }, rests = { 0 };

    for (int k = 0; k < n_classes; k++, hist += BINS) {
        half_ints v;
        memcpy(&v, hist + at, sizeof v);
        if (with_missing)
            v += hist[CUTS_MISSING];
        half_reals x = __builtin_convertvector(v, half_reals), rest = (double)total[k] - x;
        sum += x;
        squares += x * x;
        rests += rest * rest;
    }
    memcpy(l + at, &sum, sizeof sum);
    memcpy(l2 + at, &squares, sizeof squares);
    memcpy(r2 + at, &rests, sizeof rests);
}

/* Scores of the cuts at the bins below n, with missing values to the left where asked. l receives
 * the weight to the left of each cut, which the caller needs to find the next bin that holds
 * rows. */
SIMD_BODY double many_sums_weigh(const int32_t *hist, int n, bool with_missing,
                                 const int32_t *total, int n_classes, const struct cuts_node *node,
                                 double *l, double *score)
{
    double l2[BINS], r2[BINS];

    bool is_wide = simd_level() == SIMD_AVX512;

    for (int b = 0; b < n && is_wide; b += LANES)
        many_eight(hist, with_missing, total, n_classes, b, l, l2, r2);
    for (int b = 0; b < n && !is_wide; b += LANES / 2)
        many_four(hist, with_missing, total, n_classes, b, l, l2, r2);
    if (n == BINS)
        /* The bin of missing values is no cut: a weight of 0 to its left takes its score away. */
        l[CUTS_MISSING] = 0;
    return many_weigh(l, l2, r2, n, node, score);
}

/* Running sums from bin to bin, in place: within sixteen bins by doubling the distance, then adding
 * what the sixteen before add up to. For AVX-512; elsewhere plain additions are faster. */
SIMD_BODY void sum_one(int32_t *a, int n)
{
    const wide_ints none = { 0 };
    wide_ints before = { 0 };

    for (int j = 0; j < n; j += SIXTEEN) {
        wide_ints v;
        memcpy(&v, a + j, sizeof v);
        v += __builtin_shufflevector(none, v, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
                                     29, 30);
        v += __builtin_shufflevector(none, v, 0, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
                                     28, 29);
        v += __builtin_shufflevector(none, v, 0, 0, 0, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
                                     26, 27);
        v += __builtin_shufflevector(none, v, 0, 0, 0, 0, 0, 0, 0, 0, 16, 17, 18, 19, 20, 21, 22,
                                     23);
        v += before;
        before = (wide_ints){ 0 } + v[SIXTEEN - 1];
        memcpy(a + j, &v, sizeof v);
    }
}

/* Running sums for every class over n bins. True: some value is missing. The bin of missing values
 * stays as it is. */
SIMD_BODY bool many_sum(int32_t *hist, int n, int n_classes)
{
    bool is_wide = simd_level() == SIMD_AVX512;
    int32_t any = 0;

    for (int k = 0; k < n_classes; k++, hist += BINS) {
        int32_t missing = hist[CUTS_MISSING];
        any |= missing;
        if (is_wide)
            sum_one(hist, n);
        for (int b = 1; b < n && !is_wide; b++)
            hist[b] += hist[b - 1];
        hist[CUTS_MISSING] = missing;
    }
    return any != 0;
}

SIMD_BODY void cuts_hist_many_body(int32_t *hist, int n_bins, const int32_t *total, int n_classes,
                                   const struct cuts_node *node, int col, struct cuts_best *best)
{
    int n = (n_bins + LANES - 1) / LANES * LANES, right_at = BINS, left_at = BINS;
    double l[BINS] = { 0 }, score[BINS] = { 0 }, left = CUTS_NONE;
    bool has_missing = many_sum(hist, n, n_classes);
    double right = many_sums_weigh(hist, n, false, total, n_classes, node, l, score);

    if (right > best->score)
        right_at = first_of(score, right);
    if (has_missing) {
        left = many_sums_weigh(hist, n, true, total, n_classes, node, l, score);
        left_at = left > best->score ? first_of(score, left) : BINS;
    }
    best_take(right, right_at, left, left_at, col, best);
    if (best->is_better) {
        int next = best->bin;
        while (next < n && next < CUTS_MISSING && l[next] == l[best->bin])
            next++;
        best->bin = next < n && next < CUTS_MISSING ? (best->bin + next) / 2 : best->bin;
    }
    for (int k = 0; k < n_classes; k++) {
        memset(hist + (ptrdiff_t)k * BINS, 0, (size_t)MIN(n + LANES, BINS) * sizeof *hist);
        hist[(ptrdiff_t)k * BINS + CUTS_MISSING] = 0;
    }
}

SIMD_KERNEL(cuts_hist_many,
            (int32_t * hist, int n_bins, const int32_t *total, int n_classes,
             const struct cuts_node *node, int col, struct cuts_best *best),
            (hist, n_bins, total, n_classes, node, col, best))

/* ---- from rows: the bin of each row is a cut ---- */

/* The least bin above `above`; where above is -1, the least of those whose score is `top`. 255 =
 * none. */
SIMD_BODY int lane_least(const uint8_t *bins, const double *score, int n, double top, int above)
{
    few least = (few){ 0 } + 255;
    uint8_t out = CUTS_MISSING;

    for (int i = 0; i < n; i += LANES) {
        reals v;
        few b;
        memcpy(&v, score + i, sizeof v);
        memcpy(&b, bins + i, sizeof b);
        few is_one =
            above < 0 ? __builtin_convertvector((longs)(v == top), few) : (few)(b > (uint8_t)above);
        b |= ~is_one;
        few is_less = (few)(b < least);
        least = (b & is_less) | (least & ~is_less);
    }
    for (int j = 0; j < LANES; j++)
        out = least[j] < out ? least[j] : out;
    return out;
}

/* Takes the cut among the rows' bins whose score is `top`: the smallest such bin, moved midway to
 * the next bin that holds rows. n: a multiple of LANES. */
SIMD_BODY void rows_take(const uint8_t *bins, const double *score, int n, double top, int col,
                         struct cuts_best *best)
{
    int bin, next;

    best->is_better = top > best->score;
    if (!best->is_better)
        return;
    bin = lane_least(bins, score, n, top, -1);
    next = lane_least(bins, score, n, top, bin);
    best->score = top;
    best->bin = next < CUTS_MISSING ? (bin + next) / 2 : bin;
    best->col = col;
    best->missing_left = false;
}

/* Copies the bins and repeats rows past the last one up to a whole vector: scoring a cut twice does
 * no harm. Returns how many there are then. */
SIMD_BODY int rows_pad(const uint8_t *from, int n, uint8_t *bins)
{
    int all = (n + LANES - 1) / LANES * LANES;

    if (all == LANES)
        memcpy(bins, from, LANES);
    else if (all <= WIDE)
        memcpy(bins, from, WIDE);
    else
        memcpy(bins, from, CUTS_ROWS);
    for (int i = n; i < all; i++)
        bins[i] = bins[0];
    return all;
}

/* sum[i]: the sum of weight[from..to) over the rows whose bin is at most cuts[i], for WIDE cuts;
 * for twice as many where `is_double`, which is a constant. For AVX-512. */
SIMD_BODY void left_of(const uint8_t *cuts, const uint8_t *bins, const uint8_t *weight, int from,
                       int to, bool is_double, uint8_t *sum)
{
    bytes cut, next, left = { 0 }, left_next = { 0 };

    memcpy(&cut, cuts, sizeof cut);
    memcpy(&next, cuts + (is_double ? WIDE : 0), sizeof next);
    for (int i = from; i < to; i++) {
        left += (bytes)(bins[i] <= cut) & weight[i];
        if (is_double)
            left_next += (bytes)(bins[i] <= next) & weight[i];
    }
    memcpy(sum, &left, sizeof left);
    if (is_double)
        memcpy(sum + WIDE, &left_next, sizeof left_next);
}

/* The same for HALF cuts, or for WIDE where `is_double`, in vectors that AVX2 has registers for;
 * the sums of ones[from..to) are CUTS_ROWS bytes further on, unless `ones` is NULL. */
SIMD_BODY void half_left_of(const uint8_t *cuts, const uint8_t *bins, const uint8_t *weight,
                            const uint8_t *ones, int from, int to, bool is_double, uint8_t *sum)
{
    half_bytes cut, next, left = { 0 }, left_next = { 0 }, one = { 0 }, one_next = { 0 };

    memcpy(&cut, cuts, sizeof cut);
    memcpy(&next, cuts + (is_double ? HALF : 0), sizeof next);
    for (int i = from; i < to; i++) {
        half_bytes is_left = (half_bytes)(bins[i] <= cut);
        half_bytes is_next = is_double ? (half_bytes)(bins[i] <= next) : is_left;
        left += is_left & weight[i];
        left_next += is_next & weight[i];
        if (ones) {
            one += is_left & ones[i];
            one_next += is_next & ones[i];
        }
    }
    memcpy(sum, &left, sizeof left);
    if (is_double)
        memcpy(sum + HALF, &left_next, sizeof left_next);
    if (ones)
        memcpy(sum + CUTS_ROWS, &one, sizeof one);
    if (ones && is_double)
        memcpy(sum + CUTS_ROWS + HALF, &one_next, sizeof one_next);
}

/* For all cuts of n rows, of which there are `all` after padding. */
SIMD_BODY void two_left(const uint8_t *bins, const uint8_t *weight, const uint8_t *ones, int n,
                        int all, bool is_wide, uint8_t *sum)
{
    if (is_wide && all <= WIDE) {
        left_of(bins, bins, weight, 0, n, false, sum);
        left_of(bins, bins, ones, 0, n, false, sum + CUTS_ROWS);
    } else if (is_wide) {
        left_of(bins, bins, weight, 0, n, true, sum);
        left_of(bins, bins, ones, 0, n, true, sum + CUTS_ROWS);
    }
    for (int at = 0; at < all && !is_wide; at += WIDE) {
        if (all - at <= HALF)
            half_left_of(bins + at, bins, weight, ones, 0, n, false, sum + at);
        else
            half_left_of(bins + at, bins, weight, ones, 0, n, true, sum + at);
    }
}

/* ---- at most eight rows ----
 *
 * Every row is compared with every row in one instruction: a 64-bit word stands for a cut, and each
 * of its bytes for a row. */

/* Byte i of word j is set when row i lies left of the cut at row j's bin, for the four rows from
 * `from` on. Places past the last row repeat the first. */
SIMD_BODY void four_left(const uint8_t *bins, int from, half_words *is_left)
{
    uint64_t row;
    half_words cuts;

    memcpy(&row, bins, sizeof row);
    for (int j = 0; j < LANES / 2; j++)
        cuts[j] = bins[from + j] * EVERY_BYTE;
    *is_left = (half_words)((half_bytes)((half_words){ 0 } + row) <= (half_bytes)cuts);
}

/* The weight of the rows [from, to) that lie left of each of four cuts. The bytes of a word are
 * added by halves, which does not overflow, because the weights add up to at most 255. The sum
 * becomes the lowest bits of 2^52 as a double: no conversion of integers is needed. */
SIMD_BODY void four_sum(const half_words *is_left, const uint8_t *weight, int from, int to,
                        half_reals *sum)
{
    const uint64_t exponent = 0x4330000000000000u;
    half_words left;
    uint64_t w;

    memcpy(&w, weight, sizeof w);
    w = (w >> (8 * from) << (8 * from)) & (~0ull >> (8 * (LANES - to)));
    left = *is_left & w;
    left += left >> 32;
    left += left >> 16;
    left += left >> 8;
    *sum = (half_reals)((left & 255) | exponent) - 0x1p52;
}

/* l[j], s[j]: weight and weight of class 1 to the left of the cut at row j's bin, for two
 * classes. */
SIMD_BODY void eight_two(const uint8_t *bins, const uint8_t *weight, const uint8_t *ones, int n,
                         double *l, double *s)
{
    for (int at = 0; at < LANES; at += LANES / 2) {
        half_words is_left;
        half_reals sum, sum_ones;

        four_left(bins, at, &is_left);
        four_sum(&is_left, weight, 0, n, &sum);
        four_sum(&is_left, ones, 0, n, &sum_ones);
        memcpy(l + at, &sum, sizeof sum);
        memcpy(s + at, &sum_ones, sizeof sum_ones);
    }
}

/* The same for more classes, whose rows stand class by class (cuts.h): the weight to the left of
 * each cut, and the sums over the classes of its squared weight on the left (l2) and on the right
 * (r2). */
SIMD_BODY void eight_many(const uint8_t *bins, const uint8_t *weight, const int32_t *ends,
                          const int32_t *total, int n_classes, double *l, double *l2, double *r2)
{
    for (int at = 0; at < LANES; at += LANES / 2) {
        half_words is_left;
        half_reals sum = { 0 }, squares = { 0 }, rests = { 0 };

        four_left(bins, at, &is_left);
        for (int k = 0, from = 0; k < n_classes; from = ends[k++]) {
            half_reals x, rest;
            four_sum(&is_left, weight, from, ends[k], &x);
            rest = (double)total[k] - x;
            sum += x;
            squares += x * x;
            rests += rest * rest;
        }
        memcpy(l + at, &sum, sizeof sum);
        memcpy(l2 + at, &squares, sizeof squares);
        memcpy(r2 + at, &rests, sizeof rests);
    }
}

/* ---- from at most CUTS_ROWS rows ---- */

/* Two classes. The ways differ in how many cuts are summed at once and give the same result. */
SIMD_BODY void rows_two_body(const uint8_t *from, const uint8_t *weight, const uint8_t *ones, int n,
                             const struct cuts_node *node, int col, struct cuts_best *best)
{
    double l[CUTS_ROWS], s[CUTS_ROWS], score[CUTS_ROWS];
    uint8_t bins[CUTS_ROWS], sum[2 * CUTS_ROWS];
    int all = rows_pad(from, n, bins);

    if (all == LANES) {
        eight_two(bins, weight, ones, n, l, s);
        rows_take(bins, score, LANES, cuts_weigh(l, s, LANES, node, score), col, best);
        return;
    }
    two_left(bins, weight, ones, n, all, simd_level() == SIMD_AVX512, sum);
    if (cuts_two_is_fast(node)) {
        cuts_two_sums(bins, sum, sum + CUTS_ROWS, n, node, col, best);
        return;
    }
    for (int at = 0; at < all; at += LANES) {
        for (int i = at; i < at + LANES; i++) {
            l[i] = sum[i];
            s[i] = sum[CUTS_ROWS + i];
        }
    }
    rows_take(bins, score, all, cuts_weigh(l, s, all, node, score), col, best);
}

SIMD_KERNEL_STATIC(rows_two,
                   (const uint8_t *bins, const uint8_t *weight, const uint8_t *ones, int n,
                    const struct cuts_node *node, int col, struct cuts_best *best),
                   (bins, weight, ones, n, node, col, best))

/* For classes of weight t with x of it to the left, sum (t - x)^2 = sum t^2 - 2 sum t x + sum x^2.
 * All of it may be computed modulo 2^16, because with a weight of at most 255 in all, the sum
 * itself is below that. */
struct many_sums {
    uint16_t squares[CUTS_ROWS], mixed[CUTS_ROWS], own;
    uint8_t sum[CUTS_ROWS];
};

/* n_cuts: how many are summed at once, a constant: WIDE or twice that; not is_wide: also HALF. */
SIMD_BODY void many_left(const uint8_t *bins, const uint8_t *weight, const int32_t *ends,
                         const int32_t *total, int n_classes, int n_cuts, bool is_wide,
                         struct many_sums *out)
{
    uint8_t x[CUTS_ROWS];

    *out = (struct many_sums){ 0 };
    for (int k = 0, from = 0; k < n_classes; from = ends[k++]) {
        uint16_t t = (uint16_t)total[k];
        if (is_wide)
            left_of(bins, bins, weight, from, ends[k], n_cuts > WIDE, x);
        for (int at = 0; at < n_cuts && !is_wide; at += WIDE)
            half_left_of(bins + at, bins, weight, NULL, from, ends[k], n_cuts > HALF, x + at);
        out->own = (uint16_t)(out->own + t * t);
        for (int j = 0; j < n_cuts; j++) {
            out->sum[j] = (uint8_t)(out->sum[j] + x[j]);
            out->squares[j] = (uint16_t)(out->squares[j] + x[j] * x[j]);
            out->mixed[j] = (uint16_t)(out->mixed[j] + t * x[j]);
        }
    }
}

SIMD_BODY void many_unpack(const struct many_sums *m, int all, double *l, double *l2, double *r2)
{
    for (int from = 0; from < all; from += LANES) {
        for (int j = from; j < from + LANES; j++) {
            l[j] = m->sum[j];
            l2[j] = m->squares[j];
            r2[j] = (uint16_t)(m->own - 2 * m->mixed[j] + m->squares[j]);
        }
    }
}

/* More than two classes; divided as rows_two_body is. */
SIMD_BODY void rows_many_body(const uint8_t *from, const uint8_t *weight, const int32_t *ends,
                              const int32_t *total, int n_classes, const struct cuts_node *node,
                              int col, struct cuts_best *best)
{
    double l[CUTS_ROWS], l2[CUTS_ROWS], r2[CUTS_ROWS], score[CUTS_ROWS];
    uint8_t bins[CUTS_ROWS];
    int all = rows_pad(from, ends[n_classes - 1], bins);
    bool is_wide = simd_level() == SIMD_AVX512;
    struct many_sums sums;

    if (all == LANES) {
        eight_many(bins, weight, ends, total, n_classes, l, l2, r2);
        rows_take(bins, score, LANES, many_weigh(l, l2, r2, LANES, node, score), col, best);
        return;
    }
    if (is_wide && all <= WIDE)
        many_left(bins, weight, ends, total, n_classes, WIDE, true, &sums);
    else if (is_wide)
        many_left(bins, weight, ends, total, n_classes, 2 * WIDE, true, &sums);
    else if (all <= HALF)
        many_left(bins, weight, ends, total, n_classes, HALF, false, &sums);
    else if (all <= WIDE)
        many_left(bins, weight, ends, total, n_classes, WIDE, false, &sums);
    else
        many_left(bins, weight, ends, total, n_classes, 2 * WIDE, false, &sums);
    many_unpack(&sums, all, l, l2, r2);
    rows_take(bins, score, all, many_weigh(l, l2, r2, all, node, score), col, best);
}

SIMD_KERNEL_STATIC(rows_many,
                   (const uint8_t *bins, const uint8_t *weight, const int32_t *ends,
                    const int32_t *total, int n_classes, const struct cuts_node *node, int col,
                    struct cuts_best *best),
                   (bins, weight, ends, total, n_classes, node, col, best))

void cuts_rows(const uint8_t *bins, const uint8_t *weight, const uint8_t *ones, int n,
               const struct cuts_node *node, int col, struct cuts_best *best)
{
    struct cuts_few rows;

    if (n > LANES && cuts_middle_is_there()) {
        cuts_middle_two(bins, weight, ones, n, node, col, best);
        return;
    }
    if (n > CUTS_FEW || !cuts_few_is_fast()) {
        rows_two(bins, weight, ones, n, node, col, best);
        return;
    }
    cuts_few_two(&rows, weight, ones, n);
    cuts_few_cut(&rows, bins, CUTS_MISSING, node, col, best);
}

void cuts_rows_many(const uint8_t *bins, const uint8_t *weight, const int32_t *ends,
                    const int32_t *total, int n_classes, const struct cuts_node *node, int col,
                    struct cuts_best *best)
{
    struct cuts_few rows;

    if (ends[n_classes - 1] > LANES && cuts_middle_is_there()) {
        cuts_middle_many(bins, weight, ends, total, n_classes, node, col, best);
        return;
    }
    if (ends[n_classes - 1] > CUTS_FEW || !cuts_few_is_fast()) {
        rows_many(bins, weight, ends, total, n_classes, node, col, best);
        return;
    }
    cuts_few_many(&rows, weight, ends, total, n_classes);
    cuts_few_cut(&rows, bins, CUTS_MISSING, node, col, best);
}
