/* test_emulated_boost.c - boosting whole rounds on the emulated device against the CPU: the same bytes, whatever the loss, the
 * way a tree grows, what is sampled, the order in which threads run and the size of blocks. */
#include "tests/cuda/boost_rig.h"

#include "base/base.h"

enum { STEPS = 2 };

static const struct {
    const char *name;
    enum ml_task task;
    enum metric_id metric;
    int classes;
    int64_t rows;
} tasks[] = { { "binary", ML_BINARY, METRIC_AUC, 2, 500 },
              { "regression", ML_REGRESSION, METRIC_RMSE, 0, 1200 },
              { "multiclass", ML_MULTICLASS, METRIC_LOGLOSS, 3, 1600 } };

static struct rig *rig_of(int task)
{
    return rig_new(rig_mixed(tasks[task].task, tasks[task].rows, tasks[task].classes, 9),
                   tasks[task].task, tasks[task].metric, FOLDS);
}

/* One parameter away from the defaults each; by number of the parameter. */
static const struct {
    const char *name;
    int param[3];
    double value[3];
} ways[] = {
    { "leaf-wise", { BOOST_LEAVES }, { 15 } },
    { "deep", { BOOST_LEAVES, BOOST_MIN_LEAF }, { 60, 1 } },
    { "depth-wise", { BOOST_LEAVES, BOOST_GROW, BOOST_DEPTH }, { 8, 1, 4 } },
    { "stumps", { BOOST_LEAVES, BOOST_L1 }, { 2, 0.5 } },
    { "rows", { BOOST_LEAVES, BOOST_ROW_SAMPLE }, { 12, 0.6 } },
    { "columns", { BOOST_LEAVES, BOOST_COL_SAMPLE, BOOST_COL_LEVEL }, { 12, 0.5, 0.6 } },
    { "levels", { BOOST_LEAVES, BOOST_COL_LEVEL, BOOST_DEPTH }, { 12, 0.4, 5 } },
    { "random", { BOOST_LEAVES, BOOST_RANDOM }, { 20, 1 } },
    { "coarse", { BOOST_LEAVES, BOOST_BINS, BOOST_CAT_SMOOTH }, { 12, 0, 1 } },
    { "sets", { BOOST_LEAVES, BOOST_MAX_ONEHOT }, { 12, 1 } },
    { "one by one", { BOOST_LEAVES, BOOST_MAX_ONEHOT, BOOST_L2 }, { 12, 64, 0 } },
};

static void params_of(size_t way, double *params)
{
    family_defaults(family_find("boost"), params);
    params[BOOST_ROW_SAMPLE] = params[BOOST_COL_SAMPLE] = 1;
    for (size_t i = 0; i < ARRAY_LEN(ways[way].param); i++) {
        if (i == 0 || ways[way].param[i] != 0)
            params[ways[way].param[i]] = ways[way].value[i];
    }
}

static void way_check(struct rig *r, int task, size_t way)
{
    struct lane here[FOLDS + 1] = { 0 }, there[FOLDS + 1] = { 0 };
    double params[FAMILY_MAX_PARAMS];
    char what[80];

    snprintf(what, sizeof what, "%s, %s", tasks[task].name, ways[way].name);
    params_of(way, params);
    r->d->spec.device = NULL;
    boost_lanes_train(r, here, FOLDS, params, STEPS);
    boost_device.threads = way % 2 ? 64 : 32;
    boost_device.tile_rows = way % 2 ? 100 : 500;
    emu_order_set((enum emu_order)(way % 3), 5);
    r->d->spec.device = &boost_device;
    unsigned long long before = emu_launches();
    boost_lanes_train(r, there, FOLDS, params, STEPS);
    assert_true(emu_launches() > before + STEPS * 20);
    for (int f = 0; f < FOLDS; f++)
        assert_int_equal(there[f].steps_done, STEPS);
    boost_lanes_equal(r, here, there, FOLDS, what);
    boost_lanes_close(here, FOLDS);
    boost_lanes_close(there, FOLDS);
}

static void way_sweep(int task, size_t step)
{
    struct rig *r = rig_of(task);

    for (size_t way = 0; way < ARRAY_LEN(ways); way += step)
        way_check(r, task, way);
    r->d->spec.device = &boost_device;
    rig_free(r);
}

static void binary_models_equal_the_cpus_byte_for_byte(void **state)
{
    (void)state;
    way_sweep(0, 1);
}

static void regression_models_equal_the_cpus_byte_for_byte(void **state)
{
    (void)state;
    way_sweep(1, 1);
}

static void multiclass_models_equal_the_cpus_byte_for_byte(void **state)
{
    (void)state;
    way_sweep(2, 2); /* three trees a round take their time */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binary_models_equal_the_cpus_byte_for_byte),
        cmocka_unit_test(regression_models_equal_the_cpus_byte_for_byte),
        cmocka_unit_test(multiclass_models_equal_the_cpus_byte_for_byte),
    };
    return cmocka_run_group_tests(tests, boost_device_open, boost_device_close);
}
