/* cuts.c - cuts of one column, eight scores at a time: from a histogram, or, where rows are few, with every row's bin as a
 * cut: then what lies left of all of them is summed in bytes, one row after the other, and no histogram is needed. */
#include "ml/cpu/cuts.h"

#include "base/base.h"
#include "ml/cpu/simd.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

#define CUTS_NONE (-DBL_MAX)
enum { LANES = 8, WIDE = 64, BINS = 256 };

typedef uint8_t bytes __attribute__((vector_size(WIDE)));
typedef double reals __attribute__((vector_size(LANES * 8)));
typedef uint8_t few __attribute__((vector_size(LANES)));
typedef int64_t longs __attribute__((vector_size(LANES * 8)));

/* The largest of n scores, a multiple of LANES. */
SIMD_BODY double top_of(const double *score, int n)
{
    double best = CUTS_NONE;
    reals top = (reals){ 0 } + CUTS_NONE;

    for (int i = 0; i < n; i += LANES) {
        reals v;
        memcpy(&v, score + i, sizeof v);
        longs is_more = v > top;
        top = (reals)((is_more & (longs)v) | (~is_more & (longs)top));
    }
    for (int j = 0; j < LANES; j++)
        best = top[j] > best ? top[j] : best;
    return best;
}

/* l, s: weight and weight of class 1 left of n cuts. */
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

/* l, l2, r2: weight left of n cuts, and the sums of the squared weights of the classes on either side. */
SIMD_BODY double many_weigh(const double *l, const double *l2, const double *r2, int n,
                            const struct cuts_node *node, double *score)
{
    double all_n = (double)node->n, least = (double)node->least;

    for (int i = 0; i < n; i++) {
        double ln = l[i], rn = all_n - ln, v = l2[i] / ln + r2[i] / rn;
        v = ln >= least ? v : CUTS_NONE;
        score[i] = rn >= least ? v : CUTS_NONE;
    }
    return top_of(score, n);
}

/* ---- from a histogram ---- */

SIMD_BODY int first_of(const double *score, double what)
{
    int i = 0;

    while (score[i] != what)
        i++;
    return i;
}

/* sums[b]: what bins up to b hold; more: added to each. */
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

/* The better of the best cuts with missing values to the right and to the left, if it beats *best. */
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

SIMD_BODY void cuts_hist_body(int64_t *hist, int n_bins, const struct cuts_node *node, int col,
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

SIMD_KERNEL(cuts_hist,
            (int64_t * hist, int n_bins, const struct cuts_node *node, int col,
             struct cuts_best *best),
            (hist, n_bins, node, col, best))

/* Adds class by class to l, l2, r2 what lies left of every bin, missing values too where asked. */
SIMD_BODY void many_add(const int32_t *sums, int n, int32_t more, int32_t total, double *l,
                        double *l2, double *r2)
{
    for (int b = 0; b < n; b++) {
        double x = (double)(sums[b] + more), rest = (double)total - x;
        l[b] += x;
        l2[b] += x * x;
        r2[b] += rest * rest;
    }
}

SIMD_BODY double many_sums_weigh(const int32_t *hist, int n, bool with_missing,
                                 const int32_t *total, int n_classes, const struct cuts_node *node,
                                 double *l, double *score)
{
    double l2[BINS], r2[BINS];

    for (int b = 0; b < n; b++)
        l[b] = l2[b] = r2[b] = 0;
    for (int k = 0; k < n_classes; k++)
        many_add(hist + (ptrdiff_t)k * BINS, n,
                 with_missing ? hist[(ptrdiff_t)k * BINS + CUTS_MISSING] : 0, total[k], l, l2, r2);
    if (n == BINS)
        l[CUTS_MISSING] = 0; /* no cut */
    return many_weigh(l, l2, r2, n, node, score);
}

/* Sums from bin to bin in place. */
SIMD_BODY void sum_one(int32_t *a, int n)
{
    int32_t x = 0;

    for (int j = 0; j < n; j++)
        a[j] = x += a[j];
}

/* Two at a time, since one addition waits for the one before. */
SIMD_BODY void sum_two(int32_t *restrict a, int32_t *restrict b, int n)
{
    int32_t x = 0, y = 0;

    for (int j = 0; j < n; j++) {
        a[j] = x += a[j];
        b[j] = y += b[j];
    }
}

/* Of every class; true: a value is missing. */
SIMD_BODY bool many_sum(int32_t *hist, int n, int n_classes)
{
    int32_t missing = 0;

    n = MIN(n, CUTS_MISSING);
    for (int k = 0; k + 1 < n_classes; k += 2)
        sum_two(hist + (ptrdiff_t)k * BINS, hist + (ptrdiff_t)(k + 1) * BINS, n);
    if (n_classes & 1)
        sum_one(hist + (ptrdiff_t)(n_classes - 1) * BINS, n);
    for (int k = 0; k < n_classes; k++)
        missing |= hist[(ptrdiff_t)k * BINS + CUTS_MISSING];
    return missing != 0;
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
        memset(hist + (ptrdiff_t)k * BINS, 0, (size_t)n * sizeof *hist);
        hist[(ptrdiff_t)k * BINS + CUTS_MISSING] = 0;
    }
}

SIMD_KERNEL(cuts_hist_many,
            (int32_t * hist, int n_bins, const int32_t *total, int n_classes,
             const struct cuts_node *node, int col, struct cuts_best *best),
            (hist, n_bins, total, n_classes, node, col, best))

/* ---- from a few rows ---- */

/* The cut among the rows' bins with the score `top`: the smallest bin, midway to the next one. n: a multiple of LANES. */
SIMD_BODY void rows_take(const uint8_t *bins, const double *score, int n, double top, int col,
                         struct cuts_best *best)
{
    int bin = CUTS_MISSING;
    uint8_t next = CUTS_MISSING;

    best->is_better = top > best->score;
    if (!best->is_better)
        return;
    longs least = (longs){ 0 } + CUTS_MISSING;
    for (int i = 0; i < n; i += LANES) {
        few few_bins;
        reals v;
        memcpy(&few_bins, bins + i, sizeof few_bins);
        memcpy(&v, score + i, sizeof v);
        longs is_top = v == top, at = __builtin_convertvector(few_bins, longs);
        at |= ~is_top & CUTS_MISSING;
        longs is_less = at < least;
        least = (is_less & at) | (~is_less & least);
    }
    for (int j = 0; j < LANES; j++)
        bin = least[j] < bin ? (int)least[j] : bin;
    for (int i = 0; i < n; i++) {
        uint8_t above = bins[i] > bin ? bins[i] : CUTS_MISSING;
        next = above < next ? above : next;
    }
    best->score = top;
    best->bin = next < CUTS_MISSING ? (bin + next) / 2 : bin;
    best->col = col;
    best->missing_left = false;
}

/* Rows past the last up to a whole vector: a cut more than once does no harm. */
SIMD_BODY int rows_pad(uint8_t *bins, int n)
{
    int all = (n + LANES - 1) / LANES * LANES;

    for (int i = n; i < all; i++)
        bins[i] = bins[0];
    return all;
}

/* sum[i]: what weighs[from..to) adds up to where the bin is at most bins[i], for WIDE cuts. */
SIMD_BODY void left_of(const uint8_t *cuts, const uint8_t *bins, const uint8_t *weight, int from,
                       int to, uint8_t *sum)
{
    bytes cut, left = { 0 };

    memcpy(&cut, cuts, sizeof cut);
    for (int i = from; i < to; i++)
        left += (bytes)(bins[i] <= cut) & weight[i];
    memcpy(sum, &left, sizeof left);
}

SIMD_BODY void left_of_two(const uint8_t *cuts, const uint8_t *bins, const uint8_t *weight,
                           const uint8_t *ones, int n, uint8_t *sum, uint8_t *sum_ones)
{
    bytes cut, left = { 0 }, left_ones = { 0 };

    memcpy(&cut, cuts, sizeof cut);
    for (int i = 0; i < n; i++) {
        bytes is_left = (bytes)(bins[i] <= cut);
        left += is_left & weight[i];
        left_ones += is_left & ones[i];
    }
    memcpy(sum, &left, sizeof left);
    memcpy(sum_ones, &left_ones, sizeof left_ones);
}

SIMD_BODY void cuts_rows_body(uint8_t *bins, const uint8_t *weight, const uint8_t *ones, int n,
                              const struct cuts_node *node, int col, struct cuts_best *best)
{
    double l[CUTS_ROWS], s[CUTS_ROWS], score[CUTS_ROWS];
    int all = rows_pad(bins, n);

    for (int part = 0; part < all; part += WIDE) {
        uint8_t sum[WIDE], sum_ones[WIDE];
        left_of_two(bins + part, bins, weight, ones, n, sum, sum_ones);
        for (int from = 0; from < WIDE && part + from < all; from += LANES) {
            for (int i = from; i < from + LANES; i++) {
                l[part + i] = sum[i];
                s[part + i] = sum_ones[i];
            }
        }
    }
    rows_take(bins, score, all, cuts_weigh(l, s, all, node, score), col, best);
}

SIMD_KERNEL(cuts_rows,
            (uint8_t * bins, const uint8_t *weight, const uint8_t *ones, int n,
             const struct cuts_node *node, int col, struct cuts_best *best),
            (bins, weight, ones, n, node, col, best))

/* `n` cuts, at most WIDE. Sums of squares of at most 255 in all fit 16 bits. */
SIMD_BODY void many_left(const uint8_t *cuts, int n, const uint8_t *bins, const uint8_t *weight,
                         const int32_t *ends, const int32_t *total, int n_classes, double *l,
                         double *l2, double *r2)
{
    uint16_t sum[WIDE] = { 0 }, sum_l[WIDE] = { 0 }, sum_r[WIDE] = { 0 };

    for (int k = 0, from = 0; k < n_classes; from = ends[k++]) {
        uint8_t x[WIDE];
        uint16_t t = (uint16_t)total[k];
        left_of(cuts, bins, weight, from, ends[k], x);
        for (int j = 0; j < WIDE; j++) {
            uint16_t rest = (uint16_t)(t - x[j]);
            sum[j] = (uint16_t)(sum[j] + x[j]);
            sum_l[j] = (uint16_t)(sum_l[j] + x[j] * x[j]);
            sum_r[j] = (uint16_t)(sum_r[j] + rest * rest);
        }
    }
    for (int from = 0; from < n; from += LANES) {
        for (int j = from; j < from + LANES; j++) {
            l[j] = sum[j];
            l2[j] = sum_l[j];
            r2[j] = sum_r[j];
        }
    }
}

SIMD_BODY void cuts_rows_many_body(uint8_t *bins, const uint8_t *weight, const int32_t *ends,
                                   const int32_t *total, int n_classes,
                                   const struct cuts_node *node, int col, struct cuts_best *best)
{
    double l[CUTS_ROWS], l2[CUTS_ROWS], r2[CUTS_ROWS], score[CUTS_ROWS];
    int n = ends[n_classes - 1], all = rows_pad(bins, n);

    for (int part = 0; part < all; part += WIDE)
        many_left(bins + part, MIN(WIDE, all - part), bins, weight, ends, total, n_classes,
                  l + part, l2 + part, r2 + part);
    rows_take(bins, score, all, many_weigh(l, l2, r2, all, node, score), col, best);
}

SIMD_KERNEL(cuts_rows_many,
            (uint8_t * bins, const uint8_t *weight, const int32_t *ends, const int32_t *total,
             int n_classes, const struct cuts_node *node, int col, struct cuts_best *best),
            (bins, weight, ends, total, n_classes, node, col, best))
