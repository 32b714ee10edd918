/* test_patience.c - a trial is stopped by just as many points without a better value as were allowed. */
#include "search/searchers.h"
#include "tests/unit.h"

#include "tests/search/schedrun.h"

#include "base/base.h"

#include <math.h>

static void so_many_points_without_a_better_value_stop(void **state)
{
    static struct schedrun r;
    struct rng g;

    (void)state;
    rng_init(&g, test_seed(), 3);
    for (int round = 0; round < 300; round++) {
        double options[] = { 1 + rng_below(&g, 5), rng_below(&g, 3) / 2.0, 0 }, best = -INFINITY;
        int since = 0;
        r = (struct schedrun){ .ops = scheduler_find("patience"),
                               .setup = { .options = options },
                               .max_level = { 40 } };
        schedrun_open(&r, 1);
        schedrun_start(&r, 0);
        for (int level = 1; level < 40 && r.trials[1].state == RUN_RUNNING; level++) {
            double v = (double)rng_below(&g, 8);
            bool is_better = v > best + options[1];
            since = is_better ? 0 : since + 1;
            best = is_better ? v : best;
            if (rng_below(&g, 5) == 0)
                schedrun_replay(&r);
            assert_int_equal(schedrun_report(&r, 1, OBS_RUNNING, level, v).action,
                             since >= options[0] ? SCHED_STOP : SCHED_RUN_TO);
        }
        schedrun_close(&r);
    }
}

static void nan_stops_at_once(void **state)
{
    static struct schedrun r;

    (void)state;
    r = (struct schedrun){ .ops = scheduler_find("patience"), .max_level = { 9 } };
    schedrun_open(&r, 1);
    schedrun_start(&r, 0);
    assert_int_equal(schedrun_report(&r, 1, OBS_RUNNING, 1, -INFINITY).action, SCHED_RUN_TO);
    assert_int_equal(schedrun_report(&r, 1, OBS_RUNNING, 2, INFINITY).action, SCHED_RUN_TO);
    assert_int_equal(schedrun_report(&r, 1, OBS_RUNNING, 3, NAN).action, SCHED_STOP);
    schedrun_close(&r);
}

static void any_study_ends_well(void **state)
{
    static struct schedrun r;
    struct rng g;

    (void)state;
    rng_init(&g, test_seed(), 4);
    for (int round = 0; round < 20; round++) {
        r = (struct schedrun){ .ops = scheduler_find("patience"),
                               .n_trials = 80,
                               .slots = 6,
                               .n_groups = 2,
                               .max_level = { 1 + (int)rng_below(&g, 100), 3 },
                               .fail = 40,
                               .cancel = 40,
                               .special = 100,
                               .replay = 50 };
        schedrun_open(&r, rng_u64(&g));
        schedrun_all(&r);
        schedrun_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_points_without_a_better_value_stop),
        cmocka_unit_test(nan_stops_at_once),
        cmocka_unit_test(any_study_ends_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
