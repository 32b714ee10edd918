/* plan.c - virtual workers.
 *
 * `workers` virtual workers run trials. A run of a trial from one level to another occupies its worker for as many units as
 * the family's cost formula says. Events (the ends of runs) are taken in the order of (virtual end, trial number), each only
 * when its real result is known; a real result that comes early waits in its row. In a deterministic study nobody else tells
 * sampler and scheduler anything, so they see one sequence whatever the runners do: same seed, same study.
 *
 * The plan stores nothing of its own. After a load it runs again from the start: what was created, promoted or pruned by an
 * earlier process is found in the rows, and the action for it is left out, until the plan comes to a result that is not known
 * yet. What a user does by hand (enqueue, retry, kill) becomes part of the rows: a trial that exists is taken when its
 * number's turn comes, and a killed trial is a known end. */
#include "controller/decide/plan.h"

#include "base/mem.h"
#include "controller/decide/budget.h"
#include "controller/decide/propose.h"
#include "controller/decide/searchers.h"
#include "controller/problem/ladder.h"
#include "controller/state/trial.h"

#include <inttypes.h>
#include <math.h>

enum { RETIRE_BATCH = 64 };

struct outcome {
    bool is_rung;
    enum trial_state state; /* of an end */
    int level;
    double score;
};

void plan_init(struct study *st)
{
    struct plan *p = &st->search->plan;

    CHECK(st->is_deterministic && !p->runs);
    p->workers = st->spec.parallel ? st->spec.parallel : PLAN_WORKERS;
    p->runs = mem_array((size_t)p->workers, sizeof *p->runs);
    p->next_number = 1;
}

/* ---- starting runs ---- */

static int run_add(struct study *st, int64_t number, const struct config *c, int from, int to,
                   struct err *err)
{
    struct plan *p = &st->search->plan;
    int64_t cost = propose_cost(st, c, from, to);

    CHECK(p->n_runs < p->workers && number >= 1 && cost >= 0);
    if (from >= to)
        return err_set(err, ERR_DAMAGED,
                       "the scheduler sends trial %" PRId64 " from level %d to %d", number, from,
                       to);
    p->runs[p->n_runs++] = (struct plan_run){ number, p->now + cost, from, to };
    return 0;
}

/* The trial shall run on to `to`: in the plan, and in its row unless an earlier process did that. */
static int go_on(struct study *st, int64_t number, int from, int to, struct actions *out,
                 struct err *err)
{
    const struct trial_mem *t = trial_mem(st, number);
    struct config c;

    if (trial_config(st, number, &c, err) < 0 || run_add(st, number, &c, from, to, err) < 0)
        return -1;
    if (!trial_is_final((enum trial_state)t->state) && t->run_to < to) {
        struct action *a = action_add(out, ACT_RUN_TO, number);

        a->to = to;
        a->vcost = propose_cost(st, &c, 0, to);
    }
    return 0;
}

/* A trial with this number is there: made by an earlier process, or by a user. */
static int start_existing(struct study *st, int64_t number, struct actions *out, struct err *err)
{
    const struct trial_mem *t = trial_mem(st, number);
    enum trial_source source = (enum trial_source)t->source;
    struct config c;
    int to = 0;

    if (trial_config(st, number, &c, err) < 0 || propose_again(st, number, source, &c, err) < 0)
        return -1;
    to = propose_start(st, number, source, c.family ? c.family->name : "", t->max_level, err);
    if (to < 0 || run_add(st, number, &c, 0, to, err) < 0)
        return -1;
    if (t->run_to == 0 && !trial_is_final((enum trial_state)t->state)) {
        struct action *a = action_add(out, ACT_RUN_TO, number);

        a->to = to;
        a->vstart = st->search->plan.now;
        a->vcost = propose_cost(st, &c, 0, to);
    }
    return 0;
}

/* START_LATER: in the next turn. */
enum { START_NONE, START_DONE, START_LATER };

static int start_new(struct study *st, int64_t number, struct actions *out, struct err *err)
{
    enum trial_source source = SRC_SCRIPT;
    struct action *a = NULL;
    struct config c;
    int rc = propose_next(st, number, &c, &source, out, err), to = 0;

    if (rc == AHEAD_LATER)
        return START_LATER;
    if (rc <= 0) {
        st->search->is_exhausted = rc == 0;
        return rc < 0 ? -1 : START_NONE;
    }
    to = propose_start(st, number, source, c.family->name, ladder_levels(&st->problem, c.family),
                       err);
    if (to < 0 || run_add(st, number, &c, 0, to, err) < 0)
        return -1;
    a = action_add(out, ACT_CREATE, 0);
    a->config = c;
    a->source = source;
    a->to = to;
    return START_DONE;
}

static bool may_start(const struct study *st)
{
    bool has_row = st->search->plan.next_number <= st->n_trials;

    return !st->search->closing && budget_allows_trial(st) &&
           (has_row || !st->search->is_exhausted);
}

/* What a trial has reached in the order of the virtual clock. */
static int level_of(const struct plan *p, int64_t number)
{
    return number <= p->n_levels ? p->levels[number - 1] : 0;
}

static void level_set(struct plan *p, int64_t number, int level)
{
    while (p->n_levels < number) {
        MEM_GROW(p->levels, p->n_levels, p->cap_levels);
        p->levels[p->n_levels++] = 0;
    }
    CHECK(level >= p->levels[number - 1]); /* no trial loses a level */
    p->levels[number - 1] = (int16_t)level;
}

/* One paused trial goes on: 1, 0 = none. idle: no new one can be made. */
static int resume_one(struct study *st, bool idle, struct actions *out, struct err *err)
{
    struct sched_resume r = { 0 };
    int rc = propose_resume(st, idle, &r, err);

    if (rc <= 0)
        return rc;
    CHECK(r.trial >= 1 && r.trial < st->search->plan.next_number);
    return go_on(st, r.trial, level_of(&st->search->plan, r.trial), r.to, out, err) < 0
               ? -1
               : START_DONE;
}

static int start_one(struct study *st, struct actions *out, struct err *err)
{
    int rc = resume_one(st, false, out, err);

    if (rc != 0)
        return rc;
    if (!may_start(st))
        return resume_one(st, true, out, err);
    int64_t number = st->search->plan.next_number;
    if (propose_must_wait(st, number))
        return START_LATER;
    if (number <= st->n_trials)
        rc = start_existing(st, number, out, err) < 0 ? -1 : START_DONE;
    else
        rc = start_new(st, number, out, err);
    if (rc == START_NONE) /* the space is used up */
        return resume_one(st, true, out, err);
    if (rc == START_DONE)
        st->search->plan.next_number++;
    return rc;
}

/* ---- events ---- */

/* What came of a run: 1, 0 = not known yet, -1. A rung that was reported counts before the end of the trial, so that a
 * replay takes the same steps as the first process did. */
static int outcome_of(struct study *st, const struct plan_run *run, struct outcome *out,
                      struct err *err)
{
    const struct trial_mem *t = trial_mem(st, run->number);
    double value = NAN;

    if (run->to < t->max_level) {
        int rc = trial_report_at(st, run->number, run->to, &value, err);

        if (rc == 1)
            *out = (struct outcome){ .is_rung = true, .level = run->to, .score = value };
        if (rc != 0)
            return rc;
    }
    if (!trial_is_final((enum trial_state)t->state))
        return 0;
    *out = (struct outcome){ .state = (enum trial_state)t->state,
                             .level = t->level,
                             .score = t->state == TS_COMPLETED ? t->score : NAN };
    return 1;
}

static void prune(struct study *st, int64_t number, struct actions *out)
{
    struct action *a = NULL;

    if (trial_is_final((enum trial_state)trial_mem(st, number)->state))
        return;
    a = action_add(out, ACT_END, number);
    a->event = TE_PRUNE;
    a->reason = TR_STOPPED;
}

static int take_rung(struct study *st, const struct plan_run *run, const struct outcome *o,
                     struct actions *out, struct err *err)
{
    struct sched_decision d = { SCHED_DONE, 0 };

    level_set(&st->search->plan, run->number, o->level);
    if (propose_observe(st, run->number, OBS_RUNNING, o->level, o->score, err) < 0 ||
        propose_report(st, run->number, OBS_RUNNING, o->level, o->score, &d, err) < 0)
        return -1;
    if (d.action == SCHED_RUN_TO)
        return go_on(st, run->number, o->level, d.to, out, err);
    if (d.action == SCHED_PAUSE)
        return 0;
    budget_note_end(st, run->number, NAN, 0);
    if (propose_observe(st, run->number, OBS_PRUNED, o->level, NAN, err) < 0)
        return -1;
    prune(st, run->number, out);
    return 0;
}

static int take_end(struct study *st, const struct plan_run *run, const struct outcome *o,
                    struct err *err)
{
    enum obs_state obs = propose_obs_of(o->state);
    struct sched_decision ignored;

    if (o->state != TS_CANCELLED)
        budget_note_end(st, run->number, o->score, 0);
    if (propose_observe(st, run->number, obs, o->level, o->score, err) < 0)
        return -1;
    return propose_report(st, run->number, obs, o->level, o->score, &ignored, err);
}

static int retire(struct study *st, struct actions *out, struct err *err)
{
    int64_t numbers[RETIRE_BATCH];
    bool closing = !may_start(st);
    int n = 0;

    do {
        n = st->search->scheduler->ops->retire(st->search->scheduler, RETIRE_BATCH, closing,
                                               numbers, err);
        for (int i = 0; i < n; i++) {
            int level = level_of(&st->search->plan, numbers[i]);

            if (propose_observe(st, numbers[i], OBS_PRUNED, level, NAN, err) < 0)
                return -1;
            prune(st, numbers[i], out);
        }
    } while (n == RETIRE_BATCH);
    return n < 0 ? -1 : 0;
}

static int first_run(const struct plan *p)
{
    int best = -1;

    for (int i = 0; i < p->n_runs; i++) {
        const struct plan_run *a = &p->runs[i], *b = best >= 0 ? &p->runs[best] : NULL;
        if (!b || a->end < b->end || (a->end == b->end && a->number < b->number))
            best = i;
    }
    return best;
}

/* One event: 1, 0 = its result is not known yet, or there is none. */
static int step(struct study *st, struct actions *out, struct err *err)
{
    struct plan *p = &st->search->plan;
    struct outcome o = { 0 };
    int i = first_run(p), rc = 0;

    if (i < 0)
        return 0;
    struct plan_run run = p->runs[i];
    rc = outcome_of(st, &run, &o, err);
    if (rc <= 0)
        return rc;
    CHECK(run.end >= p->now); /* the virtual clock never goes back */
    p->now = run.end;
    p->runs[i] = p->runs[--p->n_runs];
    rc = o.is_rung ? take_rung(st, &run, &o, out, err) : take_end(st, &run, &o, err);
    if (rc < 0 || retire(st, out, err) < 0)
        return -1;
    p->is_filled = false;
    return 1;
}

/* Free workers get trials, one at a time where that needs an action: 1, 0 = the next suggestion is not made yet, -1. */
static int fill(struct study *st, struct actions *out, struct err *err)
{
    int rc = START_DONE;

    while (rc == START_DONE && out->n == 0 && st->search->plan.n_runs < st->search->plan.workers)
        rc = start_one(st, out, err);
    if (rc < 0)
        return -1;
    if (out->n > 0)
        return 1; /* called again when it is carried out */
    st->search->plan.is_filled = rc != START_LATER;
    return st->search->plan.is_filled;
}

/* Nothing runs on the virtual workers, and nothing more may be started. */
static int close_plan(struct study *st, struct actions *out, struct err *err)
{
    if (retire(st, out, err) < 0)
        return -1;
    if (out->n == 0 && st->row.state == SS_RUNNING)
        action_add(out, ACT_FINISH, 0)->why = st->search->closing        ? st->search->closing
                                              : st->search->is_exhausted ? "the space is used up"
                                                                         : "all trials have ended";
    return out->n > 0;
}

int plan_next(struct study *st, struct actions *out, struct err *err)
{
    int rc = 1;

    CHECK(st->is_deterministic && st->search->sampler && st->search->scheduler && out->n == 0);
    CHECK(st->search->plan.next_number <= st->n_trials + 1); /* what it created is there */
    CHECK(st->search->plan.n_runs >= 0 && st->search->plan.n_runs <= st->search->plan.workers);
    while (rc > 0 && out->n == 0) {
        /* A new trial of a user's may be started at once; else free workers are filled once per event. */
        if (st->search->plan.next_number <= st->n_trials && may_start(st))
            st->search->plan.is_filled = false;
        if (!st->search->plan.is_filled && (rc = fill(st, out, err)) <= 0)
            return rc < 0 ? -1 : out->n > 0;
        if (out->n == 0)
            rc = step(st, out, err);
    }
    if (rc < 0 || out->n > 0)
        return rc < 0 ? -1 : 1;
    return st->search->plan.n_runs > 0 || may_start(st) ? 0 : close_plan(st, out, err);
}

struct sched_decision plan_said(const struct study *st, int64_t number, int level)
{
    const struct trial_mem *t = &st->trials[number - 1];

    CHECK(number >= 1 && number <= st->n_trials);
    if (trial_is_final((enum trial_state)t->state))
        return (struct sched_decision){ SCHED_STOP, 0 };
    if (t->run_to > level)
        return (struct sched_decision){ SCHED_RUN_TO, t->run_to };
    return (struct sched_decision){ SCHED_PAUSE, 0 };
}
