/* fit_result.c - the result of a trial: its scores and curve, its progress, its out-of-fold
 * predictions.
 *
 * Reads what fit.c has recorded and changes nothing but prediction buffers. Called by the worker
 * between slices. */
#include "ml/fit/fit_private.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

/* While a new run is in training, the result is that of the last finished level, in `before`. */
int fit_result_run(const struct fit_trial *t, struct fit_run **run, struct fit_choice *c)
{
    struct family_plan plan;

    if (t->is_cut) {
        *run = t->chosen;
        *c = fit_choose(t, *run, t->chosen_folds);
        return 0;
    }
    if (t->level == 0 || !(t->before || t->run))
        return -1;
    /* before: the last level that was finished */
    *run = t->before ? t->before : t->run;
    fit_plan(t, t->level, &plan);
    *c = fit_choose(t, *run, fit_folds_of(t, &plan));
    return c->best < 0 ? -1 : 0;
}

/* In a grid the curve shows the best pruning of each count of units. */
static void curve_of_counts(const struct fit_trial *t, const struct fit_run *r,
                            const struct fit_choice *c, struct fit_result *out)
{
    int whole = c->points - c->points % r->plan.per_count;

    for (int p = 0; p < whole; p++) {
        double v = fit_fold_mean(t, r, p, c->folds, -1);
        int at = p / r->plan.per_count;
        if (at == out->curve_points || fit_is_better(t, v, out->curve_value[at]))
            out->curve_value[at] = v;
        out->curve_step[at] = r->plan.count[at];
        out->curve_points = at + 1;
    }
}

/* The mean curve over the folds. Of more than 256 points it keeps every n-th one and the last. */
static void curve_copy(const struct fit_trial *t, const struct fit_run *r,
                       const struct fit_choice *c, struct fit_result *out)
{
    if (r->plan.n_counts > 0 && r->odd_step == 0) {
        curve_of_counts(t, r, c, out);
        return;
    }
    int every = (c->points + 255) / 256;

    for (int p = 0; p < c->points; p++) {
        bool is_last = p + 1 == c->points;
        if (p % every != every - 1 && !is_last)
            continue;
        int at = MIN(out->curve_points, 255);
        out->curve_step[at] = fit_point_step(r, p);
        out->curve_value[at] = fit_fold_mean(t, r, p, c->folds, -1);
        out->curve_points = at + 1;
    }
}

int fit_trial_result(struct fit_trial *t, struct fit_result *out, struct err *err)
{
    struct fit_run *r;
    struct fit_choice c;

    memset(out, 0, sizeof *out);
    if (fit_result_run(t, &r, &c) < 0)
        return err_set(err, ERR_CONFLICT, "%s: no level was reached yet", t->f->name);
    out->level = t->level;
    out->cut = t->is_cut;
    out->folds = c.folds;
    if (fit_final_score(t, r, &c, &out->score, &out->se, &out->first_score, err) < 0)
        return -1;
    out->select = c.select;
    out->steps = fit_point_step(r, c.best);
    memcpy(out->free_params, t->params, sizeof out->free_params);
    t->f->choose(out->free_params, fit_own_level(t, r->level), out->steps);
    out->test_score = t->test_score;
    out->test_se = t->test_se;
    out->fit_us = t->fit_us;
    out->predict_ns_row = t->predict_ns_row;
    out->model_bytes = t->model_bytes;
    out->work_units = t->work_units;
    out->peak_bytes = t->peak_bytes;
    out->growth = fit_trial_growth(t);
    curve_copy(t, r, &c, out);
    return 0;
}

double fit_trial_progress(const struct fit_trial *t)
{
    struct family_plan plan;
    int64_t done = INT64_MAX;

    if (!t->run || t->target <= t->level)
        return t->level > 0 ? 1.0 : 0.0;
    fit_plan(t, t->target, &plan);
    int folds = fit_folds_of(t, &plan);
    for (int f = 0; f < folds; f++)
        done = MIN(done, f < t->run->n_lanes ? t->run->lanes[f].steps_done : 0);
    struct fit_choice c = fit_choose(t, t->run, folds);
    /* The end by patience is not known yet: it is taken to be `patience` steps after the best point
     * so far. */
    int64_t best = c.best >= 0 ? fit_point_step(t->run, c.best) : done;
    int64_t end = plan.n_counts > 0 ? plan.cap : MIN(plan.cap, best + plan.patience);
    double p = end > 0 ? (double)done / (double)end : 0.0;
    return p > 0.99 ? 0.99 : p;
}

int fit_trial_oof(struct fit_trial *t, float *out, struct err *err)
{
    struct fit_run *r;
    struct fit_choice c;
    int k = t->d->n_outputs;

    if (fit_result_run(t, &r, &c) < 0)
        return err_set(err, ERR_CONFLICT, "%s: no level was reached yet", t->f->name);
    for (int64_t i = 0; i < t->d->rows * k; i++)
        out[i] = NAN;
    /* The buffer of the best point may be of another step after a checkpoint or a fall-back: then
     * the rows are predicted again. */
    if (fit_predict_chosen(t, r, &c, err) < 0 || fit_adjust_make(t, r, &c, err) < 0)
        return -1;
    for (int f = 0; f < c.folds; f++) {
        for (int64_t i = 0; i < t->rows[f].n_held; i++) {
            float *p = out + t->rows[f].held[i] * k;
            memcpy(p, r->best[f] + i * k, (size_t)k * sizeof *out);
            fit_adjust_rows(t, f, i, p, 1);
        }
    }
    return 0;
}
