/* permute.h - importance of columns by permutation (Breiman, Random forests, 2001; Fisher, Rudin and
 * Dominici, 2019): how much the model's metric loses, on rows that it never saw, when one column is
 * shuffled among them. Works with any family; nothing is trained. */
#ifndef ML_FIT_PERMUTE_H
#define ML_FIT_PERMUTE_H

#include "ml/model/artifact.h"
#include "ml/table/frame.h"

struct permute_spec {
    /* name of the target column in the frame */
    const char *target;
    /* only the first so many rows are used; 0 = all */
    int64_t rows;
    /* number of shuffles per column, at least 1 */
    int repeats;
    uint64_t seed;
};

struct permuted {
    /* mean loss of the metric when the column is shuffled; positive = it helps */
    double drop;
    double se; /* standard error over the shuffles; NaN with one */
    /* the model does not read this column, so its loss is 0 and nothing was tried */
    bool is_unused;
};

/* out: one for each column that the model reads (prep_columns). score: the metric on the unshuffled rows. Rows without a
 * target, or of a class that the model does not know, are left out. It is an error when no row is
 * left, or when the metric is undefined on those that are. The same seed gives the same bits. */
int permute_importance(const struct artifact *a, const struct frame *f,
                       const struct permute_spec *spec, double *score, struct permuted *out,
                       struct err *err);

#endif
