/* test_hyperband.c - the paper's brackets for many (R, eta), whatever the order of results; who goes on and when, worked out
 * again from what was reported; and what may go wrong in a bracket. */
#include "tests/unit.h"

#include "tests/search/schedrun.h"

#include "base/base.h"
#include "search/contract/scheduler.h"
#include "search/searchers.h"

#include <math.h>

static struct schedrun run_of(int max_level, int n_trials, const double *options)
{
    return (struct schedrun){ .ops = scheduler_find("hyperband"),
                              .setup = { .options = options },
                              .n_trials = n_trials,
                              .slots = 7,
                              .n_groups = 1,
                              .max_level = { max_level } };
}

static void brackets_of_81_are_the_papers(void **state)
{
    static const int n[5][5] = {
        { 81, 27, 9, 3, 1 }, { 34, 11, 3, 1 }, { 15, 5, 1 }, { 8, 2 }, { 5 }
    };
    static struct schedrun r;

    (void)state;
    r = run_of(81, 81 + 34 + 15 + 8 + 5 + 81, NULL);
    schedrun_open(&r, test_seed());
    schedrun_all(&r);
    for (int b = 0; b <= 5; b++) {
        for (int i = 0; i < 5 - b % 5; i++) {
            struct sched_rung row = schedrun_row(&r, 0, b, i);
            assert_int_equal(row.size, n[b % 5][i]);
            assert_int_equal(row.level, (int)(pow(3, b % 5 + i) + 0.5));
            assert_int_equal(row.n_promoted + row.n_done, n[b % 5][i]);
            assert_int_equal(row.n_running + row.n_waiting, 0);
        }
    }
    schedrun_close(&r);
}

/* n = ceil((s_max + 1) / (s + 1) eta^s) and floor(n eta^-i), in floating point. */
static void sizes_follow_the_formula(void **state)
{
    struct rng g;

    (void)state;
    rng_init(&g, test_seed(), 9);
    for (int round = 0; round < 60; round++) {
        double options[3] = { 2 + rng_below(&g, 4), 1 + rng_below(&g, 3), 0 };
        int max_level = 1 + (int)rng_below(&g, 100), b = 0;
        static struct schedrun r;
        r = run_of(max_level, RUN_MAX_TRIALS, options);
        schedrun_open(&r, (uint64_t)round);
        while (r.n_started < 300)
            schedrun_start(&r, 0);
        int s_max = (int)floor(log(MAX(max_level / options[1], 1)) / log(options[0]) + 1e-9);
        for (int started = 0; s_max > 0 && started < 300; b++) {
            int s = s_max - b % (s_max + 1);
            double n = ceil((s_max + 1.0) / (s + 1) * pow(options[0], s) - 1e-9);
            for (int i = 0; i <= s; i++) {
                struct sched_rung row = schedrun_row(&r, 0, b, i);
                assert_int_equal(row.size, (int64_t)floor(n / pow(options[0], i) + 1e-9));
                assert_true(fabs(row.level - max_level * pow(options[0], i - s)) < 0.5001);
            }
            started += (int)n;
        }
        if (s_max == 0)
            assert_int_equal(schedrun_row(&r, 0, 0, 0).n_running, 300);
        schedrun_close(&r);
    }
}

static void short_ladders_have_a_rung_at_each_level(void **state)
{
    static struct schedrun r;

    (void)state;
    r = run_of(3, 17, NULL);
    schedrun_open(&r, 3);
    for (int i = 0; i < 17; i++)
        assert_int_equal(schedrun_start(&r, 0), i < 9 ? 1 : i < 14 ? 2 : 3);
    schedrun_close(&r);
}

static void one_level_needs_no_brackets(void **state)
{
    static struct schedrun r;

    (void)state;
    r = run_of(1, 50, NULL);
    schedrun_open(&r, 3);
    schedrun_all(&r);
    assert_int_equal(r.ops->describe(r.s, 0, 0, NULL), 1);
    assert_int_equal(schedrun_row(&r, 0, 0, 0).n_done, 50);
    schedrun_close(&r);
}

/* R = 9, eta = 3: the first nine trials are bracket 0. */
static void nobody_goes_on_before_all_have_come(void **state)
{
    static struct schedrun r;

    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        r = run_of(9, 100, NULL);
        schedrun_open(&r, seed);
        for (int i = 0; i < 9; i++)
            assert_int_equal(schedrun_start(&r, 0), 1);
        assert_int_equal(schedrun_start(&r, 0), 3); /* nobody idles: the next bracket opens */
        for (int i = 1; i <= 9; i++) {
            int64_t trial = (i * 4 + (int)seed) % 9 + 1; /* any order */
            double v = trial == 3 ? INFINITY : (double)(trial % 5);
            assert_int_equal(schedrun_resume(&r, false), 0);
            struct sched_decision d = schedrun_report(&r, trial, OBS_RUNNING, 1, v);
            bool is_best = trial == 3 || trial == 4 || trial == 9; /* inf, 4, 4 */
            assert_int_equal(d.action, i < 9 ? SCHED_PAUSE : is_best ? SCHED_RUN_TO : SCHED_STOP);
        }
        int n = 0;
        for (int64_t t; (t = schedrun_resume(&r, false)) > 0; n++)
            assert_true(t == 3 || t == 4 || t == 9);
        assert_int_equal(n + (r.trials[(36 + seed) % 9 + 1].state == RUN_RUNNING), 3);
        for (n = 0; schedrun_retire(&r, false) > 0; n++)
            continue;
        assert_int_equal(n + (r.trials[(36 + seed) % 9 + 1].state == RUN_STOPPED), 6);
        schedrun_close(&r);
    }
}

static void failed_and_cancelled_trials_hold_nobody_up(void **state)
{
    static struct schedrun r;

    (void)state;
    r = run_of(9, 100, NULL);
    schedrun_open(&r, 1);
    for (int i = 0; i < 9; i++)
        schedrun_start(&r, 0);
    for (int64_t t = 1; t <= 5; t++)
        schedrun_report(&r, t, OBS_RUNNING, 1, (double)t);
    schedrun_report(&r, 6, OBS_FAILED, 0, NAN);
    schedrun_report(&r, 7, OBS_CANCELLED, 0, NAN);
    schedrun_report(&r, 8, OBS_RUNNING, 1, NAN);
    schedrun_report(&r, 5, OBS_CANCELLED, 1, NAN); /* the best one, paused */
    assert_int_equal(schedrun_resume(&r, false), 0);
    schedrun_report(&r, 9, OBS_FAILED, 0, NAN);
    assert_int_equal(schedrun_resume(&r, false), 2);
    assert_int_equal(schedrun_resume(&r, false), 3);
    assert_int_equal(schedrun_resume(&r, false), 4);
    assert_int_equal(schedrun_resume(&r, false), 0);
    schedrun_report(&r, 2, OBS_FAILED, 1, NAN);
    schedrun_report(&r, 3, OBS_RUNNING, 3, 0);
    assert_int_equal(schedrun_report(&r, 4, OBS_RUNNING, 3, 1).action, SCHED_RUN_TO);
    schedrun_close(&r);
}

static void a_cancelled_trial_gives_its_place_back_while_the_bracket_fills(void **state)
{
    static struct schedrun r;

    (void)state;
    r = run_of(9, 100, NULL);
    schedrun_open(&r, 1);
    for (int i = 0; i < 5; i++)
        schedrun_start(&r, 0);
    schedrun_report(&r, 2, OBS_CANCELLED, 0, NAN);
    for (int i = 0; i < 5; i++)
        assert_int_equal(schedrun_start(&r, 0), 1);
    assert_int_equal(schedrun_start(&r, 0), 3);
    schedrun_close(&r);
}

static void a_trial_that_completed_early_competes_to_the_top(void **state)
{
    static struct schedrun r;

    (void)state;
    r = run_of(9, 100, NULL);
    schedrun_open(&r, 1);
    for (int i = 0; i < 9; i++)
        schedrun_start(&r, 0);
    schedrun_report(&r, 1, OBS_COMPLETED, 1, 100);
    for (int64_t t = 2; t <= 9; t++)
        schedrun_report(&r, t, OBS_RUNNING, 1, (double)t);
    assert_int_equal(r.trials[9].state, RUN_RUNNING); /* two places are left */
    assert_int_equal(schedrun_resume(&r, false), 8);
    assert_int_equal(schedrun_resume(&r, false), 0);
    schedrun_report(&r, 8, OBS_RUNNING, 3, 8);
    assert_int_equal(schedrun_report(&r, 9, OBS_RUNNING, 3, 9).action, SCHED_STOP);
    assert_int_equal(schedrun_resume(&r, true), 0);
    schedrun_close(&r);
}

static void a_bracket_that_cannot_fill_goes_on_with_those_it_has(void **state)
{
    static struct schedrun r;

    (void)state;
    for (int n = 1; n < 9; n++) {
        int n_top = 0;
        r = run_of(9, n, NULL);
        r.slots = 1 + n % 3;
        schedrun_open(&r, (uint64_t)n);
        schedrun_all(&r);
        for (int t = 1; t <= n; t++)
            n_top += r.trials[t].level == 9;
        assert_int_equal(n_top, 1);
        schedrun_close(&r);
    }
}

static void groups_fill_brackets_of_their_own(void **state)
{
    static struct schedrun r;

    (void)state;
    r = run_of(9, 100, NULL);
    r.n_groups = 3;
    r.max_level[1] = 9;
    r.max_level[2] = 4;
    schedrun_open(&r, 1);
    for (int i = 0; i < 9; i++) {
        assert_int_equal(schedrun_start(&r, 0), 1);
        assert_int_equal(schedrun_start(&r, 1), 1);
        assert_int_equal(schedrun_start(&r, 2), 1);
    }
    for (int64_t t = 1; t <= 25; t += 3)
        schedrun_report(&r, t, OBS_RUNNING, 1, (double)t);
    assert_int_equal(schedrun_row(&r, 0, 0, 0).n_promoted,
                     1); /* 25, at once; 22 and 19 are called */
    assert_int_equal(schedrun_row(&r, 0, 0, 0).n_waiting, 2);
    assert_int_equal(schedrun_row(&r, 1, 0, 0).n_running, 9);
    schedrun_close(&r);
}

static void any_study_ends_well(void **state)
{
    static struct schedrun r;
    struct rng g;

    (void)state;
    rng_init(&g, test_seed(), 4);
    for (int round = 0; round < 25; round++) {
        double options[3] = { 2 + rng_below(&g, 3), 1 + rng_below(&g, 2), 6 * rng_below(&g, 2) };
        r = run_of(1 + (int)rng_below(&g, 81), 20 + (int)rng_below(&g, 150), options);
        r.slots = 1 + (int)rng_below(&g, 64);
        r.n_groups = 1 + (int)rng_below(&g, 3);
        r.max_level[1] = 1 + (int)rng_below(&g, 6);
        r.max_level[2] = r.max_level[0];
        schedrun_stormy(&r, &g);
        schedrun_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brackets_of_81_are_the_papers),
        cmocka_unit_test(sizes_follow_the_formula),
        cmocka_unit_test(short_ladders_have_a_rung_at_each_level),
        cmocka_unit_test(one_level_needs_no_brackets),
        cmocka_unit_test(nobody_goes_on_before_all_have_come),
        cmocka_unit_test(failed_and_cancelled_trials_hold_nobody_up),
        cmocka_unit_test(a_cancelled_trial_gives_its_place_back_while_the_bracket_fills),
        cmocka_unit_test(a_trial_that_completed_early_competes_to_the_top),
        cmocka_unit_test(a_bracket_that_cannot_fill_goes_on_with_those_it_has),
        cmocka_unit_test(groups_fill_brackets_of_their_own),
        cmocka_unit_test(any_study_ends_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
