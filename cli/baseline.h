/* baseline.h - the cheapest model of a table, made by `fit` itself before it starts anything: whatever the machine is busy
 * with, there is a model when the time is over. It knows how often each class occurs, or the mean of the target, and is made
 * of the table's first rows where the table is long. */
#ifndef CLI_BASELINE_H
#define CLI_BASELINE_H

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdint.h>

struct baseline_spec { /* as the options of `fit`; NULL = not given */
    const char *file, *target, *metric, *task, *positive;
    const json_t *columns; /* name: type */
    int64_t seed;
};
struct baseline {
    struct buf model; /* the model file; empty = none */
    int64_t rows;     /* that it was made of */
};
/* -1 where there is none to be had: the search itself will say what is wrong. */
int baseline_make(struct baseline *b, const struct baseline_spec *spec, struct err *err);
int baseline_save(struct baseline *b, const char *path, struct err *err);
void baseline_fini(struct baseline *b); /* legal on one that is all zero */

#endif
