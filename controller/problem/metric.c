/* metric.c - the controller's table of metrics: which way is better, and for which tasks. Scores themselves are computed
 * by workers only; this table decides the order of leaderboards and what samplers are told. */
#include "controller/problem/metric.h"

#include "base/str.h"
#include "ml/family/family.h"

#include <float.h>
#include <stddef.h>

static const struct metric metrics[] = {
    { "auc", true, FT_BINARY | FT_MULTICLASS, 0, 1 },
    { "logloss", false, FT_BINARY | FT_MULTICLASS, 0, DBL_MAX },
    { "accuracy", true, FT_BINARY | FT_MULTICLASS, 0, 1 },
    { "balanced_accuracy", true, FT_BINARY | FT_MULTICLASS, 0, 1 },
    { "f1", true, FT_BINARY | FT_MULTICLASS, 0, 1 },
    { "rmse", false, FT_REGRESSION, 0, DBL_MAX },
    { "mae", false, FT_REGRESSION, 0, DBL_MAX },
    { "r2", true, FT_REGRESSION, -DBL_MAX, 1 },
    { "poisson_deviance", false, FT_REGRESSION, 0, DBL_MAX },
    { "pinball_05", false, FT_REGRESSION, 0, DBL_MAX },
    { "pinball_10", false, FT_REGRESSION, 0, DBL_MAX },
    { "pinball_25", false, FT_REGRESSION, 0, DBL_MAX },
    { "pinball_50", false, FT_REGRESSION, 0, DBL_MAX },
    { "pinball_75", false, FT_REGRESSION, 0, DBL_MAX },
    { "pinball_90", false, FT_REGRESSION, 0, DBL_MAX },
    { "pinball_95", false, FT_REGRESSION, 0, DBL_MAX },
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
