/* scan.h - the best split of one column of a node, from the column's histogram (hist.h). Called by
 * ml/boost/boost_grow.c.
 *
 * Sums are whole numbers in units of the quantised gradients, and l1 and l2 come in the same units.
 * With the gradients g and second derivatives h summed over each side, the score of a pair of
 * children is
 *
 *   T(gl)^2 / (hl + l2) + T(gr)^2 / (hr + l2),
 *
 * where T(g) is g moved by l1 towards zero, or 0 if that would change its sign (Chen and Guestrin,
 * XGBoost, 2016, equation 7, with an L1 term). The caller subtracts the parent's own term. Of equal
 * scores the earlier column wins, then missing values to the right, then the smaller bin. A child
 * needs h >= min_h >= 1, so that it is never empty. */
#ifndef ML_CPU_SCAN_H
#define ML_CPU_SCAN_H

#include "ml/math/tree_math.h" /* struct scan_node, scores */

#include <stdint.h>

struct scan_best {
    /* -1 = none yet; every score of an allowed pair is at least 0 */
    double score;
    /* set by the caller when the score has improved */
    int col;
    /* Numeric: a row goes right when (uint8_t)(x + add) > bin + add. A missing value is 255, so add
     * = 1 wraps it to 0 and sends it left. */
    int bin, add;
    int is_categorical;
    /* categorical: the bins that go left */
    uint64_t left_set[4];
    /* packed sum of the left child */
    int64_t left;
};

/* All return 1 when they improved *best; the caller then sets its col. */
int scan_numeric(const struct scan_node *nd, const int64_t *hist, int n_bins,
                 struct scan_best *best);
int scan_categorical(const struct scan_node *nd, const int64_t *hist, int n_bins,
                     struct scan_best *best);
/* One random threshold between the lowest and the highest bin that holds rows, as extra trees draw
 * it. u: 32 uniform bits. */
int scan_random(const struct scan_node *nd, const int64_t *hist, int n_bins, uint32_t u,
                struct scan_best *best);

/* The same where leaf values are bounded (struct scan_bounds, monotone constraints); the score is
 * then already the gain. */
int scan_bounded_numeric(const struct scan_node *nd, const struct scan_bounds *b,
                         const int64_t *hist, int n_bins, struct scan_best *best);
int scan_bounded_categorical(const struct scan_node *nd, const struct scan_bounds *b,
                             const int64_t *hist, int n_bins, struct scan_best *best);
int scan_bounded_random(const struct scan_node *nd, const struct scan_bounds *b,
                        const int64_t *hist, int n_bins, uint32_t u, struct scan_best *best);

#endif
