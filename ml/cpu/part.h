/* part.h - sends the rows of a tree's node to its children when their bins lie column by column:
 * which rows go left, as bits; their bytes moved to either side in order; sums of bytes. Called by
 * ml/forest only. */
#ifndef ML_CPU_PART_H
#define ML_CPU_PART_H

#include <stdbool.h>
#include <stdint.h>

enum { PART_WIDE = 64 };

/* Whether this CPU moves bytes by whole vectors. Where it does not, rows in lines are faster than
 * columns. */
bool part_is_fast(void);
/* For tests: part_is_fast() answers this until part_unforce, whatever the CPU. */
void part_force(bool is_fast);
void part_unforce(void);

/* Bit i % 64 of masks[i / 64] = bins[i] + up, modulo 256, is at most cut. Bits past n are 0.
 * Returns the number of ones. Reads whole vectors: up to 63 bytes past the last. */
int64_t part_mark(const uint8_t *bins, int64_t n, uint8_t up, uint8_t cut, uint64_t *masks);
/* The same for a set: the bit bins[i] of it. */
int64_t part_mark_set(const uint8_t *bins, int64_t n, const uint64_t set[4], uint64_t *masks);
/* How many bits of masks are 1 in [from, to). */
int64_t part_count(const uint64_t *masks, int64_t from, int64_t to);

/* n rows of some columns, which lie `pitch` bytes apart in all three places: the bytes of marked
 * rows go to `left`, the others to `right`, both in their order. NULL: that side is not wanted.
 * Nothing else is written. */
struct part_columns {
    const uint8_t *from;
    uint8_t *left, *right;
    int64_t pitch;
    int cols;
};
void part_move(const struct part_columns *c, int64_t n, const uint64_t *masks);

int64_t part_sum(const uint8_t *bytes, int64_t n);
/* Sum over the marked rows in [from, to). */
int64_t part_sum_marked(const uint8_t *bytes, const uint64_t *masks, int64_t from, int64_t to);

/* For each of n_runs runs of rows, of which the k-th ends before row ends[k]: how many rows are
 * marked, and the sum of their bytes. */
void part_runs(const uint8_t *bytes, const uint64_t *masks, const int32_t *ends, int n_runs,
               int32_t *marked, int32_t *sum);

/* How many of n values are at most `most`. */
int part_at_most(const uint32_t *values, int n, uint32_t most);

/* The least bin; 1 + the largest bin other than 255 (0 = none); and the largest of all. */
struct part_range {
    uint8_t least, most, top;
};
struct part_range part_range_of(const uint8_t *bins, int64_t n);

#endif
