/* test_emulated_fit.c - trials of the engine in the launches of one on the emulated device: curves, scores and checkpoints
 * are those of each alone on the CPU, wherever a slice ends and whoever cannot come along. */
#include "tests/cuda/boost_rig.h"

#include "base/base.h"

enum { TRIALS = 3, ROUNDS = 4 };

static void params_of(int trial, double *params)
{
    family_defaults(family_find("boost"), params);
    params[BOOST_ROUNDS] = ROUNDS + 2 * trial;
    params[BOOST_LEAVES] = 4 + trial;
    params[BOOST_MIN_LEAF] = 3;
    params[BOOST_LEARNING_RATE] = 0.1 + 0.1 * trial;
    params[BOOST_GROW] = trial % 2;
    boost_device.threads = 32;
    boost_device.tile_rows = 64;
    boost_device.batch = 0;
}

static struct fit_trial *trial_open(struct rig *r, int trial)
{
    double params[FAMILY_MAX_PARAMS];
    struct err err = { 0 };

    params_of(trial, params);
    struct fit_trial *t =
        fit_trial_open(r->d, family_find("boost"), params, 40 + (uint64_t)trial, false, &err);
    if (!t)
        fail_msg("%s", err.text);
    return t;
}

static void trials_equal(struct fit_trial *a, struct fit_trial *b)
{
    struct fit_result *x = calloc(1, sizeof *x), *y = calloc(1, sizeof *y);
    struct err err = { 0 };

    if (fit_trial_result(a, x, &err) < 0 || fit_trial_result(b, y, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(x->level, y->level);
    assert_int_equal(x->steps, y->steps);
    assert_int_equal(x->curve_points, y->curve_points);
    assert_int_equal(x->work_units, y->work_units);
    assert_memory_equal(&x->score, &y->score, sizeof x->score);
    assert_memory_equal(&x->se, &y->se, sizeof x->se);
    assert_memory_equal(x->curve_value, y->curve_value,
                        (size_t)x->curve_points * sizeof *x->curve_value);
    free(x);
    free(y);
}

static void alone(struct rig *r, struct fit_trial **t)
{
    struct err err = { 0 };

    r->d->spec.device = NULL;
    for (int i = 0; i < TRIALS; i++) {
        t[i] = trial_open(r, i);
        for (int level = 1; level <= family_find("boost")->levels; level++) {
            if (fit_trial_advance(t[i], level, NULL, &err) < 1)
                fail_msg("%s", err.text);
        }
    }
}

/* The first goes on until it is there; then the next is the first. */
static void together(struct rig *r, struct fit_trial **t, struct rig_stop *stop)
{
    int levels[TRIALS], rc[TRIALS], top = family_find("boost")->levels;
    struct err errs[TRIALS] = { 0 };

    r->d->spec.device = &boost_device;
    for (int level = 1; level <= top; level++) {
        for (int i = 0; i < TRIALS; i++)
            levels[i] = level;
        for (int first = 0, n = 0; first < TRIALS && n < 4000; n++) {
            fit_trials_advance(t + first, levels + first, TRIALS - first, stop ? &stop->stop : NULL,
                               rc, errs);
            for (int i = 0; i < TRIALS - first; i++)
                assert_true(rc[i] >= 0);
            first += rc[0] > 0;
            if (stop)
                rig_stop_next(stop);
        }
    }
}

static void trials_together_come_to_what_each_comes_to_alone(void **state)
{
    static const enum ml_task tasks[] = { ML_BINARY, ML_REGRESSION };

    (void)state;
    for (size_t k = 0; k < 2 * ARRAY_LEN(tasks); k++) {
        enum ml_task task = tasks[k / 2];
        struct rig *r = rig_new(rig_mixed(task, 100, 2, 6), task,
                                task == ML_BINARY ? METRIC_LOGLOSS : METRIC_RMSE, FOLDS);
        struct fit_trial *here[TRIALS], *there[TRIALS];
        struct rig_stop stop;
        rig_stop_init(&stop, 5, 6);
        alone(r, here);
        for (int i = 0; i < TRIALS; i++)
            there[i] = trial_open(r, i);
        together(r, there, k % 2 ? &stop : NULL);
        for (int i = 0; i < TRIALS; i++) {
            trials_equal(here[i], there[i]);
            fit_trial_close(here[i]);
            fit_trial_close(there[i]);
        }
        rig_free(r);
    }
}

static void a_full_device_stops_nobody(void **state)
{
    struct rig *r = rig_new(rig_mixed(ML_BINARY, 150, 2, 6), ML_BINARY, METRIC_LOGLOSS, FOLDS);
    struct fit_trial *here[TRIALS], *there[TRIALS];

    (void)state;
    alone(r, here);
    for (int i = 0; i < TRIALS; i++)
        there[i] = trial_open(r, i);
    unsigned long long before = emu_launches();
    emu_fail_malloc_from(1);
    together(r, there, NULL);
    emu_fail_malloc(0);
    assert_true(emu_launches() == before);
    for (int i = 0; i < TRIALS; i++) {
        trials_equal(here[i], there[i]);
        fit_trial_close(here[i]);
        fit_trial_close(there[i]);
    }
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_together_come_to_what_each_comes_to_alone),
        cmocka_unit_test(a_full_device_stops_nobody),
    };
    return cmocka_run_group_tests(tests, boost_device_open, boost_device_close);
}
