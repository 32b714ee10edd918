/* test_boost.c - trees known by hand, gradients against differences, and the promise that bits depend on nothing but data,
 * parameters and seed: not on slicing, checkpoints, the other lanes, or the instruction set. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/grad.h"
#include "ml/cpu/hist.h"
#include "ml/cpu/simd.h"
#include "ml/model/models.h"

#include <math.h>

static void params_by_hand(double *p)
{
    family_defaults(family_find("boost"), p);
    p[BOOST_ROW_SAMPLE] = p[BOOST_COL_SAMPLE] = 1;
    p[BOOST_LEARNING_RATE] = 1;
    p[BOOST_MIN_LEAF] = 1;
    p[BOOST_L2] = 0;
}

static float *fit_all(struct rig *r, const double *params, int64_t steps)
{
    struct lane l = rig_lane(r, "boost", params, FOLD_ALL, steps);
    struct buf b = rig_lane_bytes("boost", &l, steps);
    float *p = rig_predict(r, "boost", &b);

    buf_fini(&b);
    rig_lane_close("boost", &l);
    return p;
}

static void one_split_gives_the_two_means(void **state)
{
    struct rig_table *t = rig_table_new(10);
    double *x = rig_numbers(t), *y = rig_numbers(t), params[FAMILY_MAX_PARAMS];

    (void)state;
    for (int i = 0; i < 10; i++) {
        x[i] = i;
        y[i] = i < 4 ? i % 2 : 10 + i % 2; /* means 0.5 and 10.5 */
    }
    struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
    params_by_hand(params);
    params[BOOST_LEAVES] = 2;
    float *p = fit_all(r, params, 1);
    for (int i = 0; i < 10; i++)
        assert_float_equal(p[i], (i < 4 ? 0.5 : 10.5), 1e-5);
    free(p);
    rig_free(r);
}

static void best_first_and_level_by_level_differ_as_they_should(void **state)
{
    /* Left half has a large step inside, right half none: three leaves best first split the left half again. */
    struct rig_table *t = rig_table_new(16);
    double *x = rig_numbers(t), *y = rig_numbers(t), params[FAMILY_MAX_PARAMS];

    (void)state;
    for (int i = 0; i < 16; i++) {
        x[i] = i;
        y[i] = i < 4 ? 0 : i < 8 ? 20 : 100 + (i >= 12);
    }
    struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
    params_by_hand(params);
    params[BOOST_LEAVES] = 3;
    float *p = fit_all(r, params, 1);
    for (int i = 0; i < 16; i++)
        assert_float_equal(p[i], (i < 4 ? 0 : i < 8 ? 20 : 100.5), 1e-4);
    free(p);
    params[BOOST_GROW] = 1;
    params[BOOST_DEPTH] = 2;
    p = fit_all(r, params, 1);
    for (int i = 0; i < 16; i++)
        assert_float_equal(p[i], (i < 4 ? 0 : i < 8 ? 20 : i < 12 ? 100 : 101), 1e-4);
    free(p);
    rig_free(r);
}

static void missing_values_go_where_they_belong(void **state)
{
    struct rig_table *t = rig_table_new(30);
    double *x = rig_numbers(t), *y = rig_numbers(t), params[FAMILY_MAX_PARAMS];

    (void)state;
    for (int i = 0; i < 30; i++) {
        x[i] = i % 3 == 0 ? (double)NAN : i;
        y[i] = i % 3 == 0 || i < 12 ? 1 : 5; /* missing belongs to the left */
    }
    struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
    params_by_hand(params);
    params[BOOST_LEAVES] = 2;
    float *p = fit_all(r, params, 1);
    for (int i = 0; i < 30; i++)
        assert_float_equal(p[i], (i % 3 == 0 || i < 12 ? 1 : 5), 1e-5);
    free(p);
    rig_free(r);
}

static void levels_are_split_as_sets(void **state)
{
    struct rig_table *t = rig_table_new(600);
    int32_t *c = rig_levels(t, 10);
    double *y = rig_numbers(t), params[FAMILY_MAX_PARAMS];

    (void)state;
    for (int i = 0; i < 600; i++) {
        c[i] = i % 10;
        y[i] = i % 10 == 1 || i % 10 == 4 || i % 10 == 7 ? 3 : -1;
    }
    struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
    params_by_hand(params);
    params[BOOST_LEAVES] = 2;
    params[BOOST_MAX_ONEHOT] = 4;
    float *p = fit_all(r, params, 1);
    for (int i = 0; i < 600; i++)
        assert_float_equal(p[i], (i % 10 == 1 || i % 10 == 4 || i % 10 == 7 ? 3 : -1), 1e-4);
    free(p);
    rig_free(r);
}

static void leaves_hold_rows_and_hessian_enough(void **state)
{
    struct rig_table *t = rig_table_new(20);
    double *x = rig_numbers(t), *y = rig_numbers(t), params[FAMILY_MAX_PARAMS];

    (void)state;
    for (int i = 0; i < 20; i++) {
        x[i] = i;
        y[i] = i < 3 ? 50 : 0; /* the best split leaves 3 rows on one side */
    }
    struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
    params_by_hand(params);
    params[BOOST_LEAVES] = 2;
    for (int what = 0; what < 2; what++) { /* of squared error the hessian is the number of rows */
        int param = what ? BOOST_MIN_HESSIAN : BOOST_MIN_LEAF;
        params[BOOST_MIN_LEAF] = 1;
        params[BOOST_ROW_SAMPLE] = params[BOOST_COL_SAMPLE] = 1;
        params[param] = 3;
        float *p = fit_all(r, params, 1);
        assert_float_equal(p[0], 50, 1e-4);
        free(p);
        params[param] = 4;
        p = fit_all(r, params, 1);
        assert_float_equal(p[0], 37.5, 1e-4);
        assert_float_equal(p[3], 37.5, 1e-4);
        free(p);
    }
    rig_free(r);
}

static double log_loss_of(double f, double y)
{
    return log(1 + exp(y > 0.5 ? -f : f));
}

static void gradients_are_the_derivatives_of_the_loss(void **state)
{
    static const float f[] = { -4, -1.5f, -0.1f, 0, 0.3f, 2, 5 };
    float p[7], y[7], w[7], g[7], h[7];
    uint32_t q[7];
    struct grad_out o = { .g = g, .h = h, .q = q, .g_scale = 16384, .h_scale = 16384, .key = 5 };

    (void)state;
    for (int side = 0; side < 2; side++) {
        grad_sigmoid(f, 7, p);
        for (int i = 0; i < 7; i++) {
            y[i] = (float)side;
            w[i] = 1;
        }
        grad_class(p, y, w, 7, 1, 1, &o);
        for (int i = 0; i < 7; i++) {
            double e = 1e-4, a = log_loss_of((double)f[i] - e, side),
                   b = log_loss_of((double)f[i], side), c = log_loss_of((double)f[i] + e, side);
            assert_float_equal(g[i], (c - a) / (2 * e), 1e-5);
            assert_float_equal(h[i], (a - 2 * b + c) / (e * e), 1e-4);
            assert_true(fabs(hist_g((int64_t)hist_word(q[i])) / 16384.0 - (double)g[i]) <=
                        1.0 / 16384);
            assert_true(fabs(hist_h((int64_t)hist_word(q[i])) / 16384.0 - (double)h[i]) <=
                        1.0 / 16384);
        }
    }
}

static void rounding_is_unbiased(void **state)
{
    enum { N = 100000 };
    float *g = malloc(N * sizeof *g), *h = malloc(N * sizeof *h);
    uint32_t *q = malloc(N * sizeof *q);
    struct grad_out o = { .g = g, .h = h, .q = q, .g_scale = 1, .h_scale = 1, .key = 77 };
    double sg = 0, sh = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        g[i] = -0.3f;
        h[i] = 0.01f;
    }
    grad_quantise(N, &o);
    for (int i = 0; i < N; i++) {
        sg += hist_g(hist_word(q[i]));
        sh += hist_h(hist_word(q[i]));
    }
    assert_float_equal(sg / N, -0.3, 0.01);
    assert_float_equal(sh / N, 0.01, 0.002);
    free(g), free(h), free(q);
}

/* g stands for rows i with y = 1 at p = 1 - g: sums of what is kept, over what they were. */
static void thinned_rows_stand_for_each_other(void **state)
{
    enum { N = 100000 };
    float *buf = malloc(5 * N * sizeof *buf), *p = buf, *y = p + N, *w = y + N, *g = w + N,
          *h = g + N;
    uint32_t *q = malloc(N * sizeof *q);
    struct grad_out o = { g, h, q, 16384, 16384, 78, 0.02f };
    double sum = 0, want = 0, sum_h = 0, want_h = 0;
    int kept = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        p[i] = 1.0f - (float)(i % 40) * 1e-3f;
        y[i] = 1;
        w[i] = i % 3 ? 1 : 0;
        want += (double)(w[i] * (1.0f - p[i]));
        want_h += (double)(w[i] * fmaxf(p[i] * (1.0f - p[i]), 1e-6f));
    }
    grad_class(p, y, w, N, 1, 1, &o);
    for (int i = 0; i < N; i++) {
        float a = w[i] * (1.0f - p[i]);
        sum -= (double)g[i];
        sum_h += (double)h[i];
        kept += q[i] != 0;
        assert_true(a >= 0.02f ? g[i] == -a : g[i] == 0 || fabsf(g[i] + 0.02f) < 1e-6f);
        assert_true(g[i] != 0 || (h[i] == 0 && q[i] == 0));
    }
    assert_float_equal(sum / want, 1, 0.01);
    assert_float_equal(sum_h / want_h, 1, 0.02);
    assert_in_range(kept, N * 7 / 15, N * 8 / 15);
    free(buf), free(q);
}

/* ---- bits ---- */

static const struct {
    const char *what;
    int param;
    double value;
} settings[] = {
    { "defaults", -1, 0 },
    { "63 bins", BOOST_BINS, 0 },
    { "level by level", BOOST_GROW, 1 },
    { "random thresholds", BOOST_RANDOM, 1 },
    { "rows sampled", BOOST_ROW_SAMPLE, 0.7 },
    { "columns sampled", BOOST_COL_SAMPLE, 0.5 },
    { "columns sampled per depth", BOOST_COL_LEVEL, 0.6 },
    { "L1", BOOST_L1, 0.5 },
    { "many leaves", BOOST_LEAVES, 200 },
    { "levels in order", BOOST_MAX_ONEHOT, 1 },
};

static void params_of(size_t setting, double *p)
{
    family_defaults(family_find("boost"), p);
    p[BOOST_ROW_SAMPLE] = p[BOOST_COL_SAMPLE] = 1;
    p[BOOST_MIN_LEAF] = 5;
    if (settings[setting].param >= 0)
        p[settings[setting].param] = settings[setting].value;
}

static const struct {
    enum ml_task task;
    int classes;
} tasks[] = { { ML_BINARY, 2 }, { ML_MULTICLASS, 4 }, { ML_REGRESSION, 0 } };

static struct rig *mixed(size_t task)
{
    return rig_new(rig_mixed(tasks[task].task, 400, tasks[task].classes, 9), tasks[task].task,
                   metric_default(tasks[task].task), 3);
}

static void assert_same_bytes(struct buf a, struct buf b)
{
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    buf_fini(&a);
    buf_fini(&b);
}

static void slicing_changes_no_bit(void **state)
{
    (void)state;
    for (size_t task = 0; task < ARRAY_LEN(tasks); task++) {
        struct rig *r = mixed(task);
        for (size_t s = 0; s < ARRAY_LEN(settings); s++) {
            double params[FAMILY_MAX_PARAMS];
            struct rig_stop stop;
            params_of(s, params);
            struct lane whole = rig_lane(r, "boost", params, 0, 12),
                        cut = rig_lane(r, "boost", params, 0, 0);
            rig_stop_init(&stop, test_seed() + s, 60);
            while (cut.steps_done < 12) {
                rig_lane_train(r, "boost", &cut, 12, &stop.stop);
                rig_stop_next(&stop);
            }
            assert_same_bytes(rig_lane_bytes("boost", &whole, 12),
                              rig_lane_bytes("boost", &cut, 12));
            rig_lane_close("boost", &whole);
            rig_lane_close("boost", &cut);
        }
        rig_free(r);
    }
}

static void a_loaded_lane_goes_on_with_equal_bits(void **state)
{
    (void)state;
    for (size_t task = 0; task < ARRAY_LEN(tasks); task++) {
        struct rig *r = mixed(task);
        for (size_t s = 0; s < ARRAY_LEN(settings); s++) {
            double params[FAMILY_MAX_PARAMS];
            struct err err = { 0 };
            params_of(s, params);
            struct lane whole = rig_lane(r, "boost", params, 1, 7),
                        late = rig_lane(r, "boost", params, 1, 0);
            struct buf b = rig_lane_bytes("boost", &whole, 7);
            struct view in = { (const uint8_t *)b.data, b.len, 0 };
            assert_int_equal(model_find("boost")->load(r->d, &late, &in, &err), 0);
            assert_int_equal(late.steps_done, 7);
            buf_fini(&b);
            rig_lane_train(r, "boost", &whole, 12, NULL);
            rig_lane_train(r, "boost", &late, 12, NULL);
            assert_same_bytes(rig_lane_bytes("boost", &whole, 12),
                              rig_lane_bytes("boost", &late, 12));
            rig_lane_close("boost", &whole);
            rig_lane_close("boost", &late);
        }
        rig_free(r);
    }
}

static void lanes_together_equal_lanes_alone(void **state)
{
    const struct model_ops *ops = model_find("boost");
    struct err err = { 0 };

    (void)state;
    for (size_t task = 0; task < ARRAY_LEN(tasks); task++) {
        struct rig *r = mixed(task);
        struct lane l[3];
        double params[FAMILY_MAX_PARAMS];
        params_of(4, params);
        for (int f = 0; f < 3; f++) { /* in another order than the folds */
            l[f] = rig_lane(r, "boost", params, (f + 2) % 3, 0);
            l[f].max_steps = 9;
        }
        assert_int_equal(ops->advance(r->d, l, 3, 4, NULL, &err), 0);
        assert_int_equal(l[1].steps_done, 4);
        assert_int_equal(ops->advance(r->d, l, 3, 100, NULL, &err), 0);
        for (int f = 0; f < 3; f++) {
            struct lane alone = rig_lane(r, "boost", params, l[f].fold, 9);
            assert_true(l[f].is_done);
            assert_same_bytes(rig_lane_bytes("boost", &alone, 9),
                              rig_lane_bytes("boost", &l[f], 9));
            rig_lane_close("boost", &alone);
        }
        for (int f = 0; f < 3; f++)
            rig_lane_close("boost", &l[f]);
        rig_free(r);
    }
}

static void every_instruction_set_gives_the_same_bits(void **state)
{
    enum simd_level best = simd_best();

    (void)state;
    if (best == SIMD_PLAIN)
        skip();
    for (size_t task = 0; task < ARRAY_LEN(tasks); task++) {
        struct rig *r = mixed(task);
        for (size_t s = 0; s < ARRAY_LEN(settings); s++) {
            double params[FAMILY_MAX_PARAMS];
            params_of(s, params);
            simd_force(SIMD_PLAIN);
            struct lane plain = rig_lane(r, "boost", params, 0, 8);
            for (int level = SIMD_AVX2; level <= (int)best; level++) {
                simd_force((enum simd_level)level);
                struct lane fast = rig_lane(r, "boost", params, 0, 8);
                assert_same_bytes(rig_lane_bytes("boost", &plain, 8),
                                  rig_lane_bytes("boost", &fast, 8));
                rig_lane_close("boost", &fast);
            }
            rig_lane_close("boost", &plain);
        }
        rig_free(r);
    }
    simd_force(best);
}

/* What a lane says of its held-out rows after `steps` = what its saved bytes predict for them. */
static void held_equals_inference(struct rig *r, struct lane *l, int64_t steps)
{
    const struct model_ops *ops = model_find("boost");
    size_t k = (size_t)r->d->n_outputs;
    float *now = malloc(400 * k * sizeof *now), *at = malloc(400 * k * sizeof *at);
    struct buf b = rig_lane_bytes("boost", l, steps);
    float *all = rig_predict(r, "boost", &b);
    struct err err = { 0 };

    buf_fini(&b);
    assert_int_equal(ops->predict_held(r->d, l, now, &err), 0);
    assert_int_equal(ops->predict_held_at(r->d, l, steps, at, &err), 0);
    for (size_t i = 0, h = 0; i < 400; i++) {
        if (r->d->fold[i] != 0)
            continue;
        assert_memory_equal(all + i * k, at + h * k, k * sizeof *all);
        if (steps == 10)
            assert_memory_equal(all + i * k, now + h * k, k * sizeof *all);
        h++;
    }
    free(all);
    free(now);
    free(at);
}

static void held_out_predictions_equal_inference(void **state)
{
    (void)state;
    for (size_t task = 0; task < ARRAY_LEN(tasks); task++) {
        struct rig *r = mixed(task);
        for (size_t s = 0; s < ARRAY_LEN(settings); s++) {
            double params[FAMILY_MAX_PARAMS];
            params_of(s, params);
            struct lane l = rig_lane(r, "boost", params, 0, 10);
            for (int64_t steps = 10; steps >= 4; steps -= 6)
                held_equals_inference(r, &l, steps);
            rig_lane_close("boost", &l);
        }
        rig_free(r);
    }
}

/* ---- hard cases ---- */

static void odd_tables_train(void **state)
{
    static const struct {
        int64_t rows;
        int cols;
        enum ml_task task;
        double missing, scale;
    } cases[] = {
        { 4, 1, ML_BINARY, 0, 1 },           { 5, 1, ML_REGRESSION, 0, 1 },
        { 60, 3, ML_REGRESSION, 0, 1e30 },   { 60, 3, ML_REGRESSION, 0, 1e300 },
        { 60, 3, ML_REGRESSION, 0, 1e-300 }, { 60, 2, ML_BINARY, 0.95, 1 },
        { 60, 2000, ML_BINARY, 0.2, 1 },     { 40, 3, ML_MULTICLASS, 0.5, 1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig_table *t = rig_table_new(cases[i].rows);
        struct rng g;
        rng_init(&g, 3, i);
        for (int c = 0; c < cases[i].cols; c++) {
            double *x = rig_numbers(t);
            for (int64_t k = 0; k < cases[i].rows; k++)
                x[k] = rng_unit(&g) < cases[i].missing ? (double)NAN : rng_normal(&g);
        }
        double *y = rig_numbers(t);
        for (int64_t k = 0; k < cases[i].rows; k++)
            y[k] = cases[i].task == ML_REGRESSION
                       ? cases[i].scale * rng_normal(&g)
                       : (double)(k % (cases[i].task == ML_BINARY ? 2 : 3));
        struct rig *r = rig_new(t, cases[i].task, metric_default(cases[i].task), 2);
        double params[FAMILY_MAX_PARAMS];
        family_defaults(family_find("boost"), params);
        params[BOOST_MIN_LEAF] = 1;
        float *p = fit_all(r, params, 10);
        for (int64_t k = 0; k < cases[i].rows * r->d->n_outputs; k++)
            assert_false(isnan(p[k]));
        free(p);
        rig_free(r);
    }
}

static void broken_bytes_are_refused_or_harmless(void **state)
{
    const struct model_ops *ops = model_find("boost");
    struct rig *r = mixed(1);
    double params[FAMILY_MAX_PARAMS];
    struct lane l;
    int refused = 0;

    (void)state;
    params_of(0, params);
    l = rig_lane(r, "boost", params, 0, 2);
    struct buf b = rig_lane_bytes("boost", &l, 2);
    struct err err = { 0 };
    struct prep_view *v = prep_view_new(r->d->prep, r->frame, &err);
    float *out = malloc((size_t)(r->d->rows * r->d->n_outputs) * sizeof *out);
    for (size_t at = 0; at < b.len; at++) {
        uint8_t *bytes = mem_dup(b.data, b.len);
        bytes[at] ^= (uint8_t)(1u << (at % 8));
        struct view in = { bytes, at % 3 == 0 ? at : b.len, 0 };
        struct predictor *p =
            ops->predictor_load(r->d->prep, r->d->n_outputs, ML_MULTICLASS, &in, &err);
        if (p)
            assert_int_equal(ops->predict(p, v, 0, r->d->rows, out, &err), 0);
        refused += p == NULL;
        ops->predictor_free(p);
        mem_free(bytes);
    }
    assert_true(refused > (int)b.len / 3);
    free(out);
    prep_view_free(v);
    buf_fini(&b);
    rig_lane_close("boost", &l);
    rig_free(r);
}

/* Score of the held-out rows after 80 rounds, whatever they say. */
static double score_of(size_t task, uint64_t seed)
{
    enum { ROWS = 4000, ROUNDS = 80 };
    struct rig *r = rig_new(rig_mixed(tasks[task].task, ROWS, tasks[task].classes, seed),
                            tasks[task].task, metric_default(tasks[task].task), 4);
    double params[FAMILY_MAX_PARAMS], value, se, *y = malloc(ROWS * sizeof *y);
    struct err err = { 0 };
    int64_t n = 0;

    family_defaults(family_find("boost"), params);
    params[BOOST_MIN_LEAF] = 20;
    params[BOOST_L2] = 3;
    params[BOOST_ROW_SAMPLE] = params[BOOST_COL_SAMPLE] = 1;
    struct lane l = rig_lane(r, "boost", params, 0, ROUNDS);
    float *p = malloc((size_t)(ROWS * r->d->n_outputs) * sizeof *p);
    assert_int_equal(model_find("boost")->predict_held(r->d, &l, p, &err), 0);
    for (int64_t i = 0; i < ROWS; i++) {
        if (r->d->fold[i] == 0)
            y[n++] = r->d->y[i];
    }
    assert_int_equal(metric_score(r->d->spec.metric, tasks[task].task, p, y, n,
                                  MAX(2, r->d->n_classes), &value, &se, &err),
                     0);
    free(p), free(y);
    rig_lane_close("boost", &l);
    rig_free(r);
    return value;
}

/* Means over tables: one table's score varies by a hundredth with every cut that moves. */
static void the_signal_is_found(void **state)
{
    enum { TABLES = 4 };
    double mean[ARRAY_LEN(tasks)] = { 0 };

    (void)state;
    for (size_t task = 0; task < ARRAY_LEN(tasks); task++) {
        for (uint64_t seed = 2; seed < 2 + TABLES; seed++)
            mean[task] += score_of(task, seed) / TABLES;
    }
    assert_true(mean[0] > 0.935);
    assert_true(mean[1] < 0.86);
    assert_true(mean[2] < 12.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_split_gives_the_two_means),
        cmocka_unit_test(best_first_and_level_by_level_differ_as_they_should),
        cmocka_unit_test(missing_values_go_where_they_belong),
        cmocka_unit_test(levels_are_split_as_sets),
        cmocka_unit_test(leaves_hold_rows_and_hessian_enough),
        cmocka_unit_test(gradients_are_the_derivatives_of_the_loss),
        cmocka_unit_test(rounding_is_unbiased),
        cmocka_unit_test(thinned_rows_stand_for_each_other),
        cmocka_unit_test(slicing_changes_no_bit),
        cmocka_unit_test(a_loaded_lane_goes_on_with_equal_bits),
        cmocka_unit_test(lanes_together_equal_lanes_alone),
        cmocka_unit_test(every_instruction_set_gives_the_same_bits),
        cmocka_unit_test(held_out_predictions_equal_inference),
        cmocka_unit_test(odd_tables_train),
        cmocka_unit_test(broken_bytes_are_refused_or_harmless),
        cmocka_unit_test(the_signal_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
