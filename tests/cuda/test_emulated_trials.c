/* test_emulated_trials.c - lanes of several trials on the emulated device: they grow in the same launches, each by its own
 * rule and at its own round, and are what they would be alone on the CPU. */
#include "tests/cuda/boost_rig.h"

#include "base/base.h"
#include "ml/model/models.h"

enum { TRIALS = 6, STEPS = 3 };

/* Parameters that differ from trial to trial; by number of the parameter. */
static const struct {
    int param[4];
    double value[4];
} trials[TRIALS] = {
    { { BOOST_LEAVES }, { 5 } },
    { { BOOST_LEAVES, BOOST_GROW, BOOST_DEPTH, BOOST_ROW_SAMPLE }, { 9, 1, 3, 0.6 } },
    { { BOOST_LEAVES, BOOST_BINS, BOOST_LEARNING_RATE }, { 12, 0, 0.3 } },
    { { BOOST_LEAVES, BOOST_RANDOM, BOOST_COL_SAMPLE }, { 7, 1, 0.5 } },
    { { BOOST_LEAVES, BOOST_BINS, BOOST_COL_LEVEL, BOOST_L2 }, { 6, 1, 0.6, 3 } },
    { { BOOST_LEAVES, BOOST_MIN_LEAF, BOOST_L1 }, { 2, 9, 0.5 } },
};

static void params_of(int trial, double *params)
{
    family_defaults(family_find("boost"), params);
    params[BOOST_ROW_SAMPLE] = params[BOOST_COL_SAMPLE] = 1;
    params[BOOST_MIN_LEAF] = 3;
    for (size_t i = 0; i < ARRAY_LEN(trials[trial].param); i++) {
        if (i == 0 || trials[trial].param[i] != 0)
            params[trials[trial].param[i]] = trials[trial].value[i];
    }
    boost_device.threads = 32;
    boost_device.tile_rows = 64;
    boost_device.batch = 0;
}

static void advance(struct rig *r, struct lane *lanes, int n, int64_t steps)
{
    struct err err = { 0 };

    for (int i = 0; i < n; i++) {
        lanes[i].max_steps = 0;
        lanes[i].is_done = false;
        assert_true(model_find("boost")->fuses(r->d, &lanes[i]));
    }
    if (model_find("boost")->advance(r->d, lanes, n, steps, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static void trials_together_equal_each_alone_on_the_cpu(void **state)
{
    static const struct {
        enum ml_task task;
        enum metric_id metric;
        int64_t rows;
    } tasks[] = { { ML_BINARY, METRIC_AUC, 200 },
                  { ML_REGRESSION, METRIC_RMSE, 200 },
                  { ML_MULTICLASS, METRIC_LOGLOSS, 120 } };

    (void)state;
    for (size_t t = 0; t < ARRAY_LEN(tasks); t++) {
        struct rig *r = rig_new(rig_mixed(tasks[t].task, tasks[t].rows, 3, 9), tasks[t].task,
                                tasks[t].metric, FOLDS);
        struct lane here[TRIALS][FOLDS] = { 0 }, there[TRIALS * FOLDS] = { 0 };
        double params[FAMILY_MAX_PARAMS];
        emu_order_set((enum emu_order)t, 3);
        r->d->spec.device = NULL;
        for (int i = 0; i < TRIALS; i++) {
            params_of(i, params);
            boost_lanes_train(r, here[i], FOLDS, params, STEPS + i % 3);
            for (int f = 0; f < FOLDS; f++)
                there[i * FOLDS + f] = rig_lane(r, "boost", params, f, 0);
            r->d->spec.device = &boost_device;
            if (i % 3 >
                0) /* some have done rounds before: alone, and then together at other rounds */
                advance(r, &there[i * FOLDS], FOLDS, i % 3);
            r->d->spec.device = NULL;
        }
        r->d->spec.device = &boost_device;
        advance(r, there, TRIALS * FOLDS, STEPS);
        for (int i = 0; i < TRIALS; i++)
            boost_lanes_equal(r, here[i], &there[i * FOLDS], FOLDS, "together");
        for (int i = 0; i < TRIALS; i++) {
            boost_lanes_close(here[i], FOLDS);
            boost_lanes_close(&there[i * FOLDS], FOLDS);
        }
        rig_free(r);
    }
}

/* Depth-wise trees of one depth take the same steps. */
static void launches_of_a_round_do_not_grow_with_trials_and_folds(void **state)
{
    struct rig *r = rig_new(rig_mixed(ML_BINARY, 300, 2, 9), ML_BINARY, METRIC_AUC, FOLDS);
    struct lane alone[1] = { 0 }, all[TRIALS * FOLDS] = { 0 };
    double params[FAMILY_MAX_PARAMS];
    unsigned long long before, of_one, of_all;

    (void)state;
    params_of(0, params);
    params[BOOST_LEAVES] = 8;
    params[BOOST_GROW] = 1;
    params[BOOST_DEPTH] = 3;
    r->d->spec.device = &boost_device;
    alone[0] = rig_lane(r, "boost", params, 0, 0);
    before = emu_launches();
    advance(r, alone, 1, STEPS);
    of_one = emu_launches() - before;
    for (int i = 0; i < TRIALS * FOLDS; i++) {
        int trial = i / FOLDS;
        params[BOOST_LEARNING_RATE] = 0.05 * (1 + trial);
        params[BOOST_L2] = trial;
        all[i] = rig_lane(r, "boost", params, i % FOLDS, 0);
    }
    before = emu_launches();
    advance(r, all, TRIALS * FOLDS, STEPS);
    of_all = emu_launches() - before;
    print_message("launches in %d rounds: %llu of one tree, %llu of %d trees\n", STEPS, of_one,
                  of_all, TRIALS * FOLDS);
    assert_true(of_all == of_one);
    boost_lanes_close(alone, 1);
    boost_lanes_close(all, TRIALS * FOLDS);
    rig_free(r);
}

/* A trial that ends, one that joins, one that goes on alone: nobody's trees change, and nothing is left on the device. */
static void trials_come_and_go(void **state)
{
    struct rig *r = rig_new(rig_mixed(ML_REGRESSION, 240, 0, 5), ML_REGRESSION, METRIC_RMSE, FOLDS);
    struct lane here[3][FOLDS] = { 0 }, there[3 * FOLDS] = { 0 };
    double params[FAMILY_MAX_PARAMS];
    static const int rounds[] = { 2, 5, 3 };

    (void)state;
    r->d->spec.device = NULL;
    for (int i = 0; i < 3; i++) {
        params_of(i, params);
        boost_lanes_train(r, here[i], FOLDS, params, rounds[i]);
        for (int f = 0; f < FOLDS; f++)
            there[i * FOLDS + f] = rig_lane(r, "boost", params, f, 0);
    }
    r->d->spec.device = &boost_device;
    advance(r, there, 2 * FOLDS, 2); /* 0 and 1 */
    boost_lanes_equal(r, here[0], there, FOLDS, "ended");
    boost_lanes_close(there, FOLDS);
    advance(r, &there[FOLDS], 2 * FOLDS, 2); /* 1 and 2 */
    advance(r, &there[2 * FOLDS], FOLDS, 1); /* 2 alone, beside 1 */
    advance(r, &there[FOLDS], FOLDS, 1);
    for (int i = 1; i < 3; i++)
        boost_lanes_equal(r, here[i], &there[i * FOLDS], FOLDS, "came and went");
    for (int i = 0; i < 3; i++)
        boost_lanes_close(here[i], FOLDS);
    boost_lanes_close(&there[FOLDS], FOLDS);
    boost_lanes_close(&there[2 * FOLDS], FOLDS);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_together_equal_each_alone_on_the_cpu),
        cmocka_unit_test(launches_of_a_round_do_not_grow_with_trials_and_folds),
        cmocka_unit_test(trials_come_and_go),
    };
    return cmocka_run_group_tests(tests, boost_device_open, boost_device_close);
}
