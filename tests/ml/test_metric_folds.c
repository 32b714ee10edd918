/* test_metric_folds.c - the score of several folds: the mean by rows, errors in squares, folds without
 * an error, and an area under the curve whose error does not vanish where rows are few. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/metric/metric_folds.h"

#include <math.h>

enum { FOLDS = 5, DRAWS = 400 };

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fmax(1, fabs(want))))
        fail_msg("%.17g, want %.17g", got, want);
}

static void folds_are_weighted_by_rows(void **state)
{
    const double y[] = { 1, 2, 3 };
    struct metric_folds m;
    double score, se;

    (void)state;
    metric_folds_begin(&m, METRIC_RMSE, ML_REGRESSION, false);
    metric_folds_add(&m, 3, 1.0, 0.1, y, 3);
    metric_folds_add(&m, 5, (double)NAN, (double)NAN, y, 3); /* left out */
    metric_folds_add(&m, 1, 2.0, 0.4, y, 1);
    metric_folds_end(&m, &score, &se);
    near(score, 1.25);
    near(se, sqrt(9 * 0.01 + 0.16) / 4);
    metric_folds_begin(&m, METRIC_RMSE, ML_REGRESSION, false);
    metric_folds_end(&m, &score, &se);
    assert_true(isnan(score) && isnan(se));
}

/* Four folds of one size, of which one has no error: as if it had that of the others. */
static void a_fold_without_an_error_is_like_the_others(void **state)
{
    const double y[] = { 1 };
    struct metric_folds m;
    double score, se;

    (void)state;
    metric_folds_begin(&m, METRIC_LOGLOSS, ML_BINARY, false);
    for (int f = 0; f < 4; f++)
        metric_folds_add(&m, 10, 0.5, f == 2 ? (double)NAN : 0.2, y, 1);
    metric_folds_end(&m, &score, &se);
    near(se, 0.1);
    metric_folds_begin(&m, METRIC_LOGLOSS, ML_BINARY, false);
    metric_folds_add(&m, 10, 0.5, (double)NAN, y, 1);
    metric_folds_end(&m, &score, &se);
    assert_true(score == 0.5 && isnan(se));
}

static void few_rows_that_are_ranked_rightly_prove_little(void **state)
{
    const double y[] = { 1, 1, 0, 0, 0, 0 };
    struct metric_folds m;
    double score, se;

    (void)state;
    metric_folds_begin(&m, METRIC_AUC, ML_BINARY, false);
    metric_folds_add(&m, 6, 1, 0, y, 6);
    metric_folds_add(&m, 6, 1, 0, y, 6);
    metric_folds_end(&m, &score, &se);
    near(score, 1);
    near(se, hypot(0.5 / 5, 0.5 / 9));
    metric_folds_begin(&m, METRIC_AUC, ML_BINARY,
                       false); /* what is known by chance is not in doubt */
    metric_folds_add(&m, 6, 0.5, 0.1, y, 6);
    metric_folds_end(&m, &score, &se);
    near(se, 0.1);
    metric_folds_begin(&m, METRIC_AUC, ML_MULTICLASS, false);
    metric_folds_add(&m, 6, 1, 0, y, 6);
    metric_folds_end(&m, &score, &se);
    near(se, 0);
}

/* Roughly normal: the sum of twelve uniform numbers less 6. */
static double normal(struct rng *r)
{
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += rng_unit(r);
    return sum;
}

/* Three rows of 120 are positive in each fold, and a tenth of these look like the others: most draws
 * have seen one or none. plain: the mean without the row more. */
static void draw(uint64_t seed, double *score, double *se, double *plain)
{
    enum { N = 120, POSITIVES = 3 };
    struct metric_folds m;
    struct rng r;
    double square = 0;

    rng_init(&r, seed, 1);
    metric_folds_begin(&m, METRIC_AUC, ML_BINARY, false);
    for (int f = 0; f < FOLDS; f++) {
        double y[N], value, error;
        float p[N];
        for (int i = 0; i < N; i++) {
            bool is_seen = rng_unit(&r) < 0.9;
            y[i] = i < POSITIVES;
            p[i] = (float)(normal(&r) + (y[i] == 1 && is_seen ? 3 : 0));
        }
        assert_int_equal(metric_score(METRIC_AUC, ML_BINARY, p, y, N, 2, &value, &error, NULL), 0);
        metric_folds_add(&m, N, value, error, y, N);
        square += error * error;
    }
    metric_folds_end(&m, score, se);
    *plain = sqrt(square) / FOLDS;
}

static void errors_of_few_positives_cover_the_truth(void **state)
{
    double truth = 0.9 * 0.98305 + 0.1 * 0.5; /* normal: P(x < 3 / sqrt 2) = .98305 */
    int flattering = 0, without = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= DRAWS; seed++) {
        double score, se, plain;
        draw(seed, &score, &se, &plain);
        flattering += score - truth > 2 * se;
        without += score - truth > 2 * plain;
    }
    print_message("beyond 2: %d of %d, without the row more %d\n", flattering, DRAWS, without);
    assert_true(flattering <= DRAWS / 20);
    assert_true(without > DRAWS / 10);
}

/* One fold with one positive row, which wins: what is unknown is all there is. */
static void the_error_of_an_area_is_at_most_a_half(void **state)
{
    const double y[] = { 0, 0, 1 };
    double score = 0, se = 0;
    struct metric_folds m;

    (void)state;
    metric_folds_begin(&m, METRIC_AUC, ML_BINARY, false);
    metric_folds_add(&m, 3, 1, 0.48, y, 3);
    metric_folds_end(&m, &score, &se);
    assert_true(score == 1 && se == 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_are_weighted_by_rows),
        cmocka_unit_test(a_fold_without_an_error_is_like_the_others),
        cmocka_unit_test(few_rows_that_are_ranked_rightly_prove_little),
        cmocka_unit_test(errors_of_few_positives_cover_the_truth),
        cmocka_unit_test(the_error_of_an_area_is_at_most_a_half),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
