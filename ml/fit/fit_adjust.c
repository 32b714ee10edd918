/* fit_adjust.c - what is done to a trial's outputs, learnt from its predictions out of fold, and the
 * score that it has with that (ml/adjust/adjust_fit.h).
 *
 * With several folds, a fold's rows are scored by what the rows of other folds taught; with one, by what
 * other rows of it taught, which are dealt out to parts in turn. The step along the free axis is that
 * of the mean curve for all folds; where the metric is one of probabilities, what a choice of the step
 * without the fold would cost is known from the curve and taken off. Everything is computed once for a
 * result, before the lanes are closed. Called by fit_result.c, fit_blocks.c, fit_ship.c. */
#include "ml/fit/fit_private.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/metric/metric_folds.h"

#include <math.h>
#include <string.h>

void fit_adjust_free(struct fit_trial *t)
{
    if (!t->adjust)
        return;
    adjust_fini(&t->adjust->all);
    for (int k = 0; k < ADJUST_PARTS; k++)
        adjust_fini(&t->adjust->part[k]);
    mem_free(t->adjust);
    t->adjust = NULL;
}

/* Whether adjustments change the score: ranks of one probability stay, and so does the class of
 * several that is predicted. */
static bool changes_score(const struct fit_trial *t)
{
    enum metric_id m = t->d->spec.metric;
    bool is_rank = m == METRIC_AUC || m == METRIC_AVERAGE_PRECISION;

    return t->d->spec.task == ML_BINARY
               ? !is_rank
               : t->d->spec.task == ML_MULTICLASS && metric_info(m)->is_smooth;
}

/* ---- learning ---- */

static int learn(const struct fit_trial *t, const struct fit_run *r, struct fit_adjust *a,
                 struct err *err)
{
    struct fit_sample s = { 0 };
    int64_t rows = 0;

    for (int f = 0; f < a->folds; f++)
        rows += t->rows[f].n_held;
    a->every = adjust_every(rows, t->d->n_outputs);
    int rc = fit_sample_take(&s, t, r, a->folds, a->every, err);
    if (rc == 0)
        rc = adjust_fit(&s.rows, &a->all, a->part, err);
    fit_sample_free(&s);
    return rc;
}

/* ---- scoring ---- */

static const struct adjust *adjust_of(const struct fit_adjust *a, int fold, int64_t i)
{
    return &a->part[fit_part_of(a->folds, a->every, fold, i)];
}

void fit_adjust_rows(const struct fit_trial *t, int fold, int64_t from, float *p, int64_t n)
{
    const struct fit_adjust *a = t->adjust;
    int k = t->d->n_outputs;

    for (int64_t i = 0; a && i < n; i++)
        adjust_probabilities(adjust_of(a, fold, from + i), p + i * k, 1);
}

void fit_adjust_decide(const struct fit_trial *t, int fold, int64_t from, float *p, int64_t n)
{
    const struct fit_adjust *a = t->adjust;

    for (int64_t i = 0; a && i < n; i++)
        adjust_decide(adjust_of(a, fold, from + i), t->d->spec.metric, t->d->spec.task, p + i, 1);
}

/* The metric of one fold with its adjustments. Overwrites now[fold]. */
static void fold_score(const struct fit_trial *t, struct fit_run *r, int fold, double *value,
                       double *se)
{
    int64_t n = t->rows[fold].n_held;
    float *p = r->now[fold];

    r->now_step[fold] = 0;
    memcpy(p, r->best[fold], (size_t)(n * t->d->n_outputs) * sizeof *p);
    fit_adjust_rows(t, fold, 0, p, n);
    fit_adjust_decide(t, fold, 0, p, n);
    if (metric_score_weighted(t->d->spec.metric, t->d->spec.task, p, t->y[fold], t->weight[fold], n,
                              MAX(t->d->n_classes, 1), value, se, NULL) < 0)
        *value = *se = (double)NAN;
}

static void score(const struct fit_trial *t, struct fit_run *r, const struct fit_choice *c,
                  struct fit_adjust *a)
{
    bool is_smooth = metric_info(t->d->spec.metric)->is_smooth;
    struct metric_folds m;

    metric_folds_begin(&m, t->d->spec.metric, t->d->spec.task, t->d->err_together);
    for (int f = 0; f < c->folds; f++) {
        double value = 0, se = 0;
        fold_score(t, r, f, &value, &se);
        if (f == 0)
            a->first_score = value;
        if (is_smooth)
            value += r->values[fit_cross_point(t, r, c, f) * SPLIT_MAX_FOLDS + f].score -
                     r->values[c->best * SPLIT_MAX_FOLDS + f].score;
        metric_folds_add(&m, t->size[f], value, se, t->y[f], t->rows[f].n_held);
    }
    metric_folds_end(&m, &a->score, &a->se);
}

int fit_predict_chosen(const struct fit_trial *t, struct fit_run *r, const struct fit_choice *c,
                       struct err *err)
{
    int64_t step = fit_point_step(r, c->best);

    for (int f = 0; f < c->folds; f++) {
        if (r->best_step[f] == step)
            continue;
        if (t->is_shipped || fit_predict_held(t, r, f, step, r->best[f], err) < 0)
            return -1;
        r->best_step[f] = step;
    }
    return 0;
}

static bool is_of(const struct fit_adjust *a, const struct fit_trial *t, const struct fit_run *r,
                  const struct fit_choice *c)
{
    return a && a->run == r && a->level == t->level && a->point == c->best && a->folds == c->folds;
}

int fit_adjust_make(struct fit_trial *t, struct fit_run *r, const struct fit_choice *c,
                    struct err *err)
{
    if (t->is_shipped || is_of(t->adjust, t, r, c))
        return 0;
    fit_adjust_free(t);
    if (fit_predict_chosen(t, r, c, err) < 0)
        return -1;
    t->adjust = mem_zalloc(sizeof *t->adjust);
    t->adjust->run = r;
    t->adjust->level = t->level;
    t->adjust->point = c->best;
    t->adjust->folds = c->folds;
    if (learn(t, r, t->adjust, err) < 0) {
        fit_adjust_free(t);
        return -1;
    }
    if (changes_score(t) && !adjust_is_plain(&t->adjust->all)) {
        score(t, r, c, t->adjust);
        t->adjust->has_score = true;
    }
    return 0;
}

int fit_final_score(struct fit_trial *t, struct fit_run *r, const struct fit_choice *c,
                    double *value, double *se, double *first, struct err *err)
{
    if (changes_score(t) && fit_adjust_make(t, r, c, err) < 0)
        return -1;
    bool is_adjusted = t->adjust && t->adjust->has_score;

    fit_cross_score(t, r, c, value, se);
    *first = r->values[c->best * SPLIT_MAX_FOLDS].score;
    if (is_adjusted) {
        *value = t->adjust->score;
        *se = t->adjust->se;
        *first = t->adjust->first_score;
    }
    if (t->d->group && fit_predict_chosen(t, r, c, NULL) == 0)
        *se = fmax(*se, fit_group_error(t, r, c)); /* a NaN counts for nothing */
    return 0;
}
