/* fit_unit.c - the target or its logarithm (fit_unit.h). One problem at a time is open, so that the
 * table's matrices are never in memory twice. Called by the worker when it opens a dataset. */
#include "ml/fit/fit_unit.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/math/fmath.h"
#include "ml/model/fold_rows.h"
#include "ml/model/model.h"
#include "ml/model/models.h"

#include <math.h>
#include <string.h>

/* UNIT_ROWS: a few thousand rows tell the units apart, and their fits take a tenth of a second.
 * STEPS: rounds between looks; the best of LOOKS looks counts. FOLDS: of the problem's folds. */
enum { UNIT_ROWS = 8000, STEPS = 40, LOOKS = 4, FOLDS = 5 };
/* Beyond these the fit has failed. */
#define LEAST_SMEAR 0.5
#define MOST_SMEAR  20.0

/* Sums over folds at one look: of squared or plain errors, of targets and of predictions. */
struct seen {
    double error, truth, predicted;
};

struct trying {
    struct ml_data *d;
    struct fold_rows r;
    float *p;
    /* weight: NULL = all rows count 1 */
    double *y, *weight;
    struct seen at[LOOKS];
};

static bool wants_mean(const struct ml_data *d)
{
    return d->spec.metric == METRIC_RMSE || d->spec.metric == METRIC_R2;
}

/* What predictions must be multiplied by so that they are right on average. */
static double smear_of(double truth, double predicted)
{
    double s = predicted > 0 ? truth / predicted : 1;

    return s > LEAST_SMEAR ? fmin(s, MOST_SMEAR) : LEAST_SMEAR;
}

/* Scores the lane as it stands. */
static int look(struct trying *t, const struct lane *l, struct seen *at, struct err *err)
{
    enum metric_id metric = wants_mean(t->d) ? METRIC_RMSE : t->d->spec.metric;
    struct target_unit u = t->d->unit;
    double error = 0, se = 0, truth = 0, predicted = 0;

    if (model_find("boost")->predict_held(t->d, l, t->p, err) < 0)
        return -1;
    for (int64_t i = 0; i < t->r.n_held; i++) {
        t->y[i] = t->d->truth[t->r.held[i]];
        double w = ml_data_weight(t->d, t->r.held[i]);
        if (t->weight)
            t->weight[i] = w;
        truth += w * (t->y[i] + u.by);
        predicted += u.kind == TARGET_LOG ? w * fm_exp_d((double)t->p[i]) : 0;
    }
    if (u.kind == TARGET_LOG && wants_mean(t->d))
        u.smear = smear_of(truth, predicted);
    for (int64_t i = 0; i < t->r.n_held; i++)
        t->p[i] = target_back(&u, t->p[i]);
    if (metric_score_weighted(metric, ML_REGRESSION, t->p, t->y, t->weight, t->r.n_held, 1, &error,
                              &se, err) < 0)
        return -1;
    at->error += wants_mean(t->d) ? error * error : error;
    at->truth += truth;
    at->predicted += predicted;
    return 0;
}

static int lane_try(struct trying *t, struct lane *l, struct err *err)
{
    const struct model_ops *ops = model_find("boost");
    int rc = 0;

    for (int i = 0; i < LOOKS && rc == 0; i++) {
        l->max_steps = (int64_t)(i + 1) * STEPS;
        l->is_done = false;
        while (rc == 0 && !l->is_done && !l->failed && l->steps_done < l->max_steps)
            rc = ops->advance(t->d, l, 1, l->max_steps - l->steps_done, NULL, err);
        if (l->failed)
            return -1;
        if (rc == 0)
            rc = look(t, l, &t->at[i], err);
    }
    return rc;
}

static int fold_try(struct trying *t, int fold, struct err *err)
{
    const struct model_ops *ops = model_find("boost");
    struct lane l = { .fold = fold, .seed = t->d->spec.split_seed, .level = ops->family->levels };
    int rc = -1;

    family_defaults(ops->family, l.params);
    if (t->d->n_train > UNIT_ROWS)
        l.share = (double)UNIT_ROWS / (double)t->d->n_train;
    if (fold_rows_init(&t->r, t->d, fold, l.share, err) < 0)
        return -1;
    t->p = mem_try_alloc((size_t)(t->r.n_held + 1) * sizeof *t->p);
    t->y = mem_try_alloc((size_t)(t->r.n_held + 1) * sizeof *t->y);
    t->weight = t->d->weight ? mem_try_alloc((size_t)(t->r.n_held + 1) * sizeof(double)) : NULL;
    if (t->p && t->y && (t->weight || !t->d->weight) && ops->open(t->d, &l, err) == 0) {
        rc = lane_try(t, &l, err);
        ops->close(&l);
    }
    mem_try_free(t->p);
    mem_try_free(t->y);
    mem_try_free(t->weight);
    fold_rows_fini(&t->r);
    return rc;
}

/* The error that the unit of d reaches, over folds, at the best look; INFINITY where it fails. */
static double unit_try(struct ml_data *d, double *smear)
{
    struct trying t = { .d = d };
    int best = 0;

    for (int f = 0; f < MIN(d->k_folds, FOLDS); f++) {
        if (fold_try(&t, f, NULL) < 0)
            return INFINITY;
    }
    for (int i = 1; i < LOOKS; i++)
        best = t.at[i].error < t.at[best].error ? i : best;
    *smear = wants_mean(d) ? smear_of(t.at[best].truth, t.at[best].predicted) : 1;
    return t.at[best].error;
}

struct ml_data *fit_data_open(const struct ml_data_spec *spec, struct err *err)
{
    struct ml_data_spec logged = *spec;
    struct ml_data *d = ml_data_open(spec, err);
    double ignored, smear = 1;

    if (!d || d->log_unit.kind != TARGET_LOG)
        return d;
    logged.unit = d->log_unit;
    double plain = unit_try(d, &ignored);
    ml_data_close(d);
    d = ml_data_open(&logged, NULL);
    if (d && unit_try(d, &smear) < plain) {
        d->unit.smear = smear;
        return d;
    }
    ml_data_close(d);
    return ml_data_open(spec, err);
}
