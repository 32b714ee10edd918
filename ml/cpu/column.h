/* column.h - passes over one column of numbers: counts, range and sums for its preparation, and the bins of its values. */
#ifndef ML_CPU_COLUMN_H
#define ML_CPU_COLUMN_H

#include <stdint.h>

enum { COLUMN_LANES = 8 };

/* Of the rows seen so far; row i of a block goes to lane i % 8, so that the sums are the same on every machine. */
struct column_moments {
    double center;
    int64_t n[COLUMN_LANES], missing[COLUMN_LANES], above[COLUMN_LANES], below[COLUMN_LANES];
    double lo[COLUMN_LANES], hi[COLUMN_LANES]; /* of finite values */
    double sum[COLUMN_LANES], squares[COLUMN_LANES];
};
/* The lanes together; sum and squares are of x - center over finite x; above and below count infinities. */
struct column_total {
    int64_t n, missing, above, below;
    double lo, hi, sum, squares;
};
void column_moments_init(struct column_moments *m, double center);
/* use[i] != 0: the row counts; NULL = all do. n is a multiple of 8 but in the last call. */
void column_moments_add(struct column_moments *m, const double *x, const uint8_t *use, int64_t n);
void column_moments_total(const struct column_moments *m, struct column_total *out);

/* out[i * stride] = how many of the 256 ascending cuts (padded with infinity) are below (float)x[i], at most n_bins - 1;
 * 255 for NaN. */
void column_bins(const float *cuts, int n_bins, const double *x, int64_t n, uint8_t *out,
                 int64_t stride);

#endif
