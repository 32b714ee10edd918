/* finish.c - from `finishing` to the end.
 *
 * In a study with a limit in time the running trials were told their deadline and end by themselves, with their best so far;
 * those that do not are cancelled at the hard limit. Paused trials that are better than completed ones are completed as they
 * are (rescue.h). Then a task looks for an ensemble of the models that the trials uploaded (ensemble.h). If there is none,
 * kfold ships the bag of fold models of the best trial; after a holdout or forward in time a refit task fits the best
 * configuration on all rows, if the time left allows it. A refit that fails costs nothing: the ensemble that
 * was held back for it ships (settle/ensemble.c), or else the best trial's own model.
 * An ensemble that fails or comes too late is replaced by the one that was made while the search went on, if there is one.
 *
 * What happened so far is read from the study: the states of its trials, its leases, and its `result` column, which
 * settle/ship.c writes while it finishes. */
#include "controller/decide/finish.h"

#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/decide/ensemble.h"
#include "controller/decide/rescue.h"
#include "controller/state/board.h"
#include "controller/state/lease.h"
#include "controller/state/progress.h"
#include "controller/state/trial.h"

/* A runner that was told its deadline, or to keep its model, may say so this much later. */
enum { GRACE_MS = 150 };

/* ---- ending what is open ---- */

/* Its model is on its way. */
static bool is_kept(struct study *st, int64_t number)
{
    const struct lease *l = lease_find(st->ctl, false, trial_mem(st, number)->id);

    return l && l->kept_ms > 0;
}

/* Queued and paused trials; running ones too, if asked for, but those whose model is on its way only with `kept`. */
static void cancel_open(struct study *st, bool running, bool kept, enum trial_reason reason,
                        struct actions *out)
{
    for (int64_t k = 1; k <= st->n_trials; k++) {
        enum trial_state state = (enum trial_state)st->trials[k - 1].state;
        bool is_waiting = state == TS_QUEUED || state == TS_PAUSED;
        struct action *a = NULL;

        if (!kept && rescue_holds(st, k))
            continue;
        if (!is_waiting && !(state == TS_RUNNING && running && (kept || !is_kept(st, k))))
            continue;
        a = action_add(out, ACT_END, k);
        a->event = TE_CANCEL;
        a->reason = reason;
    }
}

/* It has just begun to finish. */
static int begin(struct study *st, struct actions *out)
{
    bool by_user = str_eq(st->row.reason, FINISH_BY_USER);

    CHECK(!rescue_waits(st) || st->n_rescue > 0);
    st->is_ending_new = false;
    if (study_has_open_trials(st))
        cancel_open(st, st->cuts_running, false, by_user ? TR_USER : TR_BUDGET, out);
    return out->n > 0;
}

/* ---- what is known ---- */

/* What is known of the end so far (state/progress.h). */
struct known {
    bool had_refit, had_ensemble; /* a task was asked for, and open or not */
    bool is_judged;               /* what became of the ensemble is known, */
    bool ships;                   /* and it ships */
};

static struct known known_of(const struct study *st)
{
    json_t *o = progress_load(st);
    const json_t *ensemble = json_object_get(o, "ensemble");
    struct known k = { .had_refit = json_object_get(o, "refit_task") != NULL,
                       .had_ensemble = ensemble || json_object_get(o, "ensemble_task"),
                       .is_judged = ensemble != NULL,
                       .ships = json_is_true(json_object_get(ensemble, "ships")) };

    json_decref(o);
    return k;
}

/* ---- the end ---- */

/* Trials had their deadline at cut; what is still there shortly before the end is given up. With a
 * refit or an ensemble to come, trials are given up earlier, so that there is time for it; one that
 * does not fit behind them anyway takes nothing from them. */
static int64_t trials_end_ms(const struct study *st)
{
    int64_t hard = budget_hard_ms(st), from = 0, last = 0;

    if (hard == INT64_MAX)
        return hard;
    for (int i = 0; i < st->ctl->n_leases; i++) {
        const struct lease *l = &st->ctl->leases[i];
        if (!l->is_task && l->study == st->row.id)
            last = MAX(last, MAX(l->deadline_ms, l->kept_ms) + GRACE_MS);
    }
    from = ensemble_wants(st) ? hard - budget_ensemble_ms(st) : hard;
    if (problem_refits(&st->problem))
        from -= MAX(budget_refit_ms(st), 1);
    return from < last ? hard : from;
}

/* Nothing is open any more but perhaps a refit or an ensemble. One that was asked for while the search
 * went on is waited for, too, if a runner has it in work: where it takes so long, a second one would
 * come too late. One that nobody has is given up, because its runner may be gone for good. */
static int after_trials(const struct study *st, struct actions *out)
{
    bool is_open = st->refit || st->early.task;
    bool is_worked_on = st->refit || (st->early.task && lease_find(st->ctl, true, st->early.task));

    if (rescue_waits(st) || (is_worked_on && ctl_now(st->ctl) < budget_hard_ms(st)))
        return 0;
    struct known k = known_of(st);
    if (is_open)
        action_add(out, ACT_NO_REFIT, 0);
    else if (!k.had_ensemble && !k.had_refit && ensemble_wants(st))
        action_add(out, ACT_ENSEMBLE, 0);
    else if (!k.is_judged && !k.had_refit && progress_early_ships(st))
        action_add(out, ACT_TAKE_EARLY, 0);
    else if (!k.ships && !k.had_refit && budget_fits_refit(st))
        action_add(out, ACT_REFIT, board_best(st));
    else
        action_add(out, ACT_CLOSE, st->spec.is_own ? board_best(st) : board_best_artifact(st));
    return 1;
}

int finish_next(struct study *st, struct actions *out, struct err *err)
{
    int rc = rescue_next(st, out, err);

    CHECK(st->row.state == SS_FINISHING);
    if (rc != 0)
        return rc;
    if (st->is_ending_new && begin(st, out))
        return 1;
    /* Lost or paused while the study finished. */
    if (st->count[TS_QUEUED] + st->count[TS_PAUSED] > 0)
        cancel_open(st, false, false, TR_BUDGET, out);
    if (out->n > 0)
        return 1;
    if (st->count[TS_RUNNING] == 0)
        return after_trials(st, out);
    if (ctl_now(st->ctl) < trials_end_ms(st))
        return 0;
    cancel_open(st, true, true, TR_BUDGET, out);
    return 1;
}

int64_t finish_due(const struct study *st)
{
    return MIN(st->count[TS_RUNNING] > 0 ? trials_end_ms(st) : budget_hard_ms(st), rescue_due(st));
}
