/* metric_folds.c - sums over folds (metric_folds.h). */
#include "ml/metric/metric_folds.h"

#include <math.h>

void metric_folds_begin(struct metric_folds *m, enum metric_id id, enum ml_task task,
                        bool err_together)
{
    *m = (struct metric_folds){ .id = id, .task = task, .folds = { .err_together = err_together } };
}

static bool counts_rows(const struct metric_folds *m)
{
    return m->id == METRIC_AUC && m->task == ML_BINARY;
}

void metric_folds_add(struct metric_folds *m, double size, double score, double se, const double *y,
                      int64_t n)
{
    if (isnan(score))
        return;
    folds_add(&m->folds, size, score, se);
    for (int64_t i = 0; i < n && counts_rows(m); i++)
        m->rows[y[i] == 1]++;
}

void metric_folds_end(const struct metric_folds *m, double *score, double *se)
{
    *score = folds_mean(&m->folds);
    *se = folds_error(&m->folds);
    if (!counts_rows(m))
        return;
    for (int c = 0; c < 2; c++)
        *se = hypot(*se, (*score - 0.5) / ((double)m->rows[c] + 1));
    /* an area is between 0 and 1, so no error is above a half */
    *se = *se > 0.5 ? 0.5 : *se;
}
