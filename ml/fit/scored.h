/* scored.h - what a model predicts for rows whose truth is known. Called by `assay score`. */
#ifndef ML_FIT_SCORED_H
#define ML_FIT_SCORED_H

#include "ml/model/artifact.h"
#include "ml/table/frame.h"

#include <stdint.h>

struct scored {
    int64_t n; /* rows that count */
    int width; /* floats a row: 1, or the number of classes */
    /* pred: [n][width]. y: class indices or values. A target whose unit is shifted has both less
     * `shift`, which float may not hold. */
    float *pred;
    double *y;
    double *weight; /* NULL = all rows count 1 */
    double shift;
    /* rows left out: without a target; of a class that the model does not know (unknown: one of
     * them, borrowed from the frame); of weight 0 */
    int64_t n_no_target, n_unknown, n_no_weight;
    const char *unknown;
};

/* target, weights: names of columns of the frame; weights may be NULL. It is an error when no row is
 * left. scored_fini frees what *out holds, also after an error. */
int scored_rows(const struct artifact *a, const struct frame *f, const char *target,
                const char *weights, struct scored *out, struct err *err);
void scored_fini(struct scored *s);

#endif
