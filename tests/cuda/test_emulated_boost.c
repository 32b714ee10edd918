/* test_emulated_boost.c - boosting whole rounds on the emulated device against the CPU: the same bytes, whatever the loss, the
 * way a tree grows, what is sampled, the order in which threads run and the size of blocks. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/ops.h"
#include "ml/ops_boost.h"
#include "tests/cuda/emu.h"

const struct ml_ops *assay_cuda_ops(void);

enum { FOLDS = 3, STEPS = 2 };

static struct ml_compute device;

static int device_open(void **state)
{
    (void)state;
    device.ops = assay_cuda_ops();
    device.ctx = device.ops->open(0, NULL);
    return device.ctx ? 0 : -1;
}

static int device_close(void **state)
{
    (void)state;
    device.ops->close(device.ctx);
    return emu_device_bytes_live() == 0 ? 0 : -1;
}

/* Trains the lanes of all folds in one call. */
static void lanes_train(struct rig *r, struct lane *l, int n, const double *params, int64_t steps)
{
    struct err err = { 0 };

    for (int f = 0; f < n; f++) {
        if (!l[f].state)
            l[f] = rig_lane(r, "boost", params, f < FOLDS ? f : FOLD_ALL, 0);
    }
    if (model_find("boost")->advance(r->d, l, n, steps, NULL, &err) < 0)
        fail_msg("%s", err.text);
    for (int f = 0; f < n; f++)
        assert_false(l[f].failed);
}

static void lanes_equal(struct rig *r, struct lane *a, struct lane *b, int n, const char *what)
{
    float *held = malloc((size_t)(r->d->rows * r->d->n_outputs) * 2 * sizeof *held);
    float *other = held + r->d->rows * r->d->n_outputs;

    for (int f = 0; f < n; f++) {
        struct buf x = rig_lane_bytes("boost", &a[f], a[f].steps_done);
        struct buf y = rig_lane_bytes("boost", &b[f], b[f].steps_done);
        memset(held, 0, (size_t)(r->d->rows * r->d->n_outputs) * 2 * sizeof *held);
        if (x.len != y.len || memcmp(x.data, y.data, x.len) != 0)
            fail_msg("%s: fold %d: other trees (%zu and %zu bytes)", what, f, x.len, y.len);
        assert_int_equal(model_find("boost")->predict_held(r->d, &a[f], held, NULL), 0);
        assert_int_equal(model_find("boost")->predict_held(r->d, &b[f], other, NULL), 0);
        assert_memory_equal(held, other, (size_t)(r->d->rows * r->d->n_outputs) * sizeof *held);
        buf_fini(&x);
        buf_fini(&y);
    }
    free(held);
}

static void lanes_close(struct lane *l, int n)
{
    for (int f = 0; f < n; f++)
        rig_lane_close("boost", &l[f]);
}

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
    lanes_train(r, here, FOLDS, params, STEPS);
    device.threads = way % 2 ? 64 : 32;
    device.tile_rows = way % 2 ? 100 : 500;
    emu_order_set((enum emu_order)(way % 3), 5);
    r->d->spec.device = &device;
    unsigned long long before = emu_launches();
    lanes_train(r, there, FOLDS, params, STEPS);
    assert_true(emu_launches() > before + STEPS * 20);
    for (int f = 0; f < FOLDS; f++)
        assert_int_equal(there[f].steps_done, STEPS);
    lanes_equal(r, here, there, FOLDS, what);
    lanes_close(here, FOLDS);
    lanes_close(there, FOLDS);
}

static void way_sweep(int task)
{
    struct rig *r = rig_of(task);

    for (size_t way = 0; way < ARRAY_LEN(ways); way++)
        way_check(r, task, way);
    r->d->spec.device = &device;
    rig_free(r);
}

static void binary_models_equal_the_cpus_byte_for_byte(void **state)
{
    (void)state;
    way_sweep(0);
}

static void regression_models_equal_the_cpus_byte_for_byte(void **state)
{
    (void)state;
    way_sweep(1);
}

static void multiclass_models_equal_the_cpus_byte_for_byte(void **state)
{
    (void)state;
    way_sweep(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binary_models_equal_the_cpus_byte_for_byte),
        cmocka_unit_test(regression_models_equal_the_cpus_byte_for_byte),
        cmocka_unit_test(multiclass_models_equal_the_cpus_byte_for_byte),
    };
    return cmocka_run_group_tests(tests, device_open, device_close);
}
