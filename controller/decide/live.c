/* live.c - decisions in the order of arrival.
 *
 * The journal holds everything that sampler and scheduler were told and asked, in that order:
 * trial.create (a suggestion or an adoption, and the scheduler's start), report, the ends of
 * trials, "search.resume" and "search.retire" for those calls of the scheduler that gave something,
 * and "search.suggest" where a suggestion was begun beside the loop. A restart tells a fresh
 * sampler and scheduler the same in the same order (serve/replay.c), so they end in the same state.
 * For that reason each call that changes them and is not implied by another line is answered with
 * an ACT_SAY before its action.
 *
 * Calls of the scheduler that gave nothing are not in the journal: they must leave it as it was. */
#include "controller/decide/live.h"

#include "base/log.h"
#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/decide/confirm.h"
#include "controller/decide/lap.h"
#include "controller/decide/propose.h"
#include "controller/decide/share.h"
#include "controller/decide/stage.h"
#include "controller/decide/variety.h"
#include "controller/problem/ladder.h"
#include "controller/state/lease.h"
#include "controller/state/runner.h"
#include "controller/state/trial.h"
#include "search/searchers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
    RETIRE_BATCH = 64,
    OWN_PARALLEL = 100000,
    /* Of the trials that are left, one client keeps at most one in AHEAD_SHARE, or one in
     * AHEAD_LEAST of what it asks for, because smaller lots are not worth a call. */
    AHEAD_SHARE = 8,
    AHEAD_LEAST = 4
};

/* ---- making work ---- */

int64_t live_parallel(const struct study *st)
{
    int n_devices = 0, n_idle = 0;
    const struct sampler_ops *sampler = sampler_find(st->problem.search.sampler);
    int64_t room = 0;

    if (st->spec.parallel)
        return st->spec.parallel;
    if (st->spec.command)
        return MAX(runner_capacity_command(st->ctl, st->spec.command), 1);
    if (st->space.own)
        return OWN_PARALLEL; /* the user's programs ask for as many as they run */
    room = runner_capacity(st->ctl, st->row.numeric_sig, &n_devices, &n_idle);
    if (st->trial_us > 0 && st->trial_us < LIVE_SHORT_MS * 1000)
        room += n_devices;
    /* Random, grid and quasi-random samplers ignore results, so any number of trials may be in
     * flight. A sampler that learns would propose too many without knowing what came of the ones
     * before. */
    if (!sampler || !sampler->ignores_results)
        room = MIN(room, MAX(16, 2 * n_devices) + st->n_board / 4);
    return MAX(room, 1);
}

int64_t live_ahead(const struct study *st, int64_t wish)
{
    const struct sampler_ops *sampler = sampler_find(st->problem.search.sampler);
    int64_t left = st->spec.budget_trials - st->n_trials + st->n_queue;

    if (!st->space.own || st->spec.command || st->spec.parallel || st->spec.levels > 1 ||
        !sampler || !sampler->ignores_results)
        return 0;
    return st->spec.budget_trials ? MAX(left / AHEAD_SHARE - 1, wish / AHEAD_LEAST) : INT64_MAX;
}

static void say(struct actions *out, const char *event, int n, const char *flag, bool value)
{
    struct action *a = action_add(out, ACT_SAY, 0);

    a->say = event;
    (void)snprintf(a->data, sizeof a->data, "{\"%s\":%s,\"n\":%d}", flag, value ? "true" : "false",
                   n);
}

static bool is_idle(const struct study *st)
{
    return st->count[TS_RUNNING] + st->count[TS_QUEUED] == 0;
}

/* Tells the scheduler which families' trials are not to go on, where that has changed. */
static void hold(struct study *st, struct actions *out)
{
    const struct scheduler_ops *ops = st->search->scheduler->ops;
    uint64_t families = ops->hold && share_decides(st) ? share_held(st) : 0;
    struct action *a = NULL;

    if (families == st->search->held)
        return;
    a = action_add(out, ACT_SAY, 0);
    a->say = "search.hold";
    (void)snprintf(a->data, sizeof a->data, "{\"families\":%" PRIu64 "}", families);
    live_hold_again(st, families);
}

/* One paused trial goes on: 1, 0 = none. idle: no new one can be made. */
static int resume_one(struct study *st, bool idle, struct actions *out, struct err *err)
{
    struct sched_resume r = { 0 };
    int n = propose_resume(st, idle, &r, err);

    if (n <= 0)
        return n;
    CHECK(r.trial >= 1 && r.trial <= st->n_trials);
    say(out, "search.resume", 1, "idle", idle);
    const struct trial_mem *t = trial_mem(st, r.trial);
    /* it may have ended, or be on its last lap */
    if (t->state == TS_PAUSED || (!trial_is_final((enum trial_state)t->state) && t->run_to < r.to))
        action_add(out, ACT_RUN_TO, r.trial)->to = r.to;
    return 1;
}

/* A paused trial goes to its top: one that an ensemble needs, or the best, because the time is nearly
 * over. */
static int lap_one(struct study *st, struct actions *out, struct err *err)
{
    int64_t number = 0;
    int rc = variety_wanted(st, &number, err);
    const char *why = rc == 1 ? "variety" : "last lap";

    rc = rc == 0 ? lap_wanted(st, &number, err) : rc;
    if (rc != 1)
        return rc;
    log_info("study.lap study=%" PRId64 " number=%" PRId64 " why=\"%s\"", st->row.id, number, why);
    action_add(out, ACT_RUN_TO, number)->to = trial_mem(st, number)->max_level;
    return 1;
}

bool live_may_create(const struct study *st)
{
    return !st->search->is_exhausted && !st->search->closing && study_is_open(st) &&
           budget_allows_trial(st);
}

static void create(struct actions *out, const struct config *c, enum trial_source source, int to)
{
    struct action *a = action_add(out, ACT_CREATE, 0);

    CHECK(c->family && to >= 1);
    a->config = *c;
    a->source = source;
    a->to = to;
}

int live_create(struct study *st, struct actions *out, struct err *err)
{
    int64_t number = st->n_trials + 1;
    enum trial_source source = SRC_SCRIPT;
    struct config c;

    CHECK(st->search && !st->is_deterministic);
    if (!live_may_create(st))
        return 0;
    int rc = propose_next(st, number, &c, &source, out, err);
    if (rc < 0 || rc == AHEAD_LATER)
        return rc;
    if (rc == 0) {
        st->search->is_exhausted = true;
        return 0;
    }
    int to = propose_start(st, number, source, c.family->name,
                           ladder_levels(&st->problem, c.family), err);
    if (to < 0)
        return -1;
    create(out, &c, source, source == SRC_FIRST ? stage_first(st, &c, to) : to);
    return 1;
}

int live_adopt(struct study *st, const struct config *c, enum trial_source source, int64_t retry_of,
               struct actions *out, struct err *err)
{
    int64_t number = st->n_trials + 1;
    int to = 0;

    if (propose_again(st, number, source, c, err) < 0)
        return -1;
    to = propose_start(st, number, source, c->family->name, ladder_levels(&st->problem, c->family),
                       err);
    if (to < 0)
        return -1;
    create(out, c, source, to);
    out->list[out->n - 1].retry_of = retry_of;
    return 1;
}

/* Trials that may be queued or running in a study whose searchers are open. */
static int64_t places(const struct study *st)
{
    int64_t most = live_parallel(st);

    if (most >= OWN_PARALLEL)
        return most; /* counting would cost more than it could change */
    return most + MIN(lease_count_leaving(st->ctl, st->row.id), LIVE_LEAVING_MOST * most);
}

int64_t live_room(const struct study *st)
{
    int64_t room = 0;

    if (st->is_deterministic || !live_may_create(st))
        return 0;
    room = places(st) - st->n_queue - st->count[TS_RUNNING];
    if (st->spec.budget_trials)
        room = MIN(room, st->spec.budget_trials - st->n_trials);
    return MAX(room, 0);
}

/* The trial that would ship was cut on some folds: it is tried on all. */
static int confirm_one(struct study *st, struct actions *out, struct err *err)
{
    int64_t number = 0;
    struct config c;
    int rc = live_may_create(st) && !ahead_is_open(st) ? confirm_wanted(st, &number, &c, err) : 0;

    if (rc != 1)
        return rc;
    log_info("study.confirm study=%" PRId64 " number=%" PRId64, st->row.id, number);
    return live_adopt(st, &c, SRC_CONFIRM, trial_mem(st, number)->id, out, err) < 0 ? -1 : 1;
}

int live_fill(struct study *st, int want, struct actions *out, struct err *err)
{
    CHECK(!st->is_deterministic && want >= 0 && out->n == 0);
    if (st->row.state != SS_RUNNING && st->row.state != SS_QUEUED)
        return 0;
    if (st->n_queue >= want || st->n_queue + st->count[TS_RUNNING] >= places(st))
        return 0;
    int rc = confirm_one(st, out, err);
    if (rc != 0)
        return rc;
    rc = lap_one(st, out, err);
    if (rc != 0)
        return rc;
    hold(st, out);
    rc = resume_one(st, false, out, err);
    if (rc == 0 && live_may_create(st) && propose_must_wait(st, st->n_trials + 1))
        return out->n > 0;
    if (rc == 0)
        rc = live_create(st, out, err);
    if (rc == 0)
        rc = resume_one(st, true, out, err);
    return rc < 0 ? -1 : out->n > 0; /* what was only said counts, too */
}

/* ---- results ---- */

static int hear_report(struct study *st, const struct happening *h, struct err *err)
{
    if (propose_observe(st, h->number, OBS_RUNNING, h->level, h->score, err) < 0)
        return -1;
    return propose_report(st, h->number, OBS_RUNNING, h->level, h->score, &st->search->said, err);
}

static int hear_end(struct study *st, const struct happening *h, struct err *err)
{
    enum obs_state obs = propose_obs_of(h->state);
    struct sched_decision ignored;
    bool is_cut = h->state == TS_PRUNED && h->reason == TR_TIME;
    double score = h->state == TS_COMPLETED ? h->score : NAN;

    CHECK(trial_is_final(h->state));
    if (propose_observe(st, h->number, obs, h->level, score, err) < 0)
        return -1;
    /* The scheduler itself stopped a pruned trial, unless the trial took too long to reach its
     * rung. */
    if ((h->state != TS_PRUNED || is_cut) &&
        propose_report(st, h->number, is_cut ? OBS_FAILED : obs, h->level, score, &ignored, err) <
            0)
        return -1;
    if (h->state != TS_CANCELLED)
        budget_note_end(st, h->number, score, trial_mem(st, h->number)->ended_at);
    return 0;
}

int live_hear_one(struct study *st, const struct happening *h, struct err *err)
{
    return h->kind == TRIAL_REPORTED ? hear_report(st, h, err) : hear_end(st, h, err);
}

int live_hear(struct study *st, struct err *err)
{
    for (int i = 0; i < st->n_happened; i++) {
        if (live_hear_one(st, &st->happened[i], err) < 0)
            return -1;
    }
    st->n_happened = 0;
    return 0;
}

struct sched_decision live_said(const struct study *st)
{
    return st->search->said;
}

static int retire(struct study *st, bool closing, struct actions *out, struct err *err)
{
    int64_t numbers[RETIRE_BATCH];
    int n = st->search->scheduler->ops->retire(st->search->scheduler, RETIRE_BATCH, closing,
                                               numbers, err);

    if (n <= 0)
        return n;
    say(out, "search.retire", RETIRE_BATCH, "closing", closing);
    for (int i = 0; i < n; i++) {
        struct action *a = NULL;

        if (trial_is_final((enum trial_state)trial_mem(st, numbers[i])->state))
            continue;
        a = action_add(out, ACT_END, numbers[i]);
        a->event = TE_PRUNE;
        a->reason = TR_STOPPED;
    }
    return 1;
}

static int finish(struct actions *out, const char *why, bool is_cut)
{
    struct action *a = action_add(out, ACT_FINISH, 0);

    a->why = why;
    a->is_cut = is_cut;
    return 1;
}

int live_next(struct study *st, struct actions *out, struct err *err)
{
    bool closing = !live_may_create(st);
    int rc = 0;

    CHECK(!st->is_deterministic && st->n_happened == 0); /* decided with all that is known */
    if (st->row.state != SS_RUNNING)
        return 0;
    if (st->search->closing)
        return finish(out, st->search->closing, true);
    if (st->count[TS_PAUSED] > 0 || closing)
        rc = retire(st, closing, out, err);
    if (rc != 0 || !closing || !is_idle(st))
        return rc;
    /* Nothing runs and nothing new may be made: a paused trial goes on, or the search is over. */
    rc = resume_one(st, true, out, err);
    if (rc != 0)
        return rc;
    return finish(out, st->search->is_exhausted ? "the space is used up" : "all trials have ended",
                  false);
}

/* ---- replay ---- */

int live_recreate(struct study *st, int64_t number, struct err *err)
{
    const struct trial_mem *t = trial_mem(st, number);
    enum trial_source source = (enum trial_source)t->source;

    if (propose_again(st, number, source, NULL, err) < 0)
        return -1;
    return MIN(propose_start(st, number, source, st->families[t->family]->name, t->max_level, err),
               0);
}

int live_resume_again(struct study *st, bool idle, struct err *err)
{
    struct sched_resume resumed;

    return MIN(propose_resume(st, idle, &resumed, err), 0);
}

void live_hold_again(struct study *st, uint64_t families)
{
    if (st->search->scheduler->ops->hold)
        st->search->scheduler->ops->hold(st->search->scheduler, families);
    st->search->held = families;
}

int live_retire_again(struct study *st, bool closing, struct err *err)
{
    int64_t retired[RETIRE_BATCH];

    return MIN(st->search->scheduler->ops->retire(st->search->scheduler, RETIRE_BATCH, closing,
                                                  retired, err),
               0);
}
