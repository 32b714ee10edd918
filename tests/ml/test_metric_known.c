/* test_metric_known.c - every metric, with and without weights, against what scikit-learn 1.9.1
 * says of the same 40 rows. The numbers were drawn once, and are whole multiples of powers of two, so that floats hold them. */
#include "tests/unit.h"

#include "ml/metric/metric.h"

#include <math.h>

enum { N = 40, K = 4 };

static const int yb[N] = { 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0,
                           0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0 };
static const int pb64[N] = { 19, 50, 15, 16, 46, 49, 43, 59, 2,  36, 19, 5,  53, 48,
                             11, 32, 34, 57, 37, 11, 42, 34, 54, 61, 22, 39, 63, 24,
                             44, 39, 44, 27, 55, 15, 45, 33, 48, 40, 51, 10 };
static const int ym[N] = { 3, 0, 0, 2, 0, 3, 1, 2, 3, 3, 1, 0, 1, 3, 2, 0, 3, 3, 3, 2,
                           3, 2, 2, 3, 2, 3, 1, 3, 3, 0, 2, 1, 0, 0, 1, 0, 2, 0, 2, 3 };
static const int pm256[N * K] = {
    14,  34, 56, 152, 128, 62,  19,  47, 134, 6,   75,  41,  51,  58, 101, 46,  144, 27, 68, 17,
    46,  51, 74, 85,  3,   132, 26,  95, 39,  38,  140, 39,  50,  50, 69,  87,  43,  72, 44, 97,
    63,  89, 50, 54,  141, 27,  51,  37, 30,  121, 36,  69,  74,  13, 56,  113, 92,  11, 87, 66,
    110, 81, 41, 24,  113, 30,  18,  95, 34,  23,  54,  145, 12,  41, 66,  137, 84,  12, 87, 73,
    7,   72, 21, 156, 117, 67,  64,  8,  40,  81,  71,  64,  48,  31, 83,  94,  33,  67, 87, 69,
    53,  16, 46, 141, 61,  158, 0,   37, 62,  55,  45,  94,  71,  55, 44,  86,  108, 30, 62, 56,
    86,  53, 58, 59,  72,  96,  54,  34, 87,  73,  8,   88,  136, 95, 13,  12,  94,  94, 28, 40,
    120, 17, 51, 68,  74,  1,   135, 46, 90,  54,  27,  85,  27,  68, 84,  77,  76,  74, 11, 95
};
static const int yr8[N] = { 35, 62, 14, 0,  122, 16, 38, 35, 58,  46, 0,  45, 13, 36,
                            17, 60, 68, 66, 72,  37, 95, 30, 133, 37, 91, 52, 20, 59,
                            47, 25, 18, 38, 41,  25, 14, 52, 73,  77, 41, 12 };
static const int pr16[N] = { 101, 139, 36,  65,  276, 28, 68,  43,  63,  77,  34,  62,  35, 70,
                             110, 175, 107, 181, 167, 57, 296, 45,  79,  103, 143, 189, 32, 75,
                             176, 34,  40,  137, 87,  49, 30,  146, 107, 198, 104, 62 };
static const int weights[N] = { 4, 2, 2, 3, 3, 1, 2, 3, 4, 4, 2, 3, 1, 4, 2, 1, 3, 4, 3, 1,
                                4, 1, 3, 3, 4, 2, 2, 1, 4, 1, 1, 4, 1, 1, 2, 1, 4, 4, 4, 4 };

/* mape is of the target plus 1, which is never 0. */
static const struct {
    enum metric_id id;
    enum ml_task task;
    double score, weighted;
} known[] = {
    { METRIC_AUC, ML_BINARY, 0.8032581453634084, 0.7866641337386019 },
    { METRIC_AUC, ML_MULTICLASS, 0.9660614630467572, 0.9802249381760596 },
    { METRIC_ACCURACY, ML_BINARY, 0.675, 0.6310679611650486 },
    { METRIC_ACCURACY, ML_MULTICLASS, 0.825, 0.8737864077669902 },
    { METRIC_BALANCED_ACCURACY, ML_BINARY, 0.6829573934837092, 0.6453267477203647 },
    { METRIC_BALANCED_ACCURACY, ML_MULTICLASS, 0.8154761904761905, 0.8644062078272605 },
    { METRIC_F1, ML_BINARY, 0.7111111111111111, 0.6666666666666666 },
    { METRIC_F1, ML_MULTICLASS, 0.8154761904761905, 0.849103352364222 },
    { METRIC_RMSE, ML_REGRESSION, 3.1414255820407395, 3.420367721743051 },
    { METRIC_MAE, ML_REGRESSION, 2.2625, 2.5891990291262137 },
    { METRIC_R2, ML_REGRESSION, 0.28626115945304553, 0.20777840067692 },
    { METRIC_PINBALL_05, ML_REGRESSION, 1.40265625, 1.6225424757281552 },
    { METRIC_PINBALL_10, ML_REGRESSION, 1.3725, 1.5861043689320389 },
    { METRIC_PINBALL_25, ML_REGRESSION, 1.28203125, 1.4767900485436893 },
    { METRIC_PINBALL_50, ML_REGRESSION, 1.13125, 1.2945995145631068 },
    { METRIC_PINBALL_75, ML_REGRESSION, 0.98046875, 1.1124089805825244 },
    { METRIC_PINBALL_90, ML_REGRESSION, 0.89, 1.0030946601941746 },
    { METRIC_PINBALL_95, ML_REGRESSION, 0.85984375, 0.9666565533980583 },
    { METRIC_AVERAGE_PRECISION, ML_BINARY, 0.8165557898398341, 0.8025694896906223 },
    { METRIC_AVERAGE_PRECISION, ML_MULTICLASS, 0.9199693024062772, 0.9474378297301463 },
    { METRIC_LOGLOSS, ML_BINARY, 0.539993647859789, 0.5640264554662251 },
    { METRIC_LOGLOSS, ML_MULTICLASS, 0.8800391730884197, 0.8623006382234517 },
    { METRIC_BALANCED_LOGLOSS, ML_BINARY, 0.5334367989215538, 0.5519654181363468 },
    { METRIC_BALANCED_LOGLOSS, ML_MULTICLASS, 0.8775949154609753, 0.8607077592114712 },
    { METRIC_BRIER, ML_BINARY, 0.18839111328125, 0.20066226107402912 },
    { METRIC_BRIER, ML_MULTICLASS, 0.476885986328125, 0.46394214815306434 },
    { METRIC_MCC, ML_BINARY, 0.38310314400755063, 0.30361962598835074 },
    { METRIC_MCC, ML_MULTICLASS, 0.7709076914421575, 0.8276499320212742 },
    { METRIC_QUADRATIC_KAPPA, ML_BINARY, 0.35960591133004927, 0.2810433504775901 },
    { METRIC_QUADRATIC_KAPPA, ML_MULTICLASS, 0.7419354838709677, 0.8074892612388104 },
    { METRIC_MAPE, ML_REGRESSION, 0.4264456043879289, 0.43333691265022334 },
    { METRIC_RMSLE, ML_REGRESSION, 0.4786022905318951, 0.49939871706759065 },
    { METRIC_POISSON, ML_REGRESSION, 1.5169628518449128, 1.715899360335463 },
    { METRIC_TWEEDIE, ML_REGRESSION, 0.8160624404541956, 0.8827095334068094 },
};

static void fill(enum metric_id id, enum ml_task task, float *p, double *y)
{
    for (int i = 0; i < N; i++) {
        y[i] = task == ML_BINARY ? yb[i] : task == ML_MULTICLASS ? ym[i] : yr8[i] / 8.0;
        y[i] += id == METRIC_MAPE;
        p[i] = task == ML_BINARY ? (float)pb64[i] / 64 : (float)pr16[i] / 16;
    }
    for (int i = 0; task == ML_MULTICLASS && i < N * K; i++)
        p[i] = (float)pm256[i] / 256;
}

static void near(const char *name, double got, double want)
{
    if (!(fabs(got - want) <= 1e-8 * fmax(1, fabs(want))))
        fail_msg("%s: %.17g, want %.17g", name, got, want);
}

static void scores_are_those_of_scikit_learn(void **state)
{
    float p[N * K];
    double y[N], w[N], value = 0, se = 0;
    struct err err = { 0 };

    (void)state;
    for (int i = 0; i < N; i++)
        w[i] = weights[i];
    for (size_t c = 0; c < ARRAY_LEN(known); c++) {
        const char *name = metric_info(known[c].id)->name;
        fill(known[c].id, known[c].task, p, y);
        if (metric_score(known[c].id, known[c].task, p, y, N, K, &value, &se, &err) < 0)
            fail_msg("%s: %s", name, err.text);
        near(name, value, known[c].score);
        assert_true(se > 0 && se < 1);
        if (metric_score_weighted(known[c].id, known[c].task, p, y, w, N, K, &value, &se, &err) < 0)
            fail_msg("%s: %s", name, err.text);
        near(name, value, known[c].weighted);
        assert_true(se > 0 && se < 1);
    }
}

/* Each metric stands in the table for each kind of target that it has. */
static void none_is_left_out(void **state)
{
    (void)state;
    for (int id = 0; id < METRICS; id++) {
        int seen = 0;
        for (size_t c = 0; c < ARRAY_LEN(known); c++)
            seen |= (int)known[c].id == id ? (int)known[c].task : 0;
        if (seen != metric_info((enum metric_id)id)->tasks)
            fail_msg("%s", metric_info((enum metric_id)id)->name);
    }
}

/* What has no definition is a number that says so, or an error; nothing divides by 0. */
static void edges_are_defined(void **state)
{
    const double ones[] = { 1, 1, 1 }, zero[] = { 0, 0, 0 }, below[] = { 1, -1, 2 };
    const float high[] = { 0.75f, 0.75f, 0.75f }, low[] = { 0.25f, 0.25f, 0.25f };
    double value = 0, se = 0;
    struct err err = { 0 };

    (void)state;
    assert_int_equal(metric_score(METRIC_MCC, ML_BINARY, high, ones, 3, 2, &value, &se, &err), 0);
    assert_true(value == 0 && isnan(se));
    assert_int_equal(
        metric_score(METRIC_QUADRATIC_KAPPA, ML_BINARY, high, ones, 3, 2, &value, &se, &err), 0);
    assert_true(isnan(value));
    assert_int_equal(
        metric_score(METRIC_QUADRATIC_KAPPA, ML_BINARY, low, ones, 3, 2, &value, &se, &err), 0);
    assert_true(value == 0);
    assert_int_equal(
        metric_score(METRIC_AVERAGE_PRECISION, ML_BINARY, high, ones, 3, 2, &value, &se, &err), 0);
    assert_true(value == 1);
    assert_int_equal(
        metric_score(METRIC_AVERAGE_PRECISION, ML_BINARY, high, zero, 3, 2, &value, &se, &err), -1);
    assert_int_equal(metric_score(METRIC_MAPE, ML_REGRESSION, high, zero, 3, 0, &value, &se, &err),
                     0);
    assert_true(isfinite(value) && value > 1e15);
    for (enum metric_id id = METRIC_RMSLE; id <= METRIC_TWEEDIE; id++) {
        assert_int_equal(metric_score(id, ML_REGRESSION, high, below, 3, 0, &value, &se, &err), -1);
        assert_non_null(strstr(err.text, "needs a target from 0 up, not -1"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_scikit_learn),
        cmocka_unit_test(none_is_left_out),
        cmocka_unit_test(edges_are_defined),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
