/* test_emulated_losses.c - boosting of every loss for numbers, and within monotone constraints, on the emulated device against
 * the CPU: the same bytes, whoever grows beside whom. */
#include "tests/cuda/boost_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/boost/boost.h"
#include "ml/model/models.h"

#include <math.h>

enum { STEPS = 3 };

static const struct {
    enum boost_loss loss;
    double alpha;
} losses[] = { { BOOST_ABSOLUTE, 0 }, { BOOST_HUBER, 0.9 }, { BOOST_QUANTILE, 0.2 },
               { BOOST_POISSON, 0 },  { BOOST_SQUARED, 0 }, { BOOST_QUANTILE, 0.95 },
               { BOOST_HUBER, 0.5 } };

/* One parameter or more away from the defaults. */
static const struct {
    int param[4];
    double value[4];
} ways[] = {
    { { BOOST_LEAVES }, { 12 } },
    { { BOOST_LEAVES, BOOST_ROW_SAMPLE, BOOST_L1, BOOST_L2 }, { 60, 0.6, 0.3, 2 } },
    { { BOOST_LEAVES, BOOST_GROW, BOOST_DEPTH, BOOST_MAX_ONEHOT }, { 9, 1, 3, 1 } },
    { { BOOST_LEAVES, BOOST_RANDOM, BOOST_COL_SAMPLE, BOOST_BINS }, { 20, 1, 0.5, 1 } },
};

/* Whole numbers, where is_tied: ranks fall among equal residuals too. directions: of columns 0 and 1. */
static struct rig *rig_of(enum ml_task task, int64_t rows, bool is_tied, bool is_monotone)
{
    struct rig_table *t = rig_mixed(task, rows, 2, 5);
    double *y = t->cols[t->n_cols - 1].num;

    for (int64_t i = 0; i < rows && task == ML_REGRESSION; i++)
        y[i] = is_tied ? fmax(0, floor((y[i] - 90) / 8)) : fmax(0, y[i]);
    struct rig *r = rig_new(t, task, task == ML_REGRESSION ? METRIC_RMSE : METRIC_LOGLOSS, FOLDS);
    if (is_monotone) {
        r->d->monotone = mem_array(7, sizeof *r->d->monotone);
        r->d->monotone[0] = 1;
        r->d->monotone[1] = -1;
        r->d->monotone[5] = 1;
    }
    return r;
}

static void params_of(size_t loss, size_t way, double *params)
{
    family_defaults(family_find("boost"), params);
    params[BOOST_OBJECTIVE] = losses[loss].loss;
    params[BOOST_MIN_LEAF] = 3;
    params[BOOST_LEARNING_RATE] = 0.3;
    if (losses[loss].alpha > 0)
        params[BOOST_ALPHA] = losses[loss].alpha;
    for (size_t i = 0; i < ARRAY_LEN(ways[way].param); i++) {
        if (i == 0 || ways[way].param[i] != 0)
            params[ways[way].param[i]] = ways[way].value[i];
    }
    boost_device.threads = way % 2 ? 64 : 32;
    boost_device.tile_rows = way % 2 ? 100 : 500;
    boost_device.batch = 0;
    emu_order_set((enum emu_order)((loss + way) % 3), 5);
}

static void check(struct rig *r, const double *params, const char *what)
{
    struct lane here[FOLDS] = { 0 }, there[FOLDS] = { 0 };

    r->d->spec.device = NULL;
    boost_lanes_train(r, here, FOLDS, params, STEPS);
    r->d->spec.device = &boost_device;
    unsigned long long before = emu_launches();
    boost_lanes_train(r, there, FOLDS, params, STEPS);
    assert_true(emu_launches() > before + STEPS * 10);
    boost_lanes_equal(r, here, there, FOLDS, what);
    boost_lanes_close(here, FOLDS);
    boost_lanes_close(there, FOLDS);
}

static void models_of_every_loss_equal_the_cpus(void **state)
{
    (void)state;
    for (int is_tied = 0; is_tied < 2; is_tied++) {
        struct rig *r = rig_of(ML_REGRESSION, 300, is_tied, false);
        for (size_t loss = 0; loss < ARRAY_LEN(losses); loss++) {
            double params[FAMILY_MAX_PARAMS];
            size_t way = (2 * loss + (size_t)is_tied) % ARRAY_LEN(ways);
            char what[40];
            params_of(loss, way, params);
            snprintf(what, sizeof what, "loss %zu, way %zu, tied %d", loss, way, is_tied);
            check(r, params, what);
        }
        rig_free(r);
    }
}

static void trials_of_different_losses_grow_together(void **state)
{
    enum { TRIALS = ARRAY_LEN(losses) };
    struct rig *r = rig_of(ML_REGRESSION, 300, true, false);
    struct lane here[TRIALS][1] = { 0 }, there[TRIALS] = { 0 };
    double params[FAMILY_MAX_PARAMS];
    struct err err = { 0 };

    (void)state;
    for (size_t i = 0; i < TRIALS; i++) {
        params_of(i, i % ARRAY_LEN(ways), params);
        r->d->spec.device = NULL;
        boost_lanes_train(r, here[i], 1, params, STEPS);
        there[i] = rig_lane(r, "boost", params, 0, 0);
    }
    r->d->spec.device = &boost_device;
    unsigned long long before = emu_launches();
    if (model_find("boost")->advance(r->d, there, TRIALS, STEPS, NULL, &err) < 0)
        fail_msg("%s", err.text);
    unsigned long long together = emu_launches() - before;
    for (size_t i = 0; i < TRIALS; i++)
        boost_lanes_equal(r, here[i], &there[i], 1, "together");
    assert_true(together < STEPS * 120); /* as of one with all the parts that any of them needs */
    for (size_t i = 0; i < TRIALS; i++)
        boost_lanes_close(here[i], 1);
    boost_lanes_close(there, TRIALS);
    rig_free(r);
}

static void constraints_hold_there_as_here(void **state)
{
    static const struct {
        enum ml_task task;
        size_t loss;
    } cases[] = { { ML_BINARY, 0 }, { ML_REGRESSION, 4 }, { ML_REGRESSION, 3 } };

    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        struct rig *r = rig_of(cases[c].task, 240, c == 2, true);
        struct rig *plain = rig_of(cases[c].task, 240, c == 2, false);
        for (size_t way = 0; way < ARRAY_LEN(ways); way++) {
            double params[FAMILY_MAX_PARAMS];
            struct lane bound[1] = { 0 }, free_[1] = { 0 };
            char what[40];
            params_of(cases[c].loss, way, params);
            if (cases[c].task == ML_BINARY)
                params[BOOST_OBJECTIVE] = BOOST_AUTO;
            snprintf(what, sizeof what, "constraints, case %zu, way %zu", c, way);
            check(r, params, what);
            plain->d->spec.device = r->d->spec.device = NULL;
            boost_lanes_train(r, bound, 1, params, STEPS);
            boost_lanes_train(plain, free_, 1, params, STEPS);
            struct buf a = rig_lane_bytes("boost", bound, STEPS);
            struct buf b = rig_lane_bytes("boost", free_, STEPS);
            assert_true(a.len != b.len || memcmp(a.data, b.data, a.len) != 0); /* they bind */
            buf_fini(&a);
            buf_fini(&b);
            boost_lanes_close(bound, 1);
            boost_lanes_close(free_, 1);
        }
        r->d->spec.device = &boost_device; /* what it left there */
        rig_free(r);
        rig_free(plain);
    }
}

static void quantiles_under_constraints_train_on_the_cpu(void **state)
{
    struct rig *r = rig_of(ML_REGRESSION, 100, false, true);
    double params[FAMILY_MAX_PARAMS];

    (void)state;
    for (size_t loss = 0; loss < 3; loss++) {
        struct lane l[FOLDS] = { 0 };
        params_of(loss, 0, params);
        r->d->spec.device = &boost_device;
        unsigned long long before = emu_launches();
        boost_lanes_train(r, l, FOLDS, params, 2);
        assert_int_equal(l[0].steps_done, 2);
        assert_true(emu_launches() == before);
        boost_lanes_close(l, FOLDS);
    }
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_of_every_loss_equal_the_cpus),
        cmocka_unit_test(trials_of_different_losses_grow_together),
        cmocka_unit_test(constraints_hold_there_as_here),
        cmocka_unit_test(quantiles_under_constraints_train_on_the_cpu),
    };
    return cmocka_run_group_tests(tests, boost_device_open, boost_device_close);
}
