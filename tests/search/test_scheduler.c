/* test_scheduler.c - what every scheduler promises, checked on each of the registry by whole simulated studies: levels
 * only go up and stay on the ladder, each paused trial is resumed or retired exactly once, every study ends, a repeated
 * report changes nothing. Restarts: test_replay.c. */
#include "tests/unit.h"

#include "base/mem.h"
#include "base/rng.h"
#include "search/contract/scheduler.h"
#include "search/searchers.h"

#include <math.h>

enum { TRIALS = 60, BATCH = 8, SLOTS = 5 };
enum sim_state { SIM_NEW, SIM_RUNNING, SIM_PAUSED, SIM_ENDED };

struct sim_trial {
    enum sim_state state;
    int max_level, level, to;
};
struct sim {
    struct scheduler *s;
    const struct scheduler_ops *ops;
    struct search_setup setup;
    struct rng rng;
    struct sim_trial trials[TRIALS + 1];
    int n_started, n_running;
    bool repeats;   /* every report comes twice */
    uint64_t trace; /* of all decisions */
};

static struct scheduler *open_one(const struct scheduler_ops *ops, const struct search_setup *setup)
{
    struct scheduler *s = ops->open(setup, NULL);

    assert_non_null(s);
    return s;
}

static void note(struct sim *m, int64_t trial, int what, int to)
{
    m->trace = rng_mix(rng_mix(rng_mix(m->trace, (uint64_t)trial), (uint64_t)what), (uint64_t)to);
}

static void run_to(struct sim *m, int64_t trial, int to)
{
    struct sim_trial *t = &m->trials[trial];

    assert_true(to > t->level && to <= t->max_level);
    t->to = to;
    t->state = SIM_RUNNING;
}

static void start_one(struct sim *m)
{
    int64_t trial = ++m->n_started;
    struct sim_trial *t = &m->trials[trial];

    t->max_level = rng_below(&m->rng, 4) ? 9 : 1 + (int)rng_below(&m->rng, 3);
    run_to(m, trial, m->ops->start(m->s, trial, 0, t->max_level, NULL));
    note(m, trial, 1, t->to);
    m->n_running++;
}

static void apply(struct sim *m, int64_t trial, const struct sched_decision *d)
{
    struct sim_trial *t = &m->trials[trial];

    note(m, trial, 10 + (int)d->action, d->action == SCHED_RUN_TO ? d->to : 0);
    if (d->action == SCHED_RUN_TO) {
        run_to(m, trial, d->to);
        return;
    }
    t->state = d->action == SCHED_PAUSE ? SIM_PAUSED : SIM_ENDED;
    m->n_running--;
}

static struct observation report_of(struct sim *m, int64_t trial)
{
    struct sim_trial *t = &m->trials[trial];
    struct observation o = { .trial = trial, .max_level = t->max_level };

    o.level = t->to;
    o.value = rng_below(&m->rng, 20) ? rng_normal(&m->rng) : NAN;
    o.cost = o.level;
    if (rng_below(&m->rng, 25) == 0)
        o.state = rng_below(&m->rng, 2) ? OBS_FAILED : OBS_CANCELLED;
    else
        o.state = o.level == t->max_level ? OBS_COMPLETED : OBS_RUNNING;
    return o;
}

static void report_one(struct sim *m, int64_t trial)
{
    struct observation o = report_of(m, trial);
    struct sched_decision d = { SCHED_DONE, 0 }, again = { SCHED_DONE, 0 };
    bool over = o.state != OBS_RUNNING;

    m->trials[trial].level = o.level;
    assert_int_equal(m->ops->report(m->s, &o, &d, NULL), 0);
    if (m->repeats) {
        assert_int_equal(m->ops->report(m->s, &o, &again, NULL), 0);
        assert_int_equal(d.action, again.action);
        assert_true(d.action != SCHED_RUN_TO || d.to == again.to);
    }
    if (over)
        assert_int_equal(d.action, SCHED_DONE);
    if (over && o.state != OBS_COMPLETED)
        m->trials[trial].level = m->trials[trial].max_level; /* nothing may follow */
    apply(m, trial, &d);
}

static int resume_some(struct sim *m, int n, bool idle)
{
    struct sched_resume out[BATCH];
    int got = m->ops->resume(m->s, n, idle, out, NULL);

    assert_true(got >= 0 && got <= n);
    for (int i = 0; i < got; i++) {
        assert_int_equal(m->trials[out[i].trial].state, SIM_PAUSED);
        run_to(m, out[i].trial, out[i].to);
        note(m, out[i].trial, 3, out[i].to);
        m->n_running++;
    }
    return got;
}

static int retire_some(struct sim *m)
{
    int64_t out[BATCH];
    bool closing = m->n_started == TRIALS;
    int got = m->ops->retire(m->s, BATCH, closing, out, NULL);

    assert_true(got >= 0 && got <= BATCH);
    for (int i = 0; i < got; i++) {
        assert_int_equal(m->trials[out[i]].state, SIM_PAUSED);
        m->trials[out[i]].state = SIM_ENDED;
        note(m, out[i], 4, 0);
    }
    return got;
}

static int64_t pick_running(struct sim *m)
{
    uint32_t nth = rng_below(&m->rng, (uint32_t)m->n_running);

    for (int64_t t = 1; t <= m->n_started; t++) {
        if (m->trials[t].state == SIM_RUNNING && nth-- == 0)
            return t;
    }
    fail();
    return 0;
}

/* A whole study; the trace of its decisions. */
static uint64_t simulate(const struct scheduler_ops *ops, uint64_t seed, bool repeats)
{
    struct sim m = { .ops = ops, .setup = { .seed = seed }, .repeats = repeats };
    int steps = 0;

    rng_init(&m.rng, seed, 1);
    m.s = open_one(ops, &m.setup);
    for (;;) {
        if (m.n_running < SLOTS)
            resume_some(&m, SLOTS - m.n_running, false);
        while (m.n_running < SLOTS && m.n_started < TRIALS)
            start_one(&m);
        if (m.n_running < SLOTS)
            resume_some(&m, SLOTS - m.n_running, true);
        if (m.n_running == 0)
            break;
        report_one(&m, pick_running(&m));
        (void)retire_some(&m);
        assert_true(++steps < 100000);
    }
    while (retire_some(&m) > 0)
        continue;
    for (int t = 1; t <= TRIALS; t++)
        assert_int_equal(m.trials[t].state, SIM_ENDED);
    scheduler_close(m.s);
    return m.trace;
}

static void every_study_ends_and_repeated_reports_change_nothing(void **state)
{
    (void)state;
    for (int i = 0; scheduler_at(i); i++) {
        for (uint64_t round = 0; round < 30; round++) {
            uint64_t seed = rng_mix(test_seed(), round);
            assert_true(simulate(scheduler_at(i), seed, false) ==
                        simulate(scheduler_at(i), seed, true));
        }
    }
}

static void registry_rows_are_complete(void **state)
{
    (void)state;
    for (int i = 0; scheduler_at(i); i++) {
        const struct scheduler_ops *o = scheduler_at(i);
        assert_true(scheduler_find(o->name) == o);
        assert_true(o->help[0] && o->n_options <= SEARCH_MAX_OPTIONS);
        assert_true(o->open && o->close && o->start && o->report && o->resume && o->retire);
    }
    assert_null(scheduler_at(-1));
    assert_null(scheduler_find("nobody"));
    assert_null(scheduler_find(NULL));
    assert_false(scheduler_find("none")->is_test_only);
    assert_true(scheduler_find("testhash")->is_test_only);
    scheduler_close(NULL);
}

static void one_level_ladders_run_to_their_only_level(void **state)
{
    struct search_setup setup = { .seed = 3 };

    (void)state;
    for (int i = 0; scheduler_at(i); i++) {
        struct scheduler *s = open_one(scheduler_at(i), &setup);
        struct observation o = {
            .trial = 1, .state = OBS_COMPLETED, .level = 1, .max_level = 1, .value = 1
        };
        struct sched_decision d = { SCHED_PAUSE, 0 };
        struct err err = { 0 };
        assert_int_equal(s->ops->start(s, 1, 0, 1, NULL), 1);
        assert_int_equal(s->ops->report(s, &o, &d, NULL), 0);
        assert_int_equal(d.action, SCHED_DONE);
        assert_int_equal(s->ops->start(s, 2, 0, 0, &err), -1);
        assert_int_equal(err.code, ERR_ARG);
        scheduler_close(s);
    }
}

static void none_runs_everything_to_the_top(void **state)
{
    struct search_setup setup = { .seed = 3 };
    struct scheduler *s = open_one(scheduler_find("none"), &setup);
    struct sched_decision d = { SCHED_PAUSE, 0 };

    (void)state;
    for (int max = 1; max < 20; max++)
        assert_int_equal(s->ops->start(s, max, 0, max, NULL), max);
    struct observation o = {
        .trial = 9, .state = OBS_RUNNING, .level = 3, .max_level = 9, .value = NAN
    };
    assert_int_equal(s->ops->report(s, &o, &d, NULL), 0);
    assert_int_equal(d.action, SCHED_RUN_TO);
    assert_int_equal(d.to, 9);
    o.state = OBS_FAILED;
    assert_int_equal(s->ops->report(s, &o, &d, NULL), 0);
    assert_int_equal(d.action, SCHED_DONE);
    scheduler_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registry_rows_are_complete),
        cmocka_unit_test(one_level_ladders_run_to_their_only_level),
        cmocka_unit_test(none_runs_everything_to_the_top),
        cmocka_unit_test(every_study_ends_and_repeated_reports_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
