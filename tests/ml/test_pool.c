/* test_pool.c - the log-linear pool: sums of log-probabilities are what the formula says, planted weights are found, of
 * many models those stay that count, and the weights have the least loss. */
#include "tests/ml/predictions_rig.h"
#include "tests/unit.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/adjust/pool.h"
#include "ml/ensemble/pool_fit.h"

#include <math.h>

enum { ROWS = 6000, FOLDS = 5, MOST_CLASSES = 150 };

static void sums_of_logs_become_probabilities(void **state)
{
    const float p[4] = { 0.2f, 0.9f, 0, NAN }, q[4] = { 0.7f, 0.5f, 1, 0.5f };
    const float three[2][3] = { { 0.2f, 0.3f, 0.5f }, { 0.6f, 0.1f, 0.3f } };
    double sum[4] = { 0 }, sums[3] = { 0 }, want[3], all = 0;
    float out[4];

    (void)state;
    pool_add(1.5, p, 1, 4, sum);
    pool_add(-0.5, q, 1, 4, sum);
    pool_end(sum, 1, 4, out);
    for (int i = 0; i < 2; i++) {
        double odds = 1.5 * log((double)p[i] / (1 - (double)p[i])) -
                      0.5 * log((double)q[i] / (1 - (double)q[i]));
        assert_true(fabs(out[i] - 1 / (1 + exp(-odds))) < 1e-6);
    }
    /* one that is certain counts as if it were nearly so */
    assert_true(out[2] > 0 && out[2] < 1e-6f);
    assert_true(isnan(out[3]));
    pool_add(2, three[0], 3, 1, sums);
    pool_add(-1, three[1], 3, 1, sums);
    pool_end(sums, 3, 1, out);
    for (int c = 0; c < 3; c++)
        all += want[c] = pow((double)three[0][c], 2) / (double)three[1][c];
    for (int c = 0; c < 3; c++)
        assert_true(fabs(out[c] - want[c] / all) < 1e-6);
}

static struct predictions blank(int classes)
{
    return predictions_blank(classes > 2 ? ML_MULTICLASS : ML_BINARY, METRIC_LOGLOSS, classes, ROWS,
                             FOLDS);
}

/* Scores of n models, [n][classes], as probabilities. Classes come by the pool of the models with the
 * true weights. Of many classes a few have nearly all of a row. */
static void planted(struct predictions *all, int n, int classes, const double *truth)
{
    double spread = classes > 8 ? 3 : 1.2;
    struct rng rng;

    rng_init(&rng, 4, 0);
    for (int m = 0; m < n; m++)
        all[m] = blank(classes);
    for (int64_t i = 0; i < ROWS; i++) {
        double sum[MOST_CLASSES] = { 0 }, draw = rng_unit(&rng);
        float p[MOST_CLASSES];
        int k = all[0].outputs, y = 0;
        for (int m = 0; m < n; m++) {
            double logs[MOST_CLASSES];
            for (int c = 0; c < k; c++)
                logs[c] = spread * rng_normal(&rng);
            pool_end(logs, k, 1, all[m].held.p + i * k);
            pool_add(truth[m], all[m].held.p + i * k, k, 1, sum);
        }
        pool_end(sum, k, 1, p);
        if (k == 1)
            y = draw < (double)p[0];
        for (int c = 0; c + 1 < k && draw >= (double)p[c]; c++) {
            draw -= (double)p[c];
            y++;
        }
        for (int m = 0; m < n; m++)
            all[m].held.y[i] = y;
    }
}

static void fit(struct predictions *all, int n, int most, double *weight)
{
    const struct predictions *models[POOL_MOST_MODELS + 2];
    struct err err = { 0 };

    for (int m = 0; m < n; m++)
        models[m] = &all[m];
    const struct pool_fit f = { .models = models, .n_models = n, .most = most, .seed = 1 };
    if (pool_fit(&f, weight, &err) < 0)
        fail_msg("%s", err.text);
}

static void all_free(struct predictions *all, int n)
{
    for (int m = 0; m < n; m++)
        predictions_fini(&all[m]);
}

static void planted_weights_are_found(void **state)
{
    static const double truth[] = { 1.1, -0.4, 0.3 };

    (void)state;
    for (int classes = 2; classes <= 5; classes++) {
        struct predictions all[3];
        double weight[3];
        planted(all, 3, classes, truth);
        fit(all, 3, 5, weight);
        for (int m = 0; m < 3; m++) {
            if (!(fabs(weight[m] - truth[m]) < 0.08))
                fail_msg("%d classes, model %d: %g for %g", classes, m, weight[m], truth[m]);
        }
        all_free(all, 3);
    }
}

/* The log loss by its definition. */
static double sum_of(const struct predictions *all, int n, const double *weight)
{
    double loss = 0;

    for (int64_t i = 0; i < ROWS; i++) {
        double sum[MOST_CLASSES] = { 0 }, q = 0;
        int k = all[0].outputs, y = (int)all[0].held.y[i];
        for (int m = 0; m < n; m++)
            pool_add(weight[m], all[m].held.p + i * k, k, 1, sum);
        for (int c = 0; c < k; c++)
            q += exp(sum[c] - sum[k > 1 ? y : 0]);
        if (k == 1)
            q = 1 + exp(y ? -sum[0] : sum[0]);
        loss += log(q);
    }
    return loss;
}

/* The same with the penalty, which draws to weights in proportion to 1 / (loss alone)^2. */
static double loss_of(const struct predictions *all, int n, const double *weight)
{
    double prior[8], sum = 0, loss = sum_of(all, n, weight);

    for (int m = 0; m < n; m++) {
        double alone[8] = { 0 };
        alone[m] = 1;
        prior[m] = pow((sum_of(all, n, alone) + 1) / (ROWS + 1), -2);
        sum += prior[m];
    }
    for (int m = 0; m < n; m++)
        loss += 5 * (weight[m] - prior[m] / sum) * (weight[m] - prior[m] / sum);
    return loss;
}

/* Of many classes most of a row are looked at as one, and so most rows can be: the weights are as near to the truth as of
 * few classes, and the loss is nearly the least. */
static void many_classes_are_weighed_by_most_rows(void **state)
{
    static const double truth[] = { 0.9, -0.3, 0.4, 0.2, 0.1, 0, 0, 0.3 };
    enum { N = ARRAY_LEN(truth) };
    struct predictions all[N];
    double weight[N];

    (void)state;
    planted(all, N, MOST_CLASSES, truth);
    fit(all, N, N, weight);
    for (int m = 0; m < N; m++) {
        if (!(fabs(weight[m] - truth[m]) < 0.04))
            fail_msg("model %d: %g for %g", m, weight[m], truth[m]);
    }
    assert_true(sum_of(all, N, weight) < 1.005 * sum_of(all, N, truth));
    all_free(all, N);
}

/* A model that is nearly always wrong has next to no weight where few rows say anything: the others are right of nearly
 * all. */
static void few_rows_with_a_loss_draw_no_bad_model_up(void **state)
{
    struct predictions all[3];
    double weight[3];
    struct rng rng;

    (void)state;
    rng_init(&rng, 8, 0);
    for (int m = 0; m < 3; m++) {
        all[m] = predictions_blank(ML_MULTICLASS, METRIC_LOGLOSS, 3, 300, FOLDS);
        for (int64_t i = 0; i < 300; i++) {
            int y = (int)(i % 3);
            float right = m == 2 ? 0.2F + 0.2F * (float)rng_unit(&rng) : 0.99F;
            all[m].held.y[i] = y;
            for (int c = 0; c < 3; c++)
                all[m].held.p[i * 3 + c] = c == y ? right : (1 - right) / 2;
        }
    }
    fit(all, 3, 3, weight);
    assert_true(weight[0] > 0.4 && weight[1] > 0.4 && fabs(weight[2]) < 0.1);
    all_free(all, 3);
}

static void the_weights_have_the_least_loss(void **state)
{
    static const double truth[] = { 0.7, 0.7, -0.6, 0.1 };

    (void)state;
    for (int classes = 2; classes <= 4; classes++) {
        struct predictions all[4];
        double weight[4];
        planted(all, 4, classes, truth);
        fit(all, 4, 4, weight);
        double least = loss_of(all, 4, weight);
        for (int m = 0; m < 8; m++) {
            double by = m & 1 ? 0.01 : -0.01;
            weight[m / 2] += by;
            assert_true(loss_of(all, 4, weight) > least);
            weight[m / 2] -= by;
        }
        all_free(all, 4);
    }
}

/* More models than are looked at: the last of them are never members. */
static void models_that_say_nothing_are_given_up(void **state)
{
    enum { N = POOL_MOST_MODELS + 2 };
    double truth[N] = { [3] = 0.9, [8] = -0.5, [20] = 0.6, [N - 1] = 0.3 };
    struct predictions all[N];
    double weight[N];

    (void)state;
    planted(all, N, 3, truth);
    fit(all, N, 3, weight);
    for (int m = 0; m < N; m++) {
        bool is_member = m == 3 || m == 8 || m == 20;
        if (is_member != (weight[m] != 0))
            fail_msg("model %d: %g", m, weight[m]);
    }
    assert_true(weight[3] > 0.8 && weight[8] < -0.4 && weight[20] > 0.5);
    all_free(all, N);
}

/* A row with the weight 3 is three rows; a row that is not used is none. */
static void rows_count_as_their_weights_say(void **state)
{
    static const double truth[] = { 1, -0.3 };
    struct predictions all[2], once[2];
    const struct predictions *models[2] = { &once[0], &once[1] };
    uint8_t use[ROWS];
    double want[2], weight[2];
    struct err err = { 0 };

    (void)state;
    planted(all, 2, 2, truth);
    planted(once, 2, 2, truth);
    /* three copies of the first third, against the weight 3 on it and the rest left out */
    for (int m = 0; m < 2; m++) {
        once[m].held.weight = mem_try_alloc(ROWS * sizeof(double));
        for (int i = 0; i < ROWS; i++) {
            all[m].held.p[i] = once[m].held.p[i % (ROWS / 3)];
            all[m].held.y[i] = once[m].held.y[i % (ROWS / 3)];
            once[m].held.weight[i] = 3;
            use[i] = i < ROWS / 3;
        }
    }
    fit(all, 2, 2, want);
    const struct pool_fit f = { .models = models, .n_models = 2, .use = use, .most = 2, .seed = 1 };
    assert_int_equal(pool_fit(&f, weight, &err), 0);
    /* only that the penalty counts as much for fewer rows */
    for (int m = 0; m < 2; m++)
        assert_true(fabs(weight[m] - want[m]) < 0.02);
    all_free(all, 2);
    all_free(once, 2);
}

static void equal_models_share_equally(void **state)
{
    static const double truth[] = { 0.8, 0 };
    struct predictions all[3];
    double weight[3];

    (void)state;
    planted(all, 2, 3, truth);
    all[2] = blank(3);
    memcpy(all[2].held.y, all[0].held.y, ROWS * sizeof(double));
    memcpy(all[2].held.p, all[0].held.p, 3 * ROWS * sizeof(float));
    fit(all, 3, 3, weight);
    assert_true(fabs(weight[0] - weight[2]) < 1e-6 && fabs(weight[0] - 0.4) < 0.05);
    all_free(all, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_logs_become_probabilities),
        cmocka_unit_test(planted_weights_are_found),
        cmocka_unit_test(many_classes_are_weighed_by_most_rows),
        cmocka_unit_test(few_rows_with_a_loss_draw_no_bad_model_up),
        cmocka_unit_test(the_weights_have_the_least_loss),
        cmocka_unit_test(models_that_say_nothing_are_given_up),
        cmocka_unit_test(rows_count_as_their_weights_say),
        cmocka_unit_test(equal_models_share_equally),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
