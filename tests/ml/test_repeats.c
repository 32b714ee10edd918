/* test_repeats.c - rows that are there more than once stay in one fold and one part, among the test rows too; tables whose
 * rows repeat by nature, or seldom, are split as before, and so is a row that fills much of a table, and what was measured
 * again with another target. */
#include "tests/ml/fit_rig.h"

#include "base/mem.h"
#include "ml/model/data.h"
#include "ml/model/split.h"

#include <string.h>

enum { ROWS = 3000, KINDS = 1000 };

/* Row i is a copy of row kind[i]; kinds: how many different rows there are, less those that are copies of row 0 where every
 * third row is. redrawn: the share of copies whose target is drawn anew. */
static struct frame *table_of(int kinds, int levels, bool has_common, double redrawn, int *kind)
{
    struct rig_table *t = rig_table_new(ROWS);
    double *a = rig_numbers(t), *b = rig_numbers(t), *y = NULL;
    int32_t *level = rig_levels(t, 5);
    struct rng r;

    rng_init(&r, 4, 0);
    y = rig_numbers(t);
    for (int i = 0; i < ROWS; i++) {
        kind[i] = i < kinds ? i : kind[rng_below(&r, (uint32_t)kinds)];
        if (has_common && i % 3 == 0)
            kind[i] = 0;
        a[i] = levels ? (double)rng_below(&r, (uint32_t)levels) : rng_normal(&r);
        b[i] = levels ? 0 : rng_normal(&r);
        level[i] = (int32_t)rng_below(&r, 5);
        y[i] = rng_unit(&r) < 0.5;
        if (kind[i] != i && !levels) {
            a[i] = a[kind[i]];
            b[i] = b[kind[i]];
            level[i] = level[kind[i]];
            y[i] = rng_unit(&r) < redrawn ? rng_unit(&r) < 0.5 : y[kind[i]];
        }
    }
    struct frame *f = rig_frame(t);
    rig_table_free(t);
    return f;
}

static struct frame *table(int kinds, int levels, bool has_common, int *kind)
{
    return table_of(kinds, levels, has_common, 0, kind);
}

static struct ml_data *opened(struct frame *f, double test_fraction)
{
    struct err err = { 0 };
    const struct ml_data_spec spec = { .frame = f,
                                       .target = "y",
                                       .positive = "",
                                       .task = ML_BINARY,
                                       .metric = metric_default(ML_BINARY),
                                       .folds = 5,
                                       .test_fraction = test_fraction,
                                       .split_seed = 3 };
    struct ml_data *d = ml_data_open(&spec, &err);

    if (!d)
        fail_msg("%s", err.text);
    return d;
}

static void equal_rows_stay_together(void **state)
{
    int kind[ROWS], n[SPLIT_TEST + 1] = { 0 };
    struct frame *f = table(KINDS, 0, false, kind);

    (void)state;
    for (int with_test = 0; with_test < 2; with_test++) {
        struct ml_data *d = opened(f, 0.2 * with_test);
        memset(n, 0, sizeof n);
        assert_true(d->n_joined > ROWS / 2);
        for (int i = 0; i < ROWS; i++) {
            n[d->fold[i]]++;
            assert_int_equal(d->fold[i], d->fold[kind[i]]);
        }
        for (int k = 0; k < 5; k++)
            assert_in_range(n[k], ROWS / 5 * (5 - with_test) / 5 * 3 / 4,
                            ROWS / 5 * (5 - with_test) / 5 * 5 / 4);
        assert_in_range(n[SPLIT_TEST], with_test * ROWS * 3 / 20, with_test * ROWS / 4);
        ml_data_close(d);
    }
    frame_close(f);
}

/* 12 * 5 different rows and two labels: that rows are equal says nothing. And 10 copies among 3,000 rows are left alone. */
static void what_repeats_by_nature_or_seldom_is_split_row_by_row(void **state)
{
    int kind[ROWS];
    struct frame *some[2] = { table(KINDS, 12, false, kind), table(ROWS - 10, 0, false, kind) };

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct ml_data *d = opened(some[k], 0);
        assert_int_equal(d->n_joined, 0);
        ml_data_close(d);
        frame_close(some[k]);
    }
}

/* Rows with equal inputs and targets of their own are measured again, not copied: those that agree must not be kept away from
 * the others. One copy in two hundred that was spoilt changes nothing. */
static void what_is_measured_again_is_split_row_by_row(void **state)
{
    static const double redrawn[] = { 1, .2, .005 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(redrawn); i++) {
        int kind[ROWS], apart = 0;
        struct frame *f = table_of(KINDS, 0, false, redrawn[i], kind);
        struct ml_data *d = opened(f, 0);

        for (int k = 0; k < ROWS; k++)
            apart += d->fold[k] != d->fold[kind[k]];
        if (i < 2)
            assert_true(d->n_joined == 0 && d->n_alike > ROWS / 2 && apart > ROWS / 3);
        else
            assert_true(d->n_joined > ROWS / 2 && d->n_alike == 0 && apart < ROWS / 50);
        ml_data_close(d);
        frame_close(f);
    }
}

static void a_common_row_is_in_every_fold(void **state)
{
    int kind[ROWS], n[5] = { 0 }, common[5] = { 0 };

    (void)state;
    for (int copies = 0; copies < 2; copies++) {
        struct frame *f = table(copies ? KINDS : ROWS, 0, true, kind);
        struct ml_data *d = opened(f, 0);
        assert_true(copies ? d->n_joined > ROWS / 3 && d->n_joined < ROWS * 2 / 3
                           : d->n_joined == 0);
        memset(n, 0, sizeof n);
        memset(common, 0, sizeof common);
        for (int i = 0; i < ROWS; i++) {
            n[d->fold[i]]++;
            common[d->fold[i]] += kind[i] == 0;
            if (kind[i] != 0)
                assert_int_equal(d->fold[i], d->fold[kind[i]]);
        }
        int all = common[0] + common[1] + common[2] + common[3] + common[4];
        for (int k = 0; k < 5; k++) {
            assert_in_range(n[k], ROWS / 5 * 4 / 5, ROWS / 5 * 6 / 5);
            assert_in_range(common[k], all / 5 * 3 / 4, all / 5 * 5 / 4);
        }
        ml_data_close(d);
        frame_close(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_rows_stay_together),
        cmocka_unit_test(what_repeats_by_nature_or_seldom_is_split_row_by_row),
        cmocka_unit_test(what_is_measured_again_is_split_row_by_row),
        cmocka_unit_test(a_common_row_is_in_every_fold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
