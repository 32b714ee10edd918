/* test_median.c - both median rules against a plain recomputation from what was reported, in any order; warm-up, start-up,
 * ladders apart. */
#include "search/searchers.h"
#include "tests/unit.h"

#include "tests/search/schedrun.h"

#include "base/base.h"

#include <math.h>

enum { STARTUP, WARMUP, INTERVAL, AVERAGE, N };
enum { LEVELS = 9 };

static struct schedrun run_of(int n_trials, const double *options)
{
    return (struct schedrun){ .ops = scheduler_find("median"),
                              .setup = { .options = options },
                              .n_trials = n_trials,
                              .slots = 6,
                              .n_groups = 1,
                              .max_level = { LEVELS, 4 } };
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* What completed trials are compared by at a level. */
static double of_completed(const struct run_trial *t, int level, bool is_average)
{
    double sum = 0;

    for (int l = 1; l <= level; l++)
        sum += t->value[l];
    return is_average ? sum / level : t->value[level];
}

static bool is_stopped(const struct schedrun *r, int64_t trial, int level)
{
    const struct run_trial *t = &r->trials[trial];
    double bar[RUN_MAX_TRIALS], best = NAN;
    int n = 0;

    for (int64_t i = 1; i <= r->n_started; i++) {
        const struct run_trial *o = &r->trials[i];
        if (o->family == t->family && o->state == RUN_ENDED && o->end == OBS_COMPLETED)
            bar[n++] = of_completed(o, level, r->setup.options[AVERAGE] != 0);
    }
    for (int l = 1; l <= level; l++)
        best = fmax(best, t->value[l]);
    qsort(bar, (size_t)n, sizeof *bar, by_value);
    return n >= r->setup.options[STARTUP] && level > r->setup.options[WARMUP] &&
           best < bar[(n - 1) / 2];
}

static void both_rules_are_what_they_say(void **state)
{
    static struct schedrun r;
    int n_stopped = 0;
    struct rng g;

    (void)state;
    rng_init(&g, test_seed(), 3);
    for (int round = 0; round < 30; round++) {
        double options[N] = { 1 + rng_below(&g, 5), rng_below(&g, 4), 0, rng_below(&g, 2) };
        r = run_of(60, options);
        schedrun_open(&r, rng_u64(&g));
        for (int step = 0; r.n_started < 60 || r.n_running > 0; step++) {
            if (r.n_running < 6 && r.n_started < 60) {
                schedrun_start(&r, (int)rng_below(&g, 2));
                continue;
            }
            int64_t trial = 1 + rng_below(&g, (uint32_t)r.n_started);
            struct run_trial *t = &r.trials[trial];
            if (t->state != RUN_RUNNING)
                continue;
            if (step % 20 == 0)
                schedrun_replay(&r);
            int level = t->to;
            assert_int_equal(level, t->level + 1);
            double v = (double)rng_below(&g, 12);
            struct sched_decision d = schedrun_report(
                &r, trial, level == t->max_level ? OBS_COMPLETED : OBS_RUNNING, level, v);
            if (level < t->max_level)
                assert_int_equal(d.action,
                                 is_stopped(&r, trial, level) ? SCHED_STOP : SCHED_RUN_TO);
            n_stopped += d.action == SCHED_STOP;
        }
        schedrun_close(&r);
    }
    assert_true(n_stopped > 100);
}

static void nan_stops_and_infinities_count(void **state)
{
    static const double options[N] = { 1, 0, 0, 0 };
    static struct schedrun r;

    (void)state;
    r = run_of(10, options);
    schedrun_open(&r, 1);
    for (int i = 0; i < 4; i++)
        schedrun_start(&r, 0);
    assert_int_equal(schedrun_report(&r, 1, OBS_RUNNING, 1, -INFINITY).action, SCHED_RUN_TO);
    schedrun_report(&r, 1, OBS_COMPLETED, LEVELS, INFINITY); /* levels between: as its last value */
    assert_int_equal(schedrun_report(&r, 2, OBS_RUNNING, 1, NAN).action, SCHED_STOP);
    assert_int_equal(schedrun_report(&r, 3, OBS_RUNNING, 1, -INFINITY).action, SCHED_RUN_TO);
    assert_int_equal(schedrun_report(&r, 3, OBS_RUNNING, 2, 1e300).action, SCHED_STOP);
    assert_int_equal(schedrun_report(&r, 4, OBS_FAILED, 0, NAN).action, SCHED_DONE);
    schedrun_close(&r);
}

static void long_ladders_have_about_fifty_points(void **state)
{
    static const double options[N] = { 5, 0, 0, 0 }, ten[N] = { 5, 0, 10, 0 };
    struct search_setup setup = { .options = options };

    (void)state;
    struct scheduler *s = scheduler_find("median")->open(&setup, NULL);
    assert_int_equal(s->ops->start(s, 1, 0, 1000, NULL), 20);
    assert_int_equal(s->ops->start(s, 2, 0, 50, NULL), 1);
    assert_int_equal(s->ops->start(s, 3, 0, 51, NULL), 2);
    scheduler_close(s);
    setup.options = ten;
    s = scheduler_find("median")->open(&setup, NULL);
    assert_int_equal(s->ops->start(s, 1, 0, 1000, NULL), 10);
    assert_int_equal(s->ops->start(s, 2, 0, 7, NULL), 7);
    scheduler_close(s);
}

static void any_study_ends_well(void **state)
{
    static struct schedrun r;
    struct rng g;

    (void)state;
    rng_init(&g, test_seed(), 4);
    for (int round = 0; round < 20; round++) {
        double options[N] = { 1 + rng_below(&g, 9), rng_below(&g, 4), rng_below(&g, 4),
                              rng_below(&g, 2) };
        r = run_of(100, options);
        r.n_groups = 2;
        schedrun_stormy(&r, &g);
        schedrun_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_rules_are_what_they_say),
        cmocka_unit_test(nan_stops_and_infinities_count),
        cmocka_unit_test(long_ladders_have_about_fifty_points),
        cmocka_unit_test(any_study_ends_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
