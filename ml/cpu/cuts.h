/* cuts.h - the best cut of a numeric column for classes under the Gini criterion. All cuts are
 * scored in vectors; this is the hot loop of random forests. Called by ml/forest/forest_gini.c.
 *
 * The score is larger for better cuts. For two classes with weights l0 and l1 on the left, r0 and
 * r1 on the right, l and r on each side in all, and n = l + r, it is
 *
 *   n - 2 (l0 l1 / l + r0 r1 / r):
 *
 * n less the Gini impurity of both sides, each weighted by its rows. All operations run in one
 * order, so that every instruction set gives the same bits. Of equal scores the smaller bin wins,
 * then the cut that sends missing values right. */
#ifndef ML_CPU_CUTS_H
#define ML_CPU_CUTS_H

#include "ml/cpu/cut.h"

#include <stdint.h>

/* hist[256]: for every bin the weight in the lower half and the weight of class 1 in the upper half
 * (<< 32); CUTS_MISSING is the bin of missing values. Only the bins below n_bins (at most 255) and
 * that one hold anything. The histogram is cleared on the way. */
void cuts_hist(int64_t *hist, int n_bins, const struct cuts_node *node, int col,
               struct cuts_best *best);

/* bins[i]: the column's bin in row i, i < n <= CUTS_ROWS, none missing; all CUTS_ROWS bytes must be
 * readable. weight, ones: weight of the row, and its weight where it is of class 1; at least 8
 * bytes readable. The weights add up to at most 255. */
void cuts_rows(const uint8_t *bins, const uint8_t *weight, const uint8_t *ones, int n,
               const struct cuts_node *node, int col, struct cuts_best *best);

/* The same for the classes that occur in the node; node->s is not read. hist[class][256]: weights;
 * total[class]: weight of the class in the node. Rows stand class by class: class k ends before row
 * ends[k]. The score is that of rf_many_gini (ml/math/forest_math.h). */
void cuts_hist_many(int32_t *hist, int n_bins, const int32_t *total, int n_classes,
                    const struct cuts_node *node, int col, struct cuts_best *best);
void cuts_rows_many(const uint8_t *bins, const uint8_t *weight, const int32_t *ends,
                    const int32_t *total, int n_classes, const struct cuts_node *node, int col,
                    struct cuts_best *best);

#endif
