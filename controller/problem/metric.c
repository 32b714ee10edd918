/* metric.c - what the controller knows of a metric: which way is better, for which tasks, and which scores are
 * possible (ml/metric/metric.def). Scores themselves are computed by workers only; this decides the order of leaderboards
 * and what samplers are told. */
#include "controller/problem/metric.h"

#include "base/str.h"
#include "ml/family/family.h"

#include <float.h>
#include <stddef.h>

static const struct metric metrics[] = {
#define METRIC(ID, name, larger_is_better, is_class, is_smooth, quantile, least, most) \
    { name, larger_is_better, (is_class) ? FT_BINARY | FT_MULTICLASS : FT_REGRESSION, least, most },
#include "ml/metric/metric.def"
#undef METRIC
};

const struct metric *metric_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(metrics); i++) {
        if (str_eq(metrics[i].name, name))
            return &metrics[i];
    }
    return NULL;
}

const struct metric *metric_at(int i)
{
    return i >= 0 && i < (int)ARRAY_LEN(metrics) ? &metrics[i] : NULL;
}

const char *metric_for_task(int task)
{
    if (task == FT_REGRESSION)
        return "rmse";
    return task == FT_BINARY ? "auc" : "logloss";
}
