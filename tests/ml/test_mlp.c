/* test_mlp.c - lanes of the family mlp: what was stopped and resumed, trained beside others or with another instruction set
 * has the same bits; predictions of a file are those of the lane; the kept epoch is still there when the lane has gone on;
 * curves that a line cannot follow are learnt; divergence and broken bytes are one clear error. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/simd.h"
#include "ml/model/models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 330, FOLDS = 3, EPOCHS = 12 };

static const struct {
    enum ml_task task;
    int classes;
    enum metric_id metric;
} tasks[] = { { ML_BINARY, 2, METRIC_LOGLOSS },
              { ML_MULTICLASS, 4, METRIC_LOGLOSS },
              { ML_REGRESSION, 0, METRIC_RMSE },
              { ML_REGRESSION, 0, METRIC_MAE } };

static struct rig *mixed(size_t task)
{
    return rig_new(rig_mixed(tasks[task].task, ROWS, tasks[task].classes, 4), tasks[task].task,
                   tasks[task].metric, FOLDS);
}

static void small(double *p)
{
    family_defaults(family_find("mlp"), p);
    p[MLP_LAYERS] = 2;
    p[MLP_WIDTH] = 20;
    p[MLP_BATCH] = 50;
    p[MLP_EPOCHS] = EPOCHS;
}

static void assert_equal_bytes(const struct buf *a, const struct buf *b)
{
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->data, b->data, a->len);
}

static struct buf unbroken(const struct rig *r, const double *p, int fold)
{
    struct lane l = rig_lane(r, "mlp", p, fold, EPOCHS);
    struct buf b = rig_lane_bytes("mlp", &l, EPOCHS);

    rig_lane_close("mlp", &l);
    return b;
}

static void stopped_anywhere_and_continued_gives_the_same_bits(void **state)
{
    (void)state;
    for (size_t t = 0; t < ARRAY_LEN(tasks); t++) {
        struct rig *r = mixed(t);
        double p[FAMILY_MAX_PARAMS];
        struct rig_stop s;
        small(p);
        struct buf want = unbroken(r, p, 0);
        struct lane l = rig_lane(r, "mlp", p, 0, 1);
        rig_stop_init(&s, test_seed() + t, 5);
        while (l.steps_done < EPOCHS) {
            rig_stop_next(&s);
            rig_lane_train(r, "mlp", &l, EPOCHS, &s.stop);
            assert_false(l.failed);
        }
        struct buf got = rig_lane_bytes("mlp", &l, EPOCHS);
        assert_equal_bytes(&want, &got);
        buf_fini(&want);
        buf_fini(&got);
        rig_lane_close("mlp", &l);
        rig_free(r);
    }
}

/* The checkpoint is taken inside an epoch as often as not: what was begun of it is done again. */
static void a_checkpoint_taken_anywhere_goes_on_with_the_same_bits(void **state)
{
    const struct model_ops *ops = model_find("mlp");

    (void)state;
    for (size_t t = 0; t < ARRAY_LEN(tasks); t++) {
        struct rig *r = mixed(t);
        struct err err = { 0 };
        double p[FAMILY_MAX_PARAMS];
        struct rig_stop s;
        struct buf saved;
        small(p);
        struct buf want = unbroken(r, p, 1);
        struct lane l = rig_lane(r, "mlp", p, 1, 2);
        assert_int_equal(ops->keep(&l, &err), 0);
        rig_stop_init(&s, test_seed() + t, 9);
        rig_stop_next(&s);
        rig_lane_train(r, "mlp", &l, 5, &s.stop);
        buf_init(&saved, 1 << 20);
        assert_int_equal(ops->save_training(&l, &saved, &err), 0);
        int64_t steps = l.steps_done;
        rig_lane_close("mlp", &l);
        struct lane again = rig_lane(r, "mlp", p, 1, 1);
        struct view in = { (const uint8_t *)saved.data, saved.len, 0 };
        assert_int_equal(ops->load(r->d, &again, &in, &err), 0);
        assert_int_equal(in.pos, in.len);
        assert_int_equal(again.steps_done, steps);
        struct buf kept = rig_lane_bytes("mlp", &again, 2);
        assert_true(kept.len > 0);
        rig_lane_train(r, "mlp", &again, EPOCHS, NULL);
        struct buf got = rig_lane_bytes("mlp", &again, EPOCHS);
        assert_equal_bytes(&want, &got);
        buf_fini(&kept);
        buf_fini(&want);
        buf_fini(&got);
        buf_fini(&saved);
        rig_lane_close("mlp", &again);
        rig_free(r);
    }
}

static void go_on(struct lane *l)
{
    l->max_steps = EPOCHS;
    l->is_done = false;
}

static void lanes_together_have_the_bits_of_each_alone(void **state)
{
    const struct model_ops *ops = model_find("mlp");
    struct rig *r = mixed(1);
    struct lane lanes[FOLDS];
    struct err err = { 0 };
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    small(p);
    for (int f = 0; f < FOLDS; f++)
        lanes[f] = rig_lane(r, "mlp", p, f, 1);
    while (lanes[FOLDS - 1].steps_done < EPOCHS) {
        for (int f = 0; f < FOLDS; f++)
            go_on(&lanes[f]);
        assert_int_equal(ops->advance(r->d, lanes, FOLDS, 2, NULL, &err), 0);
    }
    for (int f = 0; f < FOLDS; f++) {
        struct buf want = unbroken(r, p, f), got = rig_lane_bytes("mlp", &lanes[f], EPOCHS);
        assert_equal_bytes(&want, &got);
        buf_fini(&want);
        buf_fini(&got);
        rig_lane_close("mlp", &lanes[f]);
    }
    rig_free(r);
}

static void every_set_of_instructions_trains_the_same_network(void **state)
{
    struct rig *r = mixed(0);
    struct buf first = { 0 };
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    small(p);
    for (int level = 0; level <= (int)simd_best(); level++) {
        simd_force((enum simd_level)level);
        struct buf b = unbroken(r, p, 0);
        if (level == 0) {
            first = b;
            continue;
        }
        assert_equal_bytes(&first, &b);
        buf_fini(&b);
    }
    simd_force(simd_best());
    buf_fini(&first);
    rig_free(r);
}

static void the_file_predicts_what_the_lane_predicts(void **state)
{
    const struct model_ops *ops = model_find("mlp");

    (void)state;
    for (size_t t = 0; t < ARRAY_LEN(tasks); t++) {
        struct rig *r = mixed(t);
        int k = r->d->n_outputs;
        float *held = malloc(sizeof *held * (size_t)(ROWS * k));
        struct err err = { 0 };
        double p[FAMILY_MAX_PARAMS];
        int64_t at = 0;
        small(p);
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

/* y = sin(6 x) + z: a line explains little of it, a network nearly all. */
static void a_wave_is_learnt(void **state)
{
    struct rig_table *t = rig_table_new(600);
    double *x = rig_numbers(t), *z = rig_numbers(t), *y = rig_numbers(t), p[FAMILY_MAX_PARAMS],
           error = 0, spread = 0;
    struct rng rng;

    (void)state;
    rng_init(&rng, TEST_FIXED_SEED, 1);
    for (int i = 0; i < 600; i++) {
        x[i] = rng_unit(&rng) * 2 - 1;
        z[i] = rng_unit(&rng) * 2 - 1;
        y[i] = sin(6 * x[i]) + z[i];
    }
    struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 3);
    small(p);
    p[MLP_WIDTH] = 48;
    p[MLP_DROPOUT] = 0;
    p[MLP_EPOCHS] = 60;
    struct lane l = rig_lane(r, "mlp", p, 0, 60);
    struct buf b = rig_lane_bytes("mlp", &l, 60);
    float *got = rig_predict(r, "mlp", &b);
    for (int i = 0; i < 600; i++) {
        if (r->d->fold[i] != 0)
            continue;
        error += ((double)got[i] - r->d->y[i]) * ((double)got[i] - r->d->y[i]);
        spread += r->d->y[i] * r->d->y[i];
    }
    assert_true(error < 0.05 * spread);
    free(got);
    buf_fini(&b);
    rig_lane_close("mlp", &l);
    rig_free(r);
}

static void a_learning_rate_that_explodes_fails_the_lane_alone(void **state)
{
    const struct model_ops *ops = model_find("mlp");
    struct rig *r = mixed(2);
    struct err err = { 0 };
    struct lane lanes[2];
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    small(p);
    lanes[1] = rig_lane(r, "mlp", p, 1, 1);
    p[MLP_LEARNING_RATE] = 10;
    p[MLP_DECAY] = 100;
    p[MLP_SCHEDULE] = 3;
    lanes[0] = rig_lane(r, "mlp", p, 0, 0);
    for (int i = 0; i < EPOCHS && !lanes[0].failed; i++) {
        go_on(&lanes[0]);
        go_on(&lanes[1]);
        assert_int_equal(ops->advance(r->d, lanes, 2, 1, NULL, &err), 0);
    }
    assert_true(lanes[0].failed);
    assert_non_null(strstr(lanes[0].why.text, "mlp: "));
    assert_false(lanes[1].failed);
    rig_lane_close("mlp", &lanes[0]);
    rig_lane_close("mlp", &lanes[1]);
    rig_free(r);
}

static void broken_bytes_are_one_error(void **state)
{
    const struct model_ops *ops = model_find("mlp");
    struct rig *r = mixed(1);
    double p[FAMILY_MAX_PARAMS];
    struct rng rng;

    (void)state;
    small(p);
    struct buf b = unbroken(r, p, 0);
    for (size_t len = 0; len < b.len; len += 1 + len / 3) {
        struct view in = { (const uint8_t *)b.data, len, 0 };
        struct err err = { 0 };
        assert_null(ops->predictor_load(r->d->prep, r->d->n_outputs, ML_MULTICLASS, &in, &err));
        assert_true(err.text[0] != '\0');
    }
    assert_true(b.len > 80);
    rng_init(&rng, test_seed(), 3);
    for (int i = 0; i < 300; i++) {
        char *copy = malloc(b.len + 1);
        assert_non_null(copy);
        memcpy(copy, b.data, b.len);
        copy[rng_below(&rng, (uint32_t)MIN(b.len, 80))] ^= (char)(1 << rng_below(&rng, 8));
        struct view in = { (const uint8_t *)copy, b.len, 0 };
        struct err err = { 0 };
        struct predictor *q =
            ops->predictor_load(r->d->prep, r->d->n_outputs, ML_MULTICLASS, &in, &err);
        assert_true(q || err.text[0] != '\0');
        ops->predictor_free(q);
        free(copy);
    }
    buf_fini(&b);
    rig_free(r);
}

static void the_start_is_the_one_that_was_asked_for(void **state)
{
    struct rig *r = mixed(0);
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    small(p);
    p[MLP_START] = 0;
    struct buf wide = unbroken(r, p, 0);
    p[MLP_START] = 1;
    struct buf narrow = unbroken(r, p, 0), again = unbroken(r, p, 0);
    assert_int_equal(wide.len, narrow.len);
    assert_memory_not_equal(wide.data, narrow.data, wide.len);
    assert_equal_bytes(&narrow, &again);
    buf_fini(&wide);
    buf_fini(&narrow);
    buf_fini(&again);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_start_is_the_one_that_was_asked_for),
        cmocka_unit_test(stopped_anywhere_and_continued_gives_the_same_bits),
        cmocka_unit_test(a_checkpoint_taken_anywhere_goes_on_with_the_same_bits),
        cmocka_unit_test(lanes_together_have_the_bits_of_each_alone),
        cmocka_unit_test(every_set_of_instructions_trains_the_same_network),
        cmocka_unit_test(the_file_predicts_what_the_lane_predicts),
        cmocka_unit_test(a_wave_is_learnt),
        cmocka_unit_test(a_learning_rate_that_explodes_fails_the_lane_alone),
        cmocka_unit_test(broken_bytes_are_one_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
