/* metric_number.c - metrics of predicted numbers. */
#include "ml/math/fmath.h"
#include "ml/metric/metric_private.h"

#include <math.h>

int metric_rmse(const struct metric_rows *r, double *value, double *se, struct err *err)
{
    (void)err;
    for (int64_t i = 0; i < r->n; i++) {
        double e = (double)r->pred[i] - r->y[i];
        r->term[i] = e * e;
    }
    *value = sqrt(metric_mean(r, r->term));
    *se = *value > 0 ? metric_terms_se(r) / (2 * *value) : 0;
    return 0;
}

int metric_mae(const struct metric_rows *r, double *value, double *se, struct err *err)
{
    (void)err;
    for (int64_t i = 0; i < r->n; i++)
        r->term[i] = fabs((double)r->pred[i] - r->y[i]);
    metric_of_terms(r, value, se);
    return 0;
}

/* The mean of q (y - p) above the prediction and of (1 - q) (p - y) below it: least for the q
 * quantile (Koenker and Bassett, Regression quantiles, 1978). */
int metric_pinball(const struct metric_rows *r, double *value, double *se, struct err *err)
{
    double q = r->quantile;

    (void)err;
    for (int64_t i = 0; i < r->n; i++) {
        double e = r->y[i] - (double)r->pred[i];
        r->term[i] = e > 0 ? q * e : (q - 1) * e;
    }
    metric_of_terms(r, value, se);
    return 0;
}

/* The mean error as a share of the size of the truth. A true 0 counts as 2^-52, so that one of them
 * outweighs all else. */
int metric_mape(const struct metric_rows *r, double *value, double *se, struct err *err)
{
    (void)err;
    for (int64_t i = 0; i < r->n; i++)
        r->term[i] = fabs((double)r->pred[i] - r->y[i]) / fmax(fabs(r->y[i]), 0x1p-52);
    metric_of_terms(r, value, se);
    return 0;
}

/* RMSE of log(1 + y); a prediction below 0 counts as 0. */
int metric_rmsle(const struct metric_rows *r, double *value, double *se, struct err *err)
{
    (void)err;
    for (int64_t i = 0; i < r->n; i++) {
        double e = fm_log_d(1 + fmax((double)r->pred[i], 0)) - fm_log_d(1 + r->y[i]);
        r->term[i] = e * e;
    }
    *value = sqrt(metric_mean(r, r->term));
    *se = *value > 0 ? metric_terms_se(r) / (2 * *value) : 0;
    return 0;
}

/* The mean of 2 (y log(y / p) - y + p). */
int metric_poisson(const struct metric_rows *r, double *value, double *se, struct err *err)
{
    (void)err;
    for (int64_t i = 0; i < r->n; i++) {
        double y = r->y[i], p = fmax((double)r->pred[i], METRIC_LEAST_COUNT);
        r->term[i] = 2 * ((y > 0 ? y * fm_log_d(y / p) : 0) - y + p);
    }
    metric_of_terms(r, value, se);
    return 0;
}

/* Tweedie's deviance of power 1.5, between counts (1) and amounts (2): the mean of
 * 4 (sqrt(y) - sqrt(p))^2 / sqrt(p), which is what the general formula becomes there (Jorgensen,
 * Exponential dispersion models, 1987). */
int metric_tweedie(const struct metric_rows *r, double *value, double *se, struct err *err)
{
    (void)err;
    for (int64_t i = 0; i < r->n; i++) {
        double p = sqrt(fmax((double)r->pred[i], METRIC_LEAST_COUNT)), e = sqrt(r->y[i]) - p;
        r->term[i] = 4 * e * e / p;
    }
    metric_of_terms(r, value, se);
    return 0;
}

/* 1 - mean squared error / variance of y; NaN when y is constant. */
int metric_r2(const struct metric_rows *r, double *value, double *se, struct err *err)
{
    (void)err;
    double mean = metric_mean(r, r->y), err2 = 0, var = 0;

    for (int64_t i = 0; i < r->n; i++) {
        double e = (double)r->pred[i] - r->y[i], d = r->y[i] - mean;
        err2 += metric_weight(r, i) * e * e;
        var += metric_weight(r, i) * d * d;
    }
    if (var == 0)
        return 0;
    *value = 1 - err2 / var;
    for (int64_t i = 0; i < r->n; i++) {
        double e = (double)r->pred[i] - r->y[i], d = r->y[i] - mean;
        r->term[i] = (e * e - err2 / var * d * d) / (var / r->all);
    }
    *se = metric_terms_se(r);
    return 0;
}
