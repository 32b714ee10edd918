/* test_adjust.c - adjustments on planted predictions: a calibration finds what was planted and is left out where there is
 * nothing to find, thresholds are worth more than one half on new rows, intervals hold their share of new rows, and what
 * cannot be learnt or read is nothing or an error. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/adjust/adjust_fit.h"
#include "ml/adjust/power.h"
#include "ml/math/fmath.h"

#include <math.h>

enum { MOST = 20000, CLASSES = 4 };

/* Rows to learn from; all tests use these. */
static float p[MOST * CLASSES];
static double y[MOST], weight[MOST];
static uint8_t part[MOST];

static double odds(double q)
{
    return log(q / (1 - q));
}

static double sigmoid(double z)
{
    return 1 / (1 + exp(-z));
}

static struct adjust_rows rows_of(enum ml_task task, enum metric_id metric, int classes, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        part[i] = (uint8_t)(i % ADJUST_PARTS);
    return (struct adjust_rows){ .task = task,
                                 .metric = metric,
                                 .outputs = task == ML_MULTICLASS ? classes : 1,
                                 .classes = classes,
                                 .n = n,
                                 .p = p,
                                 .y = y,
                                 .part = part,
                                 .parts = ADJUST_PARTS };
}

/* What is learnt from all rows; the parts' own are looked at by `parts`, if it is not NULL. */
static struct adjust fitted(const struct adjust_rows *r, struct adjust *parts)
{
    struct adjust all, by[ADJUST_PARTS];
    struct err err = { 0 };

    if (adjust_fit(r, &all, by, &err) < 0)
        fail_msg("%s", err.text);
    for (int k = 0; k < ADJUST_PARTS; k++) {
        if (parts)
            parts[k] = by[k];
        else
            adjust_fini(&by[k]);
    }
    return all;
}

/* Two classes whose log-odds are z; the model says (z - offset) / slope. */
static void two_classes(struct rng *r, int64_t n, double base, double slope, double offset)
{
    for (int64_t i = 0; i < n; i++) {
        double z = base + 1.5 * rng_normal(r);
        y[i] = rng_unit(r) < sigmoid(z);
        p[i] = (float)sigmoid((z - offset) / slope);
    }
}

static double logloss(enum ml_task task, int classes, const float *q, int64_t n)
{
    double value = 0, se = 0;

    assert_int_equal(metric_score(METRIC_LOGLOSS, task, q, y, n, classes, &value, &se, NULL), 0);
    return value;
}

static void two_classes_get_their_line_back(void **state)
{
    static const struct {
        double slope, offset;
    } planted[] = { { 1.5, 0.3 }, { 0.6, -0.4 }, { 1, 0.8 } };
    float q[MOST];
    struct rng r;

    (void)state;
    rng_init(&r, TEST_FIXED_SEED, 0);
    for (size_t k = 0; k < ARRAY_LEN(planted); k++) {
        two_classes(&r, MOST, -1, planted[k].slope, planted[k].offset);
        struct adjust_rows rows = rows_of(ML_BINARY, METRIC_AUC, 2, MOST);
        struct adjust a = fitted(&rows, NULL);
        assert_true(a.calibrates && a.threshold == 0 && a.intervals.n == 0);
        assert_true(fabs(a.slope - planted[k].slope) < 0.06);
        assert_true(fabs(a.offset - planted[k].offset) < 0.08);
        memcpy(q, p, sizeof q);
        adjust_probabilities(&a, q, MOST);
        assert_true(logloss(ML_BINARY, 2, q, MOST) < logloss(ML_BINARY, 2, p, MOST));
        for (int i = 1; i < MOST; i++) /* the order of rows stays */
            assert_true((p[i] - p[i - 1]) * (q[i] - q[i - 1]) >= 0);
        for (int i = 0; i < 100; i++)
            assert_true(fabs(odds((double)q[i]) - (a.slope * odds((double)p[i]) + a.offset)) <
                        1e-3);
        adjust_fini(&a);
    }
}

/* Rows of equal classes that are all right and sure, as a model of few rows has them: log-odds of 9. */
static struct adjust_rows right_rows(int64_t n, double weighs)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = (double)(i % 2);
        p[i] = (float)sigmoid(i % 2 ? 9 : -9);
        weight[i] = weighs;
    }
    struct adjust_rows rows = rows_of(ML_BINARY, METRIC_LOGLOSS, 2, n);
    rows.weight = weighs == 1 ? NULL : weight;
    for (int64_t i = 0; i < n; i++)
        part[i] = (uint8_t)(i / 2 % ADJUST_PARTS);
    return rows;
}

/* Of n rows without an error one in n + 1 is unknown, and half of those are wrong: the calibrated
 * probability of an error is near 1 / (2 n + 2), whatever the scale of small weights. */
static void rows_without_an_error_make_no_sure_model(void **state)
{
    static const int64_t sizes[] = { 60, 130, 1000 };
    static const double weighs[] = { 1, 1e-4 };

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(sizes) * ARRAY_LEN(weighs); k++) {
        double n = (double)sizes[k % ARRAY_LEN(sizes)];
        struct adjust_rows rows = right_rows((int64_t)n, weighs[k / ARRAY_LEN(sizes)]);
        struct adjust a = fitted(&rows, NULL);
        float sure = (float)sigmoid(9);
        adjust_probabilities(&a, &sure, 1);
        /* light rows do not outweigh that the slope is drawn to 1 */
        if (weighs[k / ARRAY_LEN(sizes)] == 1) {
            assert_true(a.calibrates);
            assert_true(fabs((1 - (double)sure) * (2 * n + 2) - 1) < 0.25);
        } else {
            assert_true(!a.calibrates || a.slope > 0.5);
        }
        adjust_fini(&a);
    }
}

/* One in ten of ten times as many rows says as much of the unknown one as all of them do. */
static void an_unknown_row_is_one_of_all_rows_and_not_of_a_sample(void **state)
{
    float sure[2];

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct adjust_rows rows = right_rows(k ? 1000 : 100, 1);
        rows.every = k ? 0 : 10;
        struct adjust a = fitted(&rows, NULL);
        sure[k] = (float)sigmoid(9);
        adjust_probabilities(&a, &sure[k], 1);
        adjust_fini(&a);
    }
    assert_true(fabs(odds((double)sure[0]) - odds((double)sure[1])) < 0.3);
}

/* The same of three classes, by the power. */
static void classes_without_an_error_make_no_sure_model(void **state)
{
    enum { N = 120, K = 3 };

    (void)state;
    for (int i = 0; i < N; i++) {
        y[i] = i % K;
        for (int c = 0; c < K; c++)
            p[i * K + c] = c == i % K ? 0.9998F : 0.0001F;
    }
    struct adjust_rows rows = rows_of(ML_MULTICLASS, METRIC_LOGLOSS, K, N);
    for (int i = 0; i < N; i++)
        part[i] = (uint8_t)(i / K % ADJUST_PARTS);
    struct adjust a = fitted(&rows, NULL);
    assert_true(a.calibrates && a.slope < 0.8 && fabs(a.offset) < 1e-6);
    float q[K] = { 0.9998F, 0.0001F, 0.0001F };
    adjust_probabilities(&a, q, 1);
    /* two thirds of the unknown row's classes are others */
    assert_true(fabs((1 - (double)q[0]) * (N + 1) * K / 2 - 1) < 0.25);
    adjust_fini(&a);
}

/* A weight of 2 is two rows. */
static void weights_count_as_rows(void **state)
{
    enum { N = 3000 };
    struct rng r;

    (void)state;
    rng_init(&r, TEST_FIXED_SEED, 1);
    two_classes(&r, N, 0, 1.7, 0.2);
    for (int i = 0; i < N; i++)
        weight[i] = 1 + i % 2;
    struct adjust_rows rows = rows_of(ML_BINARY, METRIC_LOGLOSS, 2, N);
    rows.weight = weight;
    struct adjust a = fitted(&rows, NULL);
    int n = N;
    for (int i = 1; i < N; i += 2) {
        p[n] = p[i];
        y[n++] = y[i];
    }
    rows = rows_of(ML_BINARY, METRIC_LOGLOSS, 2, n);
    struct adjust b = fitted(&rows, NULL);
    assert_true(a.calibrates && b.calibrates);
    assert_true(fabs(a.slope - b.slope) < 1e-6 && fabs(a.offset - b.offset) < 1e-6);
}

/* Several classes: p is what stays of the truth after it was drawn to the shares, as forests do it. */
static void classes_drawn_to_their_shares_are_drawn_back(void **state)
{
    static const double share[CLASSES] = { 0.5, 0.25, 0.15, 0.1 };
    enum { N = 12000 };
    static float q[N * CLASSES], is[N * CLASSES];
    double off = 0, was = 0;
    struct rng r;

    (void)state;
    rng_init(&r, TEST_FIXED_SEED, 2);
    for (int64_t i = 0; i < N; i++) {
        double truth[CLASSES], flat[CLASSES], sum = 0, all = 0, u = rng_unit(&r);
        for (int c = 0; c < CLASSES; c++)
            sum += truth[c] = share[c] * exp(1.2 * rng_normal(&r));
        for (int c = 0; c < CLASSES; c++)
            all += flat[c] = share[c] * pow(truth[c] / sum / share[c], 1 / 1.8);
        y[i] = CLASSES - 1;
        for (int c = 0; c < CLASSES; c++) {
            p[i * CLASSES + c] = (float)(flat[c] / all);
            is[i * CLASSES + c] = (float)(truth[c] / sum);
            u -= truth[c] / sum;
            if (u < 0 && y[i] == CLASSES - 1 && c < CLASSES - 1) {
                y[i] = c;
                u = 9;
            }
        }
    }
    struct adjust_rows rows = rows_of(ML_MULTICLASS, METRIC_LOGLOSS, CLASSES, N);
    struct adjust a = fitted(&rows, NULL);
    assert_true(a.calibrates && a.classes == CLASSES);
    assert_true(fabs(a.slope - 1.8) < 0.1 && a.offset < -0.7);
    memcpy(q, p, sizeof q);
    adjust_probabilities(&a, q, N);
    assert_true(logloss(ML_MULTICLASS, CLASSES, q, N) < logloss(ML_MULTICLASS, CLASSES, p, N));
    for (int i = 0; i < N; i++)
        assert_true(fabs((double)(q[4 * i] + q[4 * i + 1] + q[4 * i + 2] + q[4 * i + 3]) - 1) <
                    1e-5);
    for (int i = 0; i < N * CLASSES; i++) {
        off += fabs((double)(q[i] - is[i])) / N / CLASSES;
        was += fabs((double)(p[i] - is[i])) / N / CLASSES;
    }
    assert_true(off < 0.01 && was > 0.05);
    adjust_fini(&a);
    /* where the predicted class counts, it stays */
    rows.metric = METRIC_ACCURACY;
    a = fitted(&rows, NULL);
    assert_true(a.calibrates && a.offset == 0);
    memcpy(q, p, sizeof q);
    adjust_probabilities(&a, q, N);
    for (int i = 0; i < N; i++) {
        for (int c = 1; c < CLASSES; c++)
            assert_true((p[4 * i + c] > p[4 * i]) == (q[4 * i + c] > q[4 * i]));
    }
    adjust_fini(&a);
}

/* What is right already is left as it is: of 100 tables a standard error leaves some ten. */
static void what_is_right_is_left(void **state)
{
    int kept = 0;
    struct rng r;

    (void)state;
    rng_init(&r, TEST_FIXED_SEED, 3);
    for (int k = 0; k < 100; k++) {
        two_classes(&r, 400, -0.5, 1, 0);
        struct adjust_rows rows = rows_of(ML_BINARY, METRIC_AUC, 2, 400);
        struct adjust a = fitted(&rows, NULL);
        kept += a.calibrates;
    }
    if (kept > 15)
        fail_msg("%d of 100 calibrations were kept", kept);
}

/* The mean over 40 tables of the metric of new rows, with the threshold and at one half. */
static void thresholds_are_worth_it_on_new_rows(void **state)
{
    static const struct {
        enum metric_id metric;
        double gain;
    } cases[] = { { METRIC_F1, 0.1 },
                  { METRIC_MCC, 0.02 },
                  { METRIC_BALANCED_ACCURACY, 0.08 },
                  { METRIC_QUADRATIC_KAPPA, 0.05 },
                  { METRIC_ACCURACY, -0.003 } };
    enum { TABLES = 40, N = 600, NEW = 6000 };

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        double sum[2] = { 0 }, se = 0;
        struct rng r;
        rng_init(&r, TEST_FIXED_SEED, 4);
        for (int t = 0; t < TABLES; t++) {
            two_classes(&r, N, -2, 1, 0);
            struct adjust_rows rows = rows_of(ML_BINARY, cases[k].metric, 2, N);
            struct adjust a = fitted(&rows, NULL), none = { 0 };
            none.threshold = 0.5;
            for (int way = 0; way < 2; way++) {
                struct rng fresh;
                double value = 0;
                rng_init(&fresh, TEST_FIXED_SEED, 100 + (uint64_t)t);
                two_classes(&fresh, NEW, -2, 1, 0);
                if (way == 0)
                    adjust_probabilities(&a, p, NEW);
                adjust_decide(way == 0 ? &a : &none, cases[k].metric, ML_BINARY, p, NEW);
                assert_int_equal(
                    metric_score(cases[k].metric, ML_BINARY, p, y, NEW, 2, &value, &se, NULL), 0);
                sum[way] += value / TABLES;
            }
        }
        if (!(sum[0] - sum[1] > cases[k].gain))
            fail_msg("%s: %.4f with thresholds, %.4f at one half",
                     metric_info(cases[k].metric)->name, sum[0], sum[1]);
    }
}

/* ---- intervals ---- */

enum shape { EVEN, SKEWED, SPREADS, HEAVY };

static void numbers(struct rng *r, enum shape shape, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double at = 4 * rng_unit(r), e = rng_normal(r);
        p[i] = (float)at;
        y[i] = at + (shape == EVEN      ? e
                     : shape == SKEWED  ? -log(1 - rng_unit(r)) - 1
                     : shape == SPREADS ? (0.1 + at) * e
                                        : e / fmax(fabs(rng_normal(r)), 0.05));
    }
}

static const double levels[] = { 0.8, 0.9, 0.95 };
enum { LEVELS = 3, TABLES = 60, NEW = 2000 };

/* Adds the share of new rows inside the intervals that n rows taught. */
static void inside_add(struct rng *r, enum shape shape, int n, double *inside)
{
    double lower, upper;

    numbers(r, shape, n);
    struct adjust_rows rows = rows_of(ML_REGRESSION, METRIC_RMSE, 0, n);
    struct adjust a = fitted(&rows, NULL);
    assert_int_equal(a.intervals.rows, n);
    numbers(r, shape, NEW);
    for (int i = 0; i < NEW * LEVELS; i++) {
        int row = i / LEVELS, k = i % LEVELS;
        adjust_interval(&a, levels[k], (double)p[row], &lower, &upper);
        assert_true(lower <= upper);
        inside[k] += y[row] >= lower && y[row] <= upper ? 1.0 / NEW / TABLES : 0;
    }
    adjust_fini(&a);
}

/* Over 60 tables the share of new rows inside is the level, give or take 4 of its standard errors, which are those of the
 * rows learnt from and of the new ones. Rounding of ranks gives up to one row of those learnt from in favour. */
static void intervals_hold_their_share(void **state)
{
    static const int sizes[] = { 60, 500, 4000 };

    (void)state;
    for (size_t c = 0; c < (HEAVY + 1) * ARRAY_LEN(sizes); c++) {
        enum shape shape = (enum shape)(c / ARRAY_LEN(sizes));
        int n = sizes[c % ARRAY_LEN(sizes)];
        double inside[LEVELS] = { 0 };
        struct rng r;
        rng_init(&r, TEST_FIXED_SEED, 10 + (uint64_t)shape);
        for (int t = 0; t < TABLES; t++)
            inside_add(&r, shape, n, inside);
        for (int k = 0; k < LEVELS; k++) {
            double v = levels[k] * (1 - levels[k]), se = sqrt((v / n + v / NEW) / TABLES);
            if (!(inside[k] > levels[k] - 4 * se && inside[k] < levels[k] + 4 * se + 2.0 / (n + 1)))
                fail_msg("shape %d, %d rows: %.4f inside %.2f", (int)shape, n, inside[k],
                         levels[k]);
        }
    }
}

/* Where residuals grow with the prediction, so do intervals; where they do not, they are equal. */
static void intervals_follow_the_prediction(void **state)
{
    double lower[2], upper[2];
    struct rng r;

    (void)state;
    rng_init(&r, TEST_FIXED_SEED, 20);
    numbers(&r, SPREADS, 5000);
    struct adjust_rows rows = rows_of(ML_REGRESSION, METRIC_RMSE, 0, 5000);
    struct adjust a = fitted(&rows, NULL);
    assert_true(a.intervals.places > 2);
    for (int k = 0; k < 2; k++)
        adjust_interval(&a, 0.9, 0.4 + 3 * k, &lower[k], &upper[k]);
    assert_true(upper[1] - lower[1] > 4 * (upper[0] - lower[0]));
    adjust_fini(&a);
    numbers(&r, EVEN, 5000);
    a = fitted(&rows, NULL);
    assert_int_equal(a.intervals.places, 0);
    adjust_fini(&a);
}

/* ---- what cannot be learnt ---- */

static void few_rows_one_class_and_nan_are_no_harm(void **state)
{
    double lower, upper;
    struct rng r;

    (void)state;
    rng_init(&r, TEST_FIXED_SEED, 30);
    two_classes(&r, 500, 0, 2, 0);
    for (int i = 0; i < 500; i++)
        y[i] = 1; /* one class only */
    struct adjust_rows rows = rows_of(ML_BINARY, METRIC_F1, 2, 500);
    struct adjust a = fitted(&rows, NULL);
    assert_true(adjust_is_plain(&a) && adjust_threshold(&a) == 0.5);
    two_classes(&r, 500, 0, 2, 0);
    for (int i = 0; i < 500; i++)
        p[i] = 0.25f; /* all predictions equal */
    a = fitted(&rows, NULL);
    assert_true(a.threshold == 0);
    adjust_fini(&a);
    for (int i = 0; i < 500; i++)
        p[i] = 0.25f + (float)part[i] / 100; /* all of a fold */
    a = fitted(&rows, NULL);
    assert_true(a.threshold == 0);
    adjust_fini(&a);
    two_classes(&r, 500, 0, 2, 0);
    struct adjust b = fitted(&rows, NULL);
    for (int i = 400; i < 500; i++) {
        p[i + 100] = p[i];
        y[i + 100] = y[i];
        p[i] = NAN;
    }
    for (int i = 0; i < 600; i++)
        part[i] = (uint8_t)(i % 5);
    rows.n = 600; /* the same rows and some that are none */
    a = fitted(&rows, NULL);
    assert_true(a.slope == b.slope && a.offset == b.offset && a.threshold == b.threshold);
    adjust_probabilities(&a, &p[400], 1);
    assert_true(isnan(p[400]));
    rows = rows_of(ML_BINARY, METRIC_F1, 2, 5);
    a = fitted(&rows, NULL);
    assert_false(a.calibrates);

    numbers(&r, EVEN, 5);
    rows = rows_of(ML_REGRESSION, METRIC_RMSE, 0, 5);
    a = fitted(&rows, NULL);
    assert_true(a.intervals.n == 5 && fabs(adjust_most_level(&a) - 4.0 / 6) < 1e-12);
    adjust_interval(&a, adjust_most_level(&a), 1, &lower, &upper);
    assert_true(lower < upper);
    adjust_fini(&a);
    numbers(&r, EVEN, 300);
    for (int i = 0; i < 300; i++)
        y[i] = (double)p[i] + 2; /* all residuals are equal */
    rows = rows_of(ML_REGRESSION, METRIC_RMSE, 0, 300);
    a = fitted(&rows, NULL);
    adjust_interval(&a, 0.9, 1, &lower, &upper);
    assert_true(fabs(lower - 3) < 1e-5 && fabs(upper - 3) < 1e-5);
    adjust_interval(&a, 1e-9, 1, &lower, &upper); /* the median alone */
    assert_true(lower == upper);
    adjust_fini(&a);
    rows.n = 1;
    a = fitted(&rows, NULL);
    assert_true(adjust_most_level(&a) == 0);
    adjust_fini(&a);
    rows.n = 0;
    a = fitted(&rows, NULL);
    assert_true(adjust_is_plain(&a));
    adjust_fini(&a);
}

/* ---- bytes ---- */

/* Every cut is refused, and what a flip lets in is in range. */
static void survives(const struct adjust *a, enum ml_task task, int outputs)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    assert_int_equal(adjust_save(a, &b, NULL), 0);
    for (size_t n = 0; n <= b.len; n++) {
        struct view in = { (const uint8_t *)b.data, n, 0 };
        struct adjust got;
        struct err err = { 0 };
        assert_int_equal(adjust_load(&got, task, outputs, &in, &err), n < b.len ? -1 : 0);
        if (n == b.len) {
            assert_int_equal(in.pos, b.len);
            assert_true(got.calibrates == a->calibrates && got.slope == a->slope &&
                        got.offset == a->offset && got.threshold == a->threshold &&
                        got.intervals.n == a->intervals.n &&
                        got.intervals.places == a->intervals.places);
        }
        adjust_fini(&got);
    }
    for (size_t at = 0; at < b.len; at += at < 200 ? 1 : 37) {
        uint8_t *byte = (uint8_t *)b.data + at;
        *byte ^= 0xff;
        struct view in = { (const uint8_t *)b.data, b.len, 0 };
        struct adjust got;
        double lower, upper;
        float q[1000] = { 0.5f };
        struct err err = { 0 };
        if (adjust_load(&got, task, outputs, &in, &err) == 0) {
            assert_true(adjust_threshold(&got) > 0 && adjust_threshold(&got) < 1);
            adjust_probabilities(&got, q, 1);
            assert_true(q[0] >= 0 && q[0] <= 1);
            if (adjust_most_level(&got) > 0)
                adjust_interval(&got, adjust_most_level(&got), 3, &lower, &upper);
        }
        adjust_fini(&got);
        *byte ^= 0xff;
    }
    buf_fini(&b);
}

static void bytes_come_back_and_damage_does_not(void **state)
{
    double share[CLASSES] = { -1, -2, -0.5, -3 };
    struct adjust two = { .calibrates = true, .slope = 1.4, .offset = -0.2, .threshold = 0.31 },
                  more = { .calibrates = true,
                           .slope = 0.8,
                           .offset = 0.1,
                           .classes = CLASSES,
                           .log_share = share };
    struct rng r;

    (void)state;
    survives(&two, ML_BINARY, 1);
    survives(&more, ML_MULTICLASS, CLASSES);
    rng_init(&r, TEST_FIXED_SEED, 40);
    numbers(&r, SPREADS, 900);
    struct adjust_rows rows = rows_of(ML_REGRESSION, METRIC_RMSE, 0, 900);
    struct adjust a = fitted(&rows, NULL);
    survives(&a, ML_REGRESSION, 1);
    struct buf b;
    buf_init(&b, 1 << 20);
    assert_int_equal(adjust_save(&a, &b, NULL), 0); /* intervals are no part of classes */
    struct view in = { (const uint8_t *)b.data, b.len, 0 };
    struct adjust got;
    struct err err = { 0 };
    assert_int_equal(adjust_load(&got, ML_BINARY, 1, &in, &err), -1);
    adjust_fini(&got);
    buf_fini(&b);
    adjust_fini(&a);
}

/* ---- the power of a bag ---- */

enum { BAG = 5, MADE = 1000, HELD = 10000 };

/* Two classes: the truth has log-odds z; each of five models sees them with noise of its own and is as
 * sure as it should be. Fills the made rows, and p and y with what the first model says of others. */
static void bag_draw(double noise, double sure, struct bag_rows *bag, double *mean,
                     double *mean_log, double *entropy)
{
    double keeps = 1 / (1 + noise * noise), x[2];
    struct rng r;

    rng_init(&r, 11, 0);
    for (int i = 0; i < MADE; i++) {
        double z = rng_normal(&r);
        mean[2 * i] = mean[2 * i + 1] = mean_log[2 * i] = mean_log[2 * i + 1] = entropy[i] = 0;
        for (int m = 0; m < BAG; m++) {
            float q = (float)sigmoid(1.5 * sure * keeps * (z + noise * rng_normal(&r)));
            adjust_class_logs(&q, 1, 2, x);
            for (int c = 0; c < 2; c++) {
                mean[2 * i + c] += exp(x[c]) / BAG;
                mean_log[2 * i + c] += x[c] / BAG;
                entropy[i] -= exp(x[c]) * x[c] / BAG;
            }
        }
    }
    for (int i = 0; i < HELD; i++) {
        double z = rng_normal(&r), seen = z + noise * rng_normal(&r),
               left = sqrt(noise * noise * keeps) * rng_normal(&r);
        /* given what is seen, the truth is normal around keeps x seen */
        y[i] = rng_unit(&r) < sigmoid(1.5 * (keeps * seen + left));
        p[i] = (float)sigmoid(1.5 * sure * keeps * seen);
    }
    *bag = (struct bag_rows){
        .n = MADE, .classes = 2, .mean = mean, .mean_log = mean_log, .entropy = entropy
    };
}

static double power_of(double noise, double sure)
{
    static double mean[2 * MADE], mean_log[2 * MADE], entropy[MADE];
    struct adjust_rows held = rows_of(ML_BINARY, METRIC_LOGLOSS, 2, HELD);
    struct bag_rows bag;
    struct err err = { 0 };
    double power = 0;

    bag_draw(noise, sure, &bag, mean, mean_log, entropy);
    assert_int_equal(adjust_power(&bag, &held, &power, &err), 0);
    return power;
}

/* Models that agree need no power; the more they differ, the more their mean does; models that are too
 * sure of themselves get less; and it stays within its limits. */
static void means_of_models_that_differ_get_a_power(void **state)
{
    (void)state;
    double none = power_of(0, 0.9), some = power_of(0.3, 0.95), more = power_of(0.6, 0.9),
           flat = power_of(0.6, 2);

    assert_true(none >= 1 && none < 1.15);
    assert_true(power_of(0, 1) < 1.02);
    assert_true(some > 1.005 && more > some + 0.05 && more < ADJUST_MOST_POWER);
    assert_true(flat == 1);
    assert_true(power_of(0.6, 0.2) == ADJUST_MOST_POWER);
}

static void few_held_rows_and_no_made_ones_give_no_power(void **state)
{
    double mean[2] = { 0.5, 0.5 }, logs[2] = { -1, -1 }, entropy[1] = { 0.1 }, power = 0;
    struct bag_rows bag = {
        .n = 1, .classes = 2, .mean = mean, .mean_log = logs, .entropy = entropy
    };
    struct adjust_rows held = rows_of(ML_BINARY, METRIC_LOGLOSS, 2, 20);

    (void)state;
    assert_int_equal(adjust_power(&bag, &held, &power, NULL), 0);
    assert_true(power == 1);
    bag.n = 0;
    held.n = 1000;
    assert_int_equal(adjust_power(&bag, &held, &power, NULL), 0);
    assert_true(power == 1);
}

/* Rows without an error: from a hundred of them nothing follows, thousands say that models are not sure enough. */
static void few_rows_without_an_error_give_no_power(void **state)
{
    double mean[2] = { 0.998, 0.002 }, logs[2], entropy[1];
    float q = 0.002f;

    (void)state;
    adjust_class_logs(&q, 1, 2, logs);
    entropy[0] = -mean[0] * logs[0] - mean[1] * logs[1];
    for (int i = 0; i < HELD; i++) {
        y[i] = i % 2 == 0;
        p[i] = i % 2 == 0 ? 0.998f : 0.002f;
    }
    for (int many = 0; many < 2; many++) {
        struct bag_rows bag = {
            .n = 1, .classes = 2, .mean = mean, .mean_log = logs, .entropy = entropy
        };
        struct adjust_rows held = rows_of(ML_BINARY, METRIC_LOGLOSS, 2, many ? HELD : 100);
        double power = 0;
        assert_int_equal(adjust_power(&bag, &held, &power, NULL), 0);
        assert_true(many ? power == ADJUST_MOST_POWER : power == 1);
    }
}

/* The power 2 of (.5, .3, .2) is (.25, .09, .04) over their sum. */
static void powers_are_applied_kept_and_checked(void **state)
{
    struct adjust a = { .power = 2 }, got, bag;
    float row[3] = { 0.5f, 0.3f, 0.2f }, one[1] = { 0.8f };
    struct err err = { 0 };
    struct buf b;

    (void)state;
    adjust_of_power(2, 3, &bag);
    adjust_probabilities(&bag, row, 1);
    adjust_fini(&bag);
    assert_true(fabs((double)row[0] - 0.25 / 0.38) < 1e-6);
    assert_true(fabs((double)row[2] - 0.04 / 0.38) < 1e-6);
    adjust_of_power(2, 1, &bag);
    adjust_probabilities(&bag, one, 1);
    assert_true(fabs((double)one[0] - 0.64 / 0.68) < 1e-6);
    adjust_of_power(0, 3, &bag);
    assert_true(adjust_is_plain(&bag) && !adjust_is_plain(&a));
    for (int i = 0; i < 3; i++) {
        static const double powers[] = { 2, 0.5, 11 };
        a.power = powers[i];
        buf_init(&b, 100);
        assert_int_equal(adjust_save(&a, &b, NULL), 0);
        struct view in = { (const uint8_t *)b.data, b.len, 0 }, again = in;
        assert_int_equal(adjust_load(&got, ML_MULTICLASS, 3, &in, &err), i == 0 ? 0 : -1);
        assert_true(i > 0 || (got.power == 2 && !got.calibrates && in.pos == in.len));
        assert_int_equal(adjust_load(&got, ML_REGRESSION, 1, &again, &err), -1);
        buf_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_classes_get_their_line_back),
        cmocka_unit_test(rows_without_an_error_make_no_sure_model),
        cmocka_unit_test(an_unknown_row_is_one_of_all_rows_and_not_of_a_sample),
        cmocka_unit_test(classes_without_an_error_make_no_sure_model),
        cmocka_unit_test(weights_count_as_rows),
        cmocka_unit_test(classes_drawn_to_their_shares_are_drawn_back),
        cmocka_unit_test(what_is_right_is_left),
        cmocka_unit_test(thresholds_are_worth_it_on_new_rows),
        cmocka_unit_test(intervals_hold_their_share),
        cmocka_unit_test(intervals_follow_the_prediction),
        cmocka_unit_test(few_rows_one_class_and_nan_are_no_harm),
        cmocka_unit_test(bytes_come_back_and_damage_does_not),
        cmocka_unit_test(means_of_models_that_differ_get_a_power),
        cmocka_unit_test(few_held_rows_and_no_made_ones_give_no_power),
        cmocka_unit_test(few_rows_without_an_error_give_no_power),
        cmocka_unit_test(powers_are_applied_kept_and_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
