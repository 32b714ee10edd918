/* test_split.c - folds have equal sizes and equal shares of each class. The test split has about
 * the fraction asked for, and a test row stays a test row when rows are added. Rows without a
 * target are in no fold and not in the test split. Equal seeds give equal splits. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/model/split.h"

#include <math.h>

enum { N = 5000 };
static double y[N];
static uint8_t fold[N], again[N];

static void targets(enum ml_task task, int classes)
{
    struct rng r;

    rng_init(&r, 9, 0);
    for (int i = 0; i < N; i++)
        y[i] = task == ML_REGRESSION ? rng_normal(&r) : floor(pow(rng_unit(&r), 3) * classes);
}

static int make(enum ml_task task, int64_t n, int classes, double fraction, int k, uint64_t seed,
                uint8_t *out)
{
    struct err err = { 0 };

    const struct split_in in = { task, y, n, classes, fraction, seed, NULL, 0, NULL, 0 };
    if (split_make(&in, &k, out, &err) < 0)
        fail_msg("%s", err.text);
    return k;
}

static int refused(int64_t n, double fraction, int k)
{
    const struct split_in in = { ML_BINARY, y, n, 2, fraction, 1, NULL, 0, NULL, 0 };
    struct err err = { 0 };

    return split_make(&in, &k, fold, &err);
}

static void folds_are_stratified(void **state)
{
    (void)state;
    targets(ML_MULTICLASS, 7);
    assert_int_equal(make(ML_MULTICLASS, N, 7, 0.25, 5, 1, fold), 5);
    int64_t size[256] = { 0 }, of_class[7][256] = { { 0 } };
    for (int i = 0; i < N; i++) {
        size[fold[i]]++;
        of_class[(int)y[i]][fold[i]]++;
    }
    assert_true(size[SPLIT_TEST] > N / 5 && size[SPLIT_TEST] < N * 3 / 10);
    for (int f = 1; f < 5; f++) {
        assert_true(llabs(size[f] - size[0]) <= 1);
        for (int c = 0; c < 7; c++)
            assert_true(llabs(of_class[c][f] - of_class[c][0]) <= 1);
    }
}

static void regression_folds_have_nearly_equal_means(void **state)
{
    double sum[5] = { 0 }, n[5] = { 0 };

    (void)state;
    targets(ML_REGRESSION, 0);
    make(ML_REGRESSION, N, 0, 0, 5, 1, fold);
    for (int i = 0; i < N; i++)
        sum[fold[i]] += y[i], n[fold[i]]++;
    for (int f = 0; f < 5; f++) {
        assert_int_equal((int)n[f], N / 5);
        /* the means of random folds would differ by about 0.05 */
        assert_true(fabs(sum[f] / n[f] - sum[0] / n[0]) < 0.01);
    }
}

static void splits_depend_on_the_seed_and_added_rows_move_no_test_row(void **state)
{
    int moved = 0;

    (void)state;
    targets(ML_BINARY, 2);
    make(ML_BINARY, N, 2, 0.2, 5, 3, fold);
    make(ML_BINARY, N, 2, 0.2, 5, 3, again);
    assert_memory_equal(fold, again, N);
    /* The first half of the rows alone has the same test rows. */
    make(ML_BINARY, N / 2, 2, 0.2, 5, 3, again);
    for (int i = 0; i < N / 2; i++)
        assert_int_equal(fold[i] == SPLIT_TEST, again[i] == SPLIT_TEST);
    make(ML_BINARY, N, 2, 0.2, 5, 4, again);
    for (int i = 0; i < N; i++)
        moved += fold[i] != again[i];
    assert_true(moved > N / 2);
}

static void rows_without_a_target_are_in_no_part(void **state)
{
    (void)state;
    targets(ML_REGRESSION, 0);
    for (int i = 0; i < N; i += 3)
        y[i] = NAN;
    make(ML_REGRESSION, N, 0, 0.5, 3, 1, fold);
    for (int i = 0; i < N; i++)
        assert_int_equal(fold[i] == SPLIT_NONE, i % 3 == 0);
}

static void small_tables_get_fewer_folds_and_bad_arguments_are_refused(void **state)
{
    int k = 5;

    (void)state;
    targets(ML_BINARY, 2);
    for (int i = 0; i < 10; i++)
        y[i] = i % 2;
    assert_int_equal(make(ML_BINARY, 3, 2, 0, 5, 1, fold), 3);
    assert_int_equal(refused(1, 0, k), -1);
    /* A fraction above 0 gives at least one test row, however small the fraction is. */
    for (uint64_t seed = 0; seed < 50; seed++) {
        int test = 0;
        make(ML_BINARY, 10, 2, 0.001, 2, seed, fold);
        for (int i = 0; i < 10; i++)
            test += fold[i] == SPLIT_TEST;
        assert_true(test >= 1);
    }
    k = 1;
    assert_int_equal(refused(10, 0, k), -1);
    k = 3;
    assert_int_equal(refused(10, 1.0, k), -1);
    assert_int_equal(refused(10, NAN, k), -1);
}

static void a_class_with_fewer_rows_than_folds_has_at_most_one_row_in_each(void **state)
{
    int seen[5] = { 0 };

    (void)state;
    for (int i = 0; i < 100; i++)
        y[i] = i % 33 == 0; /* four rows of the rare class */
    make(ML_BINARY, 100, 2, 0, 5, 1, fold);
    for (int i = 0; i < 100; i += 33)
        seen[fold[i]]++;
    for (int f = 0; f < 5; f++)
        assert_true(seen[f] <= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_are_stratified),
        cmocka_unit_test(regression_folds_have_nearly_equal_means),
        cmocka_unit_test(splits_depend_on_the_seed_and_added_rows_move_no_test_row),
        cmocka_unit_test(rows_without_a_target_are_in_no_part),
        cmocka_unit_test(small_tables_get_fewer_folds_and_bad_arguments_are_refused),
        cmocka_unit_test(a_class_with_fewer_rows_than_folds_has_at_most_one_row_in_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
