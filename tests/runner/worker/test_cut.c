/* test_cut.c - when a trial with a deadline ends, by what models of its study took to make. */
#include "tests/unit.h"

#include "base/base.h"
#include "trial-runner/worker/worker_private.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_long_trial_leaves_time_for_its_model) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
