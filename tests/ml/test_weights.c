/* test_weights.c - weights of rows. A metric of weighted rows is that of rows repeated as often as
 * they weigh. Every family follows the heavy rows. Rows of weight 0 count for nothing, and weights
 * that are all equal change no bit. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/buf.h"
#include "base/mem.h"
#include "ml/cpu/simd.h"
#include "ml/model/artifact_head.h"
#include "ml/model/split.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- metrics ---- */

enum { N = 60, MOST = 4 * N, K = 3 };

static void metrics_of_weighted_rows_are_those_of_repeated_rows(void **state)
{
    static const enum ml_task tasks[] = { ML_BINARY, ML_MULTICLASS, ML_REGRESSION };
    struct rng r;

    (void)state;
    rng_init(&r, 11, 0);
    for (size_t t = 0; t < ARRAY_LEN(tasks); t++) {
        float p[N * K], many_p[MOST * K];
        double y[N], w[N], many_y[MOST];
        int k = tasks[t] == ML_MULTICLASS ? K : 1, m = 0;
        for (int i = 0; i < N; i++) {
            double all = 0;
            w[i] = 1 + rng_below(&r, 4);
            y[i] = tasks[t] == ML_REGRESSION ? rng_below(&r, 9)
                                             : rng_below(&r, tasks[t] == ML_BINARY ? 2 : K);
            for (int c = 0; c < k; c++)
                all += (double)(p[i * k + c] = (float)(1 + rng_below(&r, 8)));
            for (int c = 0; c < k; c++)
                p[i * k + c] /= (float)(tasks[t] == ML_MULTICLASS ? all : 10);
            for (int j = 0; j < (int)w[i]; j++, m++) {
                many_y[m] = y[i];
                memcpy(many_p + m * k, p + i * k, (size_t)k * sizeof *p);
            }
        }
        for (int id = 0; id < METRICS; id++) {
            double a, b, se_a, se_b, c, se_c;
            if (!(metric_info((enum metric_id)id)->tasks & (int)tasks[t]))
                continue;
            assert_int_equal(
                metric_score_weighted((enum metric_id)id, tasks[t], p, y, w, N, K, &a, &se_a, NULL),
                0);
            assert_int_equal(
                metric_score((enum metric_id)id, tasks[t], many_p, many_y, m, K, &b, &se_b, NULL),
                0);
            assert_float_equal(a, b, 1e-12);
            /* fewer rows than the repeated ones: a larger error, but of the same size */
            assert_true(se_a > se_b && se_a < 4 * se_b);
            for (int i = 0; i < N; i++)
                w[i] *= 0.37;
            assert_int_equal(
                metric_score_weighted((enum metric_id)id, tasks[t], p, y, w, N, K, &c, &se_c, NULL),
                0);
            assert_float_equal(c, a, 1e-12);
            assert_float_equal(se_c, se_a, 1e-12);
            for (int i = 0; i < N; i++)
                w[i] = floor(w[i] / 0.37 + 0.5);
        }
    }
}

/* ---- families ---- */

enum { ROWS = 400 };

/* Nine of ten rows say that y falls with x0, one that it rises; those that rise weigh `heavy`. The
 * rows of weight 0 hold `junk`. */
static struct rig_table *two_minds(enum ml_task task, double heavy, double junk, double unit)
{
    struct rig_table *t = rig_table_new(ROWS);
    double *x = rig_numbers(t), *z = rig_numbers(t), *w = rig_numbers(t), *y = rig_numbers(t);
    struct rng r;

    rng_init(&r, 5, 0);
    for (int i = 0; i < ROWS; i++) {
        bool rises = i % 10 == 3;
        x[i] = rng_normal(&r);
        z[i] = rng_normal(&r);
        double v = (rises ? x[i] : -x[i]) + 0.2 * rng_normal(&r);
        y[i] = task == ML_REGRESSION ? v : task == ML_BINARY ? v > 0 : v > 0.5 ? 2 : v > -0.5;
        w[i] = unit * (rises ? heavy : 1);
        if (i % 25 == 7) {
            w[i] = 0;
            y[i] = task == ML_REGRESSION ? junk : junk > 0;
        }
    }
    return t;
}

static struct rig *open_weighted(struct rig_table *t, enum ml_task task, const char *weights)
{
    struct rig *r = mem_zalloc(sizeof *r);
    struct err err = { 0 };

    r->frame = rig_frame(t);
    rig_table_free(t);
    struct ml_data_spec spec = { .frame = r->frame,
                                 .target = "y",
                                 .positive = task == ML_BINARY ? "1" : "",
                                 .task = task,
                                 .metric = task == ML_REGRESSION ? METRIC_MAE : METRIC_LOGLOSS,
                                 .folds = 3,
                                 .split_seed = 3,
                                 .by = { .weights = weights } };
    r->d = ml_data_open(&spec, &err);
    if (!r->d)
        fail_msg("%s", err.text);
    return r;
}

/* A holdout trial at its top, its model file and its out-of-fold predictions. */
static struct buf trained(struct rig *r, const char *family, float *oof)
{
    const struct family *f = family_find(family);
    double params[FAMILY_MAX_PARAMS];
    struct err err = { 0 };
    struct buf b;

    family_defaults(f, params);
    struct fit_trial *t = fit_trial_open(r->d, f, params, 42, true, &err);
    if (!t || fit_trial_advance(t, fit_trial_levels(t), NULL, &err) != 1 ||
        fit_trial_oof(t, oof, &err) < 0)
        fail_msg("%s: %s", family, err.text);
    buf_init(&b, 1u << 28);
    if (fit_trial_artifact(t, &b, &err) < 0)
        fail_msg("%s: %s", family, err.text);
    fit_trial_close(t);
    return b;
}

/* The covariance of the prediction with x0 over the held-out rows. */
static double slope(const struct rig *r, const float *oof)
{
    double x[ROWS], sum = 0, mean = 0, n = 0;
    int k = r->d->n_outputs;

    frame_numbers(r->frame, 0, 0, ROWS, x);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < ROWS; i++) {
            if (isnan(oof[i * k]))
                continue;
            if (pass == 0)
                mean += (double)oof[i * k + k - 1], n++;
            else
                sum += x[i] * ((double)oof[i * k + k - 1] - mean / n);
        }
    }
    return sum;
}

static const char *const families[] = { "linear", "boost", "forest", "extra_trees", "mlp" };

static void every_family_follows_the_heavy_rows(void **state)
{
    static const enum ml_task tasks[] = { ML_BINARY, ML_MULTICLASS, ML_REGRESSION };

    (void)state;
    for (size_t t = 0; t < ARRAY_LEN(tasks); t++) {
        struct rig *light = open_weighted(two_minds(tasks[t], 1, 0, 1), tasks[t], "x2"),
                   *heavy = open_weighted(two_minds(tasks[t], 81, 0, 1), tasks[t], "x2");
        for (size_t f = 0; f < ARRAY_LEN(families); f++) {
            float oof[ROWS * 3] = { 0 };
            struct buf b = trained(light, families[f], oof);
            buf_fini(&b);
            if (!(slope(light, oof) < 0))
                fail_msg("%s: %g with light rows", families[f], slope(light, oof));
            b = trained(heavy, families[f], oof);
            buf_fini(&b);
            if (!(slope(heavy, oof) > 0))
                fail_msg("%s: %g with heavy rows", families[f], slope(heavy, oof));
        }
        rig_free(light);
        rig_free(heavy);
    }
}

/* Rows of trees that are grown column by column, and in lines where the processor lacks the means. */
static void forests_weigh_alike_on_every_instruction_set(void **state)
{
    static const enum ml_task tasks[] = { ML_BINARY, ML_MULTICLASS, ML_REGRESSION };
    enum simd_level most = simd_level();

    (void)state;
    for (size_t t = 0; t < ARRAY_LEN(tasks); t++) {
        struct rig *r = open_weighted(two_minds(tasks[t], 81, 0, 1), tasks[t], "x2");
        for (int f = 2; f <= 3; f++) {
            float fast[ROWS * 3] = { 0 }, plain[ROWS * 3] = { 0 };
            struct buf b = trained(r, families[f], fast);
            buf_fini(&b);
            simd_force(SIMD_PLAIN);
            b = trained(r, families[f], plain);
            buf_fini(&b);
            simd_force(most);
            assert_memory_equal(fast, plain, sizeof fast);
        }
        rig_free(r);
    }
}

/* mae chooses quantile losses in boosting and networks, and the median in the baseline */
static void rows_of_weight_0_count_for_nothing(void **state)
{
    static const char *const all[] = {
        "baseline", "linear", "boost", "forest", "mlp", "extra_trees"
    };
    struct rig *a = open_weighted(two_minds(ML_REGRESSION, 5, 1e6, 1), ML_REGRESSION, "x2"),
               *b = open_weighted(two_minds(ML_REGRESSION, 5, -3, 1), ML_REGRESSION, "x2"),
               *c = open_weighted(two_minds(ML_REGRESSION, 5, -3, 0.25), ML_REGRESSION, "x2");

    (void)state;
    assert_int_equal(a->d->n_left_out, 16);
    for (size_t f = 0; f < ARRAY_LEN(all); f++) {
        float p[ROWS] = { 0 }, q[ROWS] = { 0 }, s[ROWS] = { 0 };
        struct buf x = trained(a, all[f], p), y = trained(b, all[f], q), z = trained(c, all[f], s);
        assert_int_equal(x.len, y.len);
        assert_memory_equal(x.data, y.data, x.len);
        assert_memory_equal(x.data, z.data, x.len); /* only ratios matter */
        for (int i = 7; i < ROWS; i += 25)
            assert_true(isnan(p[i]));
        buf_fini(&x);
        buf_fini(&y);
        buf_fini(&z);
    }
    rig_free(a);
    rig_free(b);
    rig_free(c);
}

static void equal_weights_change_no_bit(void **state)
{
    struct rig_table *t[2] = { rig_mixed(ML_BINARY, 200, 2, 3), rig_mixed(ML_BINARY, 200, 2, 3) };
    struct rig *r[2];
    float p[200], q[200];

    (void)state;
    for (int i = 0; i < 200;
         i++) /* x4 is used as the weights of the one, and ignored in the other */
        t[0]->cols[4].num[i] = t[1]->cols[4].num[i] = 7.5;
    r[0] = open_weighted(t[0], ML_BINARY, "x4");
    r[1] = open_weighted(t[1], ML_BINARY, NULL); /* a constant column is no input */
    assert_null(r[0]->d->weight);
    struct buf a = trained(r[0], "boost", p), b = trained(r[1], "boost", q);
    struct artifact_place of_a[SECTIONS], of_b[SECTIONS];
    assert_int_equal(artifact_head_read(a.data, a.len, a.len, of_a, NULL), 0);
    assert_int_equal(artifact_head_read(b.data, b.len, b.len, of_b, NULL), 0);
    for (int i = 0; i < SECTIONS; i++) {
        if (i == SECTION_SCHEMA)
            continue; /* the text for people says why x4 is no input: by its use, or for being constant */
        assert_int_equal(of_a[i].n, of_b[i].n);
        assert_memory_equal(of_a[i].digest, of_b[i].digest, 32);
    }
    assert_memory_equal(p, q, sizeof p);
    buf_fini(&a);
    buf_fini(&b);
    rig_free(r[0]);
    rig_free(r[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_of_weighted_rows_are_those_of_repeated_rows),
        cmocka_unit_test(every_family_follows_the_heavy_rows),
        cmocka_unit_test(forests_weigh_alike_on_every_instruction_set),
        cmocka_unit_test(rows_of_weight_0_count_for_nothing),
        cmocka_unit_test(equal_weights_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
