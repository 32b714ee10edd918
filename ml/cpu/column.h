/* column.h - passes over one column of numbers. The first gives its counts, range and sums, from
 * which ml/prep fits the preparation (mean, scale, what to impute). The second turns its values
 * into bins.
 *
 * Called by ml/prep only. A column may come in blocks; the result does not depend on how it was
 * divided, as long as every block but the last has a multiple of COLUMN_LANES rows. */
#ifndef ML_CPU_COLUMN_H
#define ML_CPU_COLUMN_H

#include <stdint.h>

enum { COLUMN_LANES = 8 };

/* Counts and sums of the rows seen so far. Row i of a block goes to lane i % 8, so that the order
 * of the sums is the same on every machine. Sums are of x - center, which keeps the squares of a
 * column with a large mean exact enough. */
struct column_moments {
    double center;
    int64_t n[COLUMN_LANES], missing[COLUMN_LANES], above[COLUMN_LANES], below[COLUMN_LANES];
    /* range and sums of the finite values only */
    double lo[COLUMN_LANES], hi[COLUMN_LANES];
    double sum[COLUMN_LANES], squares[COLUMN_LANES];
};
/* The lanes added up. sum and squares are of x - center over the finite values; above and below
 * count infinities. */
struct column_total {
    int64_t n, missing, above, below;
    double lo, hi, sum, squares;
};
void column_moments_init(struct column_moments *m, double center);
/* use[i] != 0: the row counts; NULL = all rows do. n is a multiple of 8 except in the last call. */
void column_moments_add(struct column_moments *m, const double *x, const uint8_t *use, int64_t n);
void column_moments_total(const struct column_moments *m, struct column_total *out);

/* How many of n values are finite; and of these, how many float32 cannot tell from infinity or from
 * zero (beyond 3.4e38, or within 1.2e-38 but not 0). */
void column_outside(const double *x, int64_t n, int64_t *finite, int64_t *outside);

/* out[i * stride] = how many of the 256 ascending cuts (padded with infinity) are below
 * (float)x[i], at most n_bins - 1; 255 for NaN. */
void column_bins(const float *cuts, int n_bins, const double *x, int64_t n, uint8_t *out,
                 int64_t stride);

#endif
