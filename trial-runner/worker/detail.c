/* detail.c - see detail.h. Measurements are rounded to six digits: they are looked at, nothing is
 * computed from them. */
#include "trial-runner/worker/detail.h"

#include "base/base.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "ml/fit/warnings.h"
#include "ml/metric/metric.h"
#include "ml/model/pipeline.h"
#include "trial-runner/worker/params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Warnings as a JSON list; NULL without memory. */
static json_t *warnings_new(struct ml_data *d, const struct ml_rows_spec *by)
{
    struct warnings *w = mem_zalloc(sizeof *w);
    struct err err = { 0 };
    json_t *list = NULL;
    struct buf b;

    buf_init(&b, 1 << 18);
    if (warnings_find(d, by, w, &err) < 0)
        log_warn("dataset.warnings err=\"%s\"", err.text);
    if (warnings_json(w, &b, &err) == 0)
        list = jsonx_load(b.data, b.len, "warnings", NULL);
    buf_fini(&b);
    mem_free(w);
    return list;
}

/* What becomes of the columns; NULL without memory. */
static json_t *pipeline_new(const struct ml_data *d, const struct family *f)
{
    struct err err = { 0 };
    json_t *o = NULL;
    struct buf b;

    buf_init(&b, 1 << 18);
    if (ml_pipeline_json(d, f, &b, &err) == 0)
        o = jsonx_load(b.data, b.len, "pipeline", &err);
    if (!o)
        log_warn("trial.pipeline err=\"%s\"", err.text);
    buf_fini(&b);
    return o;
}

static json_t *numbers_new(const double *v, int n)
{
    json_t *list = json_array();
    char digits[32];

    for (int i = 0; i < n; i++) {
        (void)snprintf(digits, sizeof digits, "%.6g", v[i]);
        json_array_append_new(list, jsonx_real(isfinite(v[i]) ? strtod(digits, NULL) : v[i]));
    }
    return list;
}

char *detail_result_new(const struct family *f, const struct fit_result *r,
                        const struct ml_data *prepared, struct ml_data *warned,
                        const struct ml_rows_spec *by)
{
    json_t *curve = json_array();
    json_t *o = json_pack("{s:I, s:i, s:o, s:o, s:f, s:o}", "steps", (json_int_t)r->steps, "folds",
                          r->folds, "free", params_free_json_new(f, r->free_params), "curve", curve,
                          "growth", r->growth, "first", jsonx_real(r->first_score));
    char *text = NULL;

    CHECK(o);
    for (int i = 0; i < r->curve_points; i++) {
        json_t *point = json_array();

        json_array_append_new(point, json_integer((json_int_t)r->curve_step[i]));
        json_array_append_new(point, jsonx_real(r->curve_value[i]));
        json_array_append_new(curve, point);
    }
    if (r->n_blocks > 0)
        json_object_set_new(o, "blocks", numbers_new(r->block, r->n_blocks));
    if (r->n_blocks > 0 && r->order != 0)
        json_object_set_new(o, "order", jsonx_real(r->order));
    json_t *warnings = warned ? warnings_new(warned, by) : NULL;
    if (warnings)
        json_object_set_new(o, "warnings", warnings);
    json_t *pipeline = pipeline_new(prepared, f);
    if (pipeline)
        json_object_set_new(o, "pipeline", pipeline);
    text = jsonx_dump(o);
    json_decref(o);
    return text;
}

char *detail_epochs_new(const struct fit_trial *t, int most, int64_t *last)
{
    struct fit_epochs *e = mem_alloc(sizeof *e);
    char *text = NULL;

    fit_trial_epochs(t, most, e);
    *last = e->n > 0 ? e->epoch[e->n - 1] : 0;
    if (e->n > 0) {
        const struct metric_info *metric = metric_info(e->metric);
        json_t *epochs = json_array();
        for (int i = 0; i < e->n; i++)
            json_array_append_new(epochs, json_integer((json_int_t)e->epoch[i]));
        json_t *o =
            json_pack("{s:i, s:i, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "level", e->level,
                      "folds", e->folds, "metric", metric->name, "larger_is_better",
                      (int)metric->larger_is_better, "epoch", epochs, "train_loss",
                      numbers_new(e->loss, e->n), "score", numbers_new(e->value, e->n),
                      "learning_rate", numbers_new(e->rate, e->n), "gradient_norm",
                      numbers_new(e->norm, e->n), "samples_per_s", numbers_new(e->speed, e->n));
        CHECK(o);
        text = jsonx_dump(o);
        json_decref(o);
    }
    mem_free(e);
    return text;
}
