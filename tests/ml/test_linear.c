/* test_linear.c - solutions satisfy their own conditions, gradients match differences, and bits depend on nothing but the
 * data: not on slicing, checkpoints, the other lanes, or the instruction set. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/glm.h"
#include "ml/cpu/simd.h"
#include "ml/model/models.h"

#include <math.h>

static const struct {
    enum ml_task task;
    int classes;
} tasks[] = { { ML_BINARY, 2 }, { ML_MULTICLASS, 3 }, { ML_MULTICLASS, 11 }, { ML_REGRESSION, 0 } };

static struct rig *mixed(size_t task)
{
    return rig_new(rig_mixed(tasks[task].task, 700, tasks[task].classes, 9), tasks[task].task,
                   metric_default(tasks[task].task), 3);
}

static void defaults(double *p)
{
    family_defaults(family_find("linear"), p);
}

static void a_straight_line_is_found_exactly(void **state)
{
    struct rig_table *t = rig_table_new(50);
    double *x = rig_numbers(t), *z = rig_numbers(t), *y = rig_numbers(t), params[FAMILY_MAX_PARAMS];

    (void)state;
    for (int i = 0; i < 50; i++) {
        x[i] = i;
        z[i] = (i * 7) % 11;
        y[i] = 1e6 + 3 * x[i] - 2000 * z[i];
    }
    struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
    defaults(params);
    struct lane l = rig_lane(r, "linear", params, FOLD_ALL, 17);
    struct buf b = rig_lane_bytes("linear", &l, 17);
    float *p = rig_predict(r, "linear", &b);
    for (int i = 0; i < 50; i++)
        assert_float_equal(p[i], 1e6 + 3.0 * i - 2000.0 * ((i * 7) % 11), 0.5);
    free(p);
    buf_fini(&b);
    rig_lane_close("linear", &l);
    rig_free(r);
}

/* Ridge on one centred column by hand: w = Sxy / (Sxx + 1 / C). */
static void one_column_ridge_is_known_by_hand(void **state)
{
    struct rig_table *t = rig_table_new(20);
    double *x = rig_numbers(t), *y = rig_numbers(t), params[FAMILY_MAX_PARAMS], sxx = 0, sxy = 0;

    (void)state;
    for (int i = 0; i < 20; i++) {
        x[i] = i;
        y[i] = i * i;
    }
    struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
    struct err err = { 0 };
    const struct prep_dense *d = ml_data_dense(r->d, FOLD_ALL, &err);
    for (int i = 0; i < 20; i++) { /* the prepared column has mean 0 over all rows */
        sxx += (double)d->x[i * d->stride] * (double)d->x[i * d->stride];
        sxy += (double)d->x[i * d->stride] * (double)(i * i);
    }
    defaults(params);
    struct lane l = rig_lane(r, "linear", params, FOLD_ALL, 5); /* the fifth point: C = 0.01 */
    struct buf b = rig_lane_bytes("linear", &l, 5);
    float *p = rig_predict(r, "linear", &b);
    double w = sxy / (sxx + 100.0), mean = 2470.0 / 20;
    for (int i = 0; i < 20; i++)
        assert_float_equal(p[i], mean + w * (double)d->x[i * d->stride], 1e-3);
    free(p);
    buf_fini(&b);
    rig_lane_close("linear", &l);
    rig_free(r);
}

static void loss_derivatives_match_differences(void **state)
{
    static const int outputs[] = { 1, 3, 9 };

    (void)state;
    for (size_t o = 0; o < ARRAY_LEN(outputs); o++) {
        int k = outputs[o], lanes = glm_lanes(k);
        double z[5 * 16] = { 0 }, dz[5 * 16];
        int32_t y[5];
        struct rng r;
        rng_init(&r, 1, o);
        for (int i = 0; i < 5; i++) {
            y[i] = (int32_t)rng_below(&r, k == 1 ? 2 : (uint32_t)k);
            for (int c = 0; c < k; c++)
                z[i * lanes + c] = 3 * rng_normal(&r);
        }
        memcpy(dz, z, sizeof z);
        glm_log_loss(dz, y, 5, k, lanes);
        for (int i = 0; i < 5 * lanes; i++) {
            double up[5 * 16], down[5 * 16];
            if (i % lanes >= k)
                continue;
            memcpy(up, z, sizeof z);
            memcpy(down, z, sizeof z);
            up[i] += 1e-5;
            down[i] -= 1e-5;
            double a = glm_log_loss(up, y, 5, k, lanes), b = glm_log_loss(down, y, 5, k, lanes);
            assert_float_equal(dz[i], (a - b) / 2e-5, 1e-6);
        }
    }
}

/* Products against plain loops, over odd shapes and every instruction set. */
static void products_match_plain_loops(void **state)
{
    static const struct {
        int cols, outputs;
        int64_t n;
    } shapes[] = { { 1, 1, 1 }, { 7, 1, 5 },  { 33, 1, 512 },
                   { 1, 3, 3 }, { 17, 8, 9 }, { 5, 11, 130 } };
    static float x[512 * 48];
    static double z[512 * 16], want[512 * 16], grad[40 * 16], w[40 * 16];

    (void)state;
    for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
        int cols = shapes[s].cols, lanes = glm_lanes(shapes[s].outputs);
        int64_t stride = (cols + 15) / 16 * 16;
        struct rng r;
        rng_init(&r, 2, s);
        memset(x, 0, sizeof x);
        for (int64_t i = 0; i < shapes[s].n; i++) {
            for (int j = 0; j < cols; j++)
                x[i * stride + j] = (float)rng_normal(&r);
        }
        for (int j = 0; j < (cols + 1) * lanes; j++)
            w[j] = rng_normal(&r);
        for (int64_t i = 0; i < shapes[s].n; i++) {
            for (int k = 0; k < lanes; k++) {
                want[i * lanes + k] = w[cols * lanes + k];
                for (int j = 0; j < cols; j++)
                    want[i * lanes + k] += (double)x[i * stride + j] * w[j * lanes + k];
            }
        }
        struct glm_rows rows = { x, stride, cols, lanes, NULL, shapes[s].n };
        glm_scores(&rows, w, z);
        for (int64_t i = 0; i < shapes[s].n * lanes; i++)
            assert_float_equal(z[i], want[i], 1e-11);
        memset(grad, 0, sizeof grad);
        glm_gradient(&rows, z, grad);
        for (int j = 0; j <= cols; j++) {
            for (int k = 0; k < lanes; k++) {
                double sum = 0;
                for (int64_t i = 0; i < shapes[s].n; i++)
                    sum += (j < cols ? (double)x[i * stride + j] : 1.0) * z[i * lanes + k];
                assert_float_equal(grad[j * lanes + k], sum, 1e-9);
            }
        }
    }
}

static void many_columns_agree_with_the_gram_solution(void **state)
{
    /* 520 columns go through L-BFGS, the first 500 of them through the Gram matrix; the rest is nearly constant noise. */
    (void)state;
    float *p[2];
    for (int wide = 0; wide < 2; wide++) {
        struct rig_table *t = rig_table_new(300);
        struct rng r;
        double params[FAMILY_MAX_PARAMS];
        rng_init(&r, 8, 8);
        double *x[520], *y;
        int cols = wide ? 520 : 505;
        for (int c = 0; c < cols; c++) {
            x[c] = rig_numbers(t);
            for (int i = 0; i < 300; i++)
                x[c][i] = c < 10 ? rng_normal(&r) : x[c % 10][i] + 1e-9 * i * (c % 7);
        }
        y = rig_numbers(t);
        for (int i = 0; i < 300; i++)
            y[i] = 5 * x[0][i] - 3 * x[1][i] + 7;
        struct rig *g = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
        defaults(params);
        struct lane l = rig_lane(g, "linear", params, FOLD_ALL, 9);
        struct buf b = rig_lane_bytes("linear", &l, 9);
        p[wide] = rig_predict(g, "linear", &b);
        buf_fini(&b);
        rig_lane_close("linear", &l);
        rig_free(g);
    }
    for (int i = 0; i < 300; i++)
        assert_float_equal(p[0][i], p[1][i], 0.05);
    free(p[0]), free(p[1]);
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
        double params[FAMILY_MAX_PARAMS];
        struct rig_stop stop;
        defaults(params);
        struct lane whole = rig_lane(r, "linear", params, 0, 9),
                    cut = rig_lane(r, "linear", params, 0, 0);
        rig_stop_init(&stop, test_seed(), 30);
        for (int tries = 0; cut.steps_done < 9 && tries < 100000; tries++) {
            rig_lane_train(r, "linear", &cut, 9, &stop.stop);
            rig_stop_next(&stop);
        }
        assert_same_bytes(rig_lane_bytes("linear", &whole, 9), rig_lane_bytes("linear", &cut, 9));
        rig_lane_close("linear", &whole);
        rig_lane_close("linear", &cut);
        rig_free(r);
    }
}

static void a_loaded_lane_goes_on_with_equal_bits(void **state)
{
    (void)state;
    for (size_t task = 0; task < ARRAY_LEN(tasks); task++) {
        struct rig *r = mixed(task);
        double params[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        defaults(params);
        struct lane whole = rig_lane(r, "linear", params, 1, 4),
                    late = rig_lane(r, "linear", params, 1, 0);
        struct buf b = rig_lane_bytes("linear", &whole, 4);
        struct view in = { (const uint8_t *)b.data, b.len, 0 };
        assert_int_equal(model_find("linear")->load(r->d, &late, &in, &err), 0);
        buf_fini(&b);
        rig_lane_train(r, "linear", &whole, 8, NULL);
        rig_lane_train(r, "linear", &late, 8, NULL);
        assert_same_bytes(rig_lane_bytes("linear", &whole, 8), rig_lane_bytes("linear", &late, 8));
        rig_lane_close("linear", &whole);
        rig_lane_close("linear", &late);
        rig_free(r);
    }
}

static void lanes_together_equal_lanes_alone(void **state)
{
    const struct model_ops *ops = model_find("linear");
    struct err err = { 0 };

    (void)state;
    for (size_t task = 0; task < ARRAY_LEN(tasks); task++) {
        struct rig *r = mixed(task);
        struct lane l[3];
        double params[FAMILY_MAX_PARAMS];
        defaults(params);
        for (int f = 0; f < 3; f++) {
            l[f] = rig_lane(r, "linear", params, (f + 1) % 3, 0);
            l[f].max_steps = 6;
        }
        assert_int_equal(ops->advance(r->d, l, 3, 100, NULL, &err), 0);
        for (int f = 0; f < 3; f++) {
            struct lane alone = rig_lane(r, "linear", params, l[f].fold, 6);
            assert_true(l[f].is_done);
            assert_same_bytes(rig_lane_bytes("linear", &alone, 6),
                              rig_lane_bytes("linear", &l[f], 6));
            rig_lane_close("linear", &alone);
        }
        for (int f = 0; f < 3; f++)
            rig_lane_close("linear", &l[f]);
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
        double params[FAMILY_MAX_PARAMS];
        defaults(params);
        simd_force(SIMD_PLAIN);
        struct lane plain = rig_lane(r, "linear", params, 0, 7);
        for (int level = SIMD_AVX2; level <= (int)best; level++) {
            simd_force((enum simd_level)level);
            struct lane fast = rig_lane(r, "linear", params, 0, 7);
            assert_same_bytes(rig_lane_bytes("linear", &plain, 7),
                              rig_lane_bytes("linear", &fast, 7));
            rig_lane_close("linear", &fast);
        }
        rig_lane_close("linear", &plain);
        rig_free(r);
    }
    simd_force(best);
}

static void held_out_predictions_equal_inference(void **state)
{
    const struct model_ops *ops = model_find("linear");
    struct err err = { 0 };

    (void)state;
    for (size_t task = 0; task < ARRAY_LEN(tasks); task++) {
        struct rig *r = mixed(task);
        int k = r->d->n_outputs;
        double params[FAMILY_MAX_PARAMS];
        defaults(params);
        struct lane l = rig_lane(r, "linear", params, 0, 9);
        float *at = malloc((size_t)(700 * k) * sizeof *at);
        for (int64_t steps = 9; steps >= 1; steps -= 4) {
            struct buf b = rig_lane_bytes("linear", &l, steps);
            float *all = rig_predict(r, "linear", &b);
            buf_fini(&b);
            assert_int_equal(ops->predict_held_at(r->d, &l, steps, at, &err), 0);
            for (int64_t i = 0, h = 0; i < 700; i++) {
                if (r->d->fold[i] == 0)
                    assert_memory_equal(all + i * k, at + h++ * k, (size_t)k * sizeof *all);
            }
            free(all);
        }
        free(at);
        rig_lane_close("linear", &l);
        rig_free(r);
    }
}

static void hard_tables_train(void **state)
{
    static const double scale[] = { 1e30, 1e300, 1e-300, 0.001 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scale); i++) {
        struct rig_table *t = rig_table_new(40);
        double *x = rig_numbers(t), *z = rig_numbers(t), *y = rig_numbers(t),
               params[FAMILY_MAX_PARAMS];
        for (int k = 0; k < 40; k++) {
            x[k] = k * scale[i];
            z[k] = x[k]; /* the same column twice */
            y[k] = scale[i] * (k % 7);
        }
        struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
        defaults(params);
        struct lane l = rig_lane(r, "linear", params, FOLD_ALL, 17);
        struct buf b = rig_lane_bytes("linear", &l, 17);
        float *p = rig_predict(r, "linear", &b);
        for (int k = 0; k < 40; k++)
            assert_false(isnan(p[k]));
        free(p);
        buf_fini(&b);
        rig_lane_close("linear", &l);
        rig_free(r);
    }
}

static void broken_bytes_are_refused_or_harmless(void **state)
{
    struct rig *r = mixed(1);
    double params[FAMILY_MAX_PARAMS];

    (void)state;
    defaults(params);
    struct lane l = rig_lane(r, "linear", params, 0, 2);
    struct buf b = rig_lane_bytes("linear", &l, 2);
    rig_bytes_broken(r, "linear", ML_MULTICLASS, &b);
    buf_fini(&b);
    rig_lane_close("linear", &l);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_straight_line_is_found_exactly),
        cmocka_unit_test(one_column_ridge_is_known_by_hand),
        cmocka_unit_test(loss_derivatives_match_differences),
        cmocka_unit_test(products_match_plain_loops),
        cmocka_unit_test(many_columns_agree_with_the_gram_solution),
        cmocka_unit_test(slicing_changes_no_bit),
        cmocka_unit_test(a_loaded_lane_goes_on_with_equal_bits),
        cmocka_unit_test(lanes_together_equal_lanes_alone),
        cmocka_unit_test(every_instruction_set_gives_the_same_bits),
        cmocka_unit_test(held_out_predictions_equal_inference),
        cmocka_unit_test(hard_tables_train),
        cmocka_unit_test(broken_bytes_are_refused_or_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
