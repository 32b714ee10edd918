/* test_emulated_lanes.c - lanes of boosting that come to the device late, leave it, stop half way, are odd in shape or find no
 * memory there: they stay what they would be on the CPU. */
#include "tests/cuda/boost_rig.h"

#include "base/base.h"
#include "ml/model/models.h"

#include <math.h>

static void params_of(double *params, int leaves)
{
    family_defaults(family_find("boost"), params);
    params[BOOST_ROW_SAMPLE] = params[BOOST_COL_SAMPLE] = 1;
    params[BOOST_LEAVES] = leaves;
    params[BOOST_MIN_LEAF] = 3;
    boost_device.threads = 32;
    boost_device.tile_rows = 64;
    boost_device.batch = 0;
}

static struct rig *rig_small(enum ml_task task, int classes)
{
    return rig_new(rig_mixed(task, 240, classes, 4), task,
                   task == ML_REGRESSION ? METRIC_RMSE : METRIC_LOGLOSS, FOLDS);
}

static void a_lane_moves_between_cpu_and_device_at_any_round(void **state)
{
    static const enum ml_task tasks[] = { ML_BINARY, ML_REGRESSION, ML_MULTICLASS };

    (void)state;
    for (size_t t = 0; t < ARRAY_LEN(tasks); t++) {
        struct rig *r = rig_small(tasks[t], 3);
        struct lane here[FOLDS + 1] = { 0 }, moved[FOLDS + 1] = { 0 };
        double params[FAMILY_MAX_PARAMS];
        params_of(params, 6);
        r->d->spec.device = NULL;
        boost_lanes_train(r, here, FOLDS + 1, params, 7);
        boost_lanes_train(r, moved, FOLDS + 1, params, 2);
        r->d->spec.device = &boost_device;
        boost_lanes_train(r, moved, FOLDS + 1, params, 2);
        r->d->spec.device = NULL;
        boost_lanes_train(r, moved, FOLDS + 1, params, 1);
        r->d->spec.device = &boost_device;
        boost_lanes_train(r, moved, FOLDS + 1, params, 2);
        boost_lanes_equal(r, here, moved, FOLDS + 1, "moved");
        boost_lanes_close(here, FOLDS + 1);
        boost_lanes_close(moved, FOLDS + 1);
        rig_free(r);
    }
}

static void a_checkpoint_goes_on_on_the_device(void **state)
{
    struct rig *r = rig_small(ML_BINARY, 2);
    struct lane here[1] = { 0 }, first[1] = { 0 }, second[1] = { 0 };
    double params[FAMILY_MAX_PARAMS];
    struct err err = { 0 };

    (void)state;
    params_of(params, 6);
    r->d->spec.device = NULL;
    boost_lanes_train(r, here, 1, params, 5);
    r->d->spec.device = &boost_device;
    boost_lanes_train(r, first, 1, params, 3);
    struct buf b = rig_lane_bytes("boost", &first[0], 3);
    struct view in = { (const uint8_t *)b.data, b.len, 0 };
    boost_lanes_train(r, second, 1, params, 1); /* scores of another past are on the device */
    if (model_find("boost")->load(r->d, &second[0], &in, &err) < 0)
        fail_msg("%s", err.text);
    boost_lanes_train(r, second, 1, params, 2);
    boost_lanes_equal(r, here, second, 1, "resumed");
    buf_fini(&b);
    boost_lanes_close(here, 1);
    boost_lanes_close(first, 1);
    boost_lanes_close(second, 1);
    rig_free(r);
}

static void late_lanes_catch_up(void **state)
{
    struct rig *r = rig_small(ML_BINARY, 2);
    struct lane here[FOLDS] = { 0 }, late[FOLDS] = { 0 };
    double params[FAMILY_MAX_PARAMS];
    struct err err = { 0 };

    (void)state;
    params_of(params, 6);
    r->d->spec.device = NULL;
    boost_lanes_train(r, here, FOLDS, params, 5);
    r->d->spec.device = &boost_device;
    boost_lanes_train(r, late, 1, params, 3);
    boost_lanes_train(r, late, 2, params, 0);
    late[2] = rig_lane(r, "boost", params, 2, 0);
    for (int f = 0; f < FOLDS; f++)
        late[f].max_steps = 5;
    assert_int_equal(model_find("boost")->advance(r->d, late, FOLDS, 9, NULL, &err), 0);
    for (int f = 0; f < FOLDS; f++) {
        assert_int_equal(late[f].steps_done, 5);
        assert_true(late[f].is_done);
    }
    boost_lanes_equal(r, here, late, FOLDS, "late");
    boost_lanes_close(here, FOLDS);
    boost_lanes_close(late, FOLDS);
    rig_free(r);
}

static void slices_do_not_show(void **state)
{
    struct rig *r = rig_small(ML_REGRESSION, 0);
    struct lane here[FOLDS] = { 0 }, cut[FOLDS] = { 0 };
    double params[FAMILY_MAX_PARAMS];
    struct rig_stop stop;
    struct err err = { 0 };

    (void)state;
    params_of(params, 6);
    r->d->spec.device = NULL;
    boost_lanes_train(r, here, FOLDS, params, 6);
    r->d->spec.device = &boost_device;
    boost_lanes_train(r, cut, FOLDS, params, 0);
    rig_stop_init(&stop, 3, 4);
    for (int i = 0; cut[0].steps_done < 6 && i < 100; i++) {
        for (int f = 0; f < FOLDS; f++)
            cut[f].max_steps = 6;
        assert_int_equal(model_find("boost")->advance(r->d, cut, FOLDS, 6, &stop.stop, &err), 0);
        rig_stop_next(&stop);
    }
    boost_lanes_equal(r, here, cut, FOLDS, "sliced");
    boost_lanes_close(here, FOLDS);
    boost_lanes_close(cut, FOLDS);
    rig_free(r);
}

/* Balanced weights, numbers beyond all measure, a target of one value, columns that tell nothing. */
static struct rig *rig_odd(int odd)
{
    struct rig_table *t = rig_table_new(90);
    double *x = rig_numbers(t), *z = rig_numbers(t), *y = rig_numbers(t);
    struct rng rng;

    rng_init(&rng, 8, (uint64_t)odd);
    for (int i = 0; i < 90; i++) {
        x[i] = rng_normal(&rng) * (odd == 1 ? 1e30 : 1);
        z[i] = i % 7 == 0 ? (double)NAN : i % 2;
        y[i] = odd == 0   ? i % 15 == 0
               : odd == 1 ? x[i] * 1e5
               : odd == 2 ? 3 + 1e-9 * (i % 2)
                          : x[i] + z[(i + 1) % 90];
        if (odd == 3 && isnan(y[i]))
            y[i] = 1;
    }
    return rig_new(t, odd == 0 ? ML_BINARY : ML_REGRESSION, odd == 0 ? METRIC_LOGLOSS : METRIC_RMSE,
                   FOLDS);
}

static void odd_tables_and_batches_of_one_node_change_nothing(void **state)
{
    (void)state;
    for (int odd = 0; odd < 4; odd++) {
        struct rig *r = rig_odd(odd);
        struct lane here[FOLDS] = { 0 }, there[FOLDS] = { 0 };
        double params[FAMILY_MAX_PARAMS];
        params_of(params, odd == 3 ? 40 : 7);
        params[BOOST_MIN_LEAF] = 1;
        params[BOOST_CLASS_WEIGHT] = odd == 0;
        params[BOOST_GROW] = odd == 2;
        params[BOOST_ROW_SAMPLE] = odd == 3 ? 0.01 : 1; /* fewer than two rows: all */
        boost_device.batch = 1 + odd;
        emu_order_set((enum emu_order)(odd % 3), 9);
        r->d->spec.device = NULL;
        boost_lanes_train(r, here, FOLDS, params, 3);
        r->d->spec.device = &boost_device;
        boost_lanes_train(r, there, FOLDS, params, 3);
        boost_lanes_equal(r, here, there, FOLDS, "odd");
        boost_lanes_close(here, FOLDS);
        boost_lanes_close(there, FOLDS);
        rig_free(r);
    }
}

/* is_full: no allocation succeeds from the nth on; else one fails. */
static bool trains_without_memory(int nth, bool is_full)
{
    struct rig *r = rig_small(ML_BINARY, 2);
    struct lane here[FOLDS] = { 0 }, there[FOLDS] = { 0 };
    double params[FAMILY_MAX_PARAMS];

    params_of(params, 4);
    r->d->spec.device = NULL;
    boost_lanes_train(r, here, FOLDS, params, 3);
    r->d->spec.device = &boost_device;
    unsigned long long before = emu_launches();
    if (is_full)
        emu_fail_malloc_from(nth);
    else
        emu_fail_malloc(nth);
    boost_lanes_train(r, there, FOLDS, params, 2);
    bool has_fired = emu_malloc_failed();
    emu_fail_malloc(0);
    assert_true((is_full && has_fired) == (emu_launches() == before));
    boost_lanes_train(r, there, FOLDS, params, 1);
    boost_lanes_equal(r, here, there, FOLDS, "without memory");
    boost_lanes_close(here, FOLDS);
    boost_lanes_close(there, FOLDS);
    rig_free(r);
    return has_fired;
}

static void what_finds_no_memory_there_trains_here(void **state)
{
    (void)state;
    for (int nth = 1; trains_without_memory(nth, true); nth++)
        assert_true(nth < 20);
}

static void lanes_that_find_no_memory_together_go_in_parts(void **state)
{
    (void)state;
    for (int nth = 1; trains_without_memory(nth, false); nth++)
        assert_true(nth < 20);
}

/* 35 columns: two groups of 16 that one load fetches, and the rest; a drawn part of them stands no longer side by side. */
static void wide_tables_equal_the_cpus(void **state)
{
    struct rig_table *t = rig_table_new(200);
    double *x[34];
    struct rng rng;

    (void)state;
    rng_init(&rng, 12, 1);
    for (size_t c = 0; c < ARRAY_LEN(x); c++)
        x[c] = rig_numbers(t);
    int32_t *level = rig_levels(t, 9);
    double *y = rig_numbers(t);
    for (int64_t i = 0; i < 200; i++) {
        for (size_t c = 0; c < ARRAY_LEN(x); c++)
            x[c][i] = rng_below(&rng, 9) == 0 ? (double)NAN : rng_normal(&rng);
        level[i] = (int32_t)rng_below(&rng, 9);
        y[i] = rng_normal(&rng) + (isnan(x[3][i]) ? 1 : x[3][i]) +
               (isnan(x[31][i]) ? 0 : x[31][i]) + level[i] % 2;
    }
    struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, FOLDS);
    for (int way = 0; way < 3; way++) {
        struct lane here[FOLDS] = { 0 }, there[FOLDS] = { 0 };
        double params[FAMILY_MAX_PARAMS];
        params_of(params, 9);
        params[BOOST_COL_SAMPLE] = way == 1 ? 0.8 : 1;
        params[BOOST_BINS] = way != 2; /* 63 of them */
        emu_order_set((enum emu_order)way, 4);
        r->d->spec.device = NULL;
        boost_lanes_train(r, here, FOLDS, params, 2);
        r->d->spec.device = &boost_device;
        boost_lanes_train(r, there, FOLDS, params, 2);
        boost_lanes_equal(r, here, there, FOLDS, "wide");
        boost_lanes_close(here, FOLDS);
        boost_lanes_close(there, FOLDS);
    }
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lane_moves_between_cpu_and_device_at_any_round),
        cmocka_unit_test(a_checkpoint_goes_on_on_the_device),
        cmocka_unit_test(late_lanes_catch_up),
        cmocka_unit_test(slices_do_not_show),
        cmocka_unit_test(odd_tables_and_batches_of_one_node_change_nothing),
        cmocka_unit_test(what_finds_no_memory_there_trains_here),
        cmocka_unit_test(lanes_that_find_no_memory_together_go_in_parts),
        cmocka_unit_test(wide_tables_equal_the_cpus),
    };
    return cmocka_run_group_tests(tests, boost_device_open, boost_device_close);
}
