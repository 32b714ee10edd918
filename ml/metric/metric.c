/* metric.c - the metrics of metric.h.
 *
 * Every metric is reduced to terms of rows, or to influences (the change of the score by one row),
 * so that one routine for mean and spread gives its standard error: exact for means, the delta
 * method for f1, rmse and r2, DeLong's variance for auc (metric_auc.c). Sums run over rows in
 * ascending order in double and depend on nothing else. No shared state. */
#include "ml/metric/metric.h"

#include "base/mem.h"
#include "base/str.h"
#include "ml/math/fmath.h"
#include "ml/metric/metric_auc.h"

#include <math.h>

static const struct metric_info infos[METRICS] = {
#define METRIC(ID, name, larger_is_better, is_class, is_smooth, quantile, least, most)   \
    [METRIC_##ID] = { name, larger_is_better,                                            \
                      (is_class) ? ML_BINARY | ML_MULTICLASS : ML_REGRESSION, is_smooth, \
                      quantile },
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

/* What a call of metric_score works on. */
struct rows {
    enum ml_task task;
    const float *pred;
    const double *y;
    int64_t n;
    int k;        /* classes */
    double *term; /* [n] per-row terms */
};

static double terms_mean(const double *t, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += t[i];
    return sum / (double)n;
}

/* Standard error of the mean of the terms; NaN for one row. It is 0 for equal terms, whatever their
 * mean was rounded to. */
static double terms_se(const double *t, int64_t n)
{
    double mean = terms_mean(t, n), sum = 0;
    bool differ = false;

    for (int64_t i = 0; i < n; i++) {
        sum += (t[i] - mean) * (t[i] - mean);
        differ |= t[i] != t[0];
    }
    return n < 2 ? (double)NAN : differ ? sqrt(sum / (double)(n - 1) / (double)n) : 0;
}

static int row_class(const struct rows *r, int64_t i)
{
    if (r->task == ML_BINARY)
        return r->pred[i] > 0.5f;
    const float *p = r->pred + i * r->k;
    int best = 0;
    for (int c = 1; c < r->k; c++) {
        if (p[c] > p[best])
            best = c;
    }
    return best;
}

static void score_logloss(const struct rows *r, double *value, double *se)
{
    for (int64_t i = 0; i < r->n; i++) {
        double p;
        if (r->task == ML_BINARY)
            p = r->y[i] > 0 ? (double)r->pred[i] : 1.0 - (double)r->pred[i];
        else
            p = (double)r->pred[i * r->k + (int64_t)r->y[i]];
        p = p < 1e-15 ? 1e-15 : p > 1.0 - 1e-15 ? 1.0 - 1e-15 : p;
        r->term[i] = -fm_log_d(p);
    }
    *value = terms_mean(r->term, r->n);
    *se = terms_se(r->term, r->n);
}

static void score_accuracy(const struct rows *r, double *value, double *se)
{
    for (int64_t i = 0; i < r->n; i++)
        r->term[i] = row_class(r, i) == (int)r->y[i];
    *value = terms_mean(r->term, r->n);
    *se = terms_se(r->term, r->n);
}

/* The mean recall of the classes that occur; each recall is a share of the class's own rows. */
static void score_balanced(const struct rows *r, double *count, double *value, double *se)
{
    double *hits = count + r->k, sum = 0, var = 0;
    int seen = 0;

    for (int64_t i = 0; i < r->n; i++) {
        int c = (int)r->y[i];
        count[c] += 1;
        hits[c] += row_class(r, i) == c;
    }
    for (int c = 0; c < r->k; c++) {
        if (count[c] == 0)
            continue;
        double recall = hits[c] / count[c];
        sum += recall;
        var += recall * (1 - recall) / count[c];
        seen++;
    }
    *value = sum / seen;
    *se = sqrt(var) / seen;
}

/* F_c = 2 tp / (true + predicted). Binary: of class 1; else the mean over the classes that are true
 * or predicted somewhere. The influence of a row on F_c is (2 [hit] - F_c ([true is c] + [predicted
 * is c])) / mean(true + predicted). */
static void score_f1(const struct rows *r, double *size, double *value, double *se)
{
    double *tp = size + r->k, *f = size + 2 * r->k, sum = 0;
    int first = r->task == ML_BINARY ? 1 : 0, seen = 0;

    for (int64_t i = 0; i < r->n; i++) {
        int t = (int)r->y[i], p = row_class(r, i);
        size[t] += 1;
        size[p] += 1;
        tp[t] += t == p;
    }
    for (int c = first; c < r->k; c++) {
        f[c] = size[c] > 0 ? 2 * tp[c] / size[c] : 0;
        sum += f[c];
        seen += size[c] > 0;
    }
    *value = seen ? sum / seen : 0;
    for (int64_t i = 0; i < r->n; i++) {
        int t = (int)r->y[i], p = row_class(r, i);
        double v = 0;
        if (t >= first)
            v += ((t == p ? 2.0 : 0.0) - f[t]) / (size[t] / (double)r->n);
        if (p >= first)
            v -= f[p] / (size[p] / (double)r->n);
        r->term[i] = seen ? v / seen : 0;
    }
    *se = seen ? terms_se(r->term, r->n) : (double)NAN;
}

static void score_rmse(const struct rows *r, double *value, double *se)
{
    for (int64_t i = 0; i < r->n; i++) {
        double e = (double)r->pred[i] - r->y[i];
        r->term[i] = e * e;
    }
    *value = sqrt(terms_mean(r->term, r->n));
    *se = *value > 0 ? terms_se(r->term, r->n) / (2 * *value) : 0;
}

static void score_mae(const struct rows *r, double *value, double *se)
{
    for (int64_t i = 0; i < r->n; i++)
        r->term[i] = fabs((double)r->pred[i] - r->y[i]);
    *value = terms_mean(r->term, r->n);
    *se = terms_se(r->term, r->n);
}

/* The mean of q (y - p) above the prediction and of (1 - q) (p - y) below it: least for the q
 * quantile (Koenker and Bassett, Regression quantiles, 1978). */
static void score_pinball(const struct rows *r, double q, double *value, double *se)
{
    for (int64_t i = 0; i < r->n; i++) {
        double e = r->y[i] - (double)r->pred[i];
        r->term[i] = e > 0 ? q * e : (q - 1) * e;
    }
    *value = terms_mean(r->term, r->n);
    *se = terms_se(r->term, r->n);
}

/* The mean of 2 (y log(y / p) - y + p). */
static int score_poisson(const struct rows *r, double *value, double *se, struct err *err)
{
    for (int64_t i = 0; i < r->n; i++) {
        double y = r->y[i], p = fmax((double)r->pred[i], METRIC_LEAST_COUNT);
        if (!(y >= 0))
            return err_set(err, ERR_ARG, "poisson_deviance needs a target from 0 up, not %g", y);
        r->term[i] = 2 * ((y > 0 ? y * fm_log_d(y / p) : 0) - y + p);
    }
    *value = terms_mean(r->term, r->n);
    *se = terms_se(r->term, r->n);
    return 0;
}

/* 1 - mean squared error / variance of y; NaN when y is constant. */
static void score_r2(const struct rows *r, double *value, double *se)
{
    double mean = terms_mean(r->y, r->n), err2 = 0, var = 0;

    for (int64_t i = 0; i < r->n; i++) {
        double e = (double)r->pred[i] - r->y[i], d = r->y[i] - mean;
        err2 += e * e;
        var += d * d;
    }
    *value = *se = (double)NAN;
    if (var == 0)
        return;
    *value = 1 - err2 / var;
    for (int64_t i = 0; i < r->n; i++) {
        double e = (double)r->pred[i] - r->y[i], d = r->y[i] - mean;
        r->term[i] = (e * e - err2 / var * d * d) / (var / (double)r->n);
    }
    *se = terms_se(r->term, r->n);
}

static int rows_check(const struct rows *r, struct err *err)
{
    int64_t width = r->task == ML_MULTICLASS ? r->k : 1;

    for (int64_t i = 0; i < r->n * width; i++) {
        if (isnan(r->pred[i]))
            return err_set(err, ERR_ARG, "the prediction of row %lld is not a number",
                           (long long)(i / width));
    }
    return 0;
}

int metric_score(enum metric_id id, enum ml_task task, const float *pred, const double *y,
                 int64_t n, int k, double *value, double *se, struct err *err)
{
    struct rows r = { task, pred, y, n, task == ML_MULTICLASS ? k : 2, NULL };
    double *classes = NULL;
    int rc = -1;

    *value = *se = (double)NAN;
    if (!(infos[id].tasks & (int)task))
        return err_set(err, ERR_ARG, "metric %s does not fit this task", infos[id].name);
    if (n < 1)
        return err_set(err, ERR_ARG, "no rows to score");
    if (rows_check(&r, err) < 0)
        return -1;
    r.term = mem_try_alloc((size_t)n * sizeof(double));
    classes = mem_array((size_t)r.k * 3, sizeof(double));
    if (!r.term) {
        err_set(err, ERR_NOMEM, "no memory to score %lld rows", (long long)n);
        goto out;
    }
    rc = 0;
    switch (id) {
    case METRIC_AUC:
        rc = metric_auc(pred, y, n, task == ML_BINARY ? 1 : k, r.term, value, se, err);
        break;
    case METRIC_LOGLOSS:
        score_logloss(&r, value, se);
        break;
    case METRIC_ACCURACY:
        score_accuracy(&r, value, se);
        break;
    case METRIC_BALANCED_ACCURACY:
        score_balanced(&r, classes, value, se);
        break;
    case METRIC_F1:
        score_f1(&r, classes, value, se);
        break;
    case METRIC_RMSE:
        score_rmse(&r, value, se);
        break;
    case METRIC_MAE:
        score_mae(&r, value, se);
        break;
    case METRIC_R2:
        score_r2(&r, value, se);
        break;
    case METRIC_POISSON:
        rc = score_poisson(&r, value, se, err);
        break;
    default:
        score_pinball(&r, infos[id].quantile, value, se);
        break;
    }
out:
    mem_try_free(r.term);
    mem_free(classes);
    return rc;
}
