/* probe.c - how validation: auto becomes kfold or holdout.
 *
 * kfold, if at least three trials with all folds fit the time that is left on the devices there are; the yardstick is the
 * first configuration of the strongest family (budget_yardstick). Its cost formula (one unit is about a microsecond of one
 * core) decides when it is clear by a factor of eight either way. Else that trial is leased alone, on one fold, with a
 * deadline at a third of the time divided by the folds: if it ends before that, three trials of all folds fit. A
 * probe's fit is thrown away (the trial goes back to the queue) unless the answer is holdout and it was not cut: then it
 * is an ordinary trial. */
#include "controller/decide/probe.h"

#include "base/log.h"
#include "base/mem.h"
#include "controller/decide/budget.h"
#include "controller/decide/live.h"
#include "controller/problem/ladder.h"
#include "controller/state/lease.h"
#include "controller/state/runner.h"
#include "store/journal.h"

#include <inttypes.h>

enum { WANTED_TRIALS = 3, CLEAR_FACTOR = 8, MIN_PROBE_MS = 200, OVERRUN_MS = 1500 };

static int64_t cost_of(const struct study *st, const struct config *c, int folds)
{
    struct family_shape shape = st->problem.shape;

    shape.folds = folds;
    return family_level_cost(c->family, &shape, c->params, 0,
                             ladder_levels(&st->problem, c->family));
}

static int64_t lanes(const struct study *st, const char *sig)
{
    int n_devices = 0, n_idle = 0;

    return MAX(runner_capacity(st->ctl, sig, &n_devices, &n_idle), 1);
}

static int decide(struct study *st, bool kfold, const char *by, int64_t fit_us, struct err *err)
{
    json_t *data = NULL;
    int rc = -1;

    problem_decide(&st->problem, kfold, st->n_trials + 1);
    st->probe = 0;
    ctl_touch(st->ctl, st);
    data = json_pack("{s:s, s:s, s:I}", "validation", kfold ? "kfold" : "holdout", "by", by,
                     "fit_us", (json_int_t)fit_us);
    char *text = json_dumps(data, JSON_COMPACT);
    log_info("study.validation study=%" PRId64 " kind=%s by=%s fit_us=%" PRId64, st->row.id,
             kfold ? "kfold" : "holdout", by, fit_us);
    if (journal_add(st->ctl->store, st->row.id, 0, "search.validation", text, err) == 0)
        rc = study_save(st, err);
    free(text);
    json_decref(data);
    return rc;
}

int probe_prepare(struct study *st, const char *sig, struct err *err)
{
    const struct config *c = budget_yardstick(st);
    int64_t left_us = (budget_left(st) - budget_reserve(st)) * 1000 * lanes(st, sig);
    int64_t trial_us = cost_of(st, c, st->problem.kfolds);
    char *text = NULL;

    CHECK(st->problem.is_undecided);
    if (st->probe)
        return 0;
    if (left_us / trial_us >= (int64_t)WANTED_TRIALS * CLEAR_FACTOR)
        return decide(st, true, "formula", 0, err);
    if (left_us / WANTED_TRIALS < trial_us / CLEAR_FACTOR)
        return decide(st, false, "formula", 0, err);
    /* Trials up to the probe get their numbers now, in the usual order. */
    text = config_text_new(c);
    int rc = live_make_until(st, text, &st->probe, err);
    mem_free(text);
    if (rc == 0)
        log_info("study.probe study=%" PRId64 " number=%" PRId64, st->row.id, st->probe);
    return rc;
}

int64_t probe_deadline_ms(const struct study *st)
{
    int64_t left = budget_left(st) - budget_reserve(st);
    int64_t ms =
        left * lanes(st, st->row.numeric_sig) / (WANTED_TRIALS * (int64_t)st->problem.kfolds);

    return ctl_now(st->ctl) + MAX(MIN(ms, left / 4), MIN_PROBE_MS);
}

int probe_decide(struct study *st, int64_t fit_us, struct err *err)
{
    int64_t left_us =
        (budget_left(st) - budget_reserve(st)) * 1000 * lanes(st, st->row.numeric_sig);
    bool kfold = fit_us > 0 && left_us / (fit_us * st->problem.kfolds) >= WANTED_TRIALS;

    return decide(st, kfold, "probe", fit_us, err);
}

static const struct lease *probe_lease(const struct study *st)
{
    return st->probe ? lease_find(st->ctl, false, st->trials[st->probe - 1].id) : NULL;
}

int probe_step(struct study *st, struct err *err)
{
    const struct lease *l = probe_lease(st);

    if (!l || !l->is_probe || ctl_now(st->ctl) < l->deadline_ms + OVERRUN_MS)
        return 0;
    log_warn("study.probe_overran study=%" PRId64 " number=%" PRId64, st->row.id, st->probe);
    return probe_decide(st, 0, err);
}

int64_t probe_due(const struct study *st)
{
    const struct lease *l = probe_lease(st);

    return l && l->is_probe ? l->deadline_ms + OVERRUN_MS : INT64_MAX;
}
