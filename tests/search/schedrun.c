/* schedrun.c - the made-up study. */
#include "tests/search/schedrun.h"

#include "tests/search/probe.h"
#include "tests/unit.h"

#include "base/base.h"
#include "base/mem.h"

#include <math.h>

void schedrun_open(struct schedrun *r, uint64_t seed)
{
    r->setup.seed = seed;
    rng_init(&r->rng, seed, 77);
    r->s = r->ops->open(&r->setup, NULL);
    assert_non_null(r->s);
}

void schedrun_stormy(struct schedrun *r, struct rng *g)
{
    r->fail = r->cancel = rng_below(g, 100);
    r->special = 100;
    r->replay = 50;
    r->late = r->ops->is_test_only ? 0 : 100; /* testhash keeps every call */
    schedrun_open(r, rng_u64(g));
    schedrun_all(r);
}

void schedrun_close(struct schedrun *r)
{
    scheduler_close(r->s);
    r->s = NULL;
    mem_free(r->calls);
    r->calls = NULL;
    r->n_calls = r->cap_calls = 0;
}

static void keep(struct schedrun *r, struct run_call call)
{
    if (r->n_calls == r->cap_calls) {
        r->cap_calls = r->cap_calls ? 2 * r->cap_calls : 256;
        r->calls = mem_resize(r->calls, (size_t)r->cap_calls * sizeof *r->calls);
    }
    r->calls[r->n_calls++] = call;
}

/* Anew, from the calls that a journal would have. */
static struct scheduler *rebuilt(const struct schedrun *r)
{
    struct scheduler *next = r->ops->open(&r->setup, NULL);
    struct sched_decision d;
    struct sched_resume resumed;
    int64_t retired;

    for (int i = 0; i < r->n_calls; i++) {
        const struct run_call *c = &r->calls[i];
        if (c->what == RUN_CALL_START)
            assert_true(r->ops->start(next, c->o.trial, c->family, c->o.max_level, NULL) > 0);
        else if (c->what == RUN_CALL_REPORT)
            assert_int_equal(r->ops->report(next, &c->o, &d, NULL), 0);
        else if (c->what == RUN_CALL_RESUME)
            assert_int_equal(r->ops->resume(next, 1, c->flag, &resumed, NULL), 1);
        else
            assert_int_equal(r->ops->retire(next, 1, c->flag, &retired, NULL), 1);
    }
    return next;
}

void schedrun_replay(struct schedrun *r)
{
    int n_groups = MAX(r->n_groups, 1);
    struct scheduler *next = rebuilt(r), *probed = rebuilt(r);

    if (probe_scheduler(probed, r->max_level, n_groups) !=
        probe_scheduler(r->s, r->max_level, n_groups))
        fail_msg("%s: another state after a restart", r->ops->name);
    scheduler_close(probed);
    scheduler_close(r->s);
    r->s = next;
}

static bool happens(struct schedrun *r, uint32_t in_1000)
{
    return rng_below(&r->rng, 1000) < in_1000;
}

int schedrun_start(struct schedrun *r, int family)
{
    int64_t trial = ++r->n_started;
    struct run_trial *t = &r->trials[trial];

    assert_true(trial <= RUN_MAX_TRIALS);
    *t = (struct run_trial){ .state = RUN_RUNNING,
                             .family = family,
                             .max_level = r->max_level[family] };
    for (int i = 0; i <= RUN_MAX_LEVEL; i++)
        t->value[i] = NAN;
    t->to = r->ops->start(r->s, trial, family, t->max_level, NULL);
    assert_in_range(t->to, 1, t->max_level);
    r->n_running++;
    struct observation o = { .trial = trial, .max_level = t->max_level };
    keep(r, (struct run_call){ .what = RUN_CALL_START, .family = family, .o = o });
    return t->to;
}

struct sched_decision schedrun_report(struct schedrun *r, int64_t trial, enum obs_state state,
                                      int level, double value)
{
    struct run_trial *t = &r->trials[trial];
    struct observation o = {
        .trial = trial, .state = state, .level = level, .max_level = t->max_level, .value = value
    };
    struct sched_decision d = { SCHED_DONE, 0 };

    r->n_running -= t->state == RUN_RUNNING;
    t->level = level;
    if (state == OBS_RUNNING || state == OBS_COMPLETED)
        t->value[level] = value;
    assert_int_equal(r->ops->report(r->s, &o, &d, NULL), 0);
    keep(r, (struct run_call){ .what = RUN_CALL_REPORT, .o = o });
    if (state != OBS_RUNNING) {
        assert_int_equal(d.action, SCHED_DONE);
        t->end = state;
    }
    t->state = d.action == SCHED_RUN_TO  ? RUN_RUNNING
               : d.action == SCHED_PAUSE ? RUN_PAUSED
               : d.action == SCHED_STOP  ? RUN_STOPPED
                                         : RUN_ENDED;
    if (t->state == RUN_RUNNING) {
        assert_true(d.to > level && d.to <= t->max_level);
        t->to = d.to;
        r->n_running++;
    }
    return d;
}

int64_t schedrun_resume(struct schedrun *r, bool idle)
{
    struct sched_resume out = { 0 };
    int n = r->ops->resume(r->s, 1, idle, &out, NULL);

    if (n == 0)
        return 0;
    struct run_trial *t = &r->trials[out.trial];
    assert_int_equal(n, 1);
    keep(r, (struct run_call){ .what = RUN_CALL_RESUME, .flag = idle });
    assert_int_equal(t->state, RUN_PAUSED);
    assert_true(out.to > t->level && out.to <= t->max_level);
    if (r->on_resume && !idle)
        r->on_resume(r, out.trial);
    t->state = RUN_RUNNING;
    t->to = out.to;
    t->resumed++;
    r->n_running++;
    return out.trial;
}

int64_t schedrun_retire(struct schedrun *r, bool closing)
{
    int64_t trial = 0;

    if (r->ops->retire(r->s, 1, closing, &trial, NULL) == 0)
        return 0;
    keep(r, (struct run_call){ .what = RUN_CALL_RETIRE, .flag = closing });
    assert_int_equal(r->trials[trial].state, RUN_PAUSED);
    r->trials[trial].state = RUN_STOPPED;
    return trial;
}

struct sched_rung schedrun_row(struct schedrun *r, int family, int bracket, int rung)
{
    static struct sched_rung rows[4096];
    int n = r->ops->describe(r->s, 0, (int)ARRAY_LEN(rows), rows);

    assert_true(n <= (int)ARRAY_LEN(rows));
    for (int i = 0; i < n; i++) {
        if (rows[i].family == family && rows[i].bracket == bracket && rows[i].rung == rung)
            return rows[i];
    }
    fail_msg("no rung %d of bracket %d of group %d", rung, bracket, family);
    return rows[0];
}

/* ---- a whole study ---- */

static int64_t pick(struct schedrun *r, enum run_state state)
{
    int64_t found = 0;
    uint32_t n = 0;

    for (int64_t t = 1; t <= r->n_started; t++) {
        if (r->trials[t].state == state && rng_below(&r->rng, ++n) == 0)
            found = t;
    }
    return found;
}

static double value_of(struct schedrun *r, int64_t trial, int level)
{
    static const double special[] = { INFINITY, -INFINITY, NAN, 0 };

    if (happens(r, r->special))
        return special[rng_below(&r->rng, 4)];
    return r->value ? r->value(r, trial, level) : rng_normal(&r->rng);
}

static void fill(struct schedrun *r)
{
    while (r->n_running < r->slots) {
        if (schedrun_resume(r, false) > 0)
            continue;
        if (r->on_quiet)
            r->on_quiet(r);
        if (r->n_started < r->n_trials)
            schedrun_start(r, (int)rng_below(&r->rng, (uint32_t)MAX(r->n_groups, 1)));
        else if (schedrun_resume(r, true) == 0)
            break;
    }
}

static void report_one(struct schedrun *r)
{
    int64_t trial = pick(r, RUN_RUNNING);
    struct run_trial *t = &r->trials[trial];
    double v = value_of(r, trial, t->to);

    if (happens(r, r->fail))
        schedrun_report(r, trial, OBS_FAILED, t->level, NAN);
    else if (happens(r, r->cancel))
        schedrun_report(r, trial, OBS_CANCELLED, t->level, NAN);
    else
        schedrun_report(r, trial, t->to == t->max_level ? OBS_COMPLETED : OBS_RUNNING, t->to, v);
    trial = pick(r, RUN_PAUSED);
    if (trial && happens(r, r->cancel))
        schedrun_report(r, trial, OBS_CANCELLED, r->trials[trial].level, NAN);
}

/* A level that a trial came to before is reported once more: nothing changes, and the answer is what it is to do now. After
 * its end nobody waits for an answer. */
static void report_late(struct schedrun *r)
{
    int64_t trial = 1 + (int64_t)rng_below(&r->rng, (uint32_t)r->n_started);
    const struct run_trial *t = &r->trials[trial];
    struct sched_decision d = { SCHED_DONE, 0 };
    struct observation o = { .trial = trial, .max_level = t->max_level };

    if (t->level == 0)
        return;
    o.level = 1 + (int)rng_below(&r->rng, (uint32_t)t->level);
    o.value = rng_normal(&r->rng);
    if (o.level == t->max_level)
        o.state = OBS_COMPLETED;
    assert_int_equal(r->ops->report(r->s, &o, &d, NULL), 0);
    enum run_state told = d.action == SCHED_RUN_TO  ? RUN_RUNNING
                          : d.action == SCHED_PAUSE ? RUN_PAUSED
                          : d.action == SCHED_STOP  ? RUN_STOPPED
                                                    : RUN_ENDED;
    if (t->state != RUN_ENDED && (told != t->state || (told == RUN_RUNNING && d.to != t->to)))
        fail_msg("%s: after a late report of level %d trial %d in state %d was told %d, to %d",
                 r->ops->name, o.level, (int)trial, (int)t->state, (int)told, d.to);
    schedrun_replay(r); /* which knows nothing of it */
}

/* Rows are of the trials: nobody is counted twice or lost. */
static void check_rows(struct schedrun *r)
{
    struct sched_rung rows[16];
    int64_t n_running = 0, n_waiting = 0, n_done = 0;
    int n = r->ops->describe ? r->ops->describe(r->s, 0, 0, NULL) : 0;

    for (int first = 0; first < n; first += (int)ARRAY_LEN(rows)) {
        assert_int_equal(r->ops->describe(r->s, first, (int)ARRAY_LEN(rows), rows), n);
        for (int i = 0; i < MIN(n - first, (int)ARRAY_LEN(rows)); i++) {
            n_running += rows[i].n_running;
            n_waiting += rows[i].n_waiting;
            n_done += rows[i].n_done;
        }
    }
    if (n == 0)
        return;
    assert_int_equal(n_running, r->n_running);
    assert_int_equal(n_running + n_waiting + n_done, r->n_started);
}

void schedrun_all(struct schedrun *r)
{
    for (int steps = 0;; steps++) {
        assert_true(steps < 100000);
        if (happens(r, r->replay))
            schedrun_replay(r);
        fill(r);
        if (r->n_running == 0)
            break;
        report_one(r);
        if (happens(r, r->late))
            report_late(r);
        while (schedrun_retire(r, r->n_started == r->n_trials) > 0)
            continue;
        if (steps % 16 == 0)
            check_rows(r);
    }
    check_rows(r);
    for (int t = 1; t <= r->n_started; t++)
        assert_true(r->trials[t].state == RUN_STOPPED || r->trials[t].state == RUN_ENDED);
}
