/* model.c - the registry of model families and what they share: the stop test, the order of lanes, the rows of a fold, the
 * scale of a regression target. To add a family: its file with a struct model_ops, a line here, a row in family_tables.c. */
#include "ml/model/model.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/model/models.h"
#include "ml/model/split.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

bool ml_stop_now(const struct ml_stop *s)
{
    if (!s)
        return false;
    return (s->cancel && *s->cancel) || (s->now_us && s->now_us(s->ctx) >= s->deadline_us);
}

const struct model_ops *model_find(const char *family)
{
    static const struct model_ops *const all[] = { &model_baseline, &model_linear, &model_boost,
                                                   &model_forest, &model_extra_trees };

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (strcmp(all[i]->family->name, family) == 0)
            return all[i];
    }
    return NULL;
}

int model_task(const struct ml_data *d)
{
    return d->spec.task == ML_BINARY       ? FT_BINARY
           : d->spec.task == ML_MULTICLASS ? FT_MULTICLASS
                                           : FT_REGRESSION;
}

struct family_shape model_shape(const struct ml_data *d, int folds)
{
    return (struct family_shape){ .rows = d->n_train,
                                  .columns = prep_inputs(d->prep),
                                  .encoded = prep_width(d->prep),
                                  .outputs = d->n_outputs,
                                  .folds = folds,
                                  .task = model_task(d) };
}

void lanes_in_turn(struct lane *lanes, int n, const void *busy, int64_t steps, lane_train_fn *train,
                   void *ctx, const struct ml_stop *stop)
{
    int first = 0;

    for (int i = 0; i < n; i++)
        first = busy && busy == lanes[i].state ? i : first;
    for (int i = 0; i < n; i++) {
        struct lane *lane = &lanes[i == 0 ? first : i <= first ? i - 1 : i];
        int64_t target = lane->steps_done + steps;
        if (lane->failed || lane->is_done)
            continue;
        if (lane->max_steps && target > lane->max_steps)
            target = lane->max_steps;
        if (!train(ctx, lane, target, stop))
            return;
    }
}

bool row_is_in_share(const struct ml_data *d, int64_t row, double share)
{
    if (share <= 0)
        return true;
    uint64_t drawn = rng_mix(rng_mix(d->spec.split_seed, 0x7368617265ull), (uint64_t)row);
    return ldexp((double)(drawn >> 11), -53) < share;
}

static bool is_trained_on(const struct ml_data *d, int64_t row, int fold, double share)
{
    return d->fold[row] != fold && d->fold[row] < SPLIT_NONE && row_is_in_share(d, row, share);
}

int fold_rows_init(struct fold_rows *r, const struct ml_data *d, int fold, double share,
                   struct err *err)
{
    memset(r, 0, sizeof *r);
    for (int64_t i = 0; i < d->rows; i++) {
        r->n_held += d->fold[i] == fold;
        r->n_train += is_trained_on(d, i, fold, share);
    }
    if (r->n_train == 0)
        return err_set(err, ERR_ARG, "no training rows outside fold %d", fold);
    r->train = mem_try_alloc((size_t)r->n_train * sizeof *r->train);
    r->held = mem_try_alloc((size_t)(r->n_held + 1) * sizeof *r->held);
    if (!r->train || !r->held) {
        fold_rows_fini(r);
        return err_set(err, ERR_NOMEM, "no memory for %" PRId64 " rows", d->rows);
    }
    for (int64_t i = 0, t = 0, h = 0; i < d->rows; i++) {
        if (d->fold[i] == fold)
            r->held[h++] = (int32_t)i;
        else if (is_trained_on(d, i, fold, share))
            r->train[t++] = (int32_t)i;
    }
    return 0;
}

void fold_rows_fini(struct fold_rows *r)
{
    mem_try_free(r->train);
    mem_try_free(r->held);
    memset(r, 0, sizeof *r);
}

void target_scale(const struct ml_data *d, const struct fold_rows *r, double *mean, double *spread)
{
    double top = 0, sum = 0, square = 0;

    for (int64_t i = 0; i < r->n_train; i++)
        top = fmax(top, fabs(d->y[r->train[i]]));
    top = top > 0 ? top : 1.0;
    for (int64_t i = 0; i < r->n_train; i++)
        sum += d->y[r->train[i]] / top;
    double m = sum / (double)r->n_train;
    for (int64_t i = 0; i < r->n_train; i++) {
        double e = d->y[r->train[i]] / top - m;
        square += e * e;
    }
    double s = sqrt(square / (double)r->n_train);
    *mean = m * top;
    *spread = s > 1e-12 ? s * top : top;
}
