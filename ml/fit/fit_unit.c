/* fit_unit.c - the target or its logarithm (fit_unit.h). One problem at a time is open, so that the
 * table's matrices are never in memory twice. Called by the worker when it opens a dataset. */
#include "ml/fit/fit_unit.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/str.h"
#include "ml/family/family_params.h"
#include "ml/model/fold_rows.h"
#include "ml/model/model.h"
#include "ml/model/models.h"

#include <math.h>
#include <string.h>

/* UNIT_ROWS: a few thousand rows tell the units apart, and their fits take a tenth of a second.
 * ROUNDS: of boosting, at most. The best of LOOKS looks on the way counts. FOLDS: of the problem's
 * folds; FEW_FOLDS from MANY_ROWS rows on, which tell enough then. MOST_WIDTH: of the dense form, for
 * a linear model. */
enum {
    UNIT_ROWS = 8000,
    ROUNDS = 160,
    LOOKS = 8,
    FOLDS = 5,
    FEW_FOLDS = 3,
    MANY_ROWS = 4000,
    MOST_WIDTH = 256
};
/* By how much less error one unit must leave to be taken against what the target suggests. Amounts that
 * are never 0 mostly differ by factors, which ensembles and networks learn better as logarithms than
 * these models show; of counts and amounts that may be 0, where the logarithm bends is arbitrary. */
static const double MARGIN = .02;

/* What is fitted in each unit, each a configuration of a family's portfolio; the best of them counts.
 * Large trees alone learn noise by heart, and less of it where a logarithm holds the largest targets
 * down: that is no reason for the logarithm. */
static const struct {
    const char *family;
    int row;
} kinds[] = { { "boost", 0 }, { "boost", 1 }, { "linear", 0 } };
/* Beyond these the fit has failed. */
#define LEAST_SMEAR 0.5
#define MOST_SMEAR  20.0

/* Sums over folds at one look: of squared or plain errors, of targets and of predictions. */
struct seen {
    double error, truth, predicted;
};

struct trying {
    struct ml_data *d;
    const struct model_ops *ops;
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
    const struct target_limits *limits = &t->d->limits;
    struct target_unit u = t->d->unit;
    double error = 0, se = 0, truth = 0, predicted = 0;

    if (t->ops->predict_held(t->d, l, t->p, err) < 0)
        return -1;
    for (int64_t i = 0; i < t->r.n_held; i++) {
        t->y[i] = t->d->truth[t->r.held[i]];
        double w = ml_data_weight(t->d, t->r.held[i]);
        if (t->weight)
            t->weight[i] = w;
        truth += w * (t->y[i] + u.by);
        predicted += w * ((double)target_predicted(&u, limits, t->p[i]) + u.by);
    }
    if (u.kind == TARGET_LOG && wants_mean(t->d))
        u.smear = smear_of(truth, predicted);
    for (int64_t i = 0; i < t->r.n_held; i++)
        t->p[i] = target_predicted(&u, limits, t->p[i]);
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
    int64_t most = str_eq(t->ops->family->name, "linear") ? linear_path_steps(l->params) : ROUNDS;
    int rc = 0;

    for (int i = 0; i < LOOKS && rc == 0; i++) {
        l->max_steps = MAX(most * (i + 1) / LOOKS, 1);
        l->is_done = false;
        while (rc == 0 && !l->is_done && !l->failed && l->steps_done < l->max_steps)
            rc = t->ops->advance(t->d, l, 1, l->max_steps - l->steps_done, NULL, err);
        if (l->failed)
            return -1;
        if (rc == 0)
            rc = look(t, l, &t->at[i], err);
    }
    return rc;
}

static int fold_try(struct trying *t, int row, int fold, struct err *err)
{
    const struct family *f = t->ops->family;
    struct lane l = { .fold = fold, .seed = t->d->spec.split_seed, .level = f->levels };
    int rc = -1;

    memcpy(l.params, f->portfolio(row), (size_t)f->n_params * sizeof *l.params);
    if (t->d->n_train > UNIT_ROWS)
        l.share = (double)UNIT_ROWS / (double)t->d->n_train;
    if (fold_rows_init(&t->r, t->d, fold, l.share, err) < 0)
        return -1;
    t->p = mem_try_alloc((size_t)(t->r.n_held + 1) * sizeof *t->p);
    t->y = mem_try_alloc((size_t)(t->r.n_held + 1) * sizeof *t->y);
    t->weight = t->d->weight ? mem_try_alloc((size_t)(t->r.n_held + 1) * sizeof(double)) : NULL;
    if (t->p && t->y && (t->weight || !t->d->weight) && t->ops->open(t->d, &l, err) == 0) {
        rc = lane_try(t, &l, err);
        t->ops->close(&l);
    }
    mem_try_free(t->p);
    mem_try_free(t->y);
    mem_try_free(t->weight);
    fold_rows_fini(&t->r);
    return rc;
}

/* The error of one kind of model over folds, at the best look; INFINITY where it fails. */
static double kind_try(struct ml_data *d, size_t kind, double *smear)
{
    struct trying t = { .d = d, .ops = model_find(kinds[kind].family) };
    int best = 0, folds = d->n_train < MANY_ROWS ? FOLDS : FEW_FOLDS;

    for (int f = 0; f < MIN(d->k_folds, folds); f++) {
        if (fold_try(&t, kinds[kind].row, f, NULL) < 0)
            return (double)INFINITY;
    }
    for (int i = 1; i < LOOKS; i++)
        best = t.at[i].error < t.at[best].error ? i : best;
    *smear = wants_mean(d) ? smear_of(t.at[best].truth, t.at[best].predicted) : 1;
    return wants_mean(d) ? sqrt(t.at[best].error) : t.at[best].error;
}

/* The error that the unit of d reaches. */
static double unit_try(struct ml_data *d, double *smear)
{
    bool is_wide = prep_width(d->prep) > MOST_WIDTH;
    double best = (double)INFINITY;

    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        double own = 1;
        double error = is_wide && str_eq(kinds[k].family, "linear") ? best : kind_try(d, k, &own);
        if (error < best) {
            best = error;
            *smear = own;
        }
    }
    return best;
}

struct ml_data *fit_data_open(const struct ml_data_spec *spec, struct err *err)
{
    struct ml_data_spec logged = *spec;
    struct ml_data *d = ml_data_open(spec, err);
    double ignored, smear = 1;

    if (!d || d->log_unit.kind != TARGET_LOG)
        return d;
    logged.unit = d->log_unit;
    double most = unit_try(d, &ignored) * (d->log_unit.by > 0 ? 1 - MARGIN : 1 + MARGIN);
    ml_data_close(d);
    d = ml_data_open(&logged, NULL);
    if (d && unit_try(d, &smear) < most) {
        d->unit.smear = smear;
        return d;
    }
    ml_data_close(d);
    return ml_data_open(spec, err);
}
