/* baseline.h - the cheapest model of a table, which `fit` makes itself before it starts anything.
 *
 * It makes sure that `fit --time` always ends with a model, even on a machine so busy that no
 * trial ends in time. The model knows only how often each class occurs, or the mean of the
 * target. For a long table it is made of the first rows. */
#ifndef CLI_BASELINE_H
#define CLI_BASELINE_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/table/frame.h"

#include <stdint.h>

/* The options of `fit`; NULL = not given. */
struct baseline_spec {
    const struct frame *frame; /* the first rows */
    const char *target, *metric, *task, *positive;
    int64_t seed;
};
struct baseline {
    struct buf model; /* the model file; empty = none */
    int64_t rows;     /* rows that the model was made of */
};
/* Returns -1 when no baseline can be made, for example because the target has one value. The search
 * that follows reports the reason. */
int baseline_make(struct baseline *b, const struct baseline_spec *spec, struct err *err);
int baseline_save(struct baseline *b, const char *path, struct err *err);
void baseline_fini(struct baseline *b); /* may be called on an all-zero struct */

#endif
