/* part_middle.h - the functions of part.h in registers of 32 bytes, for CPUs that have AVX2 but do
 * not compress bytes. Called by part.c, which says what each of them does, where
 * part_middle_is_there(). */
#ifndef ML_CPU_PART_MIDDLE_H
#define ML_CPU_PART_MIDDLE_H

#include "ml/cpu/part_ways.h"
#include "ml/cpu/simd.h"

/* Whether these may be used: never in a build for a sanitizer, which has no kernels of vectors. */
static inline bool part_middle_is_there(void)
{
#ifdef SIMD_MIDDLE
    return simd_level() >= SIMD_AVX2;
#else
    return false;
#endif
}

#ifdef SIMD_MIDDLE
int64_t part_middle_mark(const uint8_t *bins, int64_t n, uint8_t up, uint8_t cut, uint64_t *masks);
int64_t part_middle_mark_set(const uint8_t *bins, int64_t n, const uint64_t set[4],
                             uint64_t *masks);
int64_t part_middle_count(const uint64_t *masks, int64_t from, int64_t to);
void part_middle_move(const struct part_columns *c, int64_t n, const uint64_t *masks);
int64_t part_middle_sum(const uint8_t *bytes, int64_t n);
int64_t part_middle_sum_marked(const uint8_t *bytes, const uint64_t *masks, int64_t from,
                               int64_t to);
/* At most 64 rows. */
void part_middle_runs(const uint8_t *bytes, uint64_t mask, const int32_t *ends, int n_runs,
                      int32_t *marked, int32_t *sum);
int part_middle_place(const uint32_t *coarse, const uint32_t *places, uint32_t at);
/* The numbers of the bits that are set in a byte, ascending, one in each byte of a word; 0 in the
 * others. */
extern const uint64_t part_middle_order[256];
struct part_range part_middle_range(const uint8_t *bins, int64_t n);
#endif

#endif
