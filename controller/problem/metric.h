/* metric.h - what the controller knows of a metric: its name, its direction, the tasks that it fits
 * and the scores that are possible. The controller does not link the code that computes metrics.
 * The table is made from ml/metric/metric.def, and a test compares it with ml/metric/metric.h. */
#ifndef CONTROLLER_PROBLEM_METRIC_H
#define CONTROLLER_PROBLEM_METRIC_H

#include "base/err.h"

#include <stdbool.h>

struct metric {
    const char *name;
    bool larger_is_better;
    int tasks;     /* mask of FT_* (ml/family/family.h) */
    double lo, hi; /* smallest and largest possible score */
    bool is_count; /* no target may be negative */
};

const struct metric *metric_find(const char *name); /* NULL = unknown */
const struct metric *metric_at(int i);              /* NULL past the end */
/* The metric that `auto` means: auc (binary), logloss (multiclass) or rmse (regression). */
const char *metric_for_task(int task);

#endif
