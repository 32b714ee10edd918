/* cuts_few.h - private to cuts.c: the best cut from at most 64 rows on CPUs that count bits in vectors (AVX-512 VPOPCNTDQ). The
 * contracts, and the answers bit for bit, are those of cuts_rows and cuts_rows_many. */
#ifndef ML_CPU_CUTS_FEW_H
#define ML_CPU_CUTS_FEW_H

#include "ml/cpu/cuts.h"

enum { CUTS_FEW = 64 };

/* Only where simd_has_bits(). */
void cuts_few_two(const uint8_t *bins, const uint8_t *weight, const uint8_t *ones, int n,
                  const struct cuts_node *node, int col, struct cuts_best *best);
void cuts_few_many(const uint8_t *bins, const uint8_t *weight, const int32_t *ends,
                   const int32_t *total, int n_classes, const struct cuts_node *node, int col,
                   struct cuts_best *best);

#endif
