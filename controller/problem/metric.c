/* metric.c - the facts about a metric that the controller needs: whether larger is better, the
 * tasks that the metric suits, and the range of possible scores (ml/metric/metric.def). The
 * controller orders leaderboards and tells samplers results by these facts. Only workers compute
 * scores. */
#include "controller/problem/metric.h"

#include "base/str.h"
#include "ml/family/family.h"

#include <float.h>
#include <stddef.h>

#define METRIC_HAS_ANY   false
#define METRIC_HAS_SIZE  false
#define METRIC_HAS_COUNT true
static const struct metric metrics[] = {
#define METRIC(ID, name, larger_is_better, is_class, is_smooth, quantile, target, least, most) \
    { name, larger_is_better,   (is_class) ? FT_BINARY | FT_MULTICLASS : FT_REGRESSION, least, \
      most, METRIC_HAS_##target },
#include "ml/metric/metric.def"
#undef METRIC
#undef METRIC_HAS_ANY
#undef METRIC_HAS_SIZE
#undef METRIC_HAS_COUNT
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
