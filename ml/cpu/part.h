/* part.h - sends the rows of a tree's node to its children when their bins lie column by column. It
 * marks which rows go left, one bit per row; moves the bytes of the rows to either side, keeping
 * their order; and sums bytes. Forests of narrow tables use it, because moving a few columns costs
 * less than reading scattered rows later.
 *
 * Called by ml/forest only. Every function gives the same result with and without the vector
 * instructions. */
#ifndef ML_CPU_PART_H
#define ML_CPU_PART_H

#include "ml/cpu/part_ways.h"

#include <stdbool.h>

/* Whether this CPU packs bytes together inside a vector: AVX-512 VBMI2 does, AVX2 shuffles them
 * (part_middle.h). Where it does not, the forest reads rows as lines of bytes instead (rows.h),
 * because moving bytes one by one is slower. */
bool part_is_fast(void);
/* For tests: part_is_fast() answers `is_fast` until part_unforce, whatever the CPU has. */
void part_force(bool is_fast);
void part_unforce(void);

/* Marks the rows with (uint8_t)(bins[i] + up) <= cut. up = 1 makes a missing value (255) wrap to 0,
 * which sends it left; up = 0 sends it right. The mark of row i is bit i % 64 of masks[i / 64];
 * bits past n are 0. Returns the number of marked rows. Reads whole vectors: up to 63 bytes past
 * the last. */
int64_t part_mark(const uint8_t *bins, int64_t n, uint8_t up, uint8_t cut, uint64_t *masks);
/* The same for a split by a set of bins: row i is marked when bit bins[i] of the set is 1. */
int64_t part_mark_set(const uint8_t *bins, int64_t n, const uint64_t set[4], uint64_t *masks);
/* How many bits of masks are 1 in [from, to). */
int64_t part_count(const uint64_t *masks, int64_t from, int64_t to);

/* The bytes of marked rows go to c->left, the others to c->right, both in their order. Where both
 * are wanted, the right ones must not lie before the left ones. Nothing else is written. */
void part_move(const struct part_columns *c, int64_t n, const uint64_t *masks);

/* The sum of n bytes: weights of rows. */
int64_t part_sum(const uint8_t *bytes, int64_t n);
/* Sum over the marked rows in [from, to). */
int64_t part_sum_marked(const uint8_t *bytes, const uint64_t *masks, int64_t from, int64_t to);

/* For each of n_runs runs of rows (the rows of one class after another), of which the k-th ends
 * before row ends[k]: how many rows are marked, and the sum of their bytes. */
void part_runs(const uint8_t *bytes, const uint64_t *masks, const int32_t *ends, int n_runs,
               int32_t *marked, int32_t *sum);

/* The last of 256 ascending places that is at most `at`, which the first one is; coarse: every
 * sixteenth of them. This is the random cut of extra trees, without a branch. */
int part_place(const uint32_t *coarse, const uint32_t *places, uint32_t at);

struct part_range part_range_of(const uint8_t *bins, int64_t n);

#endif
