/* test_fit_steep.c - a path of penalties says whether its score still gets better fast, by which the worker
 * lets it take longer, and what it may become, by which the worker gives it up
 * (trial-runner/worker/worker_fit.c). */
#include "tests/ml/fit_rig.h"

#include "base/base.h"

#include <math.h>

/* Clouds of points that lie apart: with weaker penalties a linear model's loss falls fast at first, and not
 * at its best point. */
static void a_path_is_steep_until_it_is_nearly_at_its_best(void **state)
{
    enum { ROWS = 600, CLOUDS = 12 };
    struct rig_table *table = rig_table_new(ROWS);
    double *x[4], centre[CLOUDS][4];
    struct rng rng;
    bool was_steep = false;
    int n_known = 0;

    (void)state;
    rng_init(&rng, 3, 0);
    for (int c = 0; c < CLOUDS * 4; c++)
        centre[c / 4][c % 4] = 4 * rng_normal(&rng);
    for (int c = 0; c < 4; c++)
        x[c] = rig_numbers(table);
    double *y = rig_numbers(table);
    for (int i = 0; i < ROWS; i++) {
        y[i] = i % CLOUDS;
        for (int c = 0; c < 4; c++)
            x[c][i] = centre[i % CLOUDS][c] + rng_normal(&rng);
    }
    struct rig *r = rig_new(table, ML_MULTICLASS, METRIC_LOGLOSS, 5);
    const struct family *f = family_find("linear");
    double params[FAMILY_MAX_PARAMS];
    struct err err = { 0 };
    family_defaults(f, params);
    struct fit_trial *t = fit_trial_open(r->d, f, params, 1, true, &err);
    assert_false(fit_trial_is_steep(t));
    assert_true(isnan(fit_trial_reach(t, 1)));
    int rc = 0;
    for (int i = 0; i < 10000 && rc == 0; i++) {
        struct rig_stop stop;
        rig_stop_init(&stop, 1, 2);
        stop.stop.deadline_us = 3;
        rc = fit_trial_advance(t, fit_trial_levels(t), &stop.stop, &err);
        was_steep = was_steep || fit_trial_is_steep(t);
        /* never worse than it is, and twice as much better in twice the time */
        double now = fit_trial_reach(t, 0), later = fit_trial_reach(t, 1);
        if (!isnan(now)) {
            assert_true(later <= now);
            assert_float_equal(now - fit_trial_reach(t, 2), 2 * (now - later), 1e-9);
            n_known++;
        }
    }
    assert_true(n_known > 0);
    assert_int_equal(rc, 1);
    assert_true(was_steep && !fit_trial_is_steep(t));
    fit_trial_close(t);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_steep_until_it_is_nearly_at_its_best),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
