/* fit_ship.c - what leaves a trial: the model file (the fold models, cut at the chosen step), its
 * score on test rows, and the refit on all rows.
 *
 * Test rows are scored through nothing but the file's own bytes, so that the score is that of what
 * ships. Models are loaded one at a time for it, because a bag of large forests may not fit into
 * memory beside itself. Called by the worker. */
#include "ml/fit/fit_private.h"

#include "base/base.h"
#include "base/clk.h"
#include "base/mem.h"
#include "ml/model/artifact.h"
#include "ml/model/models.h"
#include "ml/model/pipeline.h"
#include "ml/model/row_columns.h"
#include "ml/model/target.h"
#include "ml/model/variant.h"
#include "ml/table/json_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* CHUNK: rows predicted at a time. MEASURE_US: time spent on measuring the speed of predictions,
 * divided among the fold models. CLOCK_US: a measured time below this is too short to be trusted.
 * GIVE_BACK_BYTES: what is freed in one go is returned to the system from here on (mem_give_back),
 * because below it the call takes longer than it helps. */
enum { CHUNK = 4096, MEASURE_US = 1000, CLOCK_US = 20, GIVE_BACK_BYTES = 1 << 19 };

/* ---- artifact ---- */

/* The parameters as a JSON object, choices by name. */
static int params_json(const struct family *f, const double *params, struct buf *out,
                       struct err *err)
{
    int n = 0;

    if (buf_adds(out, "{", err) < 0)
        return -1;
    for (int i = 0; i < f->n_params; i++) {
        const struct family_param *p = &f->params[i];
        char choice[64];
        if (p->axis == FA_PREP && params[i] == p->def)
            continue; /* most tables have no columns that it is about */
        if (n++ > 0 && buf_adds(out, ",", err) < 0)
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

/* The importance of columns as the models hold it, as shares of their sum. 1 = known; 0 = the family
 * cannot tell, or no input is used. */
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
        /* models of format 1 do not hold it */
        is_told = ops->importance(p, d->prep, share, NULL) == 0;
        ops->predictor_free(p);
    }
    if (is_told && models[0].len >= GIVE_BACK_BYTES)
        mem_give_back();
    for (int i = 0; i < prep_inputs(d->prep); i++)
        sum += share[i];
    for (int i = 0; i < prep_inputs(d->prep) && sum > 0; i++)
        share[i] /= sum;
    double *by_column = mem_array((size_t)prep_columns(d->prep) + 1, sizeof *by_column);
    prep_by_column(d->prep, share, by_column);
    memcpy(share, by_column, (size_t)prep_columns(d->prep) * sizeof *share);
    mem_free(by_column);
    return is_told && sum > 0;
}

/* Writes the model file from the bytes of its fold models. */
static int artifact_make(const struct ml_data *d, const struct family *f, const double *params,
                         const struct adjust *adjust, double score, double se, int n_models,
                         struct buf *models, struct buf *out, struct err *err)
{
    struct adjust own = adjust ? *adjust : (struct adjust){ 0 };
    /* what a mean of models was given does not fit one model */
    own.power = n_models > 1 ? own.power : 0;
    struct artifact_parts p = {
        .task = d->spec.task,
        .target = d->spec.target,
        .n_classes = d->n_classes,
        .classes = (const char *const *)d->classes,
        .family = f->name,
        .metric = metric_info(d->spec.metric)->name,
        .score = score,
        .score_se = se,
        .unit = d->unit,
        .limits = &d->limits,
        .adjust = &own,
        .frame = d->spec.frame,
        .prep = d->prep,
        .monotone = d->monotone,
        .n_models = n_models,
        .models = models,
        .gives_models = true,
    };
    struct buf json, pipeline;
    int rc = -1;

    double *share =
        mem_array((size_t)(prep_inputs(d->prep) + prep_columns(d->prep)) + 1, sizeof *share);
    int told = importance_of(d, model_find(f->name), n_models, models, share, err);
    buf_init(&json, 1 << 16);
    buf_init(&pipeline, 1 << 20);
    if (told >= 0 && params_json(f, params, &json, err) == 0 &&
        ml_pipeline_json(d, f, &pipeline, err) == 0) {
        p.params_json = json.data;
        p.pipeline_json = pipeline.data;
        p.importance = told ? share : NULL;
        rc = artifact_write(&p, out, err);
    }
    buf_fini(&json);
    buf_fini(&pipeline);
    mem_free(share);
    return rc;
}

/* An upper bound of what a lane's model takes in the file, apart from the head of the file. */
static size_t saved_bytes(const struct fit_trial *t, const struct lane *l)
{
    return (size_t)MIN((double)t->ops->model_bytes(l) * t->ops->file_share, ARTIFACT_MAX_BYTES);
}

/* Forward in time only the newest fold's model ships, because the others have not seen the newest
 * rows; the study then refits it on all rows. */
static int shipped_folds(const struct fit_trial *t, const struct fit_choice *c)
{
    return t->d->time ? MIN(c->folds, 1) : c->folds;
}

/* closes: each lane is closed as soon as its bytes are written, and large memory goes back to the
 * system before the next one is written. */
static int trial_artifact(struct fit_trial *t, bool closes, struct buf *out, struct err *err)
{
    struct buf models[SPLIT_MAX_FOLDS];
    struct fit_run *r;
    struct fit_choice c;
    double score, se, first, params[FAMILY_MAX_PARAMS];
    int rc = 0, n;

    if (fit_result_run(t, &r, &c) < 0)
        return err_set(err, ERR_CONFLICT, "%s: no level was reached yet", t->f->name);
    if (fit_adjust_make(t, r, &c, err) < 0 ||
        fit_final_score(t, r, &c, &score, &se, &first, err) < 0)
        return -1;
    CHECK(c.folds <= r->n_lanes);
    n = shipped_folds(t, &c);
    for (int f = 0; f < n; f++) {
        buf_init(&models[f], ARTIFACT_MAX_BYTES);
        if (rc == 0 && t->ops->model_bytes)
            rc = buf_reserve(&models[f], saved_bytes(t, &r->lanes[f]), err);
        if (rc == 0)
            rc = t->ops->save(&r->lanes[f], fit_point_step(r, c.best), &models[f], err);
        int64_t held = closes ? t->ops->bytes(&r->lanes[f]) : 0;
        if (closes)
            fit_lane_close(t, &r->lanes[f]);
        if (held >= GIVE_BACK_BYTES)
            mem_give_back();
    }
    memcpy(params, t->params, sizeof params);
    t->f->choose(params, fit_own_level(t, r->level), fit_point_step(r, c.best));
    if (rc == 0)
        rc = fit_power(t, r, n, models, &t->adjust->all, err);
    if (rc == 0)
        rc = artifact_make(t->d, t->f, params, &t->adjust->all, score, se, n, models, out, err);
    for (int f = 0; f < n; f++)
        buf_fini(&models[f]);
    return rc;
}

int fit_trial_artifact(struct fit_trial *t, struct buf *out, struct err *err)
{
    return trial_artifact(t, false, out, err);
}

/* ---- test rows ---- */

/* The rows that the finished model is tested on, and what its fold models predict for them.
 * Predictions are added up one fold model after another, so that one model at a time is in
 * memory. */
struct test_rows {
    const struct frame *frame;
    /* [frame->rows]; NaN where there is nothing to predict */
    double *y;
    /* [frame->rows] weights of the rows; NULL = all count 1 */
    double *weight;
    /* [rows to predict][n_outputs], added up in the order that artifact_predict has */
    double *sum;
    float *chunk; /* [CHUNK][n_outputs] */
    int64_t n;    /* rows to predict */
};

static bool has_test_rows(const struct ml_data *d)
{
    return d->spec.test_frame || d->spec.test_fraction > 0;
}

static void test_close(struct test_rows *t)
{
    mem_try_free(t->y);
    mem_try_free(t->weight);
    mem_try_free(t->sum);
    mem_try_free(t->chunk);
}

/* A test table may be without the column of weights: then its rows count alike. Rows of weight 0
 * are not scored. */
static int test_weights(const struct ml_data *d, struct test_rows *t, struct err *err)
{
    struct err why = { 0 };
    int rc = 0;

    if (!d->spec.test_frame && d->weight) {
        t->weight = mem_try_alloc((size_t)t->frame->rows * sizeof *t->weight);
        if (!t->weight)
            return err_set(err, ERR_NOMEM, "no memory for %lld weights", (long long)t->frame->rows);
        memcpy(t->weight, d->weight, (size_t)t->frame->rows * sizeof *t->weight);
    } else if (d->spec.test_frame && d->weights_name &&
               frame_find(t->frame, d->weights_name) >= 0) {
        rc = row_weights(t->frame, d->weights_name, &t->weight, &why);
    }
    if (rc < 0)
        return err_at(err, "test", "the test table: %s", why.text);
    for (int64_t i = 0; t->weight && i < t->frame->rows; i++) {
        if (!(t->weight[i] > 0))
            t->y[i] = (double)NAN;
    }
    return 0;
}

/* Rows of the table itself are known by the split. A test table is read in the classes of the
 * training table; an error names it as the test table's. */
static int test_target(const struct ml_data *d, struct test_rows *t, struct err *err)
{
    struct err why = { 0 };

    if (!d->spec.test_frame) {
        for (int64_t i = 0; i < t->frame->rows; i++)
            t->y[i] = d->fold[i] == SPLIT_TEST ? d->truth[i] : (double)NAN;
    } else if (target_read_as(t->frame, d->spec.target, d->spec.task, d->n_classes,
                              (const char *const *)d->classes, t->y, &why) < 0) {
        return err_at(err, "test", "the test table: %s", why.text);
    }
    for (int64_t i = 0; d->spec.test_frame && i < t->frame->rows; i++)
        t->y[i] -= target_shift(&d->unit);
    if (test_weights(d, t, err) < 0)
        return -1;
    for (int64_t i = 0; i < t->frame->rows; i++)
        t->n += !isnan(t->y[i]);
    return 0;
}

/* Finds the rows and takes memory for their predictions. Without test rows there is nothing to
 * do. */
static int test_open(const struct ml_data *d, struct test_rows *t, struct err *err)
{
    size_t k = (size_t)d->n_outputs;

    *t = (struct test_rows){ .frame = d->spec.test_frame ? d->spec.test_frame : d->spec.frame };
    if (!has_test_rows(d))
        return 0;
    t->y = mem_try_alloc((size_t)t->frame->rows * sizeof *t->y);
    t->chunk = mem_try_alloc(CHUNK * k * sizeof *t->chunk);
    if (t->y && test_target(d, t, err) < 0)
        return -1;
    t->sum = mem_try_zalloc(((size_t)t->n * k + 1) * sizeof *t->sum);
    if (!t->y || !t->chunk || !t->sum)
        return err_set(err, ERR_NOMEM, "no memory for %lld predictions", (long long)t->n);
    return 0;
}

/* Adds the predictions of the fold model that is loaded at the moment. */
static int test_add(const struct ml_data *d, struct test_rows *t, const struct artifact *a,
                    struct err *err)
{
    int k = d->n_outputs, rc = 0;
    double *sum = t->sum;

    if (t->n == 0)
        return 0;
    struct artifact_view *v = artifact_view_new(a, t->frame, err);
    if (!v)
        return -1;
    for (int64_t from = 0; from < t->frame->rows && rc == 0; from += CHUNK) {
        int64_t m = MIN(CHUNK, t->frame->rows - from);
        rc = artifact_predict(v, from, m, t->chunk, err);
        for (int64_t i = 0; i < m && rc == 0; i++) {
            if (isnan(t->y[from + i]))
                continue;
            for (int o = 0; o < k; o++)
                sum[o] += (double)t->chunk[i * k + o];
            sum += k;
        }
    }
    artifact_view_free(v);
    return rc;
}

/* The mean of the models, before it is raised to its power. */
static void test_mean(const struct test_rows *t, const struct artifact *a, int64_t width,
                      float *pred)
{
    for (int64_t i = 0; i < width; i++)
        pred[i] = (float)(t->sum[i] / artifact_info(a)->n_models);
}

/* The score of everything that was added. NaN when there are no test rows, or the metric is
 * undefined on them. Overwrites t->y and t->weight. keeps: takes the rows over; NULL = they go. */
static int test_score(const struct ml_data *d, struct test_rows *t, const struct artifact *a,
                      struct predicted_rows *keeps, double *score, double *se, struct err *err)
{
    int64_t n = 0, width = t->n * d->n_outputs;

    *score = *se = (double)NAN;
    if (t->n == 0)
        return 0;
    float *pred = mem_try_alloc((size_t)width * sizeof *pred);
    if (!pred)
        return err_set(err, ERR_NOMEM, "no memory for %lld predictions", (long long)t->n);
    test_mean(t, a, width, pred);
    artifact_raise(a, pred, t->n);
    for (int64_t i = 0; i < t->frame->rows; i++) {
        if (isnan(t->y[i]))
            continue;
        if (t->weight)
            t->weight[n] = t->weight[i];
        t->y[n++] = t->y[i];
    }
    bool is_decided = adjust_decides(d->spec.metric, d->spec.task);
    adjust_decide(artifact_info(a)->adjust, d->spec.metric, d->spec.task, pred, n);
    if (metric_score_weighted(d->spec.metric, d->spec.task, pred, t->y, t->weight, n,
                              MAX(d->n_classes, 1), score, se, NULL) < 0)
        *score = *se = (double)NAN;
    if (keeps) {
        if (is_decided || artifact_info(a)->adjust->power > 0)
            test_mean(t, a, width, pred);
        *keeps = (struct predicted_rows){ .n = n, .y = t->y, .weight = t->weight, .p = pred };
        t->y = t->weight = NULL;
        return 0;
    }
    mem_try_free(pred);
    return 0;
}

/* ---- size and time ---- */

/* Nanoseconds to predict a row of the training table; 0 = unknown. The least of a few batches of
 * growing size, because other processes of the machine only ever add time. One row is predicted
 * before: the first prediction may lay a model out anew, which takes as long as thousands of
 * rows. */
static int64_t predict_ns(const struct ml_data *d, const struct artifact *a, int64_t within_us)
{
    static const int64_t sizes[] = { 8, 64, 512, 4096 };
    const struct frame *f = d->spec.frame;
    struct artifact_view *v = artifact_view_new(a, f, NULL);
    float *out = mem_try_alloc((size_t)(sizes[ARRAY_LEN(sizes) - 1] * d->n_outputs) * sizeof *out);
    int64_t least = INT64_MAX, spent_us = 0;
    struct clk clk;

    clk_init_system(&clk);
    bool is_ready = v && out && f->rows > 0 && artifact_predict(v, 0, 1, out, NULL) == 0;
    for (size_t i = 0; is_ready && i < ARRAY_LEN(sizes) && spent_us < within_us; i++) {
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

/* What testing a model file gave. */
struct tested {
    double score, se;
    int64_t ns_row; /* of all models; 0 = unknown */
};

/* Loads the fold models of a file one after another; each predicts the test rows and has its speed
 * measured. */
static int artifact_test(const struct ml_data *d, const struct buf *bytes,
                         struct predicted_rows *keeps, struct tested *out, struct err *err)
{
    struct artifact *a = artifact_load_staged(bytes->data, bytes->len, err);
    int n = a ? artifact_info(a)->n_models : 0, timed = 0, rc = -1;
    struct test_rows t = { 0 };

    *out = (struct tested){ (double)NAN, (double)NAN, 0 };
    if (!a || test_open(d, &t, err) < 0)
        goto out;
    for (int m = 0; m < n; m++) {
        if (artifact_stage(a, m, err) < 0 || test_add(d, &t, a, err) < 0)
            goto out;
        int64_t ns = predict_ns(d, a, MEASURE_US / n);
        timed += ns > 0;
        out->ns_row += ns;
    }
    if (timed < n)
        out->ns_row = 0;
    rc = test_score(d, &t, a, keeps, &out->score, &out->se, err);
out:
    test_close(&t);
    artifact_close(a);
    return rc;
}

/* Tests the model file and notes the results in the trial. */
static int trial_test(struct fit_trial *t, const struct buf *bytes, struct err *err)
{
    struct predicted_rows *keeps = t->keeps && t->keeps->held.n > 0 ? &t->keeps->test : NULL;
    struct tested got;

    if (artifact_test(t->d, bytes, keeps, &got, err) < 0)
        return -1;
    if (keeps)
        t->keeps->power = t->adjust ? t->adjust->all.power : 0;
    t->test_score = got.score;
    t->test_se = got.se;
    t->model_bytes = (int64_t)bytes->len;
    t->predict_ns_row = got.ns_row;
    return 0;
}

int fit_trial_test(struct fit_trial *t, struct err *err)
{
    struct buf bytes;

    buf_init(&bytes, ARTIFACT_MAX_BYTES);
    int rc = fit_trial_artifact(t, &bytes, err);
    if (rc == 0)
        rc = trial_test(t, &bytes, err);
    buf_fini(&bytes);
    /* Without test rows the test serves size and speed only, and a trial may do without them. */
    return rc < 0 && has_test_rows(t->d) ? -1 : 0;
}

int fit_trial_ship(struct fit_trial *t, struct buf *out, struct err *err)
{
    struct fit_run *r = NULL;
    struct fit_choice c;

    CHECK(!t->is_shipped);
    t->growth = fit_trial_growth(t);
    if (fit_result_run(t, &r, &c) < 0)
        return err_set(err, ERR_CONFLICT, "%s: no level was reached yet", t->f->name);
    if (fit_adjust_make(t, r, &c, err) < 0 || (t->keeps && fit_keep_held(t, err) < 0))
        return -1;
    t->is_shipped = true;
    fit_run_close_lanes(t, r == t->run ? t->before : t->run);
    if (trial_artifact(t, true, out, err) < 0)
        return -1;
    fit_run_close_lanes(t, r);
    int rc = trial_test(t, out, err);
    return rc < 0 && has_test_rows(t->d) ? -1 : 0;
}

/* ---- refit ---- */

/* Trains one lane on all rows to its last step. */
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

/* The chosen step came from training on the rows outside fold 0. Where the family says that the
 * best step grows with the rows, it is scaled to all of them, rounded to the nearest. */
/* fit_refit_artifact on data that are prepared as the parameters want. */
static int refit(struct ml_data *d, const struct fit_refit *how, const struct ml_stop *stop,
                 struct buf *out, struct tested *got, struct err *err)
{
    const struct family *f = how->family;
    const struct model_ops *ops = model_find(f->name);
    const double *params = how->params;
    struct lane l = { .fold = FOLD_ALL, .seed = how->seed, .level = f->levels };
    struct family_plan plan;
    struct buf model;
    double chosen[FAMILY_MAX_PARAMS] = { 0 };
    int64_t seen = 0, steps = how->steps;
    int rc = -1;

    buf_init(&model, ARTIFACT_MAX_BYTES);
    memcpy(l.params, params, (size_t)f->n_params * sizeof *params);
    memcpy(chosen, params, (size_t)f->n_params * sizeof *params);
    f->plan(params, f->levels, &plan);
    for (int64_t i = 0; i < d->rows; i++)
        seen += row_is_trained(d, i, 0);
    /* Of the rows that the steps were chosen with, those of fold 0 count; forward in time the older
     * folds had fewer, so that the steps come out too few rather than too many. */
    if (plan.scales_with_rows && seen > 0)
        steps = (steps * d->n_train + seen / 2) / seen;
    /* In a grid the chosen values may stand in params already; the last step of the plan is then
     * the chosen one. */
    steps = MAX(1, plan.n_counts > 0 ? MIN(steps, plan.cap) : steps);
    if (ops->open(d, &l, err) < 0)
        goto out;
    if (refit_lane(d, f, &l, steps, stop, err) < 0)
        goto out;
    steps = MIN(steps, l.steps_done);
    if (ops->save(&l, steps, &model, err) < 0)
        goto out;
    f->choose(chosen, f->levels, steps);
    ops->close(&l);
    l.state = NULL;
    if (artifact_make(d, f, chosen, how->adjust, (double)NAN, (double)NAN, 1, &model, out, err) <
            0 ||
        (has_test_rows(d) && artifact_test(d, out, NULL, got, err) < 0))
        goto out;
    rc = 0;
out:
    if (l.state)
        ops->close(&l);
    buf_fini(&model);
    return rc;
}

int fit_refit_artifact(struct ml_data *d, const struct fit_refit *how, const struct ml_stop *stop,
                       struct buf *out, double *test, double *test_se, struct err *err)
{
    const struct family *f = how->family;
    struct tested got = { (double)NAN, (double)NAN, 0 };

    if (!model_find(f->name))
        return err_set(err, ERR_NOTFOUND, "this build has no model called \"%s\"", f->name);
    if (family_params_check(f, how->params, err) < 0)
        return -1;
    const struct prep_choice choice = ml_choice_of(f, how->params);
    struct ml_data *prepared = ml_variant_get(d, &choice, err);
    if (!prepared)
        return -1;
    int rc = refit(prepared, how, stop, out, &got, err);
    ml_variant_put(d, prepared);
    if (rc == 0) {
        *test = got.score;
        *test_se = got.se;
    }
    return rc;
}
