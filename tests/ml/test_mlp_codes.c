/* test_mlp_codes.c - networks of the family mlp that read categories as whole numbers, with pieces of numbers, layer norm and
 * residual layers: what was stopped and resumed, saved and read back, or trained with another instruction set has the same
 * bits; two ranks train them; the step of FTRL is the published one; and where a pair of categories decides, the wide part
 * finds what the layers do not. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/optim.h"
#include "ml/cpu/simd.h"
#include "ml/model/models.h"
#include "ml/net/net_lane.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 400, FOLDS = 3, EPOCHS = 10, LEVELS = 20 };

static const struct {
    enum ml_task task;
    enum metric_id metric;
} tasks[] = { { ML_BINARY, METRIC_LOGLOSS },
              { ML_MULTICLASS, METRIC_LOGLOSS },
              { ML_REGRESSION, METRIC_RMSE } };

/* A number, two categories of LEVELS levels, one of 3, some missing. Of every pair of levels a draw of its own decides. */
static struct rig *crossed(size_t task, int64_t rows, int levels)
{
    struct rig_table *t = rig_table_new(rows);
    double *x = rig_numbers(t);
    int32_t *a = rig_levels(t, levels), *b = rig_levels(t, levels), *c = rig_levels(t, 3);
    double *y = rig_numbers(t);
    struct rng r;

    rng_init(&r, TEST_FIXED_SEED, 7);
    for (int64_t i = 0; i < rows; i++) {
        x[i] = rng_normal(&r);
        a[i] = (int32_t)rng_below(&r, (uint32_t)levels);
        b[i] = (int32_t)rng_below(&r, (uint32_t)levels);
        c[i] = (int32_t)rng_below(&r, 3);
        uint64_t h = rng_mix((uint64_t)a[i] * 1000 + (uint64_t)b[i], 3);
        y[i] = tasks[task].task == ML_REGRESSION ? (double)(h % 100) + x[i]
                                                 : (double)(h % (task == 0 ? 2 : 4));
        if (tasks[task].task != ML_REGRESSION && rng_below(&r, 20) == 0)
            y[i] = 0;
        if (rng_below(&r, 30) == 0)
            b[i] = -1;
    }
    return rig_new(t, tasks[task].task, tasks[task].metric, FOLDS);
}

static void rich(double *p)
{
    family_defaults(family_find("mlp"), p);
    p[MLP_LAYERS] = 2;
    p[MLP_WIDTH] = 20;
    p[MLP_MEMBERS] = 2;
    p[MLP_BATCH] = 50;
    p[MLP_EPOCHS] = EPOCHS;
    p[MLP_EMBEDDING] = 2;
    p[MLP_NORM] = p[MLP_RESIDUAL] = p[MLP_CATEGORIES] = p[MLP_WIDE] = 1;
}

static struct buf unbroken(const struct rig *r, const double *p, int fold)
{
    struct lane l = rig_lane(r, "mlp", p, fold, EPOCHS);
    struct buf b = rig_lane_bytes("mlp", &l, EPOCHS);

    rig_lane_close("mlp", &l);
    return b;
}

static void equal_and_freed(struct buf *a, struct buf *b)
{
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->data, b->data, a->len);
    buf_fini(a);
    buf_fini(b);
}

static void a_checkpoint_taken_anywhere_goes_on_with_the_same_bits(void **state)
{
    const struct model_ops *ops = model_find("mlp");

    (void)state;
    for (size_t t = 0; t < ARRAY_LEN(tasks); t++) {
        struct rig *r = crossed(t, ROWS, LEVELS);
        double p[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        struct rig_stop s;
        struct buf saved;
        rich(p);
        struct buf want = unbroken(r, p, 1);
        struct lane l = rig_lane(r, "mlp", p, 1, 2);
        assert_int_equal(ops->keep(&l, &err), 0);
        rig_stop_init(&s, test_seed() + t, 9);
        rig_stop_next(&s);
        rig_lane_train(r, "mlp", &l, 5, &s.stop);
        buf_init(&saved, 1 << 22);
        assert_int_equal(ops->save_training(&l, &saved, &err), 0);
        rig_lane_close("mlp", &l);
        struct lane again = rig_lane(r, "mlp", p, 1, 1);
        struct view in = { (const uint8_t *)saved.data, saved.len, 0 };
        assert_int_equal(ops->load(r->d, &again, &in, &err), 0);
        assert_int_equal(in.pos, in.len);
        rig_lane_train(r, "mlp", &again, EPOCHS, NULL);
        struct buf got = rig_lane_bytes("mlp", &again, EPOCHS);
        equal_and_freed(&want, &got);
        buf_fini(&saved);
        rig_lane_close("mlp", &again);
        rig_free(r);
    }
}

static void every_set_of_instructions_trains_the_same_network(void **state)
{
    struct rig *r = crossed(1, ROWS, LEVELS);
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    rich(p);
    for (int level = 1; level <= (int)simd_best(); level++) {
        simd_force(SIMD_PLAIN);
        struct buf plain = unbroken(r, p, 0);
        simd_force((enum simd_level)level);
        struct buf wide = unbroken(r, p, 0);
        equal_and_freed(&plain, &wide);
    }
    simd_force(simd_best());
    rig_free(r);
}

static void the_file_predicts_what_the_lane_predicts(void **state)
{
    const struct model_ops *ops = model_find("mlp");

    (void)state;
    for (size_t t = 0; t < ARRAY_LEN(tasks); t++) {
        struct rig *r = crossed(t, ROWS, LEVELS);
        int k = r->d->n_outputs;
        float *held = malloc(sizeof *held * (size_t)(ROWS * k));
        double p[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        int64_t at = 0;
        rich(p);
        struct lane l = rig_lane(r, "mlp", p, 0, EPOCHS);
        struct buf b = rig_lane_bytes("mlp", &l, EPOCHS);
        float *all = rig_predict(r, "mlp", &b);
        assert_non_null(held);
        assert_int_equal(ops->predict_held(r->d, &l, held, &err), 0);
        for (int64_t i = 0; i < ROWS; i++) {
            if (r->d->fold[i] != 0)
                continue;
            assert_memory_equal(all + i * k, held + at * k, (size_t)k * sizeof *held);
            at++;
        }
        free(all);
        free(held);
        buf_fini(&b);
        rig_lane_close("mlp", &l);
        rig_free(r);
    }
}

static void two_ranks_train_it_as_well(void **state)
{
    struct rig *r = crossed(0, ROWS, LEVELS);
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    rich(p);
    p[MLP_OPTIMIZER] = 2;
    p[MLP_SCHEDULE] = 3;
    struct lane one = rig_lane(r, "mlp", p, 0, 1);
    p[MLP_RANKS] = 2;
    struct lane two = rig_lane(r, "mlp", p, 0, 1);
    const struct net_lane *a = one.state, *b = two.state;
    for (int64_t i = 0; i < a->head.net.size; i++)
        assert_float_equal(a->now[i], b->now[i], 1e-4);
    rig_lane_close("mlp", &one);
    rig_lane_close("mlp", &two);
    rig_free(r);
}

static void broken_bytes_are_one_error(void **state)
{
    const struct model_ops *ops = model_find("mlp");
    struct rig *r = crossed(1, ROWS, LEVELS);
    double p[FAMILY_MAX_PARAMS];
    struct rng rng;

    (void)state;
    rich(p);
    struct buf b = unbroken(r, p, 0);
    for (size_t len = 0; len < b.len; len += 1 + len / 3) {
        struct view in = { (const uint8_t *)b.data, len, 0 };
        struct err err = { 0 };
        assert_null(ops->predictor_load(r->d->prep, r->d->n_outputs, ML_MULTICLASS, &in, &err));
        assert_true(err.text[0] != '\0');
    }
    rng_init(&rng, test_seed(), 3);
    char *copy = malloc(b.len + 1);
    assert_non_null(copy);
    for (int i = 0; i < 400; i++) {
        memcpy(copy, b.data, b.len);
        uint32_t at = i % 2 ? rng_below(&rng, 300) : rng_below(&rng, (uint32_t)b.len);
        copy[at] ^= (char)(1 << rng_below(&rng, 8));
        struct view in = { (const uint8_t *)copy, b.len, 0 };
        struct err err = { 0 };
        struct predictor *q =
            ops->predictor_load(r->d->prep, r->d->n_outputs, ML_MULTICLASS, &in, &err);
        assert_true(q || err.text[0] != '\0');
        ops->predictor_free(q);
    }
    free(copy);
    buf_fini(&b);
    rig_free(r);
}

/* Two steps of Algorithm 1 of McMahan et al. (KDD 2013) in double precision; a weight without a gradient stays. */
static void the_steps_of_ftrl_are_known(void **state)
{
    const struct om_ftrl f = { .alpha = 0.2f, .beta = 1.0f, .l1 = 0.3f, .l2 = 0.5f };
    const double gs[2][3] = { { 2.0, -0.1, 0 }, { -0.5, 1.5, 0 } };
    float w[3] = { 0, 0, 7 }, m[3] = { 0, 0, 4 }, v[3] = { 0, 0, 9 };
    double weight[3] = { 0, 0, 7 }, z[3] = { 0, 0, 4 }, n[3] = { 0, 0, 9 };

    (void)state;
    for (int s = 0; s < 2; s++) {
        float g[3];
        for (int i = 0; i < 3; i++)
            g[i] = (float)(gs[s][i] / 4);
        optim_ftrl(&f, w, g, 4.0f, m, v, 3);
        for (int i = 0; i < 2; i++) {
            double sigma = (sqrt(n[i] + gs[s][i] * gs[s][i]) - sqrt(n[i])) / 0.2;
            z[i] += gs[s][i] - sigma * weight[i];
            n[i] += gs[s][i] * gs[s][i];
            double sign = z[i] < 0 ? -1 : 1;
            weight[i] =
                fabs(z[i]) <= 0.3 ? 0 : -(z[i] - sign * 0.3) / ((1.0 + sqrt(n[i])) / 0.2 + 0.5);
        }
        for (int i = 0; i < 3; i++)
            assert_float_equal(w[i], weight[i], 1e-5);
    }
    assert_true(w[0] < 0);
}

/* The share of wrong rows of fold 0 by a network trained on the others; four classes. */
static double held_errors(const struct rig *r, const double *p)
{
    enum { CLASSES = 4 };
    struct lane l = rig_lane(r, "mlp", p, 0, (int64_t)p[MLP_EPOCHS]);
    struct buf b = rig_lane_bytes("mlp", &l, (int64_t)p[MLP_EPOCHS]);
    float *got = rig_predict(r, "mlp", &b);
    double wrong = 0, all = 0;

    assert_int_equal(r->d->n_classes, CLASSES);
    for (int64_t i = 0; i < r->d->rows; i++) {
        int best = 0;

        if (r->d->fold[i] != 0)
            continue;
        for (int k = 1; k < CLASSES; k++)
            best = got[i * CLASSES + k] > got[i * CLASSES + best] ? k : best;
        wrong += best != (int)r->d->y[i];
        all++;
    }
    free(got);
    buf_fini(&b);
    rig_lane_close("mlp", &l);
    return wrong / all;
}

/* 6,000 rows and 400 pairs of levels, of which each decides by a draw of its own: one-hot columns add up, and say nothing. Four
 * classes, since for two the preparation itself finds pairs of small categories (cross_screen.h). */
static void a_pair_of_categories_that_decides_is_found(void **state)
{
    struct rig *r = crossed(1, 6000, LEVELS);
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    family_defaults(family_find("mlp"), p);
    p[MLP_LAYERS] = 1;
    p[MLP_WIDTH] = 16;
    p[MLP_MEMBERS] = 1;
    p[MLP_EPOCHS] = 8;
    p[MLP_BATCH] = 256; /* few steps: more of them learn the pairs without a wide part too */
    double plain = held_errors(r, p);
    p[MLP_WIDE] = 1;
    double wide = held_errors(r, p);
    print_message("errors: %.3f, with the wide part %.3f\n", plain, wide);
    assert_true(wide < 0.1 && wide < 0.5 * plain);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checkpoint_taken_anywhere_goes_on_with_the_same_bits),
        cmocka_unit_test(every_set_of_instructions_trains_the_same_network),
        cmocka_unit_test(the_file_predicts_what_the_lane_predicts),
        cmocka_unit_test(two_ranks_train_it_as_well),
        cmocka_unit_test(broken_bytes_are_one_error),
        cmocka_unit_test(the_steps_of_ftrl_are_known),
        cmocka_unit_test(a_pair_of_categories_that_decides_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
