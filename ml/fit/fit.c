/* fit.c - opening a trial, advancing it, cutting it at a deadline (fit.h).
 *
 * A level is trained check point by check point. Every fitted fold is brought to the next check
 * point, its held-out rows are scored, and the mean curve over the folds says whether to go on
 * (fit_curve.c). The lanes of a run go to the family in one call, so that it may train them
 * together.
 *
 * Levels of one key continue the same run. A level with another key starts a new run; the finished
 * run is kept until the new level is reached, so that a cut in between can fall back on it.
 *
 * Called by the worker. One thread works on a trial. */
#include "ml/fit/fit_private.h"

#include "base/base.h"
#include "base/clk.h"
#include "base/mem.h"
#include "ml/model/models.h"
#include "ml/model/variant.h"

#include <math.h>
#include <string.h>

/* ---- runs ---- */

struct family_shape fit_shape(const struct fit_trial *t)
{
    struct family_shape s = model_shape(t->d, t->folds);

    s.resource = t->resource;
    return s;
}

void fit_plan(const struct fit_trial *t, int level, struct family_plan *out)
{
    struct family_shape s = fit_shape(t);

    family_level_plan(t->f, &s, t->params, level, out);
}

int fit_trial_levels(const struct fit_trial *t)
{
    struct family_shape s = fit_shape(t);

    return family_levels(t->f, &s);
}

int fit_trial_level(const struct fit_trial *t)
{
    return t->level;
}

int fit_own_level(const struct fit_trial *t, int level)
{
    struct family_shape s = fit_shape(t);

    return family_own_level(t->f, &s, level);
}

struct fit_run *fit_run_new(const struct fit_trial *t, int level)
{
    struct fit_run *r = mem_zalloc(sizeof *r);

    fit_plan(t, level, &r->plan);
    r->level = level;
    return r;
}

void fit_lane_close(const struct fit_trial *t, struct lane *l)
{
    if (l->state)
        t->ops->close(l);
    l->state = NULL;
}

void fit_run_close_lanes(const struct fit_trial *t, struct fit_run *r)
{
    for (int f = 0; r && f < r->n_lanes; f++)
        fit_lane_close(t, &r->lanes[f]);
}

/* Frees what fit_run_open added for each lane; own_bytes must come out as it was before. */
void fit_run_free(struct fit_trial *t, struct fit_run *r)
{
    if (!r)
        return;
    fit_run_close_lanes(t, r);
    for (int f = 0; f < r->n_lanes; f++) {
        mem_try_free(r->now[f]);
        mem_try_free(r->best[f]);
        t->own_bytes -= 2 * t->rows[f].n_held * t->d->n_outputs * (int64_t)sizeof(float);
    }
    for (int f = 0; f < SPLIT_MAX_FOLDS; f++)
        epoch_log_fini(&r->logs[f]);
    mem_free(r->point_us);
    mem_free(r->values);
    mem_free(r);
}

/* The memory of the two prediction buffers is accounted in own_bytes as soon as the lane counts in
 * n_lanes, because fit_run_free takes it off for every lane that counts, also after a failure
 * below. */
int fit_run_open(struct fit_trial *t, struct fit_run *r, int folds, struct err *err)
{
    CHECK(folds >= 1 && folds <= t->folds && t->folds <= SPLIT_MAX_FOLDS);
    while (r->n_lanes < folds) {
        int f = r->n_lanes;
        struct lane *l = &r->lanes[f];
        size_t bytes = (size_t)(t->rows[f].n_held * t->d->n_outputs + 1) * sizeof(float);
        memset(l, 0, sizeof *l);
        l->fold = f;
        l->seed = t->seed;
        l->level = fit_own_level(t, r->level);
        l->share = r->plan.share;
        l->log = t->ops->has_epochs ? &r->logs[f] : NULL;
        l->reduce = t->reduce;
        memcpy(l->params, t->params, sizeof l->params);
        if (t->ops->open(t->d, l, err) < 0)
            return -1;
        r->n_lanes++;
        r->now[f] = mem_try_alloc(bytes);
        r->best[f] = mem_try_alloc(bytes);
        t->own_bytes += 2 * t->rows[f].n_held * t->d->n_outputs * (int64_t)sizeof(float);
        if (!r->now[f] || !r->best[f])
            return err_set(err, ERR_NOMEM, "no memory for out-of-fold predictions");
    }
    return 0;
}

/* ---- open, close ---- */

static int weights_take(struct fit_trial *t, int fold, struct err *err)
{
    struct fold_rows *r = &t->rows[fold];

    t->weight[fold] = mem_try_alloc((size_t)(r->n_held + 1) * sizeof(double));
    if (!t->weight[fold])
        return err_set(err, ERR_NOMEM, "no memory for %lld weights", (long long)r->n_held);
    t->size[fold] = 0;
    for (int64_t i = 0; i < r->n_held; i++)
        t->size[fold] += t->weight[fold][i] = t->d->weight[r->held[i]];
    t->own_bytes += r->n_held * 8;
    return 0;
}

/* The held-out rows of a fold and their targets. The training rows are not kept: the family makes
 * its own list. 12 bytes a row: a row number of 4 and a target of 8. */
static int rows_take(struct fit_trial *t, int fold, struct err *err)
{
    struct fold_rows *r = &t->rows[fold];

    if (fold_rows_init(r, t->d, fold, 0, err) < 0)
        return -1;
    mem_try_free(r->train);
    r->train = NULL;
    t->y[fold] = mem_try_alloc((size_t)(r->n_held + 1) * sizeof(double));
    if (!t->y[fold])
        return err_set(err, ERR_NOMEM, "no memory for %lld targets", (long long)r->n_held);
    for (int64_t i = 0; i < r->n_held; i++)
        t->y[fold][i] = t->d->truth[r->held[i]];
    t->size[fold] = (double)r->n_held;
    t->own_bytes += r->n_held * 12;
    if (t->d->weight)
        return weights_take(t, fold, err);
    return 0;
}

/* The metric that chooses along the free axis. Metrics that move in jumps (accuracy) are too coarse
 * to compare neighbouring steps: log loss takes their place. AUC is undefined for a fold with one
 * class only, and then log loss compares the steps of every fold. r2 orders steps as rmse does, but
 * also depends on the fold's own mean, so rmse is used. */
static enum metric_id select_metric(const struct fit_trial *t)
{
    enum metric_id id = t->d->spec.metric;

    if (t->d->spec.task == ML_REGRESSION)
        return id == METRIC_R2 ? METRIC_RMSE : id;
    if (!metric_info(id)->is_smooth)
        return METRIC_LOGLOSS;
    for (int f = 0; f < t->folds && id == METRIC_AUC; f++) {
        bool differs = false;
        for (int64_t i = 1; i < t->rows[f].n_held && !differs; i++)
            differs = t->y[f][i] != t->y[f][0];
        if (!differs)
            return METRIC_LOGLOSS;
    }
    return id;
}

struct fit_trial *fit_trial_open(struct ml_data *d, const struct family *f, const double *params,
                                 uint64_t seed, bool holdout, struct err *err)
{
    struct fit_trial *t;

    if (!model_find(f->name)) {
        err_set(err, ERR_NOTFOUND, "this build has no model called \"%s\"", f->name);
        return NULL;
    }
    if (!(f->tasks & model_task(d))) {
        err_set(err, ERR_ARG, "%s does not fit this task", f->name);
        return NULL;
    }
    if (d->monotone && !f->keeps_monotone) {
        err_at(err, "monotone", "%s cannot keep predictions monotone", f->name);
        return NULL;
    }
    if (family_params_check(f, params, err) < 0)
        return NULL;
    const struct prep_choice choice = ml_choice_of(f, params);
    struct ml_data *prepared = ml_variant_get(d, &choice, err);
    if (!prepared)
        return NULL;
    t = mem_zalloc(sizeof *t);
    t->given = d;
    d = t->d = prepared;
    t->f = f;
    t->ops = model_find(f->name);
    memcpy(t->params, params, (size_t)f->n_params * sizeof *params);
    t->seed = seed;
    t->is_holdout = holdout;
    t->folds = holdout ? 1 : d->k_folds;
    t->test_score = t->test_se = (double)NAN;
    for (int k = 0; k < t->folds; k++) {
        if (rows_take(t, k, err) < 0) {
            fit_trial_close(t);
            return NULL;
        }
    }
    t->select = select_metric(t);
    return t;
}

struct ml_data *fit_trial_data(const struct fit_trial *t)
{
    return t->d;
}

void fit_trial_spends(struct fit_trial *t, enum family_resource resource)
{
    CHECK(!t->run && t->level == 0);
    t->resource = resource;
}

void fit_trial_joins(struct fit_trial *t, struct ml_reduce *r)
{
    CHECK(!t->run && t->level == 0 && t->ops->has_epochs);
    t->reduce = r;
}

void fit_trial_close(struct fit_trial *t)
{
    if (!t)
        return;
    fit_adjust_free(t);
    fit_run_free(t, t->run);
    fit_run_free(t, t->before);
    for (int f = 0; f < t->folds; f++) {
        fold_rows_fini(&t->rows[f]);
        mem_try_free(t->y[f]);
        mem_try_free(t->weight[f]);
    }
    ml_variant_put(t->given, t->d);
    mem_free(t);
}

/* Folds that a plan fits, at most those that the trial has; plan->folds 0 = all. */
int fit_folds_of(const struct fit_trial *t, const struct family_plan *plan)
{
    return plan->folds > 0 ? MIN(plan->folds, t->folds) : t->folds;
}

/* ---- advance ---- */

bool fit_lanes_aim(struct fit_run *r, int folds, int64_t step)
{
    bool is_behind = false;

    CHECK(folds <= r->n_lanes);
    for (int f = 0; f < folds; f++) {
        r->lanes[f].max_steps = step;
        r->lanes[f].is_done = r->lanes[f].steps_done >= step;
        is_behind = is_behind || !r->lanes[f].is_done;
    }
    return is_behind;
}

int fit_lanes_there(const struct fit_run *r, int folds, int64_t step, struct err *err)
{
    bool is_behind = false;

    for (int f = 0; f < folds; f++) {
        const struct lane *l = &r->lanes[f];
        if (l->failed) {
            if (err)
                *err = l->why;
            return -1;
        }
        is_behind = is_behind || l->steps_done < step;
    }
    return is_behind ? 0 : 1;
}

/* Brings every lane below `step` to it. 1 all there, 0 stopped, -1 failed. */
static int lanes_to_step(struct fit_trial *t, struct fit_run *r, int folds, int64_t step,
                         const struct ml_stop *stop, struct err *err)
{
    struct clk clk;

    if (!fit_lanes_aim(r, folds, step))
        return 1;
    clk_init_system(&clk);
    int64_t before = clk_now_us(&clk);
    int rc = t->ops->advance(t->d, r->lanes, folds, step, stop, err);
    r->since_us += clk_now_us(&clk) - before;
    return rc < 0 ? -1 : fit_lanes_there(r, folds, step, err);
}

int fit_predict_held(const struct fit_trial *t, const struct fit_run *r, int fold, int64_t step,
                     float *out, struct err *err)
{
    const struct lane *l = &r->lanes[fold];
    int rc = step > 0 ? t->ops->predict_held_at(t->d, l, step, out, err)
                      : t->ops->predict_held(t->d, l, out, err);

    for (int64_t i = 0; rc == 0 && t->d->spec.task == ML_REGRESSION && i < t->rows[fold].n_held;
         i++)
        out[i] = target_predicted(&t->d->unit, &t->d->limits, out[i]);
    return rc;
}

/* The lanes of a grid (family_plan.n_counts) stop at whole counts of units. All prunings of a count
 * are scored from the lane as it stands, each as a step of its own, so the step must be named. */
static int predict_point(const struct fit_trial *t, const struct fit_run *r, int fold, int64_t step,
                         struct err *err)
{
    return fit_predict_held(t, r, fold, r->plan.n_counts > 0 ? step : 0, r->now[fold], err);
}

/* A fold takes the point only when its lane stands at the point's step; a grid's lane may stand
 * further on. */
int fit_point_take(struct fit_trial *t, struct fit_run *r, int folds, int point, struct err *err)
{
    int64_t step = fit_point_step(r, point);

    for (int f = 0; f < folds; f++) {
        int64_t done = r->lanes[f].steps_done;
        if (r->n_values[f] != point || done < step || (r->plan.n_counts == 0 && done > step))
            continue;
        if (predict_point(t, r, f, step, err) < 0)
            return -1;
        r->now_step[f] = step;
        if (fit_point_record(t, r, f, err) < 0)
            return -1;
        r->point_us[point] = r->since_us;
    }
    r->since_us = 0;
    struct fit_choice c = fit_choose(t, r, folds);
    if (c.best != point)
        return 0;
    CHECK(c.best < r->n_values[0]);
    for (int f = 0; f < folds; f++) {
        float *swap = r->best[f];
        if (r->now_step[f] != step)
            continue;
        if (t->ops->keep && t->ops->keep(&r->lanes[f], err) < 0)
            return -1;
        r->best[f] = r->now[f];
        r->now[f] = swap;
        r->best_step[f] = step;
        r->now_step[f] = 0;
    }
    return 0;
}

/* Trains to the end of the level, point by point. 1 = the level is reached, 0 = stopped, -1 =
 * failed. */
static int run_advance(struct fit_trial *t, struct fit_run *r, int folds,
                       const struct ml_stop *stop, struct err *err)
{
    for (;;) {
        struct fit_choice c = fit_choose(t, r, folds);
        if (c.is_final)
            return 1;
        /* The points of one count of a grid are scored without training between them, so the
         * deadline is also looked at here. */
        if (r->plan.n_counts > 0 && ml_stop_now(stop))
            return 0;
        int rc = lanes_to_step(t, r, folds, fit_point_step(r, c.points), stop, err);
        if (rc <= 0)
            return rc;
        if (fit_point_take(t, r, folds, c.points, err) < 0)
            return -1;
    }
}

int fit_level_begin(struct fit_trial *t, int level, struct err *err)
{
    struct family_plan plan;

    CHECK(level >= 1 && level <= fit_trial_levels(t) && !t->is_cut);
    t->target = level;
    fit_plan(t, level, &plan);
    if (t->run && t->run->plan.key != plan.key) {
        if (t->level > 0 && !t->before) {
            /* a finished level: a cut may fall back on it */
            t->before = t->run;
            t->run = NULL;
        } else {
            fit_run_free(t, t->run);
            t->run = NULL;
        }
    }
    if (!t->run)
        t->run = fit_run_new(t, level);
    /* a higher level of the same key has the same points and more */
    t->run->plan = plan;
    int folds = fit_folds_of(t, &plan);
    return fit_run_open(t, t->run, folds, err) < 0 ? -1 : folds;
}

void fit_level_end(struct fit_trial *t, int level, bool is_reached, int64_t us)
{
    t->fit_us += us;
    t->peak_bytes = MAX(t->peak_bytes, fit_trial_bytes(t));
    if (is_reached) {
        struct family_shape shape = fit_shape(t);
        t->work_units += family_level_cost(t->f, &shape, t->params, t->level, level);
        t->level = level;
        fit_run_free(t, t->before);
        t->before = NULL;
    }
}

int fit_trial_advance(struct fit_trial *t, int level, const struct ml_stop *stop, struct err *err)
{
    struct clk clk;

    if (level <= t->level)
        return 1;
    clk_init_system(&clk);
    int64_t before = clk_now_us(&clk);
    int folds = fit_level_begin(t, level, err);
    int rc = folds < 0 ? -1 : run_advance(t, t->run, folds, stop, err);
    fit_level_end(t, level, rc > 0, clk_now_us(&clk) - before);
    return rc;
}

/* ---- cut ---- */

/* The deadline came before the first check point: records point 0 at the last step that all folds
 * have. */
static int odd_point(struct fit_trial *t, struct fit_run *r, int folds, struct err *err)
{
    int64_t step = r->n_lanes >= folds ? r->lanes[0].steps_done : 0;

    for (int f = 1; f < folds; f++)
        step = MIN(step, r->n_lanes >= folds ? r->lanes[f].steps_done : 0);
    if (step < 1)
        return 0;
    r->odd_step = step;
    for (int f = 0; f < folds; f++) {
        if (fit_predict_held(t, r, f, step, r->now[f], err) < 0)
            return -1;
        r->now_step[f] = step;
        r->n_values[f] = 0;
        if (fit_point_record(t, r, f, err) < 0)
            return -1;
    }
    return 0;
}

int fit_trial_cut(struct fit_trial *t, struct err *err)
{
    struct family_plan plan;

    if (t->is_cut)
        return 0;
    int target = MAX(t->target, t->level);
    fit_plan(t, MAX(target, 1), &plan);
    int folds = fit_folds_of(t, &plan);
    if (t->run && t->level == 0 && fit_choose(t, t->run, folds).best < 0 &&
        odd_point(t, t->run, folds, err) < 0)
        return -1;
    if (t->run)
        fit_take_if_better(t, t->run, folds);
    if (t->before)
        fit_take_if_better(t, t->before, t->before->n_lanes);
    /* A lower level of the same run may have fitted fold 0 only: then that fold alone gives the
     * result. */
    if (t->run && !t->chosen)
        fit_take_if_better(t, t->run, 1);
    if (!t->chosen)
        return err_set(err, ERR_TIMEOUT, "%s: the deadline came before the first usable step",
                       t->f->name);
    t->is_cut = true;
    return 0;
}
