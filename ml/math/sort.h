/* sort.h - one stable radix sort for the places that need an exact, machine-independent order of many rows (ranks of
 * scores, folds, cuts), and quantiles by radix selection. Keys are unsigned; the two makers below keep the order of floating-point values. */
#ifndef ML_MATH_SORT_H
#define ML_MATH_SORT_H

#include "base/err.h"
#include "ml/math/fmath.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Sorts n (key, row) pairs by key ascending; equal keys keep their order. row may be NULL. ERR_NOMEM. */
int ml_sort_u64(uint64_t *key, uint32_t *row, size_t n, struct err *err);

/* Sorts n keys ascending; spare: [n], overwritten. */
void ml_sort_u32(uint32_t *key, uint32_t *spare, size_t n);

/* The quantile at share q in 0..1 of n >= 1 values, given as ml_key_f32 of them (overwritten): between those of the ranks
 * around q (n - 1) by linear interpolation, so that 0.5 gives the median. Time linear in n, whatever the values. */
float ml_quantile(uint32_t *key, int64_t n, double q);

FM_FN uint32_t ml_key_f32(float x)
{
    uint32_t u = fm_bits(x + 0.0f);
    return u ^ ((uint32_t)((int32_t)u >> 31) | 0x80000000u);
}

FM_FN float ml_key_f32_value(uint32_t k)
{
    return fm_from_bits(k ^ ((k >> 31) ? 0x80000000u : ~0u));
}

/* Order of the values; -0 and +0 give one key; not for NaN. */
static inline uint64_t ml_key_f64(double x)
{
    uint64_t u;
    x = x + 0.0; /* -0 becomes +0 */
    memcpy(&u, &x, sizeof(u));
    return u ^ ((uint64_t)((int64_t)u >> 63) | 0x8000000000000000ull);
}

static inline double ml_key_value(uint64_t k)
{
    double x;
    k ^= (k >> 63) ? 0x8000000000000000ull : ~0ull;
    memcpy(&x, &k, sizeof(x));
    return x;
}

#endif
