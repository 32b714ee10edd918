/* hist.h - exact gradient histograms of tree nodes: for every column and bin, the sum of the
 * gradients of the node's rows in that bin. Called by ml/boost/boost_grow.c.
 *
 * A row's quantised gradient is one 32-bit word: g, signed, in the upper 16 bits, and h, never
 * negative, in the lower 16. A bin holds a packed 64-bit sum: g in the upper 32 bits, h in the
 * lower 32. The scale is chosen so that the sums over all rows fit: |sum g| < 2^31 and sum h <
 * 2^31. Sums of integers do not depend on their order, so a child's histogram is the same, bit for
 * bit and on every machine, whether it is built from rows or got by subtracting its sibling from
 * its parent.
 *
 * Layout: one column after another, HIST_PITCH words apart; bin b at word b, missing values at word
 * 255. Only the first n_bins words and word 255 of a column are kept clean. The pitch is 256 + 8
 * words, because with 256 equal bins of all columns would fall on the same cache sets. */
#ifndef ML_CPU_HIST_H
#define ML_CPU_HIST_H

#include "ml/math/tree_math.h" /* hist_word, hist_g, hist_h */

#include <stdint.h>

enum { HIST_PITCH = 264, HIST_MISSING = 255 };

/* Adds rows to the columns cols[0..n_cols): hist[j * HIST_PITCH + bin of cols[j]] += word of the
 * row. bins: row-major, stride a multiple of 8, readable up to a multiple of 8 columns. is_dense:
 * cols are n_cols consecutive numbers from a multiple of 8. */
struct hist_rows {
    const uint8_t *bins;
    int64_t stride;
    /* ascending */
    const int32_t *rows;
    int64_t n;
    /* by row number, not by place in rows */
    const uint32_t *q;
};
void hist_add(const struct hist_rows *r, const int32_t *cols, int n_cols, int is_dense,
              int64_t *hist);
/* The rows 0..n-1 whose word is not 0, ascending, to out (room for n); returns how many. */
int64_t hist_rows_used(const uint32_t *q, int64_t n, int32_t *out);
/* Clears the first n_bins[j] words of each column j, and the word of missing values. */
void hist_clear(int64_t *hist, const int *n_bins, int n_cols);
/* from -= what, over the same words. */
void hist_subtract(int64_t *from, const int64_t *what, const int *n_bins, int n_cols);
/* The packed sum over the rows: what the histogram of any column adds up to. */
int64_t hist_total(const uint32_t *q, const int32_t *rows, int64_t n);
/* The same for rows 0..n-1. */
int64_t hist_total_all(const uint32_t *q, int64_t n);

#endif
