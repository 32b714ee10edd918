/* live.c - decisions in order of arrival. The journal holds that order: trial.create (suggest or adopt, scheduler start),
 * report (observe, scheduler report), the ends, "search.resume" and "search.retire" for the calls of the scheduler that
 * gave something, and "search.suggest" where a suggestion was begun beside the loop; live_replay makes the same calls in the same order and so ends in the same state. */
#include "controller/decide/live.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/decide/finish.h"
#include "controller/decide/propose.h"
#include "controller/problem/ladder.h"
#include "controller/state/lease.h"
#include "controller/state/runner.h"
#include "controller/state/trial.h"
#include "search/searchers.h"
#include "store/journal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { RETIRE_BATCH = 64, REPLAY_BATCH = 1000 };

/* ---- making work ---- */

int64_t live_parallel(const struct study *st)
{
    int n_devices = 0, n_idle = 0;
    const struct sampler_ops *sampler = sampler_find(st->problem.search.sampler);
    int64_t lanes = 0;

    if (st->spec.parallel)
        return st->spec.parallel;
    lanes = runner_capacity(st->ctl, st->row.numeric_sig, &n_devices, &n_idle);
    if (st->lane_us > 0 && st->lane_us < LIVE_SHORT_MS * 1000)
        lanes += n_devices;
    /* Random, grid and quasi-random samplers ignore results, so any number of trials may be in flight.
     * A sampler that learns would propose too many without knowing what came of the ones before. */
    if (!sampler || !sampler->ignores_results)
        lanes = MIN(lanes, MAX(16, 2 * n_devices) + st->n_board / 4);
    return MAX(lanes, 1);
}

static int promote(struct study *st, int64_t number, int to, struct err *err)
{
    struct trial_row row = { 0 };
    int rc = trial_load(st, number, &row, err);

    if (rc == 0 && !trial_is_final(row.state)) {
        row.run_to = MAX(row.run_to, to);
        row.reason = TR_NONE;
        rc = row.state == TS_PAUSED
                 ? trial_move(st, &row, TE_PROMOTE, json_pack("{s:i}", "to", to), NULL, err)
                 : trial_save(st, &row, err); /* its checkpoint is still on the way */
    }
    trial_row_fini(&row);
    return rc;
}

static int journal_call(struct study *st, const char *event, int n, const char *flag, bool value,
                        struct err *err)
{
    json_t *data = json_pack("{s:i, s:b}", "n", n, flag, value);
    char *text = jsonx_dump(data);
    int rc = journal_add(st->ctl->store, st->row.id, 0, event, text, err);

    json_decref(data);
    mem_free(text);
    return rc;
}

static bool is_idle(const struct study *st)
{
    return st->count[TS_RUNNING] + st->count[TS_QUEUED] == 0;
}

/* One paused trial goes on: 1, 0 = none. idle: no new one can be made. */
static int resume_one(struct study *st, bool idle, struct err *err)
{
    struct sched_resume r = { 0 };
    int n = propose_resume(st, idle, &r, err);

    if (n <= 0)
        return n;
    if (journal_call(st, "search.resume", 1, "idle", idle, err) < 0)
        return -1;
    return promote(st, r.trial, r.to, err) < 0 ? -1 : 1;
}

static bool may_create(const struct study *st)
{
    return !st->is_exhausted && !st->closing && study_is_open(st) && budget_allows_trial(st);
}

/* One new trial: 1, 0 = no more, AHEAD_LATER. */
static int create_one(struct study *st, struct err *err)
{
    int64_t number = st->n_trials + 1;
    enum trial_source source = SRC_SCRIPT;
    struct config c;

    if (!may_create(st))
        return 0;
    ctl_touch(st->ctl, st);
    int rc = propose_next(st, number, &c, &source, err);
    if (rc < 0 || rc == AHEAD_LATER)
        return rc;
    if (rc == 0) {
        st->is_exhausted = true;
        return 0;
    }
    int to = propose_start(st, number, source, c.family->name,
                           ladder_levels(&st->problem, c.family), err);
    if (to < 0 || trial_create(st, &c, source, to, 0, &number, err) < 0)
        return -1;
    return 1;
}

int live_make_begun(struct study *st, struct err *err)
{
    return ahead_is_open(st) && create_one(st, err) < 0 ? -1 : 0;
}

int live_fill(struct study *st, int want, struct err *err)
{
    int64_t most = live_parallel(st);

    if (st->row.state != SS_RUNNING && st->row.state != SS_QUEUED)
        return 0;
    most += MIN(lease_count_leaving(st->ctl, st->row.id), LIVE_LEAVING_MOST * most);
    while (st->n_queue < want && st->n_queue + st->count[TS_RUNNING] < most) {
        int rc = resume_one(st, false, err);

        if (rc == 0 && may_create(st) && propose_must_wait(st, st->n_trials + 1))
            break;
        if (rc == 0)
            rc = create_one(st, err);
        if (rc == AHEAD_LATER)
            break;
        if (rc == 0)
            rc = resume_one(st, true, err);
        if (rc < 0)
            return -1;
        if (rc == 0)
            break;
    }
    return 0;
}

int live_make_until(struct study *st, const char *config, int64_t *number, struct err *err)
{
    char hash[17];

    config_hash(config, hash);
    for (int64_t k = 1;; k++) {
        struct trial_row row = { 0 };
        int rc = 1;

        if (k > st->n_trials && (rc = create_one(st, err)) != 1) {
            *number =
                MAX(st->n_trials, 1); /* the budget ends before it: any trial may be the probe */
            return rc < 0 || st->n_trials == 0 ? -1 : 0;
        }
        rc = trial_load(st, k, &row, err);
        bool is_it = rc == 0 && str_eq(row.config_hash, hash);
        trial_row_fini(&row);
        if (rc < 0)
            return -1;
        if (is_it) {
            *number = k;
            return 0;
        }
    }
}

/* ---- results ---- */

int live_rung(struct study *st, int64_t number, int level, double score, struct sched_decision *out,
              struct err *err)
{
    if (propose_observe(st, number, OBS_RUNNING, level, score, err) < 0)
        return -1;
    return propose_report(st, number, OBS_RUNNING, level, score, out, err);
}

/* What the end of a trial means to the searchers; also the replay's step. */
static int tell_end(struct study *st, int64_t number, enum trial_state state,
                    enum trial_reason reason, int level, double score, struct err *err)
{
    enum obs_state obs = propose_obs_of(state);
    struct sched_decision ignored;
    bool is_cut = state == TS_PRUNED && reason == TR_TIME;

    score = state == TS_COMPLETED ? score : NAN;
    if (propose_observe(st, number, obs, level, score, err) < 0)
        return -1;
    /* A pruned trial was stopped by the scheduler itself, unless it was too dear to come to its rung. */
    if ((state != TS_PRUNED || is_cut) &&
        propose_report(st, number, is_cut ? OBS_FAILED : obs, level, score, &ignored, err) < 0)
        return -1;
    if (state != TS_CANCELLED)
        budget_note_end(st, score);
    return 0;
}

int live_hear(struct study *st, struct sched_decision *rung, struct err *err)
{
    int n = st->n_happened;

    st->n_happened = 0;
    for (int i = 0; i < n; i++) {
        struct happening h = st->happened[i];

        if (h.kind == TRIAL_REPORTED && live_rung(st, h.number, h.level, h.score, rung, err) < 0)
            return -1;
        if (h.kind == TRIAL_ENDED &&
            tell_end(st, h.number, h.state, h.reason, h.level, h.score, err) < 0)
            return -1;
    }
    return 0;
}

static int retire(struct study *st, bool closing, struct err *err)
{
    int64_t numbers[RETIRE_BATCH];
    int n = st->scheduler->ops->retire(st->scheduler, RETIRE_BATCH, closing, numbers, err);

    if (n <= 0)
        return n;
    if (journal_call(st, "search.retire", RETIRE_BATCH, "closing", closing, err) < 0)
        return -1;
    for (int i = 0; i < n; i++) {
        enum trial_state s = (enum trial_state)trial_mem(st, numbers[i])->state;

        if (!trial_is_final(s) && trial_end(st, numbers[i], TE_PRUNE, TR_STOPPED, NULL, err) < 0)
            return -1;
    }
    return n;
}

int live_settle(struct study *st, struct err *err)
{
    bool closing = !may_create(st);
    int rc = 0;

    if (st->row.state != SS_RUNNING)
        return 0;
    if (st->closing)
        return finish_begin(st, st->closing, true, err);
    if (st->count[TS_PAUSED] > 0 || closing) {
        while ((rc = retire(st, closing, err)) == RETIRE_BATCH)
            ;
        if (rc < 0)
            return -1;
    }
    if (!closing || !is_idle(st))
        return 0;
    /* Nothing runs and nothing new may: what is paused goes on, or the study is done. */
    rc = resume_one(st, true, err);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    return finish_begin(st, st->is_exhausted ? "the space is used up" : "all trials have ended",
                        false, err);
}

/* ---- replay ---- */

struct replay {
    struct study *st;
    struct err *err;
    int64_t last;
    int n;
};

static int64_t number_of(const struct study *st, int64_t trial)
{
    int lo = 0, hi = st->n_trials;

    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (st->trials[mid].id < trial)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < st->n_trials && st->trials[lo].id == trial ? lo + 1 : 0;
}

static int replay_create(struct study *st, int64_t number, struct err *err)
{
    const struct trial_mem *t = trial_mem(st, number);
    enum trial_source source = (enum trial_source)t->source;

    if (propose_again(st, number, source, NULL, err) < 0)
        return -1;
    return propose_start(st, number, source, st->families[t->family]->name, t->max_level, err) < 0
               ? -1
               : 0;
}

static int replay_report(struct study *st, int64_t number, const json_t *data, struct err *err)
{
    const json_t *v = json_object_get(data, "value");
    double score = json_is_number(v) ? json_number_value(v) : NAN;
    int level = (int)json_integer_value(json_object_get(data, "level"));
    struct sched_decision ignored;

    return live_rung(st, number, level, score, &ignored, err);
}

static int replay_call(struct study *st, const char *event, const json_t *data, struct err *err)
{
    struct sched_resume resumed;
    int64_t retired[RETIRE_BATCH];

    if (str_eq(event, "search.resume"))
        return propose_resume(st, json_is_true(json_object_get(data, "idle")), &resumed, err);
    if (str_eq(event, "search.suggest"))
        return propose_begun(st, json_integer_value(json_object_get(data, "number")), err);
    if (str_eq(event, "search.retire"))
        return st->scheduler->ops->retire(st->scheduler, RETIRE_BATCH,
                                          json_is_true(json_object_get(data, "closing")), retired,
                                          err);
    return 0;
}

static int replay_trial(struct study *st, int64_t number, const char *event, const json_t *data,
                        struct err *err)
{
    const struct trial_mem *t = trial_mem(st, number);
    enum trial_event ev;

    if (str_eq(event, "trial.create"))
        return replay_create(st, number, err);
    if (str_eq(event, "report"))
        return replay_report(st, number, data, err);
    if (!str_starts(event, "trial.") || trial_event_parse(event + 6, &ev, NULL) < 0)
        return 0;
    if (ev != TE_COMPLETE && ev != TE_PRUNE && ev != TE_FAIL && ev != TE_CANCEL)
        return 0;
    return tell_end(st, number, (enum trial_state)t->state, (enum trial_reason)t->reason, t->level,
                    t->score, err);
}

static int on_journal(void *arg, const struct journal_row *row)
{
    struct replay *r = arg;
    int64_t number = row->trial ? number_of(r->st, row->trial) : 0;
    bool needs_data = str_eq(row->event, "report") || str_starts(row->event, "search.");
    json_t *data = NULL;
    int rc = 0;

    if (needs_data && row->data)
        data = jsonx_load(row->data, strlen(row->data), "journal", NULL);

    r->n++;
    r->last = row->seq;
    if (number > 0)
        rc = replay_trial(r->st, number, row->event, data, r->err);
    else if (!row->trial)
        rc = replay_call(r->st, row->event, data, r->err);
    json_decref(data);
    return rc < 0 ? -1 : 0;
}

int live_replay(struct study *st, struct err *err)
{
    struct replay r = { .st = st, .err = err };

    do {
        r.n = 0;
        if (store_journal_each(st->ctl->store, st->row.id, r.last, REPLAY_BATCH, on_journal, &r,
                               err) < 0)
            return -1;
    } while (r.n == REPLAY_BATCH);
    return 0;
}
