/* test_metric.c - scores known by hand, ties and empty classes, and standard errors against resampling and against the
 * plain quadratic definition of DeLong's variance. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/math/sort.h"
#include "ml/metric/metric.h"

#include <math.h>

static double score(enum metric_id id, enum ml_task task, const float *p, const double *y,
                    int64_t n, int k, double *se)
{
    struct err err = { 0 };
    double value = 0, own = 0;

    if (metric_score(id, task, p, y, n, k, &value, se ? se : &own, &err) < 0)
        fail_msg("%s", err.text);
    return value;
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fmax(1, fabs(want))))
        fail_msg("%.17g, want %.17g", got, want);
}

static void scores_known_by_hand(void **state)
{
    const double y2[] = { 1, 0, 1, 0 }, y3[] = { 0, 1, 2, 2 }, yr[] = { 1, 2, 3, 6 };
    const float p2[] = { 0.75f, 0.5f, 0.25f, 0.25f }, pr[] = { 1, 3, 3, 4 };
    const float p3[] = {
        0.5f, 0.25f, 0.25f, 0.5f, 0.25f, 0.25f, 0, 0.25f, 0.75f, 0.25f, 0.25f, 0.5f
    };

    (void)state;
    near(score(METRIC_AUC, ML_BINARY, p2, y2, 4, 2, NULL), 0.625); /* pairs: win, win, loss, tie */
    near(score(METRIC_LOGLOSS, ML_BINARY, p2, y2, 4, 2, NULL),
         -(log(0.75) + log(0.5) + log(0.25) + log(0.75)) / 4);
    near(score(METRIC_ACCURACY, ML_BINARY, p2, y2, 4, 2, NULL), 0.75); /* 0.5 is not positive */
    near(score(METRIC_F1, ML_BINARY, p2, y2, 4, 2, NULL), 2.0 / 3);
    near(score(METRIC_BALANCED_ACCURACY, ML_BINARY, p2, y2, 4, 2, NULL), 0.75);
    near(score(METRIC_LOGLOSS, ML_MULTICLASS, p3, y3, 4, 3, NULL),
         -(log(0.5) + log(0.25) + log(0.75) + log(0.5)) / 4);
    near(score(METRIC_ACCURACY, ML_MULTICLASS, p3, y3, 4, 3, NULL), 0.75);
    near(score(METRIC_BALANCED_ACCURACY, ML_MULTICLASS, p3, y3, 4, 3, NULL), 2.0 / 3);
    near(score(METRIC_F1, ML_MULTICLASS, p3, y3, 4, 3, NULL), (2.0 / 3 + 0 + 1) / 3);
    near(score(METRIC_RMSE, ML_REGRESSION, pr, yr, 4, 0, NULL), sqrt(5.0 / 4));
    near(score(METRIC_MAE, ML_REGRESSION, pr, yr, 4, 0, NULL), 0.75);
    near(score(METRIC_R2, ML_REGRESSION, pr, yr, 4, 0, NULL), 1 - 5.0 / 14);
    near(score(METRIC_PINBALL_50, ML_REGRESSION, pr, yr, 4, 0, NULL), 0.75 / 2);
    near(score(METRIC_PINBALL_90, ML_REGRESSION, pr, yr, 4, 0, NULL), (0.1 * 1 + 0.9 * 2) / 4);
    near(score(METRIC_PINBALL_05, ML_REGRESSION, pr, yr, 4, 0, NULL), (0.95 * 1 + 0.05 * 2) / 4);
    near(score(METRIC_POISSON, ML_REGRESSION, pr, yr, 4, 0, NULL),
         2 * (2 * log(2.0 / 3) + 1 + 6 * log(1.5) - 2) / 4);
}

static void certain_and_wrong_costs_much_but_not_infinity(void **state)
{
    const double y[] = { 1, 0 };
    const float p[] = { 0, 1 };

    (void)state;
    assert_true(fabs(score(METRIC_LOGLOSS, ML_BINARY, p, y, 2, 2, NULL) - 34.54) < 0.01);
}

static void a_count_predicted_below_none_costs_much_but_not_infinity(void **state)
{
    const double y[] = { 0, 2 };
    const float p[] = { -3, -3 };

    (void)state;
    near(score(METRIC_POISSON, ML_REGRESSION, p, y, 2, 0, NULL),
         (2 * METRIC_LEAST_COUNT + 2 * (2 * log(2 / METRIC_LEAST_COUNT) - 2 + METRIC_LEAST_COUNT)) /
             2);
}

/* Of all constants the quantile has the least pinball loss. */
static void pinball_is_least_at_its_quantile(void **state)
{
    enum { N = 200 };
    static double y[N];
    static float p[N];

    (void)state;
    for (int i = 0; i < N; i++)
        y[i] = i; /* the quantile q lies between q N - 1 and q N */
    for (int id = METRIC_PINBALL_05; id <= METRIC_PINBALL_95; id++) {
        double q = metric_info((enum metric_id)id)->quantile, best = 0;
        for (int at = 0; at < N; at++) {
            for (int i = 0; i < N; i++)
                p[i] = (float)(at - 0.5);
            double v = score((enum metric_id)id, ML_REGRESSION, p, y, N, 0, NULL);
            best = at == 0 || v < best ? v : best;
            if (fabs(at - q * N) < 0.5)
                near(v, best);
            else if (at > q * N)
                assert_true(v > best);
        }
    }
}

static void impossible_questions_are_errors(void **state)
{
    const double ones[] = { 1, 1 };
    const float p[] = { 0.5f, 0.6f }, bad[] = { 0.5f, NAN };
    enum metric_id id;
    struct err err = { 0 };
    double v, se;

    (void)state;
    assert_int_equal(metric_score(METRIC_AUC, ML_BINARY, p, ones, 2, 2, &v, &se, &err), -1);
    assert_true(isnan(v) && isnan(se) && err.code == ERR_ARG);
    assert_int_equal(metric_score(METRIC_RMSE, ML_BINARY, p, ones, 2, 2, &v, &se, &err), -1);
    assert_int_equal(metric_score(METRIC_MAE, ML_REGRESSION, bad, ones, 2, 0, &v, &se, &err), -1);
    assert_string_equal(err.text, "the prediction of row 1 is not a number");
    assert_int_equal(metric_score(METRIC_MAE, ML_REGRESSION, p, ones, 0, 0, &v, &se, &err), -1);
    const double below[] = { 1, -1 };
    assert_int_equal(metric_score(METRIC_POISSON, ML_REGRESSION, p, below, 2, 0, &v, &se, &err),
                     -1);
    assert_non_null(strstr(err.text, "from 0 up"));
    assert_int_equal(metric_parse("acuracy", &id, &err), -1);
    assert_non_null(strstr(err.text, "did you mean accuracy?"));
    for (int i = 0; i < METRICS; i++) {
        assert_int_equal(metric_parse(metric_info((enum metric_id)i)->name, &id, &err), 0);
        assert_int_equal(id, i);
    }
}

/* A draw of rows with scores rounded to make ties. */
static void draw(struct rng *r, int64_t n, int k, float *p, double *y)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = rng_below(r, (uint32_t)(k ? k : 2));
        double sum = 0;
        for (int c = 0; c < (k ? k : 1); c++) {
            double v = rng_unit(r) + (k ? (y[i] == c) * 0.4 : y[i] * 0.3);
            p[i * (k ? k : 1) + c] = (float)(floor(v * 20) / 20);
            sum += (double)p[i * (k ? k : 1) + c];
        }
        for (int c = 0; c < k; c++)
            p[i * k + c] = sum > 0 ? (float)((double)p[i * k + c] / sum) : 1.0f / (float)k;
        if (!k)
            p[i] = p[i] > 1 ? 1 : p[i];
    }
}

static double wins(double a, double b)
{
    return a > b ? 1 : a == b ? 0.5 : 0;
}

/* One row shows no spread: it is a yes or no, even if it wins against all others, or against none. */
static void auc_of_one_row_of_a_class_is_no_certainty(void **state)
{
    const double y[] = { 0, 0, 0, 0, 1 };
    const float last[] = { 0.1f, 0.2f, 0.3f, 0.4f, 0.5f },
                first[] = { 0.2f, 0.3f, 0.4f, 0.5f, 0.1f };
    double se = 0;

    (void)state;
    near(score(METRIC_AUC, ML_BINARY, last, y, 5, 2, &se), 1);
    near(se, sqrt(0.75 * 0.25));
    near(score(METRIC_AUC, ML_BINARY, first, y, 5, 2, &se), 0);
    near(se, sqrt(0.25 * 0.75));
}

static void auc_and_delong_equal_the_quadratic_definition(void **state)
{
    enum { N = 300 };
    float p[N];
    double y[N], se;
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 0);
    for (int rep = 0; rep < 20; rep++) {
        draw(&r, N, 0, p, y);
        double m = 0, n = 0, sum = 0, s10 = 0, s01 = 0;
        for (int i = 0; i < N; i++)
            m += y[i], n += 1 - y[i];
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                sum += y[i] == 1 && y[j] == 0 ? wins((double)p[i], (double)p[j]) : 0;
        double auc = sum / (m * n);
        for (int i = 0; i < N; i++) {
            double v = 0;
            for (int j = 0; j < N; j++) {
                if (y[j] != y[i])
                    v += y[i] == 1 ? wins((double)p[i], (double)p[j]) / n
                                   : wins((double)p[j], (double)p[i]) / m;
            }
            *(y[i] == 1 ? &s10 : &s01) += (v - auc) * (v - auc);
        }
        near(score(METRIC_AUC, ML_BINARY, p, y, N, 2, &se), auc);
        near(se, sqrt(s10 / (m - 1) / m + s01 / (n - 1) / n));
    }
}

/* k: 0 binary, -1 regression. */
static void draw_any(struct rng *r, int64_t n, int k, float *p, double *y)
{
    if (k >= 0) {
        draw(r, n, k, p, y);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        p[i] = (float)rng_normal(r);
        y[i] = (double)p[i] + rng_normal(r) * 0.7;
    }
}

/* The stated error is what fresh samples of the same size show, within a quarter. */
static void errors_match_resampling(void **state)
{
    static const struct {
        enum metric_id id;
        int k; /* 0 binary, -1 regression */
    } cases[] = { { METRIC_AUC, 0 },
                  { METRIC_LOGLOSS, 0 },
                  { METRIC_ACCURACY, 0 },
                  { METRIC_F1, 0 },
                  { METRIC_BALANCED_ACCURACY, 0 },
                  { METRIC_AVERAGE_PRECISION, 0 },
                  { METRIC_BALANCED_LOGLOSS, 0 },
                  { METRIC_BRIER, 0 },
                  { METRIC_MCC, 0 },
                  { METRIC_QUADRATIC_KAPPA, 0 },
                  { METRIC_BALANCED_LOGLOSS, 3 },
                  { METRIC_BRIER, 3 },
                  { METRIC_MCC, 3 },
                  { METRIC_QUADRATIC_KAPPA, 3 },
                  { METRIC_AUC, 3 },
                  { METRIC_LOGLOSS, 3 },
                  { METRIC_F1, 3 },
                  { METRIC_RMSE, -1 },
                  { METRIC_MAE, -1 },
                  { METRIC_R2, -1 },
                  { METRIC_PINBALL_90, -1 } };
    enum { N = 400, REPS = 400 };
    static float p[N * 3];
    static double y[N];
    struct rng r;

    (void)state;
    rng_init(&r, 5, 0);
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        double sum = 0, square = 0, stated = 0, se;
        enum ml_task task = cases[c].k < 0 ? ML_REGRESSION : cases[c].k ? ML_MULTICLASS : ML_BINARY;
        for (int rep = 0; rep < REPS; rep++) {
            draw_any(&r, N, cases[c].k, p, y);
            double v = score(cases[c].id, task, p, y, N, cases[c].k ? cases[c].k : 2, &se);
            sum += v, square += v * v, stated += se;
        }
        double sd = sqrt((square - sum * sum / REPS) / (REPS - 1));
        if (stated / REPS < 0.75 * sd || stated / REPS > 1.25 * sd)
            fail_msg("%s: stated %g, seen %g", metric_info(cases[c].id)->name, stated / REPS, sd);
    }
}

/* A constant prediction of classes that are equally frequent errs by the same in every row: what rounding leaves of the mean is
 * no standard error. */
static void equal_errors_have_none(void **state)
{
    enum { MOST = 30 };
    float p[3 * MOST];
    double y[MOST];

    (void)state;
    for (int k = 2; k <= 3; k++) {
        for (int n = k; n <= MOST; n += k) {
            double value = 0, se = 1;
            for (int i = 0; i < n; i++) {
                y[i] = i % k;
                for (int c = 0; c < k; c++)
                    p[i * (k == 2 ? 1 : k) + (k == 2 ? 0 : c)] = 1.0f / (float)k;
            }
            assert_int_equal(metric_score(METRIC_LOGLOSS, k == 2 ? ML_BINARY : ML_MULTICLASS, p, y,
                                          n, k, &value, &se, NULL),
                             0);
            near(value, -log((double)(1.0f / (float)k)));
            assert_true(se == 0);
        }
    }
}

static void sorting_is_stable_and_complete(void **state)
{
    static const size_t sizes[] = { 0, 1, 2, 63, 64, 65, 1000, 70000 };
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 0);
    for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
        for (int bits = 1; bits <= 64; bits += 21) {
            size_t n = sizes[s];
            uint64_t *key = calloc(n + 1, sizeof(*key)), *was = calloc(n + 1, sizeof(*was));
            uint32_t *row = calloc(n + 1, sizeof(*row));
            for (size_t i = 0; i < n; i++) {
                key[i] = was[i] = rng_u64(&r) >> (64 - bits);
                row[i] = (uint32_t)i;
            }
            assert_int_equal(ml_sort_u64(key, row, n, NULL), 0);
            for (size_t i = 0; i < n; i++) {
                assert_true(was[row[i]] == key[i]);
                assert_true(i == 0 || key[i - 1] < key[i] ||
                            (key[i - 1] == key[i] && row[i - 1] < row[i]));
            }
            free(key), free(was), free(row);
        }
    }
    assert_true(ml_key_f64(-0.0) == ml_key_f64(0.0) && ml_key_f64(-1) < ml_key_f64(-0.5) &&
                ml_key_f64(2) > ml_key_f64(1));
    assert_true(ml_key_value(ml_key_f64(-3.25)) == -3.25 &&
                ml_key_value(ml_key_f64(1e300)) == 1e300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_known_by_hand),
        cmocka_unit_test(certain_and_wrong_costs_much_but_not_infinity),
        cmocka_unit_test(a_count_predicted_below_none_costs_much_but_not_infinity),
        cmocka_unit_test(pinball_is_least_at_its_quantile),
        cmocka_unit_test(impossible_questions_are_errors),
        cmocka_unit_test(auc_and_delong_equal_the_quadratic_definition),
        cmocka_unit_test(auc_of_one_row_of_a_class_is_no_certainty),
        cmocka_unit_test(errors_match_resampling),
        cmocka_unit_test(equal_errors_have_none),
        cmocka_unit_test(sorting_is_stable_and_complete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
