/* settle.c - the consequences of what happened. A request changes rows through state/, which notes what happened to each
 * trial; at its end the study is settled: what happened is told to the searchers, decisions follow, and their actions are
 * carried out here, until nothing more follows. This is the only place that carries out decisions.
 *
 * Called at the end of every request that touched a study, with study.needs_settling as the sign that there is something to
 * do. It stops by itself, because each round moves the study towards its end. */
#include "controller/serve/settle.h"

#include "controller/decide/finish.h"
#include "controller/decide/live.h"
#include "controller/decide/plan.h"
#include "controller/decide/probe.h"
#include "controller/serve/dataset.h"
#include "controller/state/check.h"
#include "controller/state/damage.h"
#include "controller/state/rows.h"
#include "controller/state/trial.h"

enum { SETTLE_MAX = 10000 };

static int settle_once(struct study *st, struct err *err)
{
    struct sched_decision ignored;

    if (!st->sampler || st->is_deterministic)
        st->n_happened = 0;
    else if (live_hear(st, &ignored, err) < 0)
        return -1;
    if (!st->problem.is_ready && study_is_open(st) && dataset_resolve_study(st, err) < 0)
        return -1;
    if (study_is_final(st->row.state))
        return study_keep_counts(st, err);
    if (!st->problem.is_ready)
        return 0;
    if (st->probe && probe_step(st, err) < 0)
        return -1;
    if (study_is_open(st) && st->is_deterministic && plan_advance(st, err) < 0)
        return -1;
    if (study_is_open(st) && !st->is_deterministic && live_settle(st, err) < 0)
        return -1;
    if (st->row.state == SS_FINISHING && finish_step(st, err) < 0)
        return -1;
    return st->n_kept > 0 ? trial_evict(st, err) : 0;
}

int study_settle(struct study *st, struct err *err)
{
    for (int i = 0; st->needs_settling; i++) {
        CHECK(i < SETTLE_MAX); /* every round moves the study towards its end */
        st->needs_settling = false;
        if (settle_once(st, err) < 0)
            return err_wrap(err, "study %s", st->row.name);
        if (!st->needs_settling)
            study_check(st);
    }
    return 0;
}

int study_settle_all(struct ctl *ctl, struct err *err)
{
    for (int i = 0; i < ctl->n_studies; i++) {
        if (study_settle(ctl->studies[i], err) < 0)
            return damage_suspect(ctl, ctl->studies[i]->row.id, err);
    }
    return 0;
}
