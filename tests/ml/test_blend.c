/* test_blend.c - selecting models on planted predictions: two halves of the truth are found and weighed, a useless model is
 * left out, noise does not count as a gain, limits hold, and the file of predictions survives cuts and flips. */
#include "tests/ml/predictions_rig.h"
#include "tests/unit.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/ensemble/blend.h"

#include <math.h>

enum { ROWS = 1500, FOLDS = 5 };

static struct predictions blank(enum ml_task task, enum metric_id metric, int classes, int tests)
{
    struct predictions p = predictions_blank(task, metric, classes, ROWS, FOLDS);

    p.test.n = tests;
    p.test.y = mem_try_zalloc((size_t)(tests + 1) * sizeof(double));
    p.test.p = mem_try_zalloc((size_t)(tests * p.outputs + 1) * sizeof(float));
    return p;
}

/* Models of a number: the truth plus this share of two common noises, and own noise. */
static struct predictions number_model(uint64_t seed, double a, double b, double own)
{
    struct predictions p = blank(ML_REGRESSION, METRIC_RMSE, 0, 200);
    struct rng truth, noise;

    rng_init(&truth, 5, 0);
    rng_init(&noise, seed, 1);
    for (int i = 0; i < ROWS + 200; i++) {
        double y = 10 * rng_normal(&truth), x = rng_normal(&truth), z = rng_normal(&truth);
        struct predicted_rows *r = i < ROWS ? &p.held : &p.test;
        int at = i < ROWS ? i : i - ROWS;
        r->y[at] = y;
        r->p[at] = (float)(y + a * x + b * z + own * rng_normal(&noise));
    }
    return p;
}

static struct blend made_of(struct predictions *all, int n, int most, bool is_holdout)
{
    const struct predictions *models[GREEDY_MOST_MODELS];
    struct err err = { 0 };
    struct blend out;

    for (int i = 0; i < n; i++)
        models[i] = &all[i];
    const struct blend_in in = {
        .models = models, .n = n, .most = most, .is_holdout = is_holdout, .seed = 1
    };
    if (blend_make(&in, &out, &err) < 0)
        fail_msg("%s", err.text);
    for (int i = 0; i < n; i++)
        predictions_fini(&all[i]);
    return out;
}

static struct blend made(struct predictions *all, int n, int most)
{
    return made_of(all, n, most, false);
}

/* Errors of the first two are opposite, so that equal weights leave nothing of them. */
static void two_halves_are_found_and_weighed(void **state)
{
    struct predictions all[4] = { number_model(1, 2, 0, 0.5), number_model(2, -2, 0, 0.5),
                                  number_model(3, 0, 6, 1), number_model(4, 3, 3, 3) };
    struct blend b = made(all, 4, 8);

    (void)state;
    assert_true(b.is_better && b.members >= 2);
    assert_true(fabs(b.weight[0] - 0.5) < 0.08 && fabs(b.weight[1] - 0.5) < 0.08);
    assert_true(b.score < 0.6 && b.single > 1.8 && b.gain > 10 * b.gain_se);
    assert_true(fabs(b.gain - (b.single - b.score)) < 1e-9);
    assert_true(fabs(b.test - 0.36) < 0.15 && b.test_se > 0);
    blend_fini(&b);
}

static void equal_bits_whoever_asks(void **state)
{
    struct blend first = { 0 };

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct predictions all[3] = { number_model(1, 2, 0, 1), number_model(2, -1, 1, 1),
                                      number_model(3, 0, 2, 1) };
        struct blend b = made(all, 3, 3);
        if (k == 0)
            first = b;
        assert_memory_equal(b.weight, first.weight, 3 * sizeof *b.weight);
        assert_memory_equal(&b.score, &first.score, sizeof b.score);
        assert_memory_equal(&b.gain_se, &first.gain_se, sizeof b.gain_se);
        blend_fini(&b);
    }
}

/* Equal models with a common error: no mean is better than one of them, but for rounding. */
static void copies_of_one_model_are_no_gain(void **state)
{
    struct predictions all[6];

    (void)state;
    for (int i = 0; i < 6; i++)
        all[i] = number_model(7, 2, 0, 1);
    struct blend b = made(all, 6, 6);
    assert_false(b.is_better);
    assert_int_equal(b.members, 1);
    blend_fini(&b);
}

/* Probabilities of rows that nothing predicts: twelve guesses about the base rate. */
static void noise_is_refused_mostly(void **state)
{
    int shipped = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct predictions all[12];
        for (uint64_t m = 0; m < 12; m++) {
            struct rng truth, noise;
            all[m] = blank(ML_BINARY, METRIC_AUC, 2, 0);
            rng_init(&truth, seed, 2);
            rng_init(&noise, seed * 100 + m, 3);
            for (int i = 0; i < ROWS; i++) {
                all[m].held.y[i] = rng_unit(&truth) < 0.4;
                all[m].held.p[i] = (float)(0.3 + 0.2 * rng_unit(&noise));
            }
        }
        struct blend b = made(all, 12, 8);
        shipped += b.is_better;
        assert_true(fabs(b.score - 0.5) < 0.06); /* the nested score tells no fairy tale */
        blend_fini(&b);
    }
    assert_true(shipped <= 5);
}

/* Of two classes: the truth with this distance between them, and noise that keeps them apart. */
static struct predictions apart(int rows, uint64_t seed, double distance)
{
    struct predictions p = blank(ML_BINARY, METRIC_AUC, 2, 0);
    struct rng truth, noise;

    p.held.n = rows;
    rng_init(&truth, 3, 0);
    rng_init(&noise, seed, 1);
    for (int i = 0; i < rows; i++) {
        p.held.y[i] = rng_unit(&truth) < 0.4;
        double side = p.held.y[i] > 0 ? 1 : -1;
        p.held.p[i] = (float)(0.5 + side * distance + 0.02 * (rng_unit(&noise) - 0.5));
    }
    return p;
}

/* Of two classes: probabilities that overlap, and with no noise one for all rows of a fold. */
static struct predictions overlapping(uint64_t seed, double noise)
{
    struct predictions p = apart(ROWS, seed, 0);
    struct rng rng;

    rng_init(&rng, seed, 4);
    for (int i = 0; i < ROWS; i++) {
        double z = (p.held.y[i] > 0 ? 1.5 : -1.5) + noise * rng_normal(&rng);
        p.held.p[i] = noise > 0 ? (float)(1 / (1 + exp(-z))) : 0.4F + 0.001F * p.held.fold[i];
    }
    return p;
}

/* What the greedy mean gives to the last of these models, which it takes. */
static double last_weight(struct predictions *all, int n)
{
    const struct predictions *models[3] = { &all[0], &all[1], &all[n - 1] };
    const struct greedy g = {
        .models = models, .n_models = n, .most = n, .steps = 50, .bags = 10, .seed = 1
    };
    double weight[3] = { 0 };

    assert_int_equal(greedy_select(&g, weight, NULL), 0);
    assert_true(fabs(weight[0] + weight[1] + (n > 2 ? weight[2] : 0) - 1) < 1e-9);
    for (int i = 0; i < n; i++)
        predictions_fini(&all[i]);
    return weight[n - 1];
}

/* A model that ranks no row of a fold over another changes no area; only its bins see a change. */
static void a_model_that_ranks_nothing_is_left_out(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct predictions all[3] = { overlapping(seed, 1), overlapping(seed + 100, 2),
                                      overlapping(seed, 0) };
        assert_true(last_weight(all, 3) == 0);
    }
    /* where no model ranks, one has all the weight */
    struct predictions flat[2] = { overlapping(1, 0), overlapping(2, 0) };
    assert_true(last_weight(flat, 2) == 0);
}

/* Both models rank all rows rightly, so the area cannot tell which is better; log loss can. */
static void few_rows_are_selected_by_log_loss(void **state)
{
    (void)state;
    for (int rows = GREEDY_FEW_ROWS - 1; rows <= GREEDY_FEW_ROWS; rows++) {
        struct predictions all[2] = { apart(rows, 1, 0.1), apart(rows, 2, 0.4) };
        struct blend b = made(all, 2, 2);
        assert_true(fabs(b.weight[rows < GREEDY_FEW_ROWS] - 1) < 1e-12);
        blend_fini(&b);
    }
}

/* Seven guesses at noise: how often the mean of some ships, and how often with a loss. */
static void guesses(int rows, bool is_holdout, int *shipped, int *losses)
{
    *shipped = *losses = 0;
    for (uint64_t seed = 0; seed < 30; seed++) {
        struct predictions all[7];
        for (uint64_t m = 0; m < ARRAY_LEN(all); m++) {
            all[m] = number_model(seed * 10 + m, 1, 1, 0.1);
            all[m].held.n = rows;
        }
        struct blend b = made_of(all, ARRAY_LEN(all), 5, is_holdout);
        *shipped += b.is_better;
        *losses += b.is_better && b.gain <= 0;
        assert_true(!b.is_better || b.gain > -b.gain_se);
        blend_fini(&b);
    }
}

static void few_rows_ship_unless_clearly_worse(void **state)
{
    int shipped, losses;

    (void)state;
    guesses(100, false, &shipped, &losses);
    assert_true(losses > 0);
    /* a refit of the best model is worth more than a tie */
    guesses(100, true, &shipped, &losses);
    assert_int_equal(losses, 0);
    guesses(GREEDY_FEW_ROWS, false, &shipped, &losses);
    assert_int_equal(losses, 0);
}

/* Many rows held out: the members are not refitted, the best model would be. Two models with opposite errors of this share. */
static void after_a_large_holdout_a_small_gain_is_less_than_a_refit(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        double opposite = k ? 2 : 0.5; /* the noise of each is 1, the mean's is .7 */
        struct predictions all[2] = { number_model(1, opposite, 0, 1),
                                      number_model(2, -opposite, 0, 1) };
        struct predictions again[2] = { number_model(1, opposite, 0, 1),
                                        number_model(2, -opposite, 0, 1) };
        struct blend folds = made_of(all, 2, 2, false), held = made_of(again, 2, 2, true);
        assert_true(folds.beats_refit && held.beats_refit);
        blend_fini(&folds);
        blend_fini(&held);
    }
    /* a common error is left in both, and the mean takes a twentieth of the whole away */
    struct predictions all[2] = { number_model(1, 0, 2, 1), number_model(2, 0, 2, 1) };
    struct predictions again[2] = { number_model(1, 0, 2, 1), number_model(2, 0, 2, 1) };
    struct blend folds = made_of(all, 2, 2, false), held = made_of(again, 2, 2, true);
    assert_true(folds.is_better && folds.beats_refit && folds.gain > 5 * folds.gain_se);
    assert_true(held.is_better && !held.beats_refit);
    assert_true(held.gain > 5 * held.gain_se && held.gain < 0.1 * held.single);
    blend_fini(&folds);
    blend_fini(&held);
}

static void limits_hold(void **state)
{
    (void)state;
    for (int most = 1; most <= 4; most++) {
        struct predictions all[8];
        for (uint64_t i = 0; i < 8; i++)
            all[i] = number_model(i, 0, 0, 2);
        struct blend b = made(all, 8, most);
        double sum = 0;
        assert_int_equal(b.members, most);
        for (int i = 0; i < 8; i++)
            sum += b.weight[i];
        assert_true(fabs(sum - 1) < 1e-12);
        assert_int_equal(b.is_better, most > 1);
        blend_fini(&b);
    }
}

/* A model of the truth with noise of its own. Kinds: two classes, four, numbers, numbers with weights. */
static struct predictions noisy(enum ml_task task, enum metric_id id, bool is_weighted, uint64_t m)
{
    int classes = task == ML_BINARY ? 2 : task == ML_MULTICLASS ? 4 : 0;
    struct predictions p = blank(task, id, classes, 0);
    struct rng truth, noise;

    p.held.weight = is_weighted ? mem_try_alloc(ROWS * sizeof(double)) : NULL;
    rng_init(&truth, 9, 0);
    rng_init(&noise, m, 1);
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        p.held.y[i] = classes ? rng_below(&truth, (uint32_t)classes) : 2 + 5 * rng_unit(&truth);
        if (p.held.weight)
            p.held.weight[i] = 0.5 + rng_unit(&truth);
        for (int c = 0; c < p.outputs; c++) {
            bool is = task == ML_BINARY ? p.held.y[i] > 0 : p.held.y[i] == c;
            double v = classes ? 0.3 * is + 0.6 * rng_unit(&noise)
                               : p.held.y[i] + 2 * rng_unit(&noise) - 1;
            p.held.p[i * p.outputs + c] = (float)v;
            sum += v;
        }
        for (int c = 0; c < p.outputs && task == ML_MULTICLASS; c++)
            p.held.p[i * p.outputs + c] /= (float)sum;
    }
    return p;
}

/* Every metric selects and scores, with weights and without. */
static void every_metric_works(void **state)
{
    static const enum ml_task tasks[] = { ML_BINARY, ML_MULTICLASS, ML_REGRESSION, ML_REGRESSION };

    (void)state;
    for (int id = 0; id < METRICS; id++) {
        const struct metric_info *info = metric_info((enum metric_id)id);
        for (int kind = 0; kind < 4; kind++) {
            struct predictions all[3];
            if (!(info->tasks & (int)tasks[kind]))
                continue;
            for (uint64_t m = 0; m < 3; m++)
                all[m] = noisy(tasks[kind], (enum metric_id)id, kind == 3, m);
            struct blend b = made(all, 3, 3);
            if (!b.is_better || !(b.members > 1))
                fail_msg("%s of task %d: gain %g, members %d", info->name, tasks[kind], b.gain,
                         b.members);
            blend_fini(&b);
        }
    }
}

static void models_of_other_rows_are_refused(void **state)
{
    struct predictions all[2] = { number_model(1, 1, 0, 1), number_model(2, 1, 0, 1) };
    const struct predictions *models[2] = { &all[0], &all[1] };
    struct err err = { 0 };
    struct blend b;

    (void)state;
    all[1].held.y[3] += 1;
    const struct blend_in in = { .models = models, .n = 2, .most = 2, .seed = 1 };
    assert_int_equal(blend_make(&in, &b, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    predictions_fini(&all[0]);
    predictions_fini(&all[1]);
}

static struct buf written(const struct predictions *p)
{
    struct buf b;
    struct err err = { 0 };

    buf_init(&b, 1 << 24);
    if (predictions_write(p, &b, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

static void the_file_comes_back_and_damage_is_an_error(void **state)
{
    struct predictions p = number_model(1, 1, 0, 1), q = { 0 };
    struct buf a = written(&p), b;
    struct err err = { 0 };

    (void)state;
    assert_int_equal(predictions_read(&q, a.data, a.len, &err), 0);
    assert_true(predictions_match(&p, &q));
    b = written(&q);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    predictions_fini(&q);
    for (size_t n = 0; n < a.len; n += n < 200 ? 1 : 997)
        assert_int_equal(predictions_read(&q, a.data, n, &err), -1);
    for (size_t i = 0; i < 200; i++) { /* never more than an error, or other numbers */
        a.data[i] = (char)(a.data[i] ^ (1 << (i % 8)));
        if (predictions_read(&q, a.data, a.len, &err) == 0)
            predictions_fini(&q);
        a.data[i] = (char)(a.data[i] ^ (1 << (i % 8)));
    }
    buf_fini(&a);
    buf_fini(&b);
    predictions_fini(&p);
}

/* Only a file of a model with a power has format 2. */
static void a_power_is_kept_beside_the_predictions(void **state)
{
    struct predictions p = number_model(1, 1, 0, 1), q = { 0 };
    struct buf plain = written(&p), b;
    struct err err = { 0 };

    (void)state;
    p.power = 1.25;
    b = written(&p);
    assert_true(plain.data[8] == 1 && b.data[8] == 2 && b.len == plain.len + 8);
    assert_int_equal(predictions_read(&q, b.data, b.len, &err), 0);
    assert_true(q.power == 1.25 && predictions_match(&p, &q));
    predictions_fini(&q);
    p.power = 0.5;
    struct buf bad = written(&p);
    assert_int_equal(predictions_read(&q, bad.data, bad.len, &err), -1);
    assert_non_null(strstr(err.text, "power"));
    buf_fini(&plain);
    buf_fini(&b);
    buf_fini(&bad);
    predictions_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_halves_are_found_and_weighed),
        cmocka_unit_test(equal_bits_whoever_asks),
        cmocka_unit_test(copies_of_one_model_are_no_gain),
        cmocka_unit_test(noise_is_refused_mostly),
        cmocka_unit_test(a_model_that_ranks_nothing_is_left_out),
        cmocka_unit_test(few_rows_are_selected_by_log_loss),
        cmocka_unit_test(few_rows_ship_unless_clearly_worse),
        cmocka_unit_test(after_a_large_holdout_a_small_gain_is_less_than_a_refit),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(every_metric_works),
        cmocka_unit_test(models_of_other_rows_are_refused),
        cmocka_unit_test(the_file_comes_back_and_damage_is_an_error),
        cmocka_unit_test(a_power_is_kept_beside_the_predictions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
