/* fit_ship.c - what leaves a trial: the artifact (the bag of fold models cut at the chosen step), its score on test rows
 * through nothing but the artifact's own bytes, and the refit on all rows. Called by fit.h's callers. */
#include "ml/fit_private.h"

#include "base/base.h"
#include "base/clk.h"
#include "base/mem.h"
#include "ml/artifact.h"
#include "ml/data_target.h"
#include "ml/json_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 4096, MEASURE_US = 1000, CLOCK_US = 20 };

/* ---- artifact ---- */

static int params_json(const struct family *f, const double *params, struct buf *out,
                       struct err *err)
{
    if (buf_adds(out, "{", err) < 0)
        return -1;
    for (int i = 0; i < f->n_params; i++) {
        const struct family_param *p = &f->params[i];
        char choice[64];
        if (i && buf_adds(out, ",", err) < 0)
            return -1;
        if (json_text_str(out, p->name, err) < 0 || buf_adds(out, ":", err) < 0)
            return -1;
        if (p->kind == FP_CHOICE) {
            family_choice_name(p, (int)params[i], choice, sizeof choice);
            if (json_text_str(out, choice, err) < 0)
                return -1;
        } else if (json_text_num(out, params[i], err) < 0) {
            return -1;
        }
    }
    return buf_adds(out, "}", err);
}

/* What the models hold important, as shares of their mean. 1 = told, 0 = the family cannot tell or nothing is. */
static int importance_of(const struct ml_data *d, const struct model_ops *ops, int n_models,
                         const struct buf *models, double *share, struct err *err)
{
    bool is_told = ops->importance != NULL;
    double sum = 0;

    for (int m = 0; m < n_models && is_told; m++) {
        struct view in = { (const uint8_t *)models[m].data, models[m].len, 0 };
        struct predictor *p = ops->predictor_load(d->prep, d->n_outputs, d->spec.task, &in, err);
        if (!p)
            return -1;
        is_told = ops->importance(p, d->prep, share, NULL) == 0; /* not of trees of format 1 */
        ops->predictor_free(p);
    }
    for (int i = 0; i < prep_inputs(d->prep); i++)
        sum += share[i];
    for (int i = 0; i < prep_inputs(d->prep) && sum > 0; i++)
        share[i] /= sum;
    return is_told && sum > 0;
}

static int artifact_make(const struct ml_data *d, const struct family *f, const double *params,
                         double score, double se, int n_models, struct buf *models, struct buf *out,
                         struct err *err)
{
    struct artifact_parts p = {
        .task = d->spec.task,
        .target = d->spec.target,
        .n_classes = d->n_classes,
        .classes = (const char *const *)d->classes,
        .family = f->name,
        .metric = metric_info(d->spec.metric)->name,
        .score = score,
        .score_se = se,
        .prep = d->prep,
        .monotone = d->monotone,
        .n_models = n_models,
        .models = models,
        .gives_models = true,
    };
    struct buf json;
    int rc = -1;

    double *share = mem_array((size_t)prep_inputs(d->prep) + 1, sizeof *share);
    int told = importance_of(d, model_find(f->name), n_models, models, share, err);
    buf_init(&json, 1 << 16);
    if (told >= 0 && params_json(f, params, &json, err) == 0) {
        p.params_json = json.data;
        p.importance = told ? share : NULL;
        rc = artifact_write(&p, out, err);
    }
    buf_fini(&json);
    mem_free(share);
    return rc;
}

/* closes: each lane when its bytes are there. */
static int trial_artifact(struct fit_trial *t, bool closes, struct buf *out, struct err *err)
{
    struct buf models[SPLIT_MAX_FOLDS];
    struct fit_run *r;
    struct fit_choice c;
    double score, se, params[FAMILY_MAX_PARAMS];
    int rc = 0;

    if (fit_speaker(t, &r, &c) < 0)
        return err_set(err, ERR_CONFLICT, "%s: no level was reached yet", t->f->name);
    for (int f = 0; f < c.folds; f++) {
        buf_init(&models[f], ARTIFACT_MAX_BYTES);
        if (rc == 0)
            rc = t->ops->save(&r->lanes[f], fit_point_step(r, c.best), &models[f], err);
        if (closes)
            fit_lane_close(t, &r->lanes[f]);
    }
    fit_cross_score(t, r, &c, &score, &se);
    memcpy(params, t->params, sizeof params);
    t->f->choose(params, fit_own_level(t, r->level), fit_point_step(r, c.best));
    if (rc == 0)
        rc = artifact_make(t->d, t->f, params, score, se, c.folds, models, out, err);
    for (int f = 0; f < c.folds; f++)
        buf_fini(&models[f]);
    return rc;
}

int fit_trial_artifact(struct fit_trial *t, struct buf *out, struct err *err)
{
    return trial_artifact(t, false, out, err);
}

/* ---- test rows ---- */

/* Predictions of the rows of f that have a target (own = only this data's test rows), packed to the front of y and pred. */
static int64_t predict_all(const struct ml_data *d, const struct artifact *a, const struct frame *f,
                           bool is_own, double *y, float *pred, struct err *err)
{
    struct artifact_view *v = artifact_view_new(a, f, err);
    int k = d->n_outputs;
    int64_t n = 0;

    if (!v)
        return -1;
    float *chunk = mem_try_alloc((size_t)(CHUNK * k) * sizeof *chunk);
    if (!chunk)
        err_set(err, ERR_NOMEM, "no memory for predictions");
    for (int64_t from = 0; from < f->rows && chunk; from += CHUNK) {
        int64_t m = MIN(CHUNK, f->rows - from);
        if (artifact_predict(v, from, m, chunk, err) < 0) {
            n = -1;
            break;
        }
        for (int64_t i = 0; i < m; i++) {
            if (isnan(y[from + i]) || (is_own && d->fold[from + i] != SPLIT_TEST))
                continue;
            y[n] = y[from + i];
            memcpy(pred + n * k, chunk + i * k, (size_t)k * sizeof *pred);
            n++;
        }
    }
    n = chunk ? n : -1;
    mem_try_free(chunk);
    artifact_view_free(v);
    return n;
}

static bool has_test_rows(const struct ml_data *d)
{
    return d->spec.test_frame || d->spec.test_fraction > 0;
}

/* Score of an artifact on the test rows; NaN when there are none. */
static int test_score(const struct ml_data *d, const struct artifact *a, double *score, double *se,
                      struct err *err)
{
    const struct frame *f = d->spec.test_frame ? d->spec.test_frame : d->spec.frame;
    int rc = -1;

    *score = *se = (double)NAN;
    if (!has_test_rows(d))
        return 0;
    double *y = mem_try_alloc((size_t)f->rows * sizeof *y);
    float *pred = mem_try_alloc((size_t)(f->rows * d->n_outputs) * sizeof *pred);
    if (!y || !pred) {
        err_set(err, ERR_NOMEM, "no memory for %lld predictions", (long long)f->rows);
        goto out;
    }
    if (d->spec.test_frame) {
        struct err why = { 0 };
        if (data_target_of(f, d->spec.target, d->spec.task, d->n_classes,
                           (const char *const *)d->classes, y, &why) < 0) {
            err_at(err, "test", "the test table: %s", why.text);
            goto out;
        }
    } else {
        memcpy(y, d->y, (size_t)f->rows * sizeof *y);
    }
    int64_t n = predict_all(d, a, f, !d->spec.test_frame, y, pred, err);
    if (n < 0)
        goto out;
    rc = 0; /* a metric that is undefined on these rows stays NaN */
    if (n > 0 && metric_score(d->spec.metric, d->spec.task, pred, y, n, MAX(d->n_classes, 1), score,
                              se, NULL) < 0)
        *score = *se = (double)NAN;
out:
    mem_try_free(y);
    mem_try_free(pred);
    return rc;
}

/* ---- size and time ---- */

/* Nanoseconds for a row of the table it was trained on, 0 = unknown: the least of a few growing batches, so that another
 * process on the machine does not count as the model's; nor does its first touch, which may lay a model out anew and takes
 * as long as thousands of rows: it comes before. */
static int64_t predict_ns(const struct ml_data *d, const struct artifact *a)
{
    static const int64_t sizes[] = { 8, 64, 512, 4096 };
    const struct frame *f = d->spec.frame;
    struct artifact_view *v = artifact_view_new(a, f, NULL);
    float *out = mem_try_alloc((size_t)(sizes[ARRAY_LEN(sizes) - 1] * d->n_outputs) * sizeof *out);
    int64_t least = INT64_MAX, spent_us = 0;
    struct clk clk;

    clk_init_system(&clk);
    bool is_ready = v && out && f->rows > 0 && artifact_predict(v, 0, 1, out, NULL) == 0;
    for (size_t i = 0; is_ready && i < ARRAY_LEN(sizes) && spent_us < MEASURE_US; i++) {
        int64_t n = MIN(sizes[i], f->rows), before = clk_now_us(&clk);
        if (n < 1 || artifact_predict(v, 0, n, out, NULL) < 0)
            break;
        int64_t us = clk_now_us(&clk) - before;
        spent_us += us;
        if (us < CLOCK_US && i + 1 < ARRAY_LEN(sizes) && n < f->rows)
            continue; /* too short for the clock */
        least = MIN(least, MAX(us * 1000 / n, 1));
    }
    mem_try_free(out);
    artifact_view_free(v);
    return least == INT64_MAX ? 0 : least;
}

static int artifact_test(struct fit_trial *t, const struct buf *bytes, struct err *err)
{
    struct artifact *a = artifact_load(bytes->data, bytes->len, err);
    int rc = a ? test_score(t->d, a, &t->test_score, &t->test_se, err) : -1;

    if (rc == 0) {
        t->model_bytes = (int64_t)bytes->len;
        t->predict_ns_row = predict_ns(t->d, a);
    }
    artifact_close(a);
    return rc;
}

int fit_trial_test(struct fit_trial *t, struct err *err)
{
    struct buf bytes;

    buf_init(&bytes, ARTIFACT_MAX_BYTES);
    int rc = fit_trial_artifact(t, &bytes, err);
    if (rc == 0)
        rc = artifact_test(t, &bytes, err);
    buf_fini(&bytes);
    /* Its size is nothing that a trial must have. */
    return rc < 0 && has_test_rows(t->d) ? -1 : 0;
}

int fit_trial_ship(struct fit_trial *t, struct buf *out, struct err *err)
{
    struct fit_run *r = NULL;
    struct fit_choice c;

    CHECK(!t->is_shipped);
    t->growth = fit_trial_growth(t);
    if (fit_speaker(t, &r, &c) < 0)
        return err_set(err, ERR_CONFLICT, "%s: no level was reached yet", t->f->name);
    t->is_shipped = true;
    fit_run_close_lanes(t, r == t->run ? t->before : t->run);
    if (trial_artifact(t, true, out, err) < 0)
        return -1;
    fit_run_close_lanes(t, r);
    int rc = artifact_test(t, out, err);
    return rc < 0 && has_test_rows(t->d) ? -1 : 0;
}

/* ---- refit ---- */

/* One lane on all rows to its last step. */
static int refit_lane(struct ml_data *d, const struct family *f, struct lane *l, int64_t steps,
                      const struct ml_stop *stop, struct err *err)
{
    const struct model_ops *ops = model_find(f->name);

    l->max_steps = steps;
    while (l->steps_done < steps && !l->is_done) {
        int64_t before = l->steps_done;
        if (ops->advance(d, l, 1, steps - before, stop, err) < 0)
            return -1;
        if (l->failed) {
            if (err)
                *err = l->why;
            return -1;
        }
        if (l->steps_done < steps && !l->is_done && ml_stop_now(stop))
            return err_set(err, ERR_TIMEOUT,
                           "%s: the deadline came at step %lld of %lld of the refit", f->name,
                           (long long)l->steps_done, (long long)steps);
    }
    return 0;
}

int fit_refit_artifact(struct ml_data *d, const struct family *f, const double *params,
                       uint64_t seed, int64_t steps, const struct ml_stop *stop, struct buf *out,
                       double *test, double *test_se, struct err *err)
{
    const struct model_ops *ops = model_find(f->name);
    struct lane l = { .fold = FOLD_ALL, .seed = seed, .level = f->levels };
    struct family_plan plan;
    struct buf model;
    double chosen[FAMILY_MAX_PARAMS] = { 0 };
    struct artifact *a = NULL;
    int64_t held = 0;
    int rc = -1;

    if (!ops)
        return err_set(err, ERR_NOTFOUND, "this build has no model called \"%s\"", f->name);
    if (family_params_check(f, params, err) < 0)
        return -1;
    buf_init(&model, ARTIFACT_MAX_BYTES);
    memcpy(l.params, params, (size_t)f->n_params * sizeof *params);
    memcpy(chosen, params, (size_t)f->n_params * sizeof *params);
    f->plan(params, f->levels, &plan);
    for (int64_t i = 0; i < d->rows; i++)
        held += d->fold[i] == 0;
    if (plan.scales_with_rows &&
        d->n_train > held) /* the steps were chosen on the rows outside fold 0 */
        steps = (steps * d->n_train + (d->n_train - held) / 2) / (d->n_train - held);
    /* Chosen values of a grid may stand in params by now: then its last step is what was chosen. */
    steps = MAX(1, plan.n_counts > 0 ? MIN(steps, plan.cap) : steps);
    if (ops->open(d, &l, err) < 0)
        goto out;
    if (refit_lane(d, f, &l, steps, stop, err) < 0)
        goto out;
    steps = MIN(steps, l.steps_done);
    if (ops->save(&l, steps, &model, err) < 0)
        goto out;
    f->choose(chosen, f->levels, steps);
    if (artifact_make(d, f, chosen, (double)NAN, (double)NAN, 1, &model, out, err) < 0 ||
        (has_test_rows(d) && !(a = artifact_load(out->data, out->len, err))))
        goto out;
    rc = test_score(d, a, test, test_se, err);
out:
    artifact_close(a);
    if (l.state)
        ops->close(&l);
    buf_fini(&model);
    return rc;
}
