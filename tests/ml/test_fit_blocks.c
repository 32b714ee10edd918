/* test_fit_blocks.c - a trial's score block by block of rows: the mean is the score, the spread its
 * standard error, all trials of a table have the same blocks, and a checkpoint changes no bit. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *family;
    enum ml_task task;
    int classes;
    enum metric_id metric;
} cases[] = {
    { "boost", ML_BINARY, 2, METRIC_AUC },         { "linear", ML_MULTICLASS, 3, METRIC_LOGLOSS },
    { "forest", ML_REGRESSION, 0, METRIC_RMSE },   { "linear", ML_REGRESSION, 0, METRIC_R2 },
    { "baseline", ML_BINARY, 2, METRIC_ACCURACY }, { "baseline", ML_BINARY, 2, METRIC_AUC },
};

static struct fit_trial *trained(struct rig *r, const char *family, bool holdout)
{
    const struct family *f = family_find(family);
    double params[FAMILY_MAX_PARAMS];
    struct err err = { 0 };

    family_defaults(f, params);
    if (family_param_find(f, "rounds") >= 0)
        params[family_param_find(f, "rounds")] = 30;
    if (family_param_find(f, "trees") >= 0)
        params[family_param_find(f, "trees")] = 12;
    struct fit_trial *t = fit_trial_open(r->d, f, params, 42, holdout, &err);
    if (!t || fit_trial_advance(t, f->levels, NULL, &err) != 1)
        fail_msg("%s", err.text);
    return t;
}

static void their_mean_is_the_score_and_their_spread_its_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (int holdout = 0; holdout < 2; holdout++) {
            struct rig *r = rig_new(rig_mixed(cases[i].task, 600, cases[i].classes, 4),
                                    cases[i].task, cases[i].metric, 5);
            struct fit_trial *t = trained(r, cases[i].family, holdout);
            double block[FIT_BLOCKS], mean = 0, square = 0;
            struct fit_result res;
            struct err err = { 0 };

            int n = fit_trial_blocks(t, block, NULL);
            assert_int_equal(n, holdout ? FIT_BLOCKS : FIT_BLOCKS / 5 * 5);
            assert_int_equal(fit_trial_result(t, &res, &err), 0);
            for (int b = 0; b < n; b++)
                mean += block[b] / n;
            for (int b = 0; b < n; b++)
                square += (block[b] - mean) * (block[b] - mean);
            assert_true(fabs(mean - res.score) <= 1e-12 * fmax(fabs(res.score), 1));
            double se = sqrt(square / (n - 1) / n);
            if (res.se > 1e-9) /* 30 blocks know the error to about a seventh; folds differ, too */
                assert_true(se > res.se / 2 && se < res.se * 2);
            else
                assert_true(se < 1e-9);
            fit_trial_close(t);
            rig_free(r);
        }
    }
}

/* An area under the curve of few positive rows has no more blocks than the fold with the fewest of them
 * has such rows. A mean over rows has as many blocks as ever. */
static void few_rows_of_a_class_are_few_blocks(void **state)
{
    static const struct {
        int positive;
        enum metric_id metric;
        int blocks;
    } few[] = { { 5, METRIC_AUC, 5 },       { 9, METRIC_AUC, 5 },   { 10, METRIC_AUC, 10 },
                { 29, METRIC_AUC, 25 },     { 60, METRIC_AUC, 30 }, { 195, METRIC_AUC, 5 },
                { 10, METRIC_LOGLOSS, 30 }, { 10, METRIC_F1, 10 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(few); i++) {
        struct rig_table *table = rig_mixed(ML_BINARY, 200, 2, 4);
        double *y = table->cols[table->n_cols - 1].num, block[FIT_BLOCKS];
        for (int k = 0; k < 200; k++)
            y[k] = k * 37 % 200 < few[i].positive;
        struct rig *r = rig_new(table, ML_BINARY, few[i].metric, 5);
        struct fit_trial *t = trained(r, "linear", false);
        assert_int_equal(fit_trial_blocks(t, block, NULL), few[i].blocks);
        fit_trial_close(t);
        rig_free(r);
    }
}

static void a_checkpoint_changes_no_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig *r = rig_new(rig_mixed(cases[i].task, 300, cases[i].classes, 4), cases[i].task,
                                cases[i].metric, 3);
        struct fit_trial *a = trained(r, cases[i].family, false), *b = NULL;
        const struct family *f = family_find(cases[i].family);
        double x[FIT_BLOCKS], y[FIT_BLOCKS], params[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        struct buf bytes;

        buf_init(&bytes, 1u << 28);
        assert_int_equal(fit_trial_save(a, &bytes, &err), 0);
        struct view in = { (const uint8_t *)bytes.data, bytes.len, 0 };
        family_defaults(f, params);
        if (family_param_find(f, "rounds") >= 0)
            params[family_param_find(f, "rounds")] = 30;
        if (family_param_find(f, "trees") >= 0)
            params[family_param_find(f, "trees")] = 12;
        b = fit_trial_open(r->d, f, params, 42, false, &err);
        assert_int_equal(fit_trial_load(b, &in, &err), 0);
        int n = fit_trial_blocks(a, x, NULL);
        assert_true(n > 0);
        assert_int_equal(fit_trial_blocks(b, y, NULL), n);
        assert_memory_equal(x, y, (size_t)n * sizeof *x);
        buf_fini(&bytes);
        fit_trial_close(a);
        fit_trial_close(b);
        rig_free(r);
    }
}

/* A model ranks the rows, the baseline does not, and of several classes nothing is said. */
static void the_order_of_the_rows_is_known(void **state)
{
    static const struct {
        const char *family;
        enum ml_task task;
        int classes;
        double least, most;
    } ways[] = {
        { "linear", ML_REGRESSION, 0, 10, 30 }, { "boost", ML_BINARY, 2, 8, 30 },
        { "baseline", ML_BINARY, 2, 0, 0 },     { "baseline", ML_REGRESSION, 0, 0, 0 },
        { "linear", ML_MULTICLASS, 3, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        struct rig *r = rig_new(rig_mixed(ways[i].task, 600, ways[i].classes, 4), ways[i].task,
                                ways[i].task == ML_REGRESSION ? METRIC_RMSE : METRIC_LOGLOSS, 5);
        struct fit_trial *t = trained(r, ways[i].family, false);
        double block[FIT_BLOCKS], order = -1;

        assert_true(fit_trial_blocks(t, block, &order) > 0);
        if (!(order >= ways[i].least && order <= ways[i].most))
            fail_msg("%s, task %d: %g", ways[i].family, (int)ways[i].task, order);
        fit_trial_close(t);
        rig_free(r);
    }
}

/* By chance it is about as far from 0 as its error says, and never far. */
static void an_order_by_chance_is_small(void **state)
{
    double square = 0;
    enum { TABLES = 20 };

    (void)state;
    for (uint64_t seed = 0; seed < TABLES; seed++) {
        struct rig_table *table = rig_mixed(ML_REGRESSION, 300, 0, seed);
        double block[FIT_BLOCKS], order = -1, *y = table->cols[table->n_cols - 1].num;
        struct rng rng;

        rng_init(&rng, test_seed(), seed);
        for (uint32_t i = 299; i > 0; i--) {
            uint32_t k = rng_below(&rng, i + 1);
            double was = y[i];
            y[i] = y[k];
            y[k] = was;
        }
        struct rig *r = rig_new(table, ML_REGRESSION, METRIC_RMSE, 5);
        struct fit_trial *t = trained(r, "linear", false);
        (void)fit_trial_blocks(t, block, &order);
        assert_true(fabs(order) < 6);
        square += order * order / TABLES;
        fit_trial_close(t);
        rig_free(r);
    }
    assert_true(square < 2.25 * 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(their_mean_is_the_score_and_their_spread_its_error),
        cmocka_unit_test(few_rows_of_a_class_are_few_blocks),
        cmocka_unit_test(a_checkpoint_changes_no_bit),
        cmocka_unit_test(the_order_of_the_rows_is_known),
        cmocka_unit_test(an_order_by_chance_is_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
