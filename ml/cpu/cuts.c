/* cuts.c - cuts of one column, eight scores at a time: from a histogram, or, where rows are few, with every row's bin as a
 * cut: then what lies left of all of them is summed in bytes, one row after the other, and no histogram is needed. */
#include "ml/cpu/cuts.h"

#include "ml/cpu/simd.h"

#include <float.h>
#include <string.h>

#define CUTS_NONE (-DBL_MAX)
enum { LANES = 8, BINS = 256 };

typedef uint8_t bytes __attribute__((vector_size(CUTS_ROWS)));
typedef double reals __attribute__((vector_size(LANES * 8)));
typedef int64_t longs __attribute__((vector_size(LANES * 8)));

/* l, s: weight and weight of class 1 left of n cuts; n is a multiple of LANES. Returns the best score. */
SIMD_BODY double cuts_weigh(const double *l, const double *s, int n, const struct cuts_node *node,
                            double *score)
{
    double all_n = (double)node->n, all_s = (double)node->s, least = (double)node->least,
           best = CUTS_NONE;
    reals top = (reals){ 0 } + CUTS_NONE;

    for (int i = 0; i < n; i++) {
        double ln = l[i], ls = s[i], rn = all_n - ln, rs = all_s - ls;
        double mixed_l = ls * (ln - ls), mixed_r = rs * (rn - rs);
        double v = all_n - 2.0 * (mixed_l * rn + mixed_r * ln) / (ln * rn);
        v = ln >= least ? v : CUTS_NONE;
        score[i] = rn >= least ? v : CUTS_NONE;
    }
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

SIMD_BODY void cuts_hist_body(int64_t *hist, int n_bins, const struct cuts_node *node, int col,
                              struct cuts_best *best)
{
    int64_t sum = 0, missing = hist[CUTS_MISSING];
    int n = (n_bins + LANES - 1) / LANES * LANES, bin = BINS;
    double score[BINS], right, left = CUTS_NONE;

    hist[CUTS_MISSING] = 0;
    for (int b = 0; b < n; b++)
        hist[b] = sum += hist[b];
    best->is_better = false;
    right = sums_weigh(hist, n, 0, node, score);
    if (right > best->score)
        bin = first_of(score, right);
    if (missing)
        left = sums_weigh(hist, n, missing, node, score);
    if (right > best->score || left > best->score) {
        int other = left >= right ? first_of(score, left) : BINS;
        best->missing_left = left > right || (left == right && other < bin);
        best->score = best->missing_left ? left : right;
        best->bin = best->missing_left ? other : bin;
        best->col = col;
        best->is_better = true;
        for (bin = best->bin; bin < n && hist[bin] == hist[best->bin];)
            bin++;
        best->bin = bin < n ? (best->bin + bin) / 2 : best->bin;
    }
    memset(hist, 0, (size_t)n * sizeof *hist);
}

SIMD_KERNEL(cuts_hist,
            (int64_t * hist, int n_bins, const struct cuts_node *node, int col,
             struct cuts_best *best),
            (hist, n_bins, node, col, best))

/* ---- from a few rows ---- */

SIMD_BODY void cuts_rows_body(uint8_t *bins, const uint8_t *weight, const uint8_t *ones, int n,
                              const struct cuts_node *node, int col, struct cuts_best *best)
{
    bytes cut, left = { 0 }, left_ones = { 0 };
    uint8_t sum[CUTS_ROWS], sum_ones[CUTS_ROWS];
    double l[CUTS_ROWS], s[CUTS_ROWS], score[CUTS_ROWS];
    int bin = CUTS_MISSING, next = CUTS_MISSING, all = (n + LANES - 1) / LANES * LANES;

    for (int i = n; i < all; i++)
        bins[i] = bins[0]; /* a cut more than once does no harm */
    memcpy(&cut, bins, sizeof cut);
    for (int i = 0; i < n; i++) {
        bytes is_left = (bytes)(bins[i] <= cut);
        left += is_left & weight[i];
        left_ones += is_left & ones[i];
    }
    memcpy(sum, &left, sizeof sum);
    memcpy(sum_ones, &left_ones, sizeof sum_ones);
    for (int from = 0; from < all; from += LANES) {
        for (int i = from; i < from + LANES; i++) {
            l[i] = sum[i];
            s[i] = sum_ones[i];
        }
    }
    double top = cuts_weigh(l, s, all, node, score);
    best->is_better = top > best->score;
    if (!best->is_better)
        return;
    for (int i = 0; i < n; i++)
        bin = score[i] == top && bins[i] < bin ? bins[i] : bin;
    for (int i = 0; i < n; i++)
        next = bins[i] > bin && bins[i] < next ? bins[i] : next;
    best->score = top;
    best->bin = next < CUTS_MISSING ? (bin + next) / 2 : bin;
    best->col = col;
    best->missing_left = false;
}

SIMD_KERNEL(cuts_rows,
            (uint8_t * bins, const uint8_t *weight, const uint8_t *ones, int n,
             const struct cuts_node *node, int col, struct cuts_best *best),
            (bins, weight, ones, n, node, col, best))
