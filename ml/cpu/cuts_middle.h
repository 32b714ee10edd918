/* cuts_middle.h - cuts_rows and cuts_rows_many (cuts.h) in registers of 32 bytes, for CPUs that have
 * AVX2 but not AVX-512. Called by cuts.c, which says what each of them does, where
 * cuts_middle_is_there(). */
#ifndef ML_CPU_CUTS_MIDDLE_H
#define ML_CPU_CUTS_MIDDLE_H

#include "ml/cpu/cut.h"
#include "ml/cpu/simd.h"

/* Whether these may be used: never in a build for a sanitizer, which has no kernels of vectors. */
static inline bool cuts_middle_is_there(void)
{
#ifdef SIMD_MIDDLE
    return simd_level() == SIMD_AVX2;
#else
    return false;
#endif
}

void cuts_middle_two(const uint8_t *bins, const uint8_t *weight, const uint8_t *ones, int n,
                     const struct cuts_node *node, int col, struct cuts_best *best);
void cuts_middle_many(const uint8_t *bins, const uint8_t *weight, const int32_t *ends,
                      const int32_t *total, int n_classes, const struct cuts_node *node, int col,
                      struct cuts_best *best);

#endif
