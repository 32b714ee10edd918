/* metric.c - the metrics of metric.h: the facts about each, and the one way to compute them.
 *
 * Every metric is reduced to terms of rows, or to influences (the change of the score by one row),
 * so that one routine for mean and spread gives its standard error: exact for means, the delta
 * method for most others, DeLong's variance for auc (metric_rank.c). Sums run over rows in ascending
 * order in double and depend on nothing else. No shared state. */
#include "base/mem.h"
#include "base/str.h"
#include "ml/metric/metric_private.h"

#include <math.h>

static const struct metric_info infos[METRICS] = {
#define METRIC(ID, name, larger_is_better, is_class, is_smooth, quantile, from, least, most) \
    [METRIC_##ID] = {                                                                        \
        name,      larger_is_better, (is_class) ? ML_BINARY | ML_MULTICLASS : ML_REGRESSION, \
        is_smooth, quantile,         METRIC_TARGET_##from                                    \
    },
#include "ml/metric/metric.def"
#undef METRIC
};

const struct metric_info *metric_info(enum metric_id id)
{
    CHECK((int)id >= 0 && id < METRICS);
    return &infos[id];
}

int metric_parse(const char *name, enum metric_id *out, struct err *err)
{
    const char *names[METRICS];

    for (int i = 0; i < METRICS; i++) {
        names[i] = infos[i].name;
        if (str_eq(name, names[i])) {
            *out = (enum metric_id)i;
            return 0;
        }
    }
    const char *near = str_nearest(name, names, METRICS);
    return err_set(err, ERR_ARG, "no metric is called \"%.40s\"%s%s%s", name,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

enum metric_id metric_default(enum ml_task task)
{
    return task == ML_BINARY ? METRIC_AUC : task == ML_MULTICLASS ? METRIC_LOGLOSS : METRIC_RMSE;
}

int metric_target_check(enum metric_id id, double y, struct err *err)
{
    if (infos[id].target == METRIC_TARGET_COUNT && y < 0)
        return err_set(err, ERR_ARG, "%s needs a target from 0 up, not %g", infos[id].name, y);
    return 0;
}

double metric_mean(const struct metric_rows *r, const double *t)
{
    double sum = 0;

    for (int64_t i = 0; i < r->n; i++)
        sum += r->weight ? r->weight[i] * t[i] : t[i];
    return sum / r->all;
}

/* With weights: sqrt(sum (w (t - mean))^2) / sum w, with the same correction for the mean's own
 * degree of freedom. */
double metric_terms_se(const struct metric_rows *r)
{
    const double *t = r->term;
    double mean = metric_mean(r, t), sum = 0, n = (double)r->n;
    bool differ = false;

    for (int64_t i = 0; i < r->n; i++) {
        double e = metric_weight(r, i) * (t[i] - mean);
        sum += e * e;
        differ |= t[i] != t[0];
    }
    if (r->n < 2)
        return (double)NAN;
    if (r->weight)
        return differ ? sqrt(sum * n / (n - 1)) / r->all : 0;
    return differ ? sqrt(sum / (n - 1) / n) : 0;
}

void metric_of_terms(const struct metric_rows *r, double *value, double *se)
{
    *value = metric_mean(r, r->term);
    *se = metric_terms_se(r);
}

static int rows_check(const struct metric_rows *r, enum metric_id id, struct err *err)
{
    int64_t width = r->task == ML_MULTICLASS ? r->k : 1;

    for (int64_t i = 0; i < r->n * width; i++) {
        if (isnan(r->pred[i]))
            return err_set(err, ERR_ARG, "the prediction of row %lld is not a number",
                           (long long)(i / width));
    }
    for (int64_t i = 0; i < r->n; i++) {
        if (metric_target_check(id, r->y[i], err) < 0)
            return -1;
    }
    return 0;
}

static double weights_sum(const double *weight, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; weight && i < n; i++)
        sum += weight[i];
    return weight ? sum : (double)n;
}

static metric_fn *const compute[METRICS] = {
    [METRIC_AUC] = metric_auc,
    [METRIC_AVERAGE_PRECISION] = metric_average_precision,
    [METRIC_LOGLOSS] = metric_logloss,
    [METRIC_BALANCED_LOGLOSS] = metric_balanced_logloss,
    [METRIC_BRIER] = metric_brier,
    [METRIC_ACCURACY] = metric_accuracy,
    [METRIC_BALANCED_ACCURACY] = metric_balanced_accuracy,
    [METRIC_F1] = metric_f1,
    [METRIC_MCC] = metric_mcc,
    [METRIC_QUADRATIC_KAPPA] = metric_quadratic_kappa,
    [METRIC_RMSE] = metric_rmse,
    [METRIC_MAE] = metric_mae,
    [METRIC_R2] = metric_r2,
    [METRIC_MAPE] = metric_mape,
    [METRIC_RMSLE] = metric_rmsle,
    [METRIC_POISSON] = metric_poisson,
    [METRIC_TWEEDIE] = metric_tweedie,
    [METRIC_PINBALL_05] = metric_pinball,
    [METRIC_PINBALL_10] = metric_pinball,
    [METRIC_PINBALL_25] = metric_pinball,
    [METRIC_PINBALL_50] = metric_pinball,
    [METRIC_PINBALL_75] = metric_pinball,
    [METRIC_PINBALL_90] = metric_pinball,
    [METRIC_PINBALL_95] = metric_pinball,
};

int metric_score(enum metric_id id, enum ml_task task, const float *pred, const double *y,
                 int64_t n, int k, double *value, double *se, struct err *err)
{
    return metric_score_weighted(id, task, pred, y, NULL, n, k, value, se, err);
}

int metric_score_weighted(enum metric_id id, enum ml_task task, const float *pred, const double *y,
                          const double *weight, int64_t n, int k, double *value, double *se,
                          struct err *err)
{
    struct metric_rows r = { .task = task,
                             .pred = pred,
                             .y = y,
                             .weight = weight,
                             .n = n,
                             .k = task == ML_MULTICLASS ? k : 2,
                             .quantile = infos[id].quantile,
                             .all = weights_sum(weight, n) };

    *value = *se = (double)NAN;
    if (!(infos[id].tasks & (int)task))
        return err_set(err, ERR_ARG, "metric %s does not fit this task", infos[id].name);
    if (n < 1)
        return err_set(err, ERR_ARG, "no rows to score");
    if (rows_check(&r, id, err) < 0)
        return -1;
    r.term = mem_try_alloc((size_t)n * sizeof(double));
    if (!r.term)
        return err_set(err, ERR_NOMEM, "no memory to score %lld rows", (long long)n);
    r.classes = mem_array((size_t)r.k * 3, sizeof(double));
    int rc = compute[id](&r, value, se, err);
    mem_try_free(r.term);
    mem_free(r.classes);
    return rc;
}
