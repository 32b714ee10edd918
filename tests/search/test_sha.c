/* test_sha.c - successive halving: sizes for many numbers of trials, one round after the other. Waiting and what goes
 * wrong are bracket.c's, tested in test_hyperband.c. */
#include "search/searchers.h"
#include "tests/unit.h"

#include "tests/search/schedrun.h"

#include <math.h>

static struct schedrun run_of(int max_level, const double *options, int64_t budget)
{
    return (struct schedrun){ .ops = scheduler_find("sha"),
                              .setup = { .options = options, .budget_trials = budget },
                              .n_trials = (int)budget,
                              .slots = 5,
                              .n_groups = 1,
                              .max_level = { max_level } };
}

static void the_budget_halves_to_the_top(void **state)
{
    static struct schedrun r;

    (void)state;
    for (int n = 1; n <= 300; n += 7) {
        int64_t size = n, rungs = 1;
        r = run_of(27, NULL, n);
        schedrun_open(&r, (uint64_t)n);
        schedrun_all(&r);
        for (; rungs < 4 && size >= 3; rungs++)
            size /= 3;
        for (int i = 0; i < rungs; i++) {
            struct sched_rung row = schedrun_row(&r, 0, 0, i);
            assert_int_equal(row.level, (int)(27 / pow(3, (double)rungs - 1 - i) + 0.5));
            assert_int_equal(row.n_promoted + row.n_done, (int)(n / pow(3, i) + 1e-9));
            assert_int_equal(row.n_running + row.n_waiting, 0);
        }
        schedrun_close(&r);
    }
}

static void rounds_follow_each_other_without_waiting(void **state)
{
    static const double options[] = { 3, 1, 6, 10 };
    static struct schedrun r;

    (void)state;
    r = run_of(3, options, 0);
    schedrun_open(&r, 1);
    for (int i = 0; i < 25; i++)
        assert_int_equal(schedrun_start(&r, 0), 1);
    assert_int_equal(schedrun_row(&r, 0, 0, 0).n_running, 10);
    assert_int_equal(schedrun_row(&r, 0, 1, 0).n_running, 10);
    assert_int_equal(schedrun_row(&r, 0, 2, 0).n_running, 5);
    assert_int_equal(schedrun_row(&r, 0, 2, 1).size, 3);
    assert_int_equal(schedrun_row(&r, 0, 2, 2).size, 1);
    for (int64_t t = 11; t <= 20; t++)
        schedrun_report(&r, t, OBS_RUNNING, 1, (double)t);
    assert_int_equal(schedrun_row(&r, 0, 1, 0).n_promoted,
                     1); /* the second round decides for itself */
    assert_int_equal(schedrun_row(&r, 0, 0, 0).n_running, 10);
    schedrun_close(&r);
}

static void without_budget_one_comes_to_the_top(void **state)
{
    static struct schedrun r;

    (void)state;
    r = run_of(81, NULL, 0);
    schedrun_open(&r, 1);
    schedrun_start(&r, 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(schedrun_row(&r, 0, 0, i).size, (int)(pow(3, 4 - i) + 0.5));
    schedrun_close(&r);
}

/* Ladders of one level take trials as they come: no number of them is all, not even none. */
static void a_restart_finds_an_emptied_bracket_of_one_level_filling(void **state)
{
    static struct schedrun r;

    (void)state;
    r = run_of(1, NULL, 0);
    schedrun_open(&r, 1);
    schedrun_start(&r, 0);
    schedrun_report(&r, 1, OBS_CANCELLED, 0, NAN);
    schedrun_replay(&r);
    schedrun_start(&r, 0);
    assert_int_equal(schedrun_row(&r, 0, 0, 0).n_running, 1);
    schedrun_replay(&r);
    schedrun_close(&r);
}

static void any_study_ends_well(void **state)
{
    static struct schedrun r;
    struct rng g;

    (void)state;
    rng_init(&g, test_seed(), 4);
    for (int round = 0; round < 40; round++) {
        double options[] = { 2 + rng_below(&g, 3), 1, 6, rng_below(&g, 40) };
        r = run_of(1 + (int)rng_below(&g, 81), options, 1 + rng_below(&g, 200));
        r.slots = 1 + (int)rng_below(&g, 64);
        r.n_groups = 1 + (int)rng_below(&g, 2);
        r.max_level[1] = 3;
        schedrun_stormy(&r, &g);
        schedrun_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_budget_halves_to_the_top),
        cmocka_unit_test(rounds_follow_each_other_without_waiting),
        cmocka_unit_test(without_budget_one_comes_to_the_top),
        cmocka_unit_test(a_restart_finds_an_emptied_bracket_of_one_level_filling),
        cmocka_unit_test(any_study_ends_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
