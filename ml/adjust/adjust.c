/* adjust.c - applies adjustments to outputs, and writes and reads them (adjust.h). Called by
 * ml/model/, ml/fit/ and ml/ensemble/. */
#include "ml/adjust/adjust.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/adjust/adjust_private.h"
#include "ml/math/fmath.h"

#include <math.h>

/* What a file may hold: bits of what is there. MOST_CLASSES: as in the model file. */
enum {
    HAS_CALIBRATION = 1,
    HAS_THRESHOLD = 2,
    HAS_INTERVALS = 4,
    HAS_POWER = 8,
    MOST_CLASSES = 1000
};
/* A slope or an offset outside is no calibration, a power outside is none. */
#define MOST_SLOPE 100.0
#define MOST_POWER 10.0
/* Largest float below 1: a calibrated probability never says that something is certain. */
#define MOST_P 0.99999994f

void adjust_fini(struct adjust *a)
{
    mem_free(a->log_share);
    mem_free(a->intervals.residual);
    *a = (struct adjust){ 0 };
}

bool adjust_is_plain(const struct adjust *a)
{
    return !a->calibrates && a->power == 0 && a->threshold == 0 && a->intervals.n == 0;
}

double adjust_log(double p)
{
    return fm_log_d(p > ADJUST_LEAST_P ? p : ADJUST_LEAST_P);
}

double adjust_log_odds(double p)
{
    return adjust_log(p) - adjust_log(1 - p);
}

static void row_of_classes(const struct adjust *a, float *p)
{
    double top = -INFINITY, sum = 0, score[MOST_CLASSES];

    for (int c = 0; c < a->classes; c++) {
        score[c] = a->slope * adjust_log((double)p[c]) + a->offset * a->log_share[c];
        top = fmax(top, score[c]);
        if (isnan(p[c]))
            return;
    }
    for (int c = 0; c < a->classes; c++)
        sum += score[c] = fm_exp_d(score[c] - top);
    for (int c = 0; c < a->classes; c++)
        p[c] = (float)(score[c] / sum);
}

void adjust_class_logs(const float *p, int outputs, int classes, double *out)
{
    if (outputs == 1) {
        out[0] = adjust_log(1 - (double)p[0]);
        out[1] = adjust_log((double)p[0]);
        return;
    }
    for (int c = 0; c < classes; c++)
        out[c] = adjust_log((double)p[c]);
}

void adjust_probabilities(const struct adjust *a, float *p, int64_t n)
{
    if (!a->calibrates)
        return;
    for (int64_t i = 0; i < n; i++) {
        if (a->classes > 0) {
            row_of_classes(a, p + i * a->classes);
        } else if (!isnan(p[i])) {
            float q = (float)fm_sigmoid_d(a->slope * adjust_log_odds((double)p[i]) + a->offset);
            p[i] = fminf(q, MOST_P);
        }
    }
}

void adjust_of_power(double power, int outputs, struct adjust *out)
{
    *out = (struct adjust){ .calibrates = power > 0, .slope = power };
    if (power > 0 && outputs > 1) {
        out->classes = outputs;
        out->log_share = mem_array((size_t)outputs, sizeof *out->log_share);
    }
}

double adjust_threshold(const struct adjust *a)
{
    return a->threshold > 0 ? a->threshold : 0.5;
}

bool adjust_decides(enum metric_id metric, enum ml_task task)
{
    const struct metric_info *m = metric_info(metric);

    return task == ML_BINARY && (m->tasks & ML_BINARY) && !m->is_smooth;
}

void adjust_decide(const struct adjust *a, enum metric_id metric, enum ml_task task, float *p,
                   int64_t n)
{
    if (a->threshold == 0 || !adjust_decides(metric, task))
        return;
    for (int64_t i = 0; i < n; i++)
        p[i] = (double)p[i] > a->threshold ? 1 : 0;
}

/* ---- intervals ---- */

double adjust_size_at(const struct adjust_intervals *v, double prediction)
{
    int i = 0;

    if (v->places == 0)
        return 1;
    if (!(prediction > v->at[0]))
        return v->size[0];
    while (i + 1 < v->places && v->at[i + 1] < prediction)
        i++;
    if (i + 1 == v->places)
        return v->size[i];
    double share = (prediction - v->at[i]) / (v->at[i + 1] - v->at[i]);
    return v->size[i] + share * (v->size[i + 1] - v->size[i]);
}

double adjust_most_level(const struct adjust *a)
{
    int n = a->intervals.n;

    return n < 2 ? 0 : (double)(n - 1) / (n + 1);
}

/* Of n residuals the k-th is exceeded by a new one with probability 1 - k / (n + 1) (Vovk and others,
 * 2005). NEAR: what rounding may add to a whole number. */
void adjust_interval(const struct adjust *a, double level, double prediction, double *lower,
                     double *upper)
{
    static const double NEAR = 1e-9;
    const struct adjust_intervals *v = &a->intervals;
    double tail = (1 - level) / 2 * (v->n + 1), size = adjust_size_at(v, prediction);
    int low = (int)floor(tail + NEAR), high = v->n + 1 - low;

    CHECK(low >= 1 && high <= v->n);
    if (low >= high) /* a level near 0 */
        low = high = (v->n + 1) / 2;
    *lower = prediction + size * (double)v->residual[low - 1];
    *upper = prediction + size * (double)v->residual[high - 1];
}

/* ---- bytes ---- */

static int put_calibration(const struct adjust *a, struct buf *out, struct err *err)
{
    if (buf_put_f64(out, a->slope, err) < 0 || buf_put_f64(out, a->offset, err) < 0)
        return -1;
    for (int c = 0; c < a->classes; c++) {
        if (buf_put_f64(out, a->log_share[c], err) < 0)
            return -1;
    }
    return 0;
}

static int put_intervals(const struct adjust_intervals *v, struct buf *out, struct err *err)
{
    if (buf_put_u64(out, (uint64_t)v->rows, err) < 0 || buf_put_u32(out, (uint32_t)v->n, err) < 0 ||
        buf_put_u32(out, (uint32_t)v->places, err) < 0)
        return -1;
    for (int i = 0; i < v->n; i++) {
        if (buf_put_f32(out, v->residual[i], err) < 0)
            return -1;
    }
    for (int i = 0; i < v->places; i++) {
        if (buf_put_f64(out, v->at[i], err) < 0 || buf_put_f64(out, v->size[i], err) < 0)
            return -1;
    }
    return 0;
}

int adjust_save(const struct adjust *a, struct buf *out, struct err *err)
{
    int has = (a->calibrates ? HAS_CALIBRATION : 0) | (a->threshold > 0 ? HAS_THRESHOLD : 0) |
              (a->intervals.n > 0 ? HAS_INTERVALS : 0) | (a->power > 0 ? HAS_POWER : 0);

    if (buf_put_u8(out, (uint8_t)has, err) < 0 ||
        (a->calibrates && put_calibration(a, out, err) < 0) ||
        (a->threshold > 0 && buf_put_f64(out, a->threshold, err) < 0) ||
        (a->power > 0 && buf_put_f64(out, a->power, err) < 0))
        return -1;
    return a->intervals.n > 0 ? put_intervals(&a->intervals, out, err) : 0;
}

static int broken(struct err *err)
{
    return err_set(err, ERR_ARG,
                   "damaged model file: an adjustment of its outputs is out of range");
}

static int load_calibration(struct adjust *a, int outputs, struct view *in, struct err *err)
{
    a->calibrates = true;
    if (view_f64(in, &a->slope, err) < 0 || view_f64(in, &a->offset, err) < 0)
        return -1;
    if (!(a->slope > 0 && a->slope <= MOST_SLOPE && fabs(a->offset) <= MOST_SLOPE) ||
        outputs > MOST_CLASSES)
        return broken(err);
    if (outputs == 1)
        return 0;
    a->classes = outputs;
    a->log_share = mem_array((size_t)outputs, sizeof *a->log_share);
    for (int c = 0; c < outputs; c++) {
        if (view_f64(in, &a->log_share[c], err) < 0)
            return -1;
        if (!(a->log_share[c] <= 0 && a->log_share[c] >= -MOST_SLOPE))
            return broken(err);
    }
    return 0;
}

static int load_intervals(struct adjust_intervals *v, struct view *in, struct err *err)
{
    uint64_t rows = 0;
    uint32_t n = 0, places = 0;

    if (view_u64(in, &rows, err) < 0 || view_u32(in, &n, err) < 0 || view_u32(in, &places, err) < 0)
        return -1;
    if (n < 1 || n > ADJUST_RESIDUALS || places > ADJUST_PLACES || rows > INT64_MAX)
        return broken(err);
    v->rows = (int64_t)rows;
    v->n = (int)n;
    v->places = (int)places;
    v->residual = mem_array(n, sizeof *v->residual);
    for (uint32_t i = 0; i < n; i++) {
        if (view_f32(in, &v->residual[i], err) < 0)
            return -1;
        if (!isfinite(v->residual[i]) || (i > 0 && v->residual[i] < v->residual[i - 1]))
            return broken(err);
    }
    for (uint32_t i = 0; i < places; i++) {
        if (view_f64(in, &v->at[i], err) < 0 || view_f64(in, &v->size[i], err) < 0)
            return -1;
        if (!isfinite(v->at[i]) || !(v->size[i] > 0 && isfinite(v->size[i])) ||
            (i > 0 && !(v->at[i] > v->at[i - 1])))
            return broken(err);
    }
    return 0;
}

int adjust_load(struct adjust *a, enum ml_task task, int outputs, struct view *in, struct err *err)
{
    uint8_t has = 0;

    *a = (struct adjust){ 0 };
    if (view_u8(in, &has, err) < 0)
        return -1;
    int fits = task == ML_REGRESSION ? HAS_INTERVALS
               : task == ML_BINARY   ? HAS_CALIBRATION | HAS_THRESHOLD | HAS_POWER
                                     : HAS_CALIBRATION | HAS_POWER;
    if (has == 0 || (has & ~fits) != 0)
        return broken(err);
    if ((has & HAS_CALIBRATION) && load_calibration(a, outputs, in, err) < 0)
        return -1;
    if (has & HAS_THRESHOLD) {
        if (view_f64(in, &a->threshold, err) < 0)
            return -1;
        if (!(a->threshold > 0 && a->threshold < 1))
            return broken(err);
    }
    if (has & HAS_POWER) {
        if (view_f64(in, &a->power, err) < 0)
            return -1;
        if (!(a->power > 1 && a->power <= MOST_POWER))
            return broken(err);
    }
    return has & HAS_INTERVALS ? load_intervals(&a->intervals, in, err) : 0;
}
