/* fit_curve.c - what the points of a run mean. Everything here is a pure function of recorded values, so that slicing,
 * checkpoints and levels reached in one go or one by one cannot change a choice. Called by fit.c. */
#include "ml/fit_private.h"

#include "base/base.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

int64_t fit_point_step(const struct fit_run *r, int point)
{
    const struct family_plan *plan = &r->plan;

    if (r->odd_step > 0)
        return r->odd_step;
    if (plan->n_counts > 0) {
        int count = MIN(point / plan->per_count, plan->n_counts - 1);
        return (plan->count[count] - 1) * plan->per_count + point % plan->per_count + 1;
    }
    return MIN((point + 1) * r->plan.check_every, r->plan.cap);
}

bool fit_is_better(const struct fit_trial *t, double a, double b)
{
    if (isnan(a) || isnan(b))
        return !isnan(a);
    return metric_info(t->select)->larger_is_better ? a > b : a < b;
}

/* A metric that is undefined here (one class only) is NaN, not a failure. */
static void fold_metric(const struct fit_trial *t, enum metric_id id, const struct fit_run *r,
                        int fold, double *value, double *se)
{
    *value = *se = (double)NAN;
    if (metric_score(id, t->d->spec.task, r->now[fold], t->y[fold], t->rows[fold].n_held,
                     MAX(t->d->n_classes, 1), value, se, NULL) < 0)
        *value = *se = (double)NAN;
}

void fit_point_put(struct fit_run *r, int fold, const struct fit_value *v)
{
    if (r->n_values[fold] == r->cap) {
        int cap = r->cap ? r->cap * 2 : 32;
        struct fit_value *grown = mem_array((size_t)cap * SPLIT_MAX_FOLDS, sizeof *grown);
        if (r->cap)
            memcpy(grown, r->values, (size_t)r->cap * SPLIT_MAX_FOLDS * sizeof *grown);
        mem_free(r->values);
        r->values = grown;
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
    if (t->d->spec.task == ML_REGRESSION && !isfinite(v.select))
        return err_set(err, ERR_ARG, "%s: the fit diverged", t->f->name);
    fit_point_put(r, fold, &v);
    return 0;
}

/* Row-weighted mean of the selection metric over the first `folds` folds but one; folds where it is undefined are left
 * out, the same ones at every point. */
double fit_fold_mean(const struct fit_trial *t, const struct fit_run *r, int point, int folds,
                     int without)
{
    double sum = 0, weight = 0;

    for (int f = 0; f < folds; f++) {
        double v = r->values[point * SPLIT_MAX_FOLDS + f].select, w = (double)t->rows[f].n_held;
        if (f == without || isnan(v))
            continue;
        sum += w * v;
        weight += w;
    }
    return weight > 0 ? sum / weight : (double)NAN;
}

/* Of a grid only the points of one count are compared. */
static int first_of_count(const struct fit_run *r, int point)
{
    return r->plan.n_counts > 0 && r->odd_step == 0 ? point - point % r->plan.per_count : 0;
}

struct fit_choice fit_choose(const struct fit_trial *t, const struct fit_run *r, int folds)
{
    struct fit_choice c = { .folds = folds, .best = -1, .select = (double)NAN };
    int points = r->n_values[0];

    for (int f = 1; f < folds; f++)
        points = MIN(points, r->n_values[f]);
    for (int p = 0; p < points && !c.is_final; p++) {
        double v = fit_fold_mean(t, r, p, folds, -1);
        if (p == first_of_count(r, p))
            c.best = -1;
        if (c.best < 0 || fit_is_better(t, v, c.select)) {
            c.best = p;
            c.select = v;
        }
        c.points = p + 1;
        c.is_final = fit_point_step(r, p) >= r->plan.cap ||
                     (r->plan.n_counts == 0 &&
                      fit_point_step(r, p) - fit_point_step(r, c.best) >= r->plan.patience);
    }
    return c;
}

void fit_cross_score(const struct fit_trial *t, const struct fit_run *r, const struct fit_choice *c,
                     double *score, double *se)
{
    double sum = 0, square = 0, weight = 0;

    for (int f = 0; f < c->folds; f++) {
        int first = first_of_count(r, c->best), best = c->folds > 1 ? first : c->best;
        double top = (double)NAN, w = (double)t->rows[f].n_held;
        for (int p = first; p < c->points && c->folds > 1; p++) {
            double v = fit_fold_mean(t, r, p, c->folds, f);
            if (fit_is_better(t, v, top)) {
                top = v;
                best = p;
            }
        }
        const struct fit_value *v = &r->values[best * SPLIT_MAX_FOLDS + f];
        if (isnan(v->score))
            continue;
        sum += w * v->score;
        square += w * w * v->se * v->se;
        weight += w;
    }
    *score = weight > 0 ? sum / weight : (double)NAN;
    *se = weight > 0 ? sqrt(square) / weight : (double)NAN;
}
