/* sort.h - one stable radix sort for the places that need an exact, machine-independent order of many rows: ranks of
 * scores, folds, quantiles. Keys are unsigned; the two makers below keep the order of floating-point values. */
#ifndef ML_SORT_H
#define ML_SORT_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Sorts n (key, row) pairs by key ascending; equal keys keep their order. row may be NULL. ERR_NOMEM. */
int ml_sort_u64(uint64_t *key, uint32_t *row, size_t n, struct err *err);

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
