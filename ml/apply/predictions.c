/* predictions.c - see predictions.h. JSON lists all predictions first and then all probabilities,
 * so rows are predicted into memory before they are written. */
#include "ml/apply/predictions.h"

#include "base/mem.h"
#include "ml/table/json_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int predictions_cell(struct buf *out, const char *prefix, const char *text, struct err *err)
{
    if (!strpbrk(text, ",\"\r\n"))
        return buf_addf(out, err, "%s%s", prefix, text);
    int rc = buf_addf(out, err, "\"%s", prefix);
    for (; rc == 0 && *text; text++) {
        if (*text == '"')
            rc = buf_adds(out, "\"", err);
        if (rc == 0)
            rc = buf_add(out, text, 1, err);
    }
    return rc < 0 ? -1 : buf_adds(out, "\"", err);
}

/* p + shift: of a float p 9 digits give it back; with a shift there are as many more as p needs to
 * keep its own. */
static const char *number_text(double p, double shift, char text[40])
{
    for (int digits = 9; digits <= 17; digits++) {
        (void)!snprintf(text, 40, "%.*g", digits, p + shift);
        if (shift == 0 || fabs(strtod(text, NULL) - shift - p) <= fabs(p) * 1e-7)
            break;
    }
    return text;
}

static int best_class(const float *p, int k)
{
    int best = 0;

    for (int j = 1; j < k; j++)
        if (p[j] > p[best])
            best = j;
    return best;
}

static int predicted_class(const struct artifact_info *info, const struct predictions_how *how,
                           const float *p)
{
    double threshold = isnan(how->threshold) ? adjust_threshold(info->adjust) : how->threshold;

    return info->task == ML_BINARY ? (double)p[0] > threshold : best_class(p, info->n_classes);
}

int predictions_check(const struct artifact_info *info, const struct predictions_how *how,
                      const char *threshold_name, const char *interval_name, struct err *err)
{
    double most = adjust_most_level(info->adjust);

    if (!isnan(how->threshold) && info->task != ML_BINARY)
        return err_at(err, threshold_name, "only for a target of two classes");
    if (how->interval == 0)
        return 0;
    if (info->task != ML_REGRESSION)
        return err_at(err, interval_name,
                      "only for a target of numbers; classes have probabilities");
    if (!(most > 0))
        return err_at(err, interval_name,
                      "the model has no intervals: its file is of an earlier version, or it was "
                      "trained without rows held out");
    if (how->interval > most)
        return err_at(err, interval_name,
                      "the %lld rows that were held out allow no interval of more than %.4g",
                      (long long)info->adjust->intervals.rows, most);
    return 0;
}

/* The interval around a prediction that is without its shift. */
static void bounds_of(const struct artifact_info *info, const struct predictions_how *how, float p,
                      double out[2])
{
    adjust_interval(info->adjust, how->interval, (double)p, &out[0], &out[1]);
}

static float probability(const struct artifact_info *info, const float *p, int k)
{
    if (info->task != ML_BINARY)
        return p[k];
    return k == 1 ? p[0] : 1 - p[0];
}

int predictions_header(struct buf *out, const struct artifact_info *info,
                       const struct predictions_how *how, struct err *err)
{
    int rc = buf_adds(out, how->interval > 0 ? "prediction,lower,upper" : "prediction", err);

    for (int k = 0; rc == 0 && info->task != ML_REGRESSION && k < info->n_classes; k++) {
        rc = buf_adds(out, ",", err);
        if (rc == 0)
            rc = predictions_cell(out, "p_", info->classes[k], err);
    }
    return rc;
}

static int number_row(struct buf *out, const struct artifact_info *info,
                      const struct predictions_how *how, float p, struct err *err)
{
    double shift = target_shift(&info->unit), at[2];
    char text[40];

    if (buf_adds(out, number_text((double)p, shift, text), err) < 0)
        return -1;
    if (how->interval > 0) {
        bounds_of(info, how, p, at);
        for (int k = 0; k < 2; k++) {
            if (buf_addf(out, err, ",%s", number_text(at[k], shift, text)) < 0)
                return -1;
        }
    }
    return buf_adds(out, "\n", err);
}

int predictions_row(struct buf *out, const struct artifact_info *info,
                    const struct predictions_how *how, const float *p, struct err *err)
{
    if (info->task == ML_REGRESSION)
        return number_row(out, info, how, p[0], err);
    int rc = predictions_cell(out, "", info->classes[predicted_class(info, how, p)], err);
    for (int k = 0; rc == 0 && k < info->n_classes; k++)
        rc = buf_addf(out, err, ",%.9g", (double)probability(info, p, k));
    return rc < 0 ? -1 : buf_adds(out, "\n", err);
}

/* What the model says of all rows: [rows][artifact_outputs], mem_try_free; NULL and err. */
static float *predict_all(const struct predictions *p, struct err *err)
{
    int64_t width = artifact_outputs(p->a);
    struct artifact_view *view = artifact_view_new(p->a, p->f, err);
    float *out = view ? mem_try_alloc((size_t)(p->f->rows * width) * sizeof(*out)) : NULL;
    int rc = out ? 0 : -1;

    if (view && !out)
        err_set(err, ERR_NOMEM, "no memory for the predictions");
    for (int64_t from = 0; rc == 0 && from < p->f->rows; from += PREDICTIONS_BATCH)
        rc = artifact_predict(view, from, MIN(p->f->rows - from, PREDICTIONS_BATCH),
                              out + from * width, err);
    artifact_view_free(view);
    if (rc == 0)
        return out;
    mem_try_free(out);
    return NULL;
}

int predictions_csv(const struct predictions *p, struct buf *out, struct err *err)
{
    const struct artifact_info *info = artifact_info(p->a);
    float *all = predict_all(p, err);
    int rc = all ? predictions_header(out, info, &p->how, err) : -1;

    if (rc == 0)
        rc = buf_adds(out, "\n", err);
    for (int64_t i = 0; rc == 0 && i < p->f->rows; i++)
        rc = predictions_row(out, info, &p->how, all + i * artifact_outputs(p->a), err);
    mem_try_free(all);
    return rc;
}

static int classes_json(const struct artifact_info *info, struct buf *out, struct err *err)
{
    int rc = buf_adds(out, ",\"classes\":[", err);

    for (int k = 0; rc == 0 && k < info->n_classes; k++) {
        rc = k > 0 ? buf_adds(out, ",", err) : 0;
        if (rc == 0)
            rc = json_text_str(out, info->classes[k], err);
    }
    return rc < 0 ? -1 : buf_adds(out, "]", err);
}

static int probabilities_json(const struct predictions *p, const float *all, struct buf *out,
                              struct err *err)
{
    const struct artifact_info *info = artifact_info(p->a);
    int rc = buf_adds(out, ",\"probabilities\":[", err);

    for (int64_t i = 0; rc == 0 && i < p->f->rows; i++) {
        const float *row = all + i * artifact_outputs(p->a);
        rc = buf_adds(out, i > 0 ? ",[" : "[", err);
        for (int k = 0; rc == 0 && k < info->n_classes; k++)
            rc = buf_addf(out, err, k > 0 ? ",%.9g" : "%.9g", (double)probability(info, row, k));
        if (rc == 0)
            rc = buf_adds(out, "]", err);
    }
    return rc < 0 ? -1 : buf_adds(out, "]", err);
}

static int prediction_json(const struct predictions *p, const float *row, struct buf *out,
                           struct err *err)
{
    const struct artifact_info *info = artifact_info(p->a);
    char text[40];

    if (info->task != ML_REGRESSION)
        return json_text_str(out, info->classes[predicted_class(info, &p->how, row)], err);
    return buf_adds(out,
                    isfinite(row[0]) ? number_text((double)row[0], target_shift(&info->unit), text)
                                     : "null",
                    err);
}

/* ,"interval":0.9,"lower":[..],"upper":[..] */
static int intervals_json(const struct predictions *p, const float *all, struct buf *out,
                          struct err *err)
{
    static const char *const names[] = { "lower", "upper" };
    const struct artifact_info *info = artifact_info(p->a);
    int rc = buf_addf(out, err, ",\"interval\":%.9g", p->how.interval);
    double at[2];
    char text[40];

    for (int k = 0; k < 2; k++) {
        if (rc == 0)
            rc = buf_addf(out, err, ",\"%s\":[", names[k]);
        for (int64_t i = 0; rc == 0 && i < p->f->rows; i++) {
            bounds_of(info, &p->how, all[i], at);
            rc = buf_addf(out, err, "%s%s", i > 0 ? "," : "",
                          isfinite(at[k]) ? number_text(at[k], target_shift(&info->unit), text)
                                          : "null");
        }
        if (rc == 0)
            rc = buf_adds(out, "]", err);
    }
    return rc;
}

int predictions_json(const struct predictions *p, struct buf *out, struct err *err)
{
    const struct artifact_info *info = artifact_info(p->a);
    float *all = predict_all(p, err);
    int rc = all ? buf_adds(out, "\"predictions\":[", err) : -1;

    for (int64_t i = 0; rc == 0 && i < p->f->rows; i++) {
        rc = i > 0 ? buf_adds(out, ",", err) : 0;
        if (rc == 0)
            rc = prediction_json(p, all + i * artifact_outputs(p->a), out, err);
    }
    if (rc == 0)
        rc = buf_adds(out, "]", err);
    if (rc == 0 && info->task != ML_REGRESSION)
        rc = classes_json(info, out, err) < 0 ? -1 : probabilities_json(p, all, out, err);
    if (rc == 0 && p->how.interval > 0)
        rc = intervals_json(p, all, out, err);
    mem_try_free(all);
    return rc;
}
