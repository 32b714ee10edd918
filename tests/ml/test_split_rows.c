/* test_split_rows.c - splits by groups and forward in time: no group is divided, nothing newer than
 * a fold (or within its gap) is trained on for it, test rows are the last ones, and shares of
 * classes and rows stay about even. Columns that name groups, times and weights are read as
 * row_columns.h says, and refused in words where they cannot be. */
#include "tests/ml/csv_rig.h"

#include "base/base.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/model/data.h"
#include "ml/model/fold_rows.h"
#include "ml/model/model.h"
#include "ml/model/row_columns.h"
#include "ml/model/split.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4000 };
static double y[N], when[N];
static uint32_t group[N];
static uint8_t fold[N];

static void targets(enum ml_task task)
{
    struct rng r;

    rng_init(&r, 3, 0);
    for (int i = 0; i < N; i++)
        y[i] = task == ML_REGRESSION ? rng_normal(&r) : rng_unit(&r) < 0.2;
}

/* Group sizes from 1 to 40. */
static int64_t make_groups(void)
{
    struct rng r;
    int64_t n = 0;

    rng_init(&r, 5, 0);
    for (int i = 0; i < N; n++) {
        for (uint32_t left = 1 + rng_below(&r, 40); left > 0 && i < N; left--)
            group[i++] = (uint32_t)n;
    }
    return n;
}

static void groups_are_never_divided_and_stay_even(void **state)
{
    static const enum ml_task tasks[] = { ML_BINARY, ML_REGRESSION };
    struct err err = { 0 };

    (void)state;
    for (size_t t = 0; t < ARRAY_LEN(tasks); t++) {
        targets(tasks[t]);
        const struct split_in in = { tasks[t], y, N, 2, 0.2, 7, group, make_groups(), NULL, 0 };
        int k = 5, at[256] = { 0 };
        double sum[256] = { 0 };
        assert_int_equal(split_make_groups(&in, &k, fold, &err), 0);
        assert_int_equal(k, 5);
        for (int i = 0; i < N; i++) {
            at[fold[i]]++;
            sum[fold[i]] += y[i];
            assert_true(i == 0 || group[i] != group[i - 1] || fold[i] == fold[i - 1]);
        }
        assert_true(at[SPLIT_TEST] > N * 18 / 100 && at[SPLIT_TEST] < N * 22 / 100);
        for (int f = 0; f < k; f++) {
            assert_true(abs(at[f] - (N - at[SPLIT_TEST]) / k) <= 20);
            if (tasks[t] == ML_BINARY)
                assert_true(fabs(sum[f] / at[f] - sum[0] / at[0]) < 0.01);
        }
    }
}

static void too_few_groups_give_fewer_folds_or_an_error(void **state)
{
    struct err err = { 0 };
    int k = 5;

    (void)state;
    targets(ML_BINARY);
    for (int i = 0; i < N; i++)
        group[i] = (uint32_t)i % 3;
    struct split_in in = { ML_BINARY, y, N, 2, 0, 7, group, 3, NULL, 0 };
    assert_int_equal(split_make_groups(&in, &k, fold, &err), 0);
    assert_int_equal(k, 3);
    memset(group, 0, sizeof group);
    in.n_groups = 1;
    assert_int_equal(split_make_groups(&in, &k, fold, &err), -1);
    assert_string_equal(err.text,
                        "groups: all training rows are of one group: folds need at least 2 groups");
}

static void folds_are_trained_on_the_past(void **state)
{
    static const double gaps[] = { 0, 30 };
    struct err err = { 0 };

    (void)state;
    targets(ML_REGRESSION);
    for (int i = 0; i < N; i++)
        when[i] = floor((i * 7919) % N / 4.0); /* four rows a moment, in no order */
    for (size_t g = 0; g < ARRAY_LEN(gaps); g++) {
        const struct split_in in = { ML_REGRESSION, y, N, 0, 0.1, 7, NULL, 0, when, gaps[g] };
        double start[SPLIT_MAX_FOLDS] = { 0 }, oldest_test = INFINITY, newest = -1;
        int k = 5, at[256] = { 0 };
        assert_int_equal(split_make_time(&in, &k, fold, start, &err), 0);
        assert_int_equal(k, 5);
        for (int i = 0; i < N; i++) {
            at[fold[i]]++;
            if (fold[i] == SPLIT_TEST)
                oldest_test = fmin(oldest_test, when[i]);
            else if (fold[i] != SPLIT_NONE)
                newest = fmax(newest, when[i]);
            for (int j = 0; j < N && i % 97 == 0; j++)
                assert_true(when[i] != when[j] || fold[i] == fold[j]);
        }
        assert_int_equal(at[SPLIT_TEST], N / 10);
        assert_true(newest < oldest_test && newest >= oldest_test - gaps[g] - 1 &&
                    newest <= oldest_test - gaps[g]);
        for (int f = 0; f < k; f++) {
            assert_true(abs(at[f] - (N - at[SPLIT_TEST] - at[SPLIT_NONE]) / 6) <= 4);
            assert_true(f == 0 || start[f] < start[f - 1]);
        }
    }
}

static void rows_of_one_moment_have_no_order(void **state)
{
    struct err err = { 0 };
    double start[SPLIT_MAX_FOLDS];
    int k = 5;

    (void)state;
    targets(ML_REGRESSION);
    for (int i = 0; i < N; i++)
        when[i] = 2020 + i % 3;
    struct split_in in = { ML_REGRESSION, y, N, 0, 0, 7, NULL, 0, when, 0 };
    assert_int_equal(split_make_time(&in, &k, fold, start, &err), 0);
    assert_int_equal(k, 2); /* the third year is the oldest: only trained on */
    in.gap = 5;
    assert_int_equal(split_make_time(&in, &k, fold, start, &err), -1);
    assert_string_equal(err.text,
                        "time: no row comes before any fold and its gap: a smaller gap is needed");
    memset(when, 0, sizeof when);
    in.gap = 0;
    k = 5;
    assert_int_equal(split_make_time(&in, &k, fold, start, &err), -1);
}

/* ---- columns of a table ---- */

/* x, y and the columns that say how rows are used. */
static struct frame *table(void)
{
    char hash[SHA256_HEX];
    struct buf b;

    buf_init(&b, 1 << 20);
    assert_int_equal(buf_adds(&b, "x,who,day,w,bad,y\n", NULL), 0);
    for (int i = 0; i < 300; i++) {
        char who[16];
        snprintf(who, sizeof who, "p%d", i / 6);
        (void)buf_addf(&b, NULL, "%d,%s,%d,%d,%s,%d\n", i * 37 % 101, i % 11 ? who : "", i % 50,
                       i % 5, i == 7 ? "-1" : "2", i * 29 % 31);
    }
    struct frame *f = csv_frame_n(b.data, b.len, 0, NULL, hash);
    buf_fini(&b);
    return f;
}

static struct ml_data_spec spec_of(const struct frame *f)
{
    return (struct ml_data_spec){ .frame = f,
                                  .target = "y",
                                  .positive = "",
                                  .task = ML_REGRESSION,
                                  .metric = METRIC_RMSE,
                                  .folds = 4,
                                  .split_seed = 1 };
}

static struct ml_data *opened(const struct ml_data_spec *spec)
{
    struct err err = { 0 };
    struct ml_data *d = ml_data_open(spec, &err);

    if (!d)
        fail_msg("%s", err.text);
    return d;
}

static bool has_input(const struct ml_data *d, const char *name)
{
    for (int i = 0; i < prep_inputs(d->prep); i++) {
        if (strcmp(prep_input_name(d->prep, i), name) == 0)
            return true;
    }
    return false;
}

static void a_column_that_only_says_how_rows_are_used_is_no_input(void **state)
{
    struct frame *f = table();
    struct ml_data_spec spec = spec_of(f);

    (void)state;
    spec.by.groups = "who";
    spec.by.weights = "w";
    struct ml_data *d = opened(&spec);
    assert_false(has_input(d, "who"));
    assert_false(has_input(d, "w"));
    assert_true(has_input(d, "day"));
    /* rows of weight 0 are in no part */
    for (int i = 0; i < 300; i++)
        assert_int_equal(d->fold[i] == SPLIT_NONE, i % 5 == 0);
    assert_int_equal(d->n_left_out, 60);
    double sum = 0;
    for (int i = 0; i < 300; i++)
        sum += d->fold[i] < SPLIT_NONE ? d->weight[i] : 0;
    assert_float_equal(sum / (double)d->n_train, 1, 1e-12);
    ml_data_close(d);
    spec.by = (struct ml_rows_spec){ .groups = "who", .groups_are_input = true };
    d = opened(&spec);
    assert_true(has_input(d, "who"));
    ml_data_close(d);
    spec.by = (struct ml_rows_spec){ .time = "day", .time_is_input = true };
    d = opened(&spec);
    assert_true(has_input(d, "day"));
    ml_data_close(d);
    frame_close(f);
}

/* What the sums of linear models rest on (fold_rows.h). */
static void parts_add_up_to_what_a_fold_is_trained_on(void **state)
{
    static const struct ml_rows_spec ways[] = {
        { 0 }, { .groups = "who" }, { .time = "day" }, { .time = "day", .gap = 4 }
    };
    struct frame *f = table();

    (void)state;
    for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
        struct ml_data_spec spec = spec_of(f);
        spec.by = ways[w];
        struct ml_data *d = opened(&spec);
        for (int k = FOLD_ALL; k < d->k_folds; k++) {
            int64_t trained = 0;
            for (int64_t i = 0; i < d->rows; i++) {
                int part = row_part(d, i);
                bool is_in = part >= 0 && part_is_trained(d, part, k);
                assert_int_equal(is_in, row_is_trained(d, i, k));
                trained += is_in;
                if (is_in && ways[w].time && k >= 0)
                    assert_true((double)(i % 50) < d->start[k] - ways[w].gap + 1);
            }
            assert_true(trained > 0);
        }
        ml_data_close(d);
    }
    frame_close(f);
}

static void what_cannot_be_used_is_refused_in_words(void **state)
{
    static const struct {
        struct ml_rows_spec by;
        const char *text;
    } cases[] = {
        { { .groups = "nobody" }, "groups: no column is called \"nobody\"" },
        { { .groups = "y" }, "groups: \"y\" is the target" },
        { { .groups = "who", .time = "day" }, "groups: cannot be used together with time" },
        { { .time = "who" },
          "time: column \"who\" holds \"p10\", which is neither a number nor a date that begins "
          "with its year" },
        { { .weights = "who" }, "weights: column \"who\" holds text: weights are numbers" },
        { { .weights = "bad" },
          "weights: the weight in column \"bad\" is negative in data row 8: a weight is a number "
          "from 0 up, and 0 leaves a row out" },
    };
    struct frame *f = table();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ml_data_spec spec = spec_of(f);
        struct err err = { 0 };
        spec.by = cases[i].by;
        assert_null(ml_data_open(&spec, &err));
        assert_string_equal(err.text, cases[i].text);
    }
    frame_close(f);
}

static void a_row_without_a_group_is_a_group_of_its_own(void **state)
{
    struct frame *f = table();
    struct err err = { 0 };
    uint32_t *g = NULL;
    int64_t n = 0;

    (void)state;
    assert_int_equal(row_groups(f, "who", &g, &n, &err), 0);
    assert_int_equal(n, 50 + 28);
    for (int i = 0; i < 300; i += 11)
        for (int j = 0; j < 300; j++)
            assert_true(i == j || g[i] != g[j]);
    mem_try_free(g);
    frame_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_never_divided_and_stay_even),
        cmocka_unit_test(too_few_groups_give_fewer_folds_or_an_error),
        cmocka_unit_test(folds_are_trained_on_the_past),
        cmocka_unit_test(rows_of_one_moment_have_no_order),
        cmocka_unit_test(a_column_that_only_says_how_rows_are_used_is_no_input),
        cmocka_unit_test(parts_add_up_to_what_a_fold_is_trained_on),
        cmocka_unit_test(what_cannot_be_used_is_refused_in_words),
        cmocka_unit_test(a_row_without_a_group_is_a_group_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
