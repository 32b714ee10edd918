/* baseline.c - the family that every other must beat: the shares of the classes, or the mean of the
 * target. For quantile losses it predicts the quantile, for mae the median. One step; never fails
 * on valid data. */
#include "base/base.h"
#include "base/mem.h"
#include "ml/family/family_tables.h"
#include "ml/math/sort.h"
#include "ml/model/fold_rows.h"
#include "ml/model/models.h"

#include <math.h>
#include <stdlib.h>

enum { BASELINE_FORMAT = 1 };

/* The state of a lane, and what its bytes load to. */
struct predictor {
    int outputs;
    int64_t n_held;
    double *value;
};

static void state_free(struct predictor *p)
{
    if (!p)
        return;
    mem_free(p->value);
    mem_free(p);
}

static struct predictor *state_new(int outputs)
{
    struct predictor *p = mem_zalloc(sizeof *p);

    p->outputs = outputs;
    p->value = mem_array((size_t)outputs, sizeof *p->value);
    return p;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The value that has a share q of the values below it; the middle of the two neighbours where it
 * lies between rows. */
static double quantile_of(double *v, int64_t n, double q)
{
    double at = q * (double)n;
    int64_t up = (int64_t)at < n ? (int64_t)at : n - 1, down = at > (double)up ? up : up - 1;

    qsort(v, (size_t)n, sizeof *v, by_value);
    down = down < 0 ? 0 : down;
    return v[down] + (v[up] - v[down]) * 0.5;
}

/* The least value up to which the rows have at least a share q of the weight. */
static int weighted_quantile(const struct ml_data *d, const struct fold_rows *r, double q,
                             double *value, struct err *err)
{
    size_t n = (size_t)r->n_train;
    uint64_t *key = mem_try_alloc(n * sizeof *key);
    uint32_t *row = mem_try_alloc(n * sizeof *row);
    double all = 0, sum = 0;
    int rc = key && row ? 0 : err_set(err, ERR_NOMEM, "baseline: no memory");

    for (size_t i = 0; i < n && rc == 0; i++) {
        key[i] = ml_key_f64(d->y[r->train[i]]);
        row[i] = (uint32_t)r->train[i];
        all += d->weight[r->train[i]];
    }
    if (rc == 0)
        rc = ml_sort_u64(key, row, n, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        *value = d->y[row[i]];
        sum += d->weight[row[i]];
        if (sum >= q * all)
            break;
    }
    mem_try_free(key);
    mem_try_free(row);
    return rc;
}

static int fit_regression(const struct ml_data *d, const struct fold_rows *r, double *value,
                          struct err *err)
{
    double spread;

    double q = d->spec.metric == METRIC_MAE ? 0.5 : metric_info(d->spec.metric)->quantile;
    if (q <= 0) {
        target_scale(d, r, value, &spread);
        return 0;
    }
    if (d->weight)
        return weighted_quantile(d, r, q, value, err);
    double *v = mem_try_alloc((size_t)r->n_train * sizeof *v);
    if (!v)
        return err_set(err, ERR_NOMEM, "baseline: no memory");
    for (int64_t i = 0; i < r->n_train; i++)
        v[i] = d->y[r->train[i]];
    *value = quantile_of(v, r->n_train, q);
    mem_try_free(v);
    return 0;
}

static int baseline_open(struct ml_data *d, struct lane *lane, struct err *err)
{
    struct fold_rows r;
    struct predictor *p;
    double all = 0;
    int rc = 0;

    if (fold_rows_init(&r, d, lane->fold, lane->share, err) < 0)
        return -1;
    p = state_new(d->n_outputs);
    p->n_held = r.n_held;
    if (d->spec.task == ML_REGRESSION) {
        rc = fit_regression(d, &r, p->value, err);
    } else {
        for (int64_t i = 0; i < r.n_train; i++) {
            int c = (int)d->y[r.train[i]];
            double w = ml_data_weight(d, r.train[i]);
            all += w;
            if (p->outputs > 1)
                p->value[c] += w;
            else
                p->value[0] += c * w;
        }
        for (int k = 0; k < p->outputs; k++)
            p->value[k] /= all;
    }
    fold_rows_fini(&r);
    lane->state = p;
    return rc;
}

static void baseline_close(struct lane *lane)
{
    state_free(lane->state);
    lane->state = NULL;
}

static int baseline_advance(struct ml_data *d, struct lane *lanes, int n, int64_t steps,
                            const struct ml_stop *stop, struct err *err)
{
    (void)d, (void)steps, (void)stop, (void)err;
    for (int i = 0; i < n; i++) {
        lanes[i].steps_done = 1;
        lanes[i].is_done = true;
    }
    return 0;
}

static void fill(const struct predictor *p, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < p->outputs; k++)
            *out++ = (float)p->value[k];
    }
}

static int baseline_predict_held(struct ml_data *d, const struct lane *lane, float *out,
                                 struct err *err)
{
    const struct predictor *p = lane->state;

    (void)d, (void)err;
    fill(p, p->n_held, out);
    return 0;
}

static int baseline_predict_held_at(struct ml_data *d, const struct lane *lane, int64_t steps,
                                    float *out, struct err *err)
{
    (void)steps;
    return baseline_predict_held(d, lane, out, err);
}

static int baseline_save(const struct lane *lane, int64_t steps, struct buf *out, struct err *err)
{
    const struct predictor *p = lane->state;

    (void)steps;
    if (buf_put_u32(out, BASELINE_FORMAT, err) < 0 ||
        buf_put_u32(out, (uint32_t)p->outputs, err) < 0)
        return -1;
    for (int k = 0; k < p->outputs; k++) {
        if (buf_put_f64(out, p->value[k], err) < 0)
            return -1;
    }
    return 0;
}

static int state_load(struct predictor *p, struct view *in, struct err *err)
{
    uint32_t format = 0, outputs = 0;

    if (view_u32(in, &format, err) < 0)
        return -1;
    if (format != BASELINE_FORMAT)
        return err_set(err, ERR_VERSION, "baseline: format %u, this program reads %d", format,
                       BASELINE_FORMAT);
    if (view_u32(in, &outputs, err) < 0)
        return -1;
    if (outputs != (uint32_t)p->outputs)
        return err_set(err, ERR_ARG, "baseline: a model of %u outputs, expected %d", outputs,
                       p->outputs);
    for (int k = 0; k < p->outputs; k++) {
        if (view_f64(in, &p->value[k], err) < 0)
            return -1;
        if (!isfinite(p->value[k]))
            return err_set(err, ERR_ARG, "baseline: a value is not a number");
    }
    return 0;
}

static int baseline_load(struct ml_data *d, struct lane *lane, struct view *in, struct err *err)
{
    (void)d;
    if (state_load(lane->state, in, err) < 0)
        return -1;
    lane->steps_done = 1;
    return 0;
}

static int64_t baseline_bytes(const struct lane *lane)
{
    const struct predictor *p = lane->state;

    return (int64_t)sizeof *p + p->outputs * (int64_t)sizeof *p->value;
}

static struct predictor *predictor_load(const struct prep *prep, int n_outputs, enum ml_task task,
                                        struct view *in, struct err *err)
{
    struct predictor *p = state_new(n_outputs);

    (void)prep, (void)task;
    if (state_load(p, in, err) == 0)
        return p;
    state_free(p);
    return NULL;
}

static int predict(const struct predictor *p, const struct prep_view *v, int64_t from, int64_t n,
                   float *out, struct err *err)
{
    (void)v, (void)from, (void)err;
    fill(p, n, out);
    return 0;
}

const struct model_ops model_baseline = {
    .family = &family_baseline,
    .open = baseline_open,
    .close = baseline_close,
    .advance = baseline_advance,
    .predict_held = baseline_predict_held,
    .predict_held_at = baseline_predict_held_at,
    .save = baseline_save,
    .load = baseline_load,
    .bytes = baseline_bytes,
    .predictor_load = predictor_load,
    .predictor_free = state_free,
    .predict = predict,
};
