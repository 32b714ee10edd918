/* plan.c - virtual workers.
 *
 * `workers` virtual workers run trials; a run of a trial from one level to another occupies its worker for the family's
 * cost in units. Events are taken in order of (virtual end, trial number), each only when its real result is known; real
 * results that come early wait in their rows. Only this file tells sampler and scheduler of a deterministic study anything,
 * so they see one sequence whatever the runners do: same seed, same study.
 *
 * The plan stores nothing of its own. After a load it runs again from the start: creating trial 7 then means finding row
 * 7, promoting one that is promoted means nothing to do, until it comes to a result that is not known yet. Every action
 * here must therefore be legal to repeat. What a user does by hand (enqueue, retry, kill) becomes part of the rows: a row
 * that exists is taken when its number's turn comes, a killed trial is a known end. */
#include "controller/decide/plan.h"

#include "base/mem.h"
#include "controller/decide/budget.h"
#include "controller/decide/finish.h"
#include "controller/decide/propose.h"
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
    plan_fini(st);
    st->plan.workers = st->spec.parallel ? st->spec.parallel : PLAN_WORKERS;
    st->plan.runs = mem_array((size_t)st->plan.workers, sizeof *st->plan.runs);
    st->plan.next_number = 1;
}

void plan_fini(struct study *st)
{
    mem_free(st->plan.runs);
    st->plan = (struct plan){ 0 };
}

/* ---- starting runs ---- */

static int run_add(struct study *st, int64_t number, const char *config, int from, int to,
                   struct err *err)
{
    struct plan *p = &st->plan;
    int64_t cost = propose_cost(st, config, from, to);

    CHECK(p->n_runs < p->workers);
    if (from >= to)
        return err_set(err, ERR_DAMAGED,
                       "the scheduler sends trial %" PRId64 " from level %d to %d", number, from,
                       to);
    p->runs[p->n_runs++] = (struct plan_run){ number, p->now + cost, from, to };
    return 0;
}

/* The trial shall run on to `to`: in memory, and in its row unless a former life of the plan did that. */
static int go_on(struct study *st, int64_t number, int from, int to, struct err *err)
{
    struct trial_row row = { 0 };
    int rc = trial_load(st, number, &row, err);

    if (rc == 0)
        rc = run_add(st, number, row.config, from, to, err);
    if (rc == 0 && !trial_is_final(row.state) && row.run_to < to) {
        row.run_to = to;
        row.vcost = propose_cost(st, row.config, 0, to);
        row.reason = row.state == TS_PAUSED ? TR_NONE : row.reason;
        rc = row.state == TS_PAUSED
                 ? trial_move(st, &row, TE_PROMOTE, json_pack("{s:i}", "to", to), NULL, err)
                 : trial_save(st, &row,
                              err); /* its checkpoint is on the way, or it was lost meanwhile */
    }
    trial_row_fini(&row);
    return rc;
}

/* A row with this number is here: made by a former life of the plan, or by a user. */
static int start_existing(struct study *st, int64_t number, struct err *err)
{
    enum trial_source source = (enum trial_source)trial_mem(st, number)->source;
    struct trial_row row = { 0 };
    int to = 0, rc = trial_load(st, number, &row, err);

    if (rc == 0)
        rc = propose_again(st, number, source, row.config, err);
    if (rc == 0 && (to = propose_start(st, number, source, row.family, row.max_level, err)) < 0)
        rc = -1;
    if (rc == 0)
        rc = run_add(st, number, row.config, 0, to, err);
    if (rc == 0 && row.run_to == 0 && !trial_is_final(row.state)) {
        row.run_to = to;
        row.vstart = st->plan.now;
        row.vcost = propose_cost(st, row.config, 0, to);
        rc = trial_save(st, &row, err);
    }
    trial_row_fini(&row);
    return rc;
}

/* START_LATER: in the next turn. */
enum { START_NONE, START_DONE, START_LATER };

static int start_new(struct study *st, int64_t number, struct err *err)
{
    enum trial_source source = SRC_SCRIPT;
    struct config c;
    int rc = propose_next(st, number, &c, &source, err), to = 0;

    if (rc == AHEAD_LATER)
        return START_LATER;
    if (rc <= 0) {
        st->is_exhausted = rc == 0;
        return rc;
    }
    to = propose_start(st, number, source, c.family->name, ladder_levels(&st->problem, c.family),
                       err);
    if (to < 0 || trial_create(st, &c, source, to, 0, &number, err) < 0)
        return -1;
    char *config = config_text_new(&c);
    rc = run_add(st, number, config, 0, to, err);
    mem_free(config);
    return rc < 0 ? -1 : START_DONE;
}

static bool may_start(const struct study *st)
{
    bool has_row = st->plan.next_number <= st->n_trials;

    return !st->closing && budget_allows_trial(st) && (has_row || !st->is_exhausted);
}

/* One paused trial goes on: 1, 0 = none. idle: no new one can be made. */
static int resume_one(struct study *st, bool idle, struct err *err)
{
    struct sched_resume r = { 0 };
    int rc = propose_resume(st, idle, &r, err);

    if (rc <= 0)
        return rc;
    return go_on(st, r.trial, trial_mem(st, r.trial)->plan_level, r.to, err) < 0 ? -1 : 1;
}

static int start_one(struct study *st, struct err *err)
{
    int rc = resume_one(st, false, err);

    if (rc != 0)
        return rc;
    if (!may_start(st))
        return resume_one(st, true, err);
    int64_t number = st->plan.next_number;
    if (propose_must_wait(st, number))
        return START_LATER;
    rc = number <= st->n_trials ? start_existing(st, number, err) : start_new(st, number, err);
    if (rc < 0 || rc == START_LATER)
        return rc;
    if (number > st->n_trials) /* the space is used up */
        return resume_one(st, true, err);
    st->plan.next_number++;
    return START_DONE;
}

/* ---- events ---- */

struct find_report {
    int level;
    double value;
    bool is_found;
};

static int on_report(void *arg, int level, double value, double se)
{
    struct find_report *f = arg;

    (void)se;
    if (level == f->level) {
        f->value = value;
        f->is_found = true;
    }
    return f->is_found;
}

/* What came of a run: 1, 0 = not known yet, -1. A rung that was reported counts before the end of the trial, so that a
 * replay takes the same steps as the first life did. */
static int outcome_of(struct study *st, const struct plan_run *run, struct outcome *out,
                      struct err *err)
{
    const struct trial_mem *t = trial_mem(st, run->number);
    struct find_report f = { .level = run->to, .value = NAN };

    if (run->to < t->max_level) {
        if (store_report_each(st->ctl->store, t->id, on_report, &f, err) < 0)
            return -1;
        if (f.is_found) {
            *out = (struct outcome){ .is_rung = true, .level = run->to, .score = f.value };
            return 1;
        }
    }
    if (!trial_is_final((enum trial_state)t->state))
        return 0;
    *out = (struct outcome){ .state = (enum trial_state)t->state,
                             .level = t->level,
                             .score = t->state == TS_COMPLETED ? t->score : NAN };
    return 1;
}

static int prune(struct study *st, int64_t number, struct err *err)
{
    if (trial_is_final((enum trial_state)trial_mem(st, number)->state))
        return 0;
    return trial_end(st, number, TE_PRUNE, TR_STOPPED, NULL, err);
}

static int take_rung(struct study *st, const struct plan_run *run, const struct outcome *o,
                     struct err *err)
{
    struct sched_decision d = { SCHED_DONE, 0 };

    trial_mem(st, run->number)->plan_level = (int16_t)o->level;
    if (propose_observe(st, run->number, OBS_RUNNING, o->level, o->score, err) < 0 ||
        propose_report(st, run->number, OBS_RUNNING, o->level, o->score, &d, err) < 0)
        return -1;
    if (d.action == SCHED_RUN_TO)
        return go_on(st, run->number, o->level, d.to, err);
    if (d.action == SCHED_PAUSE)
        return 0;
    budget_note_end(st, NAN);
    if (propose_observe(st, run->number, OBS_PRUNED, o->level, NAN, err) < 0)
        return -1;
    return prune(st, run->number, err);
}

static int take_end(struct study *st, const struct plan_run *run, const struct outcome *o,
                    struct err *err)
{
    enum obs_state obs = propose_obs_of(o->state);
    struct sched_decision ignored;

    if (o->state != TS_CANCELLED)
        budget_note_end(st, o->score);
    if (propose_observe(st, run->number, obs, o->level, o->score, err) < 0)
        return -1;
    return propose_report(st, run->number, obs, o->level, o->score, &ignored, err);
}

static int retire(struct study *st, struct err *err)
{
    int64_t numbers[RETIRE_BATCH];
    bool closing = !may_start(st);
    int n = 0;

    do {
        n = st->scheduler->ops->retire(st->scheduler, RETIRE_BATCH, closing, numbers, err);
        for (int i = 0; i < n; i++) {
            int level = trial_mem(st, numbers[i])->plan_level;
            if (propose_observe(st, numbers[i], OBS_PRUNED, level, NAN, err) < 0 ||
                prune(st, numbers[i], err) < 0)
                return -1;
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

/* One event: 1, 0 = it is not known yet, or there is none. */
static int step(struct study *st, struct err *err)
{
    struct plan *p = &st->plan;
    struct outcome o = { 0 };
    int i = first_run(p), rc = 0;

    if (i < 0)
        return 0;
    struct plan_run run = p->runs[i];
    rc = outcome_of(st, &run, &o, err);
    if (rc <= 0)
        return rc;
    CHECK(run.end >= p->now);
    p->now = run.end;
    p->runs[i] = p->runs[--p->n_runs];
    rc = o.is_rung ? take_rung(st, &run, &o, err) : take_end(st, &run, &o, err);
    if (rc < 0 || retire(st, err) < 0)
        return -1;
    p->is_filled = false;
    return 1;
}

/* 1 = all that can run does, 0 = not yet, -1. */
static int fill(struct study *st, struct err *err)
{
    int rc = START_DONE;

    while (rc == START_DONE && st->plan.n_runs < st->plan.workers)
        rc = start_one(st, err);
    if (rc < 0)
        return -1;
    st->plan.is_filled = rc != START_LATER;
    return st->plan.is_filled;
}

int plan_advance(struct study *st, struct err *err)
{
    int rc = 1;

    CHECK(st->is_deterministic && st->sampler && st->scheduler);
    while (rc > 0) {
        /* A new row of a user's may be started at once; else free workers are filled once per event. */
        if (st->plan.next_number <= st->n_trials && may_start(st))
            st->plan.is_filled = false;
        if (!st->plan.is_filled && (rc = fill(st, err)) <= 0)
            return rc;
        rc = step(st, err);
    }
    if (rc < 0 || st->plan.n_runs > 0 || may_start(st))
        return rc;
    if (retire(st, err) < 0)
        return -1;
    if (st->row.state != SS_RUNNING)
        return 0;
    return finish_begin(st,
                        st->closing        ? st->closing
                        : st->is_exhausted ? "the space is used up"
                                           : "all trials have ended",
                        false, err);
}

int plan_decision(struct study *st, int64_t number, int level, struct sched_decision *out,
                  struct err *err)
{
    const struct trial_mem *t = NULL;

    if (plan_advance(st, err) < 0)
        return -1;
    t = trial_mem(st, number);
    *out = (struct sched_decision){ SCHED_STOP, 0 };
    if (trial_is_final((enum trial_state)t->state))
        return 1;
    *out = (struct sched_decision){ SCHED_RUN_TO, t->run_to };
    return t->run_to > level;
}
