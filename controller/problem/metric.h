/* metric.h - what the controller must know of a metric without linking ml/: its name, its direction, the tasks it fits.
 * Made from ml/metric/metric.def; a test compares it with ml/metric/metric.h. */
#ifndef CONTROLLER_PROBLEM_METRIC_H
#define CONTROLLER_PROBLEM_METRIC_H

#include "base/err.h"

#include <stdbool.h>

struct metric {
    const char *name;
    bool larger_is_better;
    int tasks;     /* mask of FT_* (ml/family/family.h) */
    double lo, hi; /* no score is beyond */
};

const struct metric *metric_find(const char *name); /* NULL = unknown */
const struct metric *metric_at(int i);              /* NULL past the end */
const char *metric_for_task(int task);              /* what auto means: auc, logloss, rmse */

#endif
