/* probe.c - how validation: auto becomes kfold or holdout.
 *
 * kfold, if at least three trials with all folds (two, if they are networks) fit the time that is left
 * on the devices there are. The yardstick is the first configuration of the strongest family
 * (budget_yardstick). Its cost formula (one unit is about a microsecond of one core) decides when it is
 * clear by a factor of eight either way. Else that trial is leased alone, on one fold, with a deadline
 * at a third of the time (a half) divided by the folds: if it ends before that, so many trials of all
 * folds fit.
 *
 * A table of so few rows that a holdout would say little gets folds in any case that the cheapest
 * family can have them.
 *
 * The probe's fit is thrown away and the trial goes back to the queue, unless the answer is holdout and
 * it was not cut: then it is an ordinary trial. Called by dispatch.c and message.c through
 * serve/settle.h. */
#include "controller/decide/probe.h"

#include "controller/decide/budget.h"
#include "controller/decide/live.h"
#include "controller/problem/ladder.h"
#include "controller/state/lease.h"
#include "controller/state/runner.h"
#include "controller/state/trial.h"

enum {
    WANTED_TRIALS = 3,
    WANTED_NETWORKS = 2,
    CLEAR_FACTOR = 8,
    MIN_PROBE_MS = 200,
    OVERRUN_MS = 1500
};
/* A holdout of fewer rows says little: an AUC of .75 of 40 rows has a standard error of .08. */
enum { FEW_HELD = 500 };

static int64_t cost_of(const struct study *st, const struct config *c, int folds)
{
    struct family_shape shape = st->problem.shape;

    shape.folds = folds;
    return family_level_cost(c->family, &shape, c->params, 0,
                             ladder_levels(&st->problem, c->family));
}

static bool plans_by_network(const struct study *st)
{
    return budget_yardstick(st)->family->has_partial_levels;
}

/* Trials with all folds that are worth more than many on a holdout. The models of the folds are a bag,
 * and several bags an ensemble; both give most to networks, of which two are enough. */
static int wanted(const struct study *st)
{
    return plans_by_network(st) ? WANTED_NETWORKS : WANTED_TRIALS;
}

/* Whether a holdout would be of few rows, and the cheapest family at least can have folds: those that
 * are too dear for them are cut, which costs less than a score that nobody can rely on. The epochs of a
 * network are planned so that the folds fit. */
static bool needs_folds(const struct study *st, int64_t left_us)
{
    int64_t least = INT64_MAX, clear = plans_by_network(st) ? 1 : CLEAR_FACTOR;

    for (int i = 0; i < st->space.n_families; i++)
        least = MIN(least, cost_of(st, &st->space.first[i], st->problem.kfolds));
    return (double)st->problem.data.rows * st->spec.holdout_fraction < FEW_HELD &&
           least <= left_us / (WANTED_TRIALS * clear);
}

static int64_t capacity(const struct study *st, const char *sig)
{
    int n_devices = 0, n_idle = 0;

    return MAX(runner_capacity(st->ctl, sig, &n_devices, &n_idle), 1);
}

static void validate(struct actions *out, bool is_kfold, const char *by, int64_t fit_us)
{
    struct action *a = action_add(out, ACT_VALIDATE, 0);

    a->is_kfold = is_kfold;
    a->why = by;
    a->fit_us = fit_us;
}

/* Trials up to the probe get their numbers now, in the usual order. */
static int name_probe(struct study *st, const struct config *yardstick, struct actions *out,
                      struct err *err)
{
    uint64_t config = config_hash_of(yardstick);
    int rc = 0;

    for (int64_t k = 1; k <= st->n_trials; k++) {
        if (trial_mem(st, k)->config != config)
            continue;
        action_add(out, ACT_PROBE, k);
        return 1;
    }
    rc = live_create(st, out, err);
    if (rc == 1 || rc < 0)
        return rc;
    if (st->n_trials == 0)
        return err_set(err, ERR_CONFLICT, "study %s can make no trial to decide its validation",
                       st->row.name);
    action_add(out, ACT_PROBE, st->n_trials); /* the budget ends before it: any trial will do */
    return 1;
}

int probe_next(struct study *st, const char *sig, struct actions *out, struct err *err)
{
    const struct config *c = budget_yardstick(st);
    int64_t left_us = (budget_left(st) - budget_reserve(st)) * 1000 * capacity(st, sig);
    int64_t trial_us = cost_of(st, c, st->problem.kfolds);

    CHECK(!st->is_deterministic ||
          !st->problem.is_undecided); /* only a limit in time needs a probe */
    if (!st->problem.is_undecided || st->probe)
        return 0;
    if (left_us / trial_us >= (int64_t)wanted(st) * CLEAR_FACTOR)
        validate(out, true, "formula", 0);
    else if (needs_folds(st, left_us))
        validate(out, true, "few rows", 0);
    else if (left_us / wanted(st) < trial_us / CLEAR_FACTOR)
        validate(out, false, "formula", 0);
    else
        return name_probe(st, c, out, err);
    return 1;
}

int64_t probe_deadline_ms(const struct study *st)
{
    int64_t left = budget_left(st) - budget_reserve(st);
    int64_t ms =
        left * capacity(st, st->row.numeric_sig) / (wanted(st) * (int64_t)st->problem.kfolds);

    return ctl_now(st->ctl) + MAX(MIN(ms, left / 4), MIN_PROBE_MS);
}

void probe_decide(const struct study *st, int64_t fit_us, struct actions *out)
{
    int64_t left_us =
        (budget_left(st) - budget_reserve(st)) * 1000 * capacity(st, st->row.numeric_sig);

    validate(out, fit_us > 0 && left_us / (fit_us * st->problem.kfolds) >= wanted(st), "probe",
             fit_us);
}

static const struct lease *probe_lease(const struct study *st)
{
    return st->probe ? lease_find(st->ctl, false, st->trials[st->probe - 1].id) : NULL;
}

bool probe_is_over(const struct study *st)
{
    const struct lease *l = probe_lease(st);

    return l && l->is_probe && ctl_now(st->ctl) >= l->deadline_ms + OVERRUN_MS;
}

int64_t probe_due(const struct study *st)
{
    const struct lease *l = probe_lease(st);

    return l && l->is_probe ? l->deadline_ms + OVERRUN_MS : INT64_MAX;
}
