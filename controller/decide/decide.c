/* decide.c - passes each question on to the file that answers it: probe.c while the validation is
 * undecided and the probe runs too long, finish.c while the study finishes, and otherwise live.c or
 * plan.c. */
#include "controller/decide/decide.h"

#include "controller/decide/ahead.h"
#include "controller/decide/budget.h"
#include "controller/decide/ensemble.h"
#include "controller/decide/finish.h"
#include "controller/decide/live.h"
#include "controller/decide/plan.h"
#include "controller/decide/probe.h"

int decide_hear(struct study *st, struct err *err)
{
    /* A deterministic study reads results from its rows when its virtual clock comes to them. */
    if (st->search && !st->is_deterministic)
        return live_hear(st, err);
    st->n_happened = 0;
    return 0;
}

int decide_next(struct study *st, struct actions *out, struct err *err)
{
    CHECK(out->n == 0);
    if (decide_hear(st, err) < 0)
        return -1;
    if (!st->problem.is_ready || study_is_final(st->row.state))
        return 0;
    if (st->row.state == SS_FINISHING)
        return finish_next(st, out, err);
    if (probe_is_over(st)) {
        probe_decide(st, 0, out);
        return 1;
    }
    if (ensemble_is_due(st)) {
        action_add(out, ACT_EARLY_ENSEMBLE, 0);
        return 1;
    }
    return st->is_deterministic ? plan_next(st, out, err) : live_next(st, out, err);
}

struct sched_decision decide_said(const struct study *st, int64_t number, int level)
{
    return st->is_deterministic ? plan_said(st, number, level) : live_said(st);
}

int decide_adopt(struct study *st, const struct config *c, enum trial_source source,
                 int64_t retry_of, struct actions *out, struct err *err)
{
    struct action *a = NULL;

    CHECK(study_is_open(st) && st->search);
    if (!st->is_deterministic)
        return live_adopt(st, c, source, retry_of, out, err);
    a = action_add(out, ACT_CREATE, 0);
    a->config = *c;
    a->source = source;
    a->retry_of = retry_of;
    return 1;
}

int decide_begun(struct study *st, struct actions *out, struct err *err)
{
    if (!ahead_is_open(st))
        return 0;
    if (st->is_deterministic)
        return plan_next(st, out, err);
    return live_create(st, out, err) < 0 ? -1 : out->n > 0;
}

int64_t decide_due(const struct study *st)
{
    if (st->row.state == SS_RUNNING)
        return MIN(MIN(budget_cut_ms(st), probe_due(st)), ensemble_due(st));
    return st->row.state == SS_FINISHING ? finish_due(st) : INT64_MAX;
}
