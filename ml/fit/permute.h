/* permute.h - importance of inputs by permutation (Breiman, Random forests, 2001; Fisher, Rudin and
 * Dominici, 2019): how much the model's metric loses, on rows that it never saw, when one input is
 * shuffled among them. Works with any family; nothing is trained. */
#ifndef ML_FIT_PERMUTE_H
#define ML_FIT_PERMUTE_H

#include "ml/model/artifact.h"
#include "ml/table/frame.h"

struct permute_spec {
    const char *target; /* column of the frame */
    int64_t rows;       /* the first so many rows; 0 = all */
    int repeats;        /* shuffles per input, >= 1 */
    uint64_t seed;
};

struct permuted {
    double drop;    /* mean loss of the metric: positive = the input helps */
    double se;      /* standard error over the shuffles; NaN with one */
    bool is_unused; /* the model says that it does not read it: 0 without trying */
};

/* out: one for each input of the model. score: the metric on the unshuffled rows. Rows without a
 * target, or of a class that the model does not know, are left out. It is an error when no row is
 * left, or when the metric is undefined on those that are. The same seed gives the same bits. */
int permute_importance(const struct artifact *a, const struct frame *f,
                       const struct permute_spec *spec, double *score, struct permuted *out,
                       struct err *err);

#endif
