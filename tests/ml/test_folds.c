/* test_folds.c - the mean of several folds and its error, with rows that err by themselves and with rows that err together. */
#include "tests/unit.h"

#include "base/base.h"
#include "ml/metric/folds.h"

#include <math.h>

static struct folds of(bool err_together, const double *value, const double *se,
                       const double *weight, int n)
{
    struct folds f = { .err_together = err_together };

    for (int i = 0; i < n; i++)
        folds_add(&f, weight[i], value[i], se[i]);
    return f;
}

static void folds_of_one_size_are_a_sample_of_means(void **state)
{
    const double value[] = { 1e6 + 1, 1e6 + 2, 1e6 + 6 }, se[] = { 0.3, 0.4, 0 },
                 weight[] = { 10, 10, 10 };
    struct folds rows = of(false, value, se, weight, 3), folds = of(true, value, se, weight, 3);

    (void)state;
    assert_float_equal(folds_mean(&rows), 1e6 + 3, 1e-9);
    assert_float_equal(folds_error(&rows), 0.5 / 3, 1e-12);
    /* variance of 1, 2, 6 is 7 */
    assert_float_equal(folds_error(&folds), sqrt(7.0 / 3), 1e-9);
}

static void the_error_over_rows_is_the_least(void **state)
{
    const double value[] = { 5, 5, 5 }, se[] = { 3, 3, 3 }, weight[] = { 1, 1, 1 };
    struct folds f = of(true, value, se, weight, 3);

    (void)state;
    assert_float_equal(folds_error(&f), sqrt(3), 1e-12);
}

static void rows_weigh(void **state)
{
    const double value[] = { 1, 4 }, se[] = { 0.1, 0.1 }, weight[] = { 3, 1 };
    struct folds f = of(true, value, se, weight, 2);

    (void)state;
    assert_float_equal(folds_mean(&f), 1.75, 1e-12);
    /* 2 x (9 x .75^2 + 2.25^2) / 4^2 */
    assert_float_equal(folds_error(&f), sqrt(2 * (9 * 0.5625 + 5.0625) / 16), 1e-12);
}

static void a_fold_without_an_error_is_like_the_others(void **state)
{
    const double value[] = { 1, NAN, 3 }, se[] = { 1, NAN, 1 }, weight[] = { 1, 1, 1 };
    struct folds f = of(false, value, se, weight, 3), none = { 0 },
                 one = of(true, value, se, weight, 1);

    (void)state;
    assert_float_equal(folds_mean(&f), 2, 1e-12);
    assert_float_equal(folds_error(&f), sqrt(2) / 2, 1e-12);
    assert_true(isnan(folds_mean(&none)) && isnan(folds_error(&none)));
    assert_float_equal(folds_error(&one), 1, 1e-12); /* one fold has no spread */
    /* a third fold without an error is like the other two */
    folds_add(&f, 1, 2, NAN);
    assert_float_equal(folds_error(&f), sqrt(3) / 3, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_of_one_size_are_a_sample_of_means),
        cmocka_unit_test(the_error_over_rows_is_the_least),
        cmocka_unit_test(rows_weigh),
        cmocka_unit_test(a_fold_without_an_error_is_like_the_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
