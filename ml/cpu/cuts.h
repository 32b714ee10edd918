/* cuts.h - the best cut of a numeric column under Gini, all cuts weighed in vectors. The score of a cut, larger is better: of
 * two classes n - 2 (l0 l1 / l + r0 r1 / r) with whole weights, in one order of operations, so that every
 * instruction set gives the same bits. Ties keep the smaller bin, then missing to the right. */
#ifndef ML_CPU_CUTS_H
#define ML_CPU_CUTS_H

#include "ml/cpu/cut.h"

#include <stdint.h>

enum { CUTS_ROWS = 128 }; /* rows that cuts_rows takes at most */

/* hist[256]: weight | weight of class 1 << 32 of every bin, CUTS_MISSING the missing ones; cleared. Only bins below n_bins
 * (<= 255) and the missing one hold anything. */
void cuts_hist(int64_t *hist, int n_bins, const struct cuts_node *node, int col,
               struct cuts_best *best);

/* bins[i]: the column in row i, i < n <= CUTS_ROWS, none missing; all CUTS_ROWS bytes are readable. weight, ones: of the
 * rows, at least 8 bytes readable; they sum to at most 255. */
void cuts_rows(const uint8_t *bins, const uint8_t *weight, const uint8_t *ones, int n,
               const struct cuts_node *node, int col, struct cuts_best *best);

/* The same for the classes that are in the node; node->s is not read. hist[class][256]: weights; total[class]: of the node.
 * Rows stand class by class: class k ends before row ends[k]. The score is rf_many_gini's (ml/math/forest_math.h). */
void cuts_hist_many(int32_t *hist, int n_bins, const int32_t *total, int n_classes,
                    const struct cuts_node *node, int col, struct cuts_best *best);
void cuts_rows_many(const uint8_t *bins, const uint8_t *weight, const int32_t *ends,
                    const int32_t *total, int n_classes, const struct cuts_node *node, int col,
                    struct cuts_best *best);

#endif
