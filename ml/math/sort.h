/* sort.h - one stable radix sort for the places that need an exact order of many rows that is the
 * same on every machine (ranks of scores, folds, cuts), and quantiles by radix selection. Keys are
 * unsigned; two functions below make keys that keep the order of floating-point values. */
#ifndef ML_MATH_SORT_H
#define ML_MATH_SORT_H

#include "base/err.h"
#include "ml/math/fmath.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Sorts n (key, row) pairs by key, ascending; equal keys keep their order. row may be NULL. Fails
 * without memory (ERR_NOMEM). */
int ml_sort_u64(uint64_t *key, uint32_t *row, size_t n, struct err *err);

/* Sorts n keys ascending; spare: [n], overwritten. */
void ml_sort_u32(uint32_t *key, uint32_t *spare, size_t n);

/* The quantile at share q, 0 to 1, of n >= 1 values, given as their ml_key_f32 (overwritten):
 * interpolated linearly between the values of the ranks around q (n - 1), so that 0.5 gives the
 * median. The time is linear in n, whatever the values are. */
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
