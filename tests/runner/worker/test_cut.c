/* test_cut.c - when a trial with a deadline ends, by what models of its study took to make; and which
 * path of penalties is given up before its limit. */
#include "tests/unit.h"

#include "base/base.h"
#include "trial-runner/worker/worker_private.h"

#include <math.h>

static void a_long_trial_leaves_time_for_its_model(void **state)
{
    static const struct {
        int64_t study, ship_us, work_us, cut_us;
    } cases[] = {
        { 0, 0, 5000000, 9000000 },       /* no model was made yet */
        { 3, 150000, 5000000, 9000000 },  /* the controller's reserve is enough */
        { 3, 1200000, 5000000, 8000000 }, /* a second more is needed */
        { 3, 1200000, 900000, 9000000 },  /* it has hardly begun: let it have the time */
        { 2, 1200000, 5000000, 9000000 }, /* of another study */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct worker w = { .ship_study = cases[i].study, .ship_us = cases[i].ship_us };
        struct run run = { .grant = { .study = 3 } };
        struct job j = { .run = &run, .deadline_ms = 9000, .work_us = cases[i].work_us };

        assert_int_equal(worker_fit_cut_us(&w, &j), cases[i].cut_us);
    }
}

/* A path that may have 10 s, or 20 s while it gets better fast. */
static void a_path_that_will_not_come_near_the_best_is_given_up(void **state)
{
    static const struct {
        int64_t study, work_us, steep_ms;
        double best, se, reach;
        enum metric_id metric;
        bool gives_up;
    } cases[] = {
        { 3, 2500000, 20000, 0.19, 0.01, 0.5, METRIC_LOGLOSS, true },
        { 3, 2400000, 20000, 0.19, 0.01, 0.5, METRIC_LOGLOSS, false }, /* too early to say */
        { 3, 2500000, 20000, 0.19, 0.01, 0.2, METRIC_LOGLOSS, false }, /* by two errors at most */
        { 3, 2500000, 20000, 0.19, 0.01, 0.1, METRIC_LOGLOSS, false },
        { 3, 2500000, 20000, 0.19, 0.01, NAN, METRIC_LOGLOSS, false },
        { 3, 2500000, 20000, NAN, 0, 0.5, METRIC_LOGLOSS, false },     /* nothing to compare with */
        { 2, 2500000, 20000, 0.19, 0.01, 0.5, METRIC_LOGLOSS, false }, /* of another study */
        { 3, 2500000, 0, 0.19, 0.01, 0.5, METRIC_LOGLOSS, false },     /* a user's own limit */
        { 3, 2500000, 20000, 0.9, 0.01, 0.87, METRIC_AUC, true },
        { 3, 2500000, 20000, 0.9, 0.01, 0.89, METRIC_AUC, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct worker w = { .ship_study = cases[i].study,
                            .best = cases[i].best,
                            .best_se = cases[i].se };
        struct run run = {
            .grant = { .study = 3, .trial_time_ms = 10000, .trial_steep_ms = cases[i].steep_ms }
        };
        struct ml_data d = { .spec = { .metric = cases[i].metric } };
        struct job j = { .run = &run, .data = &d, .work_us = cases[i].work_us };

        assert_int_equal(worker_fit_gives_up(&w, &j, cases[i].reach), cases[i].gives_up);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_trial_leaves_time_for_its_model),
        cmocka_unit_test(a_path_that_will_not_come_near_the_best_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
