/* fold_rows.c - which rows a lane trains on and which it is scored on (fold_rows.h), and the scale
 * of their targets.
 *
 * A share of the training rows is drawn by a hash of (split seed, row): whether a row belongs to it
 * depends on nothing else, so the shares are nested (a row of the smaller share is in every larger
 * one) and the same in every fold. */
#include "ml/model/fold_rows.h"

#include "base/mem.h"
#include "base/rng.h"
#include "ml/model/model.h"
#include "ml/model/split.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define SHARE_KEY 0x7368617265ull /* "share": keeps these draws apart from the split's own */

bool row_is_in_share(const struct ml_data *d, int64_t row, double share)
{
    if (share <= 0)
        return true;
    uint64_t drawn = rng_mix(rng_mix(d->spec.split_seed, SHARE_KEY), (uint64_t)row);
    return ldexp((double)(drawn >> 11), -53) < share;
}

bool row_is_trained(const struct ml_data *d, int64_t row, int fold)
{
    if (d->fold[row] >= SPLIT_NONE || d->fold[row] == fold)
        return false;
    return !d->time || fold == FOLD_ALL ||
           split_is_before(d->time[row], d->start[fold], d->spec.by.gap);
}

/* Forward in time the training rows of a fold are among those of each newer fold. Part p is then
 * what p folds are trained on, the newest ones; part 0 is trained on by FOLD_ALL only. */
int row_parts(const struct ml_data *d)
{
    return d->time ? d->k_folds + 1 : d->k_folds;
}

int row_part(const struct ml_data *d, int64_t row)
{
    int part = 0;

    if (d->fold[row] >= SPLIT_NONE)
        return -1;
    if (!d->time)
        return d->fold[row];
    while (part < d->k_folds && row_is_trained(d, row, part))
        part++;
    return part;
}

bool part_is_trained(const struct ml_data *d, int part, int fold)
{
    return d->time && fold != FOLD_ALL ? part > fold : part != fold;
}

static bool is_trained_on(const struct ml_data *d, int64_t row, int fold, double share)
{
    return row_is_trained(d, row, fold) && row_is_in_share(d, row, share);
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
    double top = 0, sum = 0, square = 0, all = 0;

    for (int64_t i = 0; i < r->n_train; i++)
        top = fmax(top, fabs(d->y[r->train[i]]));
    top = top > 0 ? top : 1.0;
    for (int64_t i = 0; i < r->n_train; i++)
        sum += d->weight ? d->weight[r->train[i]] * (d->y[r->train[i]] / top)
                         : d->y[r->train[i]] / top;
    for (int64_t i = 0; i < r->n_train; i++)
        all += ml_data_weight(d, r->train[i]);
    double m = sum / all;
    for (int64_t i = 0; i < r->n_train; i++) {
        double e = d->y[r->train[i]] / top - m;
        square += ml_data_weight(d, r->train[i]) * e * e;
    }
    double s = sqrt(square / all);
    *mean = m * top;
    *spread = s > 1e-12 ? s * top : top;
}
