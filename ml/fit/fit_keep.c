/* fit_keep.c - the predictions that a trial leaves beside its model file (ml/ensemble/predictions.h),
 * from which ensembles are made. Called by fit_ship.c while the trial ships. */
#include "ml/fit/fit_private.h"

#include "base/base.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* The rows of a holdout are dealt out to so many parts, which take the place of folds: an ensemble is
 * judged on each by what was selected on the others. */
enum { HOLDOUT_PARTS = 5 };

void fit_trial_keeps(struct fit_trial *t, struct predictions *out)
{
    *out = (struct predictions){ 0 };
    t->keeps = out;
}

/* Memory for the rows; the weights only where rows have some. */
static int rows_alloc(struct predicted_rows *r, int64_t n, int outputs, bool weighs,
                      struct err *err)
{
    r->fold = mem_try_alloc((size_t)n);
    r->y = mem_try_alloc((size_t)n * sizeof *r->y);
    r->weight = weighs ? mem_try_alloc((size_t)n * sizeof *r->weight) : NULL;
    r->p = mem_try_alloc((size_t)(n * outputs) * sizeof *r->p);
    if (!r->fold || !r->y || (weighs && !r->weight) || !r->p)
        return err_set(err, ERR_NOMEM, "no memory to keep %lld predictions", (long long)n);
    return 0;
}

/* Whether the row is one that the trial's folds hold out; of a holdout only the first fold is. */
static bool is_held(const struct fit_trial *t, int64_t row)
{
    return t->is_holdout ? t->d->fold[row] == 0 : t->d->fold[row] < t->d->k_folds;
}

/* 1, 0 = a row was held out by no fold that was fitted, -1. */
static int held_take(struct fit_trial *t, const float *oof, struct predictions *out,
                     struct err *err)
{
    const struct ml_data *d = t->d;
    struct predicted_rows *r = &out->held;
    int k = d->n_outputs;
    int64_t n = 0;

    for (int64_t i = 0; i < d->rows; i++)
        n += is_held(t, i);
    if (n == 0)
        return 0;
    if (rows_alloc(r, n, k, d->weight != NULL, err) < 0)
        return -1;
    for (int64_t i = 0; i < d->rows; i++) {
        if (!is_held(t, i))
            continue;
        if (!isfinite(oof[i * k]))
            return 0;
        r->fold[r->n] = t->is_holdout ? (uint8_t)(r->n % out->folds) : d->fold[i];
        r->y[r->n] = d->truth[i];
        if (r->weight)
            r->weight[r->n] = d->weight[i];
        memcpy(r->p + r->n++ * k, oof + i * k, (size_t)k * sizeof *oof);
    }
    return 1;
}

int fit_keep_held(struct fit_trial *t, struct err *err)
{
    const struct ml_data *d = t->d;
    struct predictions *out = t->keeps;
    size_t all = (size_t)(d->rows * d->n_outputs);
    float *oof = mem_try_alloc((all + 1) * sizeof *oof);

    *out = (struct predictions){ .task = d->spec.task,
                                 .metric = d->spec.metric,
                                 .outputs = d->n_outputs,
                                 .classes = d->n_classes,
                                 .folds = t->is_holdout ? HOLDOUT_PARTS : d->k_folds,
                                 .shift = target_shift(&d->unit) };
    int rc = !oof ? err_set(err, ERR_NOMEM, "no memory to keep %zu predictions", all)
             : fit_trial_oof(t, oof, err) < 0 ? -1
                                              : held_take(t, oof, out, err);
    mem_try_free(oof);
    if (rc <= 0)
        predictions_fini(out);
    return rc < 0 ? -1 : 0;
}
