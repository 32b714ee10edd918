/* cuts_two.h - the best cut for two classes from a histogram or from the sums of 65 to 128 rows, on
 * CPUs with the bit instructions of AVX-512 (simd_has_bits). The results equal those of cuts_hist and
 * cuts_rows bit for bit. Called by these two. */
#ifndef ML_CPU_CUTS_TWO_H
#define ML_CPU_CUTS_TWO_H

#include "ml/cpu/cut.h"

#include <stdint.h>

/* Whether these functions may be called for this node. */
bool cuts_two_is_fast(const struct cuts_node *node);
/* As cuts_hist, where no value is missing. */
void cuts_two_hist(int64_t *hist, int n_bins, const struct cuts_node *node, int col,
                   struct cuts_best *best);
/* bins, left, ones: of n <= 128 rows the bin, and the weight and the weight of class 1 to the left of
 * the cut there; all 128 bytes are readable. */
void cuts_two_sums(const uint8_t *bins, const uint8_t *left, const uint8_t *ones, int n,
                   const struct cuts_node *node, int col, struct cuts_best *best);

#endif
