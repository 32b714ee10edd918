/* cuts_bytes.h - the best cut from histograms of bytes, on CPUs with the bit instructions of AVX-512
 * (simd_has_bits): for nodes whose rows weigh at most 255 in all. The results equal those of
 * cuts_hist and cuts_hist_many bit for bit. Called by ml/forest/forest_gini.c. */
#ifndef ML_CPU_CUTS_BYTES_H
#define ML_CPU_CUTS_BYTES_H

#include "ml/cpu/cut.h"

#include <stdint.h>

/* What the rows of a node may weigh, and how many classes it may have. From CUTS_BYTES_LEAST rows on,
 * and CUTS_BYTES_A_CLASS for each of several classes, this is the fastest way. */
enum { CUTS_BYTES_MOST = 255, CUTS_BYTES_CLASSES = 16 };
enum { CUTS_BYTES_LEAST = 24, CUTS_BYTES_A_CLASS = 12 };

/* Whether this CPU can run the functions below. */
bool cuts_bytes_is_fast(void);
/* hist[256]: for every bin the weight in the lower byte and the weight of class 1 in the upper one.
 * Only the bins below n_bins hold anything; that of missing values is empty. The histogram is
 * cleared on the way. */
void cuts_bytes(uint16_t *hist, int n_bins, const struct cuts_node *node, int col,
                struct cuts_best *best);
/* The same for several classes; hist[class][256]: weights. total: of each class in the node. */
void cuts_bytes_many(uint8_t *hist, int n_bins, const int32_t *total, int n_classes,
                     const struct cuts_node *node, int col, struct cuts_best *best);

#endif
