/* fit_curve.c - what the recorded points of a run mean: the chosen step, the end by patience, the
 * cross-fitted score.
 *
 * Everything here is a pure function of recorded values. Slicing, checkpoints, and whether levels
 * were reached in one go or one by one cannot change a choice. Called by the other files of the
 * engine. */
#include "ml/fit/fit_private.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/metric/metric_folds.h"

#include <math.h>
#include <string.h>

/* fit_trial_is_steep. A path of penalties on 200 classes falls by 40 to 60 % a point until it is nearly at
 * its end; those of covertype, adult, letter and satimage never by a quarter, that of sylvine at two of
 * its first points (docs/measurements/2026-11-27.md). */
static const double STEEP = 0.75;
/* Or by a twentieth, and by more than at the point before: at first, where penalties are strong, that path
 * has 5.23, 5.13, 4.81 and 3.92, and a loaded machine cut it there. */
static const double GETS_FASTER = 0.95;
/* fit_trial_reach: fewer points say nothing of how fast a score gets better. */
enum { REACH_POINTS = 6 };

/* The step at which a point stands. In a grid, count c and pruning w stand at step (c - 1) * ways +
 * w + 1. */
int64_t fit_point_step(const struct fit_run *r, int point)
{
    const struct family_plan *plan = &r->plan;

    if (r->odd_step > 0)
        return r->odd_step;
    if (plan->n_counts > 0) {
        int ways = MAX(1, plan->per_count), count = MIN(point / ways, plan->n_counts - 1);
        return (plan->count[count] - 1) * ways + point % ways + 1;
    }
    return MIN((point + 1) * r->plan.check_every, r->plan.cap);
}

bool fit_is_better(const struct fit_trial *t, double a, double b)
{
    if (isnan(a) || isnan(b))
        return !isnan(a);
    return metric_info(t->select)->larger_is_better ? a > b : a < b;
}

/* A metric that is undefined for a fold (rows of one class only) is NaN; that is not a failure of
 * the trial. */
static void fold_metric(const struct fit_trial *t, enum metric_id id, const struct fit_run *r,
                        int fold, double *value, double *se)
{
    *value = *se = (double)NAN;
    if (metric_score_weighted(id, t->d->spec.task, r->now[fold], t->y[fold], t->weight[fold],
                              t->rows[fold].n_held, MAX(t->d->n_classes, 1), value, se, NULL) < 0)
        *value = *se = (double)NAN;
}

/* The values have room for all folds at each point, so that folds may be recorded one after
 * another. */
void fit_point_put(struct fit_run *r, int fold, const struct fit_value *v)
{
    CHECK(fold >= 0 && fold < SPLIT_MAX_FOLDS && r->n_values[fold] <= r->cap);
    if (r->n_values[fold] == r->cap) {
        int cap = r->cap ? r->cap * 2 : 32;
        struct fit_value *grown = mem_array((size_t)cap * SPLIT_MAX_FOLDS, sizeof *grown);
        int64_t *us = mem_zalloc((size_t)cap * sizeof *us);
        if (r->cap) {
            memcpy(grown, r->values, (size_t)r->cap * SPLIT_MAX_FOLDS * sizeof *grown);
            memcpy(us, r->point_us, (size_t)r->cap * sizeof *us);
        }
        mem_free(r->values);
        mem_free(r->point_us);
        r->values = grown;
        r->point_us = us;
        r->cap = cap;
    }
    r->values[r->n_values[fold]++ * SPLIT_MAX_FOLDS + fold] = *v;
}

int fit_point_record(struct fit_trial *t, struct fit_run *r, int fold, struct err *err)
{
    struct fit_value v;
    double ignored;

    fold_metric(t, t->d->spec.metric, r, fold, &v.score, &v.se);
    v.select = v.score;
    if (t->select != t->d->spec.metric)
        fold_metric(t, t->select, r, fold, &v.select, &ignored);
    /* A regression loss that is not finite means that the predictions overflowed. */
    if (t->d->spec.task == ML_REGRESSION && !isfinite(v.select))
        return err_set(err, ERR_DIVERGED, "%s: the fit diverged: its predictions are not finite",
                       t->f->name);
    fit_point_put(r, fold, &v);
    return 0;
}

/* Folds where the metric is undefined are left out: the same folds at every point, so that points
 * stay comparable. */
double fit_fold_mean(const struct fit_trial *t, const struct fit_run *r, int point, int folds,
                     int without)
{
    double sum = 0, weight = 0;

    for (int f = 0; f < folds; f++) {
        double v = r->values[point * SPLIT_MAX_FOLDS + f].select, w = t->size[f];
        if (f == without || isnan(v))
            continue;
        sum += w * v;
        weight += w;
    }
    return weight > 0 ? sum / weight : (double)NAN;
}

/* Points that are compared with each other. In a grid these are the prunings of one count of units;
 * the largest count that is complete always wins, because more units are worse by chance only. 0 =
 * all points of the run. */
static int group_of(const struct fit_run *r)
{
    return r->plan.n_counts > 0 && r->odd_step == 0 ? r->plan.per_count : 0;
}

/* Whether training ends at this step, with the best point so far at step `best`. */
static bool is_end(const struct fit_run *r, int64_t step, int64_t best)
{
    const struct family_plan *p = &r->plan;

    if (step >= p->cap)
        return true;
    if (group_of(r))
        return false;
    return step - best >= p->patience ||
           (p->halt_at > 0 && step >= p->halt_at && best <= p->halt_best);
}

/* Goes through the points in order and stops where patience ends, so that points recorded later
 * cannot change an earlier choice. A tie keeps the earlier point. */
struct fit_choice fit_choose(const struct fit_trial *t, const struct fit_run *r, int folds)
{
    struct fit_choice c = { .folds = folds, .best = -1, .select = (double)NAN };
    int points = r->n_values[0], group = group_of(r), best = -1;
    double select = (double)NAN;

    for (int f = 1; f < folds; f++)
        points = MIN(points, r->n_values[f]);
    for (int p = 0; p < points && !c.is_final; p++) {
        double v = fit_fold_mean(t, r, p, folds, -1);
        if (best < 0 || (group && p % group == 0) || fit_is_better(t, v, select)) {
            best = p;
            select = v;
        }
        c.points = p + 1;
        if (group && c.points % group != 0)
            /* a count of a grid is judged when all of its prunings are there */
            continue;
        c.best = best;
        c.select = select;
        c.is_final = is_end(r, fit_point_step(r, p), fit_point_step(r, c.best));
    }
    return c;
}

/* For fold f the best point is looked for on the mean curve of the other folds (Varma and Simon,
 * Bias in error estimation when using cross-validation for model selection, BMC Bioinformatics
 * 2006, describe the optimism that this removes). With one fold there are no others: the chosen
 * point is used. */
int fit_cross_point(const struct fit_trial *t, const struct fit_run *r, const struct fit_choice *c,
                    int fold)
{
    int group = group_of(r), first = group ? c->best - c->best % group : 0,
        end = group ? first + group : c->points, best = c->folds > 1 ? first : c->best;
    double top = (double)NAN;

    for (int p = first; p < end && c->folds > 1; p++) {
        double v = fit_fold_mean(t, r, p, c->folds, fold);
        if (fit_is_better(t, v, top)) {
            top = v;
            best = p;
        }
    }
    return best;
}

void fit_cross_score(const struct fit_trial *t, const struct fit_run *r, const struct fit_choice *c,
                     double *score, double *se)
{
    struct metric_folds m;

    metric_folds_begin(&m, t->d->spec.metric, t->d->spec.task, t->d->err_together);
    for (int f = 0; f < c->folds; f++) {
        const struct fit_value *v = &r->values[fit_cross_point(t, r, c, f) * SPLIT_MAX_FOLDS + f];
        metric_folds_add(&m, t->size[f], v->score, v->se, t->y[f], t->rows[f].n_held);
    }
    metric_folds_end(&m, score, se);
}

/* What a run's best point says for the first `common` of its folds; *se: the standard error of the
 * study's metric there. */
static double common_value(const struct fit_trial *t, const struct fit_run *r, int best, int common,
                           double *se)
{
    double square = 0, weight = 0;

    for (int f = 0; f < common; f++) {
        double e = r->values[best * SPLIT_MAX_FOLDS + f].se, w = t->size[f];
        square += isnan(e) ? 0 : w * w * e * e;
        weight += w;
    }
    *se = weight > 0 ? sqrt(square) / weight : 0;
    return fit_fold_mean(t, r, best, common, -1);
}

void fit_take_if_better(struct fit_trial *t, struct fit_run *r, int folds)
{
    struct fit_choice c = fit_choose(t, r, folds);
    int common = t->chosen ? MIN(folds, t->chosen_folds) : folds;

    if (c.best < 0)
        return;
    if (t->chosen) {
        struct fit_choice was = fit_choose(t, t->chosen, t->chosen_folds);
        double se[2], now = common_value(t, r, c.best, common, &se[0]),
                      before = common_value(t, t->chosen, was.best, common, &se[1]),
                      sign = metric_info(t->select)->larger_is_better ? 1 : -1;
        /* the errors are those of the study's metric */
        bool has_errors = t->select == t->d->spec.metric;
        if (has_errors && folds < t->chosen_folds)
            now -= sign * se[0];
        if (has_errors && folds > t->chosen_folds)
            before -= sign * se[1];
        if (!fit_is_better(t, now, before))
            return;
    }
    t->chosen = r;
    t->chosen_folds = folds;
}

/* Where the best score is 1, the distance from it; NaN stays NaN. */
static double loss_of(const struct fit_trial *t, double v)
{
    return metric_info(t->select)->larger_is_better ? 1 - v : v;
}

bool fit_trial_is_steep(const struct fit_trial *t)
{
    const struct fit_run *r = t->run;
    int fold = 0;

    if (!r)
        return false;
    while (fold + 1 < t->folds && r->n_values[fold + 1] > 0)
        fold++;
    int n = r->n_values[fold];
    if (n < 2)
        return false;
    const struct fit_value *last = &r->values[(n - 1) * SPLIT_MAX_FOLDS + fold];
    double now = loss_of(t, last->select), before = loss_of(t, last[-SPLIT_MAX_FOLDS].select);
    double first = n > 2 ? loss_of(t, last[-2 * SPLIT_MAX_FOLDS].select) : (double)NAN;

    return now < STEEP * before || (now < GETS_FASTER * before && before - now > first - before);
}

/* The place behind the last point that half of the time to point n - 1 was enough for; 0 = none. */
static int half_way(const struct fit_run *r, int n)
{
    int64_t all = 0, spent = 0;
    int half = 0;

    for (int p = 0; p < n; p++)
        all += r->point_us[p];
    while (half < n && 2 * (spent + r->point_us[half]) <= all)
        spent += r->point_us[half++];
    return all > 0 ? half : 0;
}

double fit_trial_reach(const struct fit_trial *t, double more)
{
    const struct fit_run *r = t->run;
    double half = (double)NAN;

    /* a curve that gets better ever faster has no bound yet */
    if (!r || t->select != t->d->spec.metric || r->n_lanes < t->folds || group_of(r) ||
        fit_trial_is_steep(t))
        return (double)NAN;
    struct fit_choice c = fit_choose(t, r, t->folds);
    if (c.points < REACH_POINTS)
        return (double)NAN;
    for (int p = 0, n = half_way(r, c.points); p < n; p++) {
        double v = fit_fold_mean(t, r, p, t->folds, -1);
        half = fit_is_better(t, v, half) ? v : half;
    }
    return c.select + (c.select - half) * 2 * more;
}
