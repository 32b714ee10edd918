/* test_emulated_forest.c - forests and extra trees grown on the emulated device against the CPU: the same bytes, whatever the
 * target, the criterion, what is sampled, the order in which threads run and the size of blocks. */
#include "tests/cuda/boost_rig.h"

#include "base/base.h"
#include "ml/family/family_params.h"

#include <math.h>

enum { TREES = 3 };

static const struct way {
    const char *name;
    int param[3];
    double value[3];
} ways[] = {
    { "defaults", { FOREST_MIN_LEAF }, { 1 } },
    { "entropy", { FOREST_CRITERION, FOREST_MIN_LEAF }, { 1, 2 } },
    { "all columns", { FOREST_MAX_FEATURES, FOREST_DEPTH }, { 5, 4 } },
    { "samples", { FOREST_MAX_SAMPLES, FOREST_MIN_SPLIT }, { 0.5, 9 } },
    { "few leaves", { FOREST_MAX_LEAVES, FOREST_MIN_LEAF }, { 12, 4 } },
};

static struct buf grown(struct rig *r, const char *family, const double *params,
                        const struct ml_compute *device)
{
    struct forest_axis axes[FOREST_MAX_AXES];
    int64_t steps = (int64_t)TREES * forest_axes(params, axes);

    r->d->spec.device = device;
    struct lane l = rig_lane(r, family, params, 0, steps);
    struct buf b = rig_lane_bytes(family, &l, steps);
    assert_int_equal(l.steps_done, steps);
    rig_lane_close(family, &l);
    return b;
}

static void way_check(struct rig *r, const char *family, size_t way)
{
    double params[FAMILY_MAX_PARAMS];
    unsigned long long before;

    family_defaults(family_find(family), params);
    for (int i = 0; i < 3; i++) {
        if (ways[way].value[i] != 0)
            params[ways[way].param[i]] = ways[way].value[i];
    }
    boost_device.threads = way % 2 ? 64 : 32;
    emu_order_set((enum emu_order)(way % 3), 7);
    struct buf here = grown(r, family, params, NULL);
    before = emu_launches();
    struct buf there = grown(r, family, params, &boost_device);
    assert_true(emu_launches() > before);
    if (here.len != there.len || memcmp(here.data, there.data, here.len) != 0)
        fail_msg("%s, %s: other trees (%zu and %zu bytes)", family, ways[way].name, here.len,
                 there.len);
    buf_fini(&here);
    buf_fini(&there);
}

static void sweep(enum ml_task task, int classes)
{
    struct rig *r = rig_new(rig_mixed(task, 220, classes, 6), task,
                            task == ML_REGRESSION ? METRIC_RMSE : METRIC_LOGLOSS, FOLDS);

    for (size_t way = 0; way < ARRAY_LEN(ways); way++) {
        way_check(r, "forest", way);
        way_check(r, "extra_trees", way);
    }
    r->d->spec.device = &boost_device; /* whose table it holds */
    rig_free(r);
}

static void two_classes_give_the_cpus_trees(void **state)
{
    (void)state;
    sweep(ML_BINARY, 2);
}

static void several_classes_give_the_cpus_trees(void **state)
{
    (void)state;
    sweep(ML_MULTICLASS, 4);
}

static void numbers_give_the_cpus_trees(void **state)
{
    (void)state;
    sweep(ML_REGRESSION, 0);
}

/* Whether a value is missing tells the class: such cuts tie, with missing values alone on either side. */
static void missing_values_that_tell_are_split_as_on_the_cpu(void **state)
{
    static const enum ml_task tasks[] = { ML_BINARY, ML_MULTICLASS, ML_REGRESSION };

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(tasks); k++) {
        struct rig_table *t = rig_table_new(300);
        double *x = rig_numbers(t), *z = rig_numbers(t), *y = rig_numbers(t);
        struct rng rng;
        rng_init(&rng, 3, k);
        for (int i = 0; i < 300; i++) {
            y[i] = (int)rng_below(&rng, 2 + (k > 0));
            x[i] = y[i] > 0 && rng_below(&rng, 9) ? (double)NAN : rng_normal(&rng);
            z[i] = rng_below(&rng, 9) ? rng_normal(&rng) : (double)NAN;
        }
        struct rig *r = rig_new(t, tasks[k], k == 2 ? METRIC_RMSE : METRIC_LOGLOSS, FOLDS);
        way_check(r, "forest", 0);
        way_check(r, "forest", 1);
        way_check(r, "extra_trees", 0);
        r->d->spec.device = &boost_device;
        rig_free(r);
    }
}

/* Nodes of two rows, one of them without a value, come at the end of deep trees on noise. */
static void deep_trees_on_missing_values_are_the_cpus(void **state)
{
    (void)state;
    for (int classes = 2; classes <= 3; classes++) {
        struct rig_table *t = rig_table_new(260);
        double *x[5];
        struct rng rng;
        rng_init(&rng, 31, (uint64_t)classes);
        for (size_t c = 0; c < ARRAY_LEN(x); c++)
            x[c] = rig_numbers(t);
        double *y = rig_numbers(t);
        for (int64_t i = 0; i < 260; i++) {
            for (size_t c = 0; c < ARRAY_LEN(x); c++)
                x[c][i] = rng_below(&rng, 4) == 0 ? (double)NAN : rng_normal(&rng);
            y[i] = rng_below(&rng, (uint32_t)classes);
        }
        struct rig *r = rig_new(t, classes == 2 ? ML_BINARY : ML_MULTICLASS, METRIC_LOGLOSS, FOLDS);
        for (size_t way = 0; way < 2; way++) {
            way_check(r, "forest", way);
            way_check(r, "extra_trees", way);
        }
        r->d->spec.device = &boost_device;
        rig_free(r);
    }
}

static void a_forest_that_finds_no_memory_there_grows_here(void **state)
{
    struct rig *r = rig_new(rig_mixed(ML_BINARY, 100, 2, 6), ML_BINARY, METRIC_LOGLOSS, FOLDS);
    double params[FAMILY_MAX_PARAMS];
    bool fired = true;

    (void)state;
    family_defaults(family_find("forest"), params);
    boost_device.threads = 32;
    for (int nth = 1; fired; nth++) {
        struct buf here = grown(r, "forest", params, NULL);
        emu_fail_malloc(nth);
        struct buf there = grown(r, "forest", params, &boost_device);
        fired = emu_malloc_failed();
        emu_fail_malloc(0);
        assert_int_equal(here.len, there.len);
        assert_memory_equal(here.data, there.data, here.len);
        buf_fini(&here);
        buf_fini(&there);
        assert_true(nth < 20);
    }
    r->d->spec.device = &boost_device;
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_classes_give_the_cpus_trees),
        cmocka_unit_test(several_classes_give_the_cpus_trees),
        cmocka_unit_test(numbers_give_the_cpus_trees),
        cmocka_unit_test(missing_values_that_tell_are_split_as_on_the_cpu),
        cmocka_unit_test(deep_trees_on_missing_values_are_the_cpus),
        cmocka_unit_test(a_forest_that_finds_no_memory_there_grows_here),
    };
    return cmocka_run_group_tests(tests, boost_device_open, boost_device_close);
}
