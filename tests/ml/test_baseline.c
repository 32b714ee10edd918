/* test_baseline.c - shares, mean and median, known by hand. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"

#include <math.h>

static float *fitted(struct rig *r, int fold)
{
    double none[1] = { 0 };
    struct lane l = rig_lane(r, "baseline", none, fold, 1);
    struct buf b = rig_lane_bytes("baseline", &l, 1);
    float *p = rig_predict(r, "baseline", &b);

    assert_true(l.is_done && l.steps_done == 1);
    buf_fini(&b);
    rig_lane_close("baseline", &l);
    return p;
}

static struct rig *table(enum ml_task task, enum metric_id metric, const double *y, int n)
{
    struct rig_table *t = rig_table_new(n);
    double *x = rig_numbers(t), *to = rig_numbers(t);

    for (int i = 0; i < n; i++) {
        x[i] = i % 3;
        to[i] = y[i];
    }
    return rig_new(t, task, metric, 2);
}

static void regression_gives_what_is_best_by_the_metric(void **state)
{
    static const double y[] = { 1, 2, 3, 4, 5, 6, 7, 100 };
    static const struct {
        enum metric_id metric;
        double want;
    } cases[] = { { METRIC_RMSE, 16 },        { METRIC_POISSON, 16 },
                  { METRIC_MAE, 4.5 },        { METRIC_PINBALL_05, 1 },
                  { METRIC_PINBALL_10, 1 },   { METRIC_PINBALL_25, 2.5 },
                  { METRIC_PINBALL_50, 4.5 }, { METRIC_PINBALL_75, 6.5 },
                  { METRIC_PINBALL_95, 100 } };

    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        struct rig *r = table(ML_REGRESSION, cases[c].metric, y, 8);
        float *p = fitted(r, FOLD_ALL);
        for (int i = 0; i < 8; i++)
            assert_float_equal(p[i], cases[c].want, 1e-6);
        free(p);
        rig_free(r);
    }
}

static void classes_give_their_shares(void **state)
{
    static const double y[] = { 0, 0, 0, 0, 1, 1, 2, 2, 2, 2 },
                        b[] = { 0, 1, 0, 0, 0, 0, 1, 0, 0, 0 };
    struct rig *r = table(ML_MULTICLASS, METRIC_LOGLOSS, y, 10);
    float *p = fitted(r, FOLD_ALL);

    (void)state;
    for (int i = 0; i < 10; i++) {
        assert_float_equal(p[i * 3], 0.4, 1e-6);
        assert_float_equal(p[i * 3 + 1], 0.2, 1e-6);
        assert_float_equal(p[i * 3 + 2], 0.4, 1e-6);
    }
    free(p);
    rig_free(r);
    r = table(ML_BINARY, METRIC_AUC, b, 10);
    p = fitted(r, FOLD_ALL);
    assert_float_equal(p[0], 0.2, 1e-6);
    free(p);
    rig_free(r);
}

static void extreme_targets_do_not_overflow(void **state)
{
    static const double y[] = { 1e308, -1e308, 1e308, 1e308, 1e308, 1e308 };
    struct rig *r = table(ML_REGRESSION, METRIC_RMSE, y, 6);
    float *p = fitted(r, FOLD_ALL);

    (void)state;
    assert_false(isnan(p[0]));
    free(p);
    rig_free(r);
}

static void a_fold_does_not_see_its_own_rows(void **state)
{
    static const double y[] = { 0, 10, 0, 10, 0, 10, 0, 10 };
    struct rig *r = table(ML_REGRESSION, METRIC_RMSE, y, 8);
    double sum = 0;
    int n = 0;

    (void)state;
    for (int i = 0; i < 8; i++) {
        sum += r->d->fold[i] == 1 ? y[i] : 0;
        n += r->d->fold[i] == 1;
    }
    float *p = fitted(r, 0);
    assert_float_equal(p[0], sum / n, 1e-6);
    free(p);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regression_gives_what_is_best_by_the_metric),
        cmocka_unit_test(classes_give_their_shares),
        cmocka_unit_test(extreme_targets_do_not_overflow),
        cmocka_unit_test(a_fold_does_not_see_its_own_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
