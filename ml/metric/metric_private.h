/* metric_private.h - what the files of the metrics share: the rows of a call, and the mean and the
 * standard error of terms of rows. Included by ml/metric/ alone. */
#ifndef ML_METRIC_METRIC_PRIVATE_H
#define ML_METRIC_METRIC_PRIVATE_H

#include "ml/metric/metric.h"

/* What a call of metric_score works on. */
struct metric_rows {
    enum ml_task task;
    const float *pred;
    const double *y;
    const double *weight; /* [n], or NULL: all rows count 1 */
    int64_t n;
    int k;           /* classes: 2 where the task is binary */
    double quantile; /* of the pinball loss */
    double *term;    /* [n] terms of rows, or their influences */
    double *classes; /* [3 k] zeros, for sums of classes */
    double all;      /* sum of the weights, or n */
};

static inline double metric_weight(const struct metric_rows *r, int64_t i)
{
    return r->weight ? r->weight[i] : 1.0;
}

/* The weighted mean of t[n]. */
double metric_mean(const struct metric_rows *r, const double *t);
/* Standard error of the mean of r->term; NaN for one row. It is 0 for equal terms, whatever their
 * mean was rounded to. */
double metric_terms_se(const struct metric_rows *r);
/* The mean of r->term as the score, and its standard error. */
void metric_of_terms(const struct metric_rows *r, double *value, double *se);

/* Computes one metric. *value and *se are NaN before. */
typedef int metric_fn(const struct metric_rows *r, double *value, double *se, struct err *err);
metric_fn metric_auc, metric_average_precision;
metric_fn metric_logloss, metric_balanced_logloss, metric_brier, metric_accuracy,
    metric_balanced_accuracy, metric_f1, metric_mcc, metric_quadratic_kappa;
metric_fn metric_rmse, metric_mae, metric_r2, metric_mape, metric_rmsle, metric_poisson,
    metric_tweedie, metric_pinball;

#endif
