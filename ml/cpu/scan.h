/* scan.h - the best split of one column of a node, from its histogram. Sums are whole numbers in units of the quantised
 * gradients, so l1 and l2 come in the same units; the score of a pair of children is
 *   T(gl)^2 / (hl + l2) + T(gr)^2 / (hr + l2),  T(g) = sign(g) max(|g| - l1, 0),
 * and the parent's own term is subtracted by the caller. Ties keep the earlier column, the smaller bin, missing to the
 * right. A child needs h >= min_h >= 1, so that it is never empty. */
#ifndef ML_CPU_SCAN_H
#define ML_CPU_SCAN_H

#include "ml/math/tree_math.h" /* struct scan_node, scores */

#include <stdint.h>

struct scan_best {
    double score; /* -1 = none yet */
    int col;      /* the caller's: set together with a better score */
    int bin,
        add; /* numeric: right when (uint8)(x + add) > bin + add; missing is 255, so add = 1 sends it left */
    int is_categorical;
    uint64_t left_set[4]; /* categorical: bins that go left */
    int64_t left;         /* packed sum of the left child */
};

/* Return 1 when *best was improved (its col is then the caller's to set). */
int scan_numeric(const struct scan_node *nd, const int64_t *hist, int n_bins,
                 struct scan_best *best);
int scan_categorical(const struct scan_node *nd, const int64_t *hist, int n_bins,
                     struct scan_best *best);
/* One random threshold between the lowest and the highest bin present; u is uniform 32 bits. */
int scan_random(const struct scan_node *nd, const int64_t *hist, int n_bins, uint32_t u,
                struct scan_best *best);

/* The same within bounds (struct scan_bounds): the score is a gain already. */
int scan_bounded_numeric(const struct scan_node *nd, const struct scan_bounds *b,
                         const int64_t *hist, int n_bins, struct scan_best *best);
int scan_bounded_categorical(const struct scan_node *nd, const struct scan_bounds *b,
                             const int64_t *hist, int n_bins, struct scan_best *best);
int scan_bounded_random(const struct scan_node *nd, const struct scan_bounds *b,
                        const int64_t *hist, int n_bins, uint32_t u, struct scan_best *best);

#endif
