/* fit_epochs.c - how the networks of a trial learned, epoch by epoch: what its lanes noted, joined
 * over the folds, with the metric of the held-out rows and the speed beside it.
 *
 * Of many epochs every second is told, or every fourth, and so on: an epoch that is left out once
 * is left out for good, so what was told before can be joined with what is told later. The first
 * and the last are always told. */
#include "ml/fit/fit_private.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

/* The point that stands at this step, or the first one behind it. */
static int point_of(const struct fit_run *r, int64_t step)
{
    return (int)((step + r->plan.check_every - 1) / r->plan.check_every) - 1;
}

static double value_at(const struct fit_trial *t, const struct fit_run *r, int64_t step)
{
    int p = point_of(r, step);

    for (int f = 0; f < r->n_lanes; f++) {
        if (p >= r->n_values[f])
            return (double)NAN;
    }
    return fit_point_step(r, p) == step ? fit_fold_mean(t, r, p, r->n_lanes, -1) : (double)NAN;
}

/* Rows a second, of all folds together; training alone, without the scoring of held-out rows. */
static double speed_at(const struct fit_run *r, int64_t step)
{
    int p = point_of(r, step);
    int64_t steps = fit_point_step(r, p) - (p > 0 ? fit_point_step(r, p - 1) : 0);
    double rows = 0;

    if (p >= r->cap || r->point_us[p] <= 0)
        return (double)NAN;
    /* Some folds may have trained this epoch before the checkpoint: they took none of the time. */
    for (int f = 0; f < r->n_lanes; f++)
        rows += (double)r->logs[f].notes[step - 1].rows;
    return rows > 0 ? rows * (double)steps * 1e6 / (double)r->point_us[p] : (double)NAN;
}

static void epoch_add(const struct fit_trial *t, const struct fit_run *r, int64_t step,
                      struct fit_epochs *out)
{
    double loss = 0, norm = 0;
    int i = out->n++;

    for (int f = 0; f < r->n_lanes; f++) {
        loss += (double)r->logs[f].notes[step - 1].loss;
        norm += (double)r->logs[f].notes[step - 1].norm;
    }
    out->epoch[i] = step;
    out->loss[i] = loss / r->n_lanes;
    out->norm[i] = norm / r->n_lanes;
    out->rate[i] = (double)r->logs[0].notes[step - 1].rate;
    out->value[i] = value_at(t, r, step);
    out->speed[i] = speed_at(r, step);
}

void fit_trial_epochs(const struct fit_trial *t, int most, struct fit_epochs *out)
{
    const struct fit_run *r = t->run;
    int64_t n = r && r->n_lanes > 0 ? INT64_MAX : 0, every = 1;

    CHECK(most >= 3 && most <= FIT_EPOCHS);
    memset(out, 0, sizeof *out);
    for (int f = 0; r && f < r->n_lanes; f++)
        n = MIN(n, r->logs[f].n);
    if (n < 1 || !t->ops->has_epochs)
        return;
    out->level = r->level;
    out->folds = r->n_lanes;
    out->metric = t->select;
    while (n / every + 2 > most)
        every *= 2;
    for (int64_t step = 1; step <= n; step++) {
        if (step == 1 || step % every == 0 || step == n)
            epoch_add(t, r, step, out);
    }
}
