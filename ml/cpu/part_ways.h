/* part_ways.h - what the ways of parting rows column by column have in common (part.h says what they
 * do): part.c and part_middle.c. */
#ifndef ML_CPU_PART_WAYS_H
#define ML_CPU_PART_WAYS_H

#include "base/base.h"

#include <stdint.h>

/* PART_WIDE: rows of one word of masks, and bytes of a vector. PART_PLACES: of 256 places every
 * sixteenth is a coarse one. */
enum { PART_WIDE = 64, PART_PLACES = 16 };

/* Columns lie `pitch` bytes apart in all three places. NULL: that side is not wanted. */
struct part_columns {
    const uint8_t *from;
    uint8_t *left, *right;
    int64_t pitch;
    int cols;
};

/* The least bin; 1 + the largest other than 255, or 0 if there is none; and the largest of all, which
 * is 255 where a value is missing. */
struct part_range {
    uint8_t least, most, top;
};

/* The lowest n bits set, all of them from 64 on. */
static inline __attribute__((always_inline)) uint64_t part_bits(int64_t n)
{
    return n >= PART_WIDE ? ~0ull : (1ull << n) - 1;
}

/* Counts the marks in [from, to): the first and the last word may be cut by the range. Compiled once
 * more in each way, so that it counts bits in one instruction where the CPU has it. */
static inline __attribute__((always_inline)) int64_t part_ones(const uint64_t *masks, int64_t from,
                                                               int64_t to)
{
    int64_t ones = 0;

    while (from < to) {
        int64_t at = from % PART_WIDE, n = MIN(PART_WIDE - at, to - from);
        ones += __builtin_popcountll(masks[from / PART_WIDE] >> at & part_bits(n));
        from += n;
    }
    return ones;
}

/* part_runs of at most 64 rows; digit: of the rows' bytes, which rows have the binary digit. */
static inline __attribute__((always_inline)) void part_runs_count(const uint64_t *digit, int digits,
                                                                  uint64_t mask,
                                                                  const int32_t *ends, int n_runs,
                                                                  int32_t *marked, int32_t *sum)
{
    uint64_t before = 0;

    for (int k = 0; k < n_runs; k++) {
        uint64_t until = part_bits(ends[k]), in = mask & until & ~before;
        int32_t all = 0;
        for (int p = 0; p < digits; p++)
            all += (int32_t)__builtin_popcountll(in & digit[p]) << p;
        marked[k] = (int32_t)__builtin_popcountll(in);
        sum[k] = all;
        before = until;
    }
}

#endif
