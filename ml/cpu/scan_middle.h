/* scan_middle.h - scan_numeric (scan.h) four bins at a time, for CPUs that have AVX2 and no AVX-512.
 * Called by scan.c. */
#ifndef ML_CPU_SCAN_MIDDLE_H
#define ML_CPU_SCAN_MIDDLE_H

#include "ml/cpu/simd.h"
#include "ml/math/tree_math.h"

#include <stdbool.h>

#ifdef SIMD_MIDDLE
/* With fewer bins, adding them up one by one is as fast. */
enum { SCAN_MIDDLE_BINS = 8 };

/* Whether the scores of this node may be screened in single precision: no product of two sums of h
 * may leave its range. */
static inline bool scan_middle_suits(const struct scan_node *nd)
{
    return (double)hist_h(nd->total) + 2.0 * nd->l2 < 1e18;
}

/* Running sums of bins, four at a time, without the fours that hold no rows. */
struct scan_middle {
    int64_t sum[256];
    /* by four: its first bin, and a bit for each that holds rows */
    uint8_t bin[64], used[64];
    /* fours */
    int n;
};
void scan_middle_sums(const int64_t *hist, int end, struct scan_middle *out);
/* The first place in s->sum with the best score of all, `missing` added to the left side, if it
 * beats *score, which becomes it; else -1. */
int scan_middle_best(const struct scan_node *nd, const struct scan_middle *s, int64_t missing,
                     double *score);
#endif

#endif
