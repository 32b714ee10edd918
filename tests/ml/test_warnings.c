/* test_warnings.c - each warning is said of the table that deserves it and of no other: clean
 * tables of noise, categories and a strong but honest column get none. Equal data give equal
 * warnings, and each is one line that names its column. */
#include "tests/ml/csv_rig.h"
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "ml/fit/warnings.h"

#include <math.h>
#include <string.h>

enum { ROWS = 1200 };

/* Two numbers, a category of five levels, and room for one more column x3 before the target. */
struct made {
    struct rig_table *t;
    double *a, *b, *extra, *y;
    int32_t *level;
    struct rng r;
};

static struct made clean(int64_t rows, enum ml_task task)
{
    struct made m = { .t = rig_table_new(rows) };

    rng_init(&m.r, 31, 0);
    m.a = rig_numbers(m.t);
    m.b = rig_numbers(m.t);
    m.level = rig_levels(m.t, 5);
    m.extra = rig_numbers(m.t);
    m.y = rig_numbers(m.t);
    for (int64_t i = 0; i < rows; i++) {
        m.a[i] = rng_normal(&m.r);
        m.b[i] = rng_normal(&m.r);
        m.level[i] = (int32_t)rng_below(&m.r, 5);
        m.extra[i] = rng_normal(&m.r);
        double v = 2 * m.a[i] + 0.5 * m.b[i] + 0.4 * rng_normal(&m.r);
        m.y[i] = task == ML_REGRESSION ? v : task == ML_BINARY ? v > 0 : v > 1 ? 2 : v > -1;
    }
    return m;
}

static const struct ml_rows_spec nothing = { 0 };

/* Closes the frame. */
static void found_in(struct frame *f, enum ml_task task, const struct ml_rows_spec *by,
                     struct frame *test, struct warnings *out)
{
    struct warnings again = { 0 };
    struct err err = { 0 };

    struct ml_data_spec spec = { .frame = f,
                                 .test_frame = test,
                                 .target = "y",
                                 .positive = "",
                                 .task = task,
                                 .metric = metric_default(task),
                                 .folds = 5,
                                 .split_seed = 1,
                                 .by = *by };
    struct ml_data *d = ml_data_open(&spec, &err);
    if (!d || warnings_find(d, by, out, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(warnings_find(d, by, &again, &err), 0);
    assert_int_equal(again.n, out->n);
    for (int i = 0; i < out->n; i++) {
        assert_string_equal(again.of[i].text, out->of[i].text);
        assert_null(strchr(out->of[i].text, '\n'));
        assert_true(out->of[i].text[strlen(out->of[i].text) - 1] == '.');
    }
    ml_data_close(d);
    frame_close(f);
}

static void found(struct made *m, enum ml_task task, const struct ml_rows_spec *by,
                  struct frame *test, struct warnings *out)
{
    struct frame *f = rig_frame(m->t);

    rig_table_free(m->t);
    found_in(f, task, by, test, out);
}

static void expect_one(const struct warnings *w, const char *code, const char *column)
{
    for (int i = 0; i < w->n; i++) {
        if (!str_eq(w->of[i].code, code) || !str_eq(w->of[i].column, column))
            fail_msg("unexpected: %s %s: %s", w->of[i].code, w->of[i].column, w->of[i].text);
    }
    if (w->n != 1)
        fail_msg("%d warnings instead of %s", w->n, code);
}

static void clean_tables_get_none(void **state)
{
    static const enum ml_task tasks[] = { ML_BINARY, ML_MULTICLASS, ML_REGRESSION };

    (void)state;
    for (size_t t = 0; t < ARRAY_LEN(tasks); t++) {
        struct warnings w = { 0 };
        struct made m = clean(ROWS, tasks[t]);
        found(&m, tasks[t], &nothing, NULL, &w);
        for (int i = 0; i < w.n; i++)
            fail_msg("%s: %s", w.of[i].code, w.of[i].text);
        /* sorted by the target is no order in time */
        m = clean(ROWS, tasks[t]);
        for (int i = 0; i < ROWS; i++)
            m.y[i] = tasks[t] == ML_REGRESSION ? i * 0.37
                                               : floor(i / 400.0 / (tasks[t] == ML_BINARY ? 2 : 1));
        found(&m, tasks[t], &nothing, NULL, &w);
        assert_int_equal(w.n, 0);
    }
}

static void columns_that_are_left_out_are_named(void **state)
{
    struct warnings w = { 0 };
    struct made m = clean(ROWS, ML_BINARY);

    (void)state;
    for (int i = 0; i < ROWS; i++)
        m.extra[i] = 7;
    found(&m, ML_BINARY, &nothing, NULL, &w);
    expect_one(&w, "constant", "x3");
    m = clean(ROWS, ML_BINARY);
    for (int i = 0; i < ROWS; i++)
        m.extra[i] = NAN;
    found(&m, ML_BINARY, &nothing, NULL, &w);
    expect_one(&w, "empty", "x3");
}

static void a_column_that_gives_the_target_away_is_named(void **state)
{
    static const enum ml_task tasks[] = { ML_BINARY, ML_MULTICLASS, ML_REGRESSION };

    (void)state;
    for (size_t t = 0; t < ARRAY_LEN(tasks); t++) {
        struct warnings w = { 0 };
        struct made m = clean(ROWS, tasks[t]);
        for (int i = 0; i < ROWS; i++)
            m.extra[i] =
                tasks[t] == ML_REGRESSION ? exp(m.y[i] / 2) : 3 - m.y[i] + 0.2 * rng_unit(&m.r);
        found(&m, tasks[t], &nothing, NULL, &w);
        expect_one(&w, "leak", "x3");
        assert_non_null(strstr(w.of[0].text, "columns: {x3: ignore}"));
    }
}

static void rows_without_a_target_few_rows_and_rare_classes_are_counted(void **state)
{
    struct warnings w = { 0 };
    struct made m = clean(ROWS, ML_REGRESSION);

    (void)state;
    for (int i = 0; i < 30; i++)
        m.y[i * 7] = NAN;
    found(&m, ML_REGRESSION, &nothing, NULL, &w);
    expect_one(&w, "no_target", "y");
    assert_non_null(strstr(w.of[0].text, "30 of 1200 rows"));
    m = clean(150, ML_BINARY);
    found(&m, ML_BINARY, &nothing, NULL, &w);
    expect_one(&w, "few_rows", "");
    m = clean(ROWS, ML_MULTICLASS);
    for (int i = 0; i < 3; i++)
        m.y[i] = 9;
    found(&m, ML_MULTICLASS, &nothing, NULL, &w);
    expect_one(&w, "few_of_class", "y");
    assert_non_null(strstr(w.of[0].text, "\"9\" has 3 training rows for 5 folds"));
}

/* Expects one warning of a target of two numbers from `least` on, such as 2024-03-15 and 23:59, and that
 * it says so much. */
static void expect_dates(const char *before, int first_n, const char *between, int second_n,
                         int least, enum ml_task task, const char *says)
{
    struct warnings w = { 0 };
    char text[24 * ROWS + 8] = "a,y\n";
    size_t n = 4;
    struct rng r;

    rng_init(&r, 5, 0);
    for (int i = 0; i < ROWS; i++) {
        int first = least + (int)rng_below(&r, (uint32_t)first_n);
        int second = least + (int)rng_below(&r, (uint32_t)second_n);
        n += (size_t)snprintf(text + n, sizeof text - n, "%.5f,%s%02d%s%02d\n", rng_normal(&r),
                              before, first, between, second);
    }
    found_in(csv_frame(text, NULL), task, &nothing, NULL, &w);
    expect_one(&w, "target_dates", "y");
    assert_non_null(strstr(w.of[0].text, says));
}

static void a_target_of_dates_says_its_unit(void **state)
{
    (void)state;
    expect_dates("2024-", 12, "-", 28, 1, ML_REGRESSION, "seconds since 1970");
}

static void a_target_of_times_counts_from_midnight(void **state)
{
    (void)state;
    expect_dates("", 24, ":", 60, 0, ML_REGRESSION,
                 "times of day, so predictions are seconds since midnight");
}

static void classes_of_dates_say_how_they_are_called(void **state)
{
    (void)state;
    expect_dates("2024-", 1, "-", 3, 1, ML_MULTICLASS, "(columns: {y: label})");
}

static void a_row_number_is_an_identifier(void **state)
{
    struct warnings w = { 0 };
    struct made m = clean(ROWS, ML_BINARY);

    (void)state;
    for (int i = 0; i < ROWS; i++)
        m.extra[i] = (i * 7) % ROWS + 1000;
    found(&m, ML_BINARY, &nothing, NULL, &w);
    expect_one(&w, "identifier", "x3");
}

/* Makes a row equal to another, but for one column; -1 = none. */
static void copy_row(struct made *m, int to, int from, int but)
{
    for (int c = 0; c < m->t->n_cols; c++) {
        if (c == but)
            continue;
        if (m->t->cols[c].num)
            m->t->cols[c].num[to] = m->t->cols[c].num[from];
        else
            m->t->cols[c].codes[to] = m->t->cols[c].codes[from];
    }
}

/* Equal rows are kept in one fold, whatever the split had drawn; the study says so. */
static void rows_that_repeat_are_kept_in_one_fold(void **state)
{
    struct warnings w = { 0 };
    struct made m = clean(ROWS, ML_REGRESSION);

    (void)state;
    for (int i = 0; i < 100; i++)
        copy_row(&m, ROWS - 1 - i * 5, i * 5, -1);
    found(&m, ML_REGRESSION, &nothing, NULL, &w);
    expect_one(&w, "repeats", "");
    assert_non_null(strstr(w.of[0].text, "kept in one fold"));
}

/* Where half of the repeats have another target they are no copies. */
static void rows_that_are_measured_again_are_named(void **state)
{
    struct warnings w = { 0 };
    struct made m = clean(ROWS, ML_REGRESSION);
    int target = m.t->n_cols - 1;

    (void)state;
    for (int i = 0; i < 200; i++)
        copy_row(&m, ROWS - 1 - i, i, i % 2 ? target : -1);
    found(&m, ML_REGRESSION, &nothing, NULL, &w);
    expect_one(&w, "repeats", "");
    assert_non_null(strstr(w.of[0].text, "with another target"));
}

/* The planted leak: rows of a group resemble one another, and nobody said so. */
static void groups_and_order_that_nobody_named_are_hinted_at(void **state)
{
    const struct ml_rows_spec groups = { .groups = "x3" },
                              time = { .time = "x3", .time_is_input = true };
    struct warnings w = { 0 };

    (void)state;
    for (int named = 0; named < 2; named++) {
        struct made m = clean(ROWS, ML_REGRESSION);
        for (int i = 0; i < ROWS; i++) {
            int first = i % 100;
            m.extra[i] = first;
            m.a[i] = m.a[first] + 0.05 * rng_normal(&m.r);
            m.b[i] = m.b[first] + 0.05 * rng_normal(&m.r);
            m.y[i] = 3 * sin(first * 7.0) + 0.5 * rng_normal(&m.r);
        }
        found(&m, ML_REGRESSION, named ? &groups : &nothing, NULL, &w);
        if (named)
            assert_int_equal(w.n, 0);
        else
            expect_one(&w, "grouped", "x3");
    }
    for (int named = 0; named < 2; named++) {
        struct made m = clean(ROWS, ML_REGRESSION);
        for (int i = 0; i < ROWS; i++) {
            m.extra[i] = i; /* a row number as well */
            m.y[i] += 2 * sin(i / 150.0);
        }
        found(&m, ML_REGRESSION, named ? &time : &nothing, NULL, &w);
        if (named)
            assert_int_equal(w.n, 0);
        else
            expect_one(&w, "ordered", "x3");
    }
}

static void an_order_that_no_column_names_is_hinted_at_where_it_is_strong(void **state)
{
    (void)state;
    for (int strong = 0; strong < 2; strong++) {
        struct warnings w = { 0 };
        struct made m = clean(ROWS, ML_REGRESSION);
        for (int i = 0; i < ROWS; i++)
            m.y[i] += (strong ? 5 : 0.8) * sin(i / 150.0);
        found(&m, ML_REGRESSION, &nothing, NULL, &w);
        if (strong)
            expect_one(&w, "ordered", "");
        else
            assert_int_equal(w.n, 0);
    }
}

/* Dates order the rows, times of day come back every day. */
static void times_of_day_are_no_order(void **state)
{
    (void)state;
    for (int has_date = 0; has_date < 2; has_date++) {
        struct warnings w = { 0 };
        struct rng r;
        struct buf b;

        rng_init(&r, 8, 0);
        buf_init(&b, 1 << 20);
        assert_int_equal(buf_adds(&b, "x1,when,y\n", NULL), 0);
        for (int i = 0; i < ROWS; i++)
            assert_int_equal(buf_addf(&b, NULL, "%.4f,%s%02d:%02d,%.4f\n", rng_normal(&r),
                                      has_date ? "2024-03-01 " : "", (int)rng_below(&r, 24),
                                      (int)rng_below(&r, 60), rng_normal(&r)),
                             0);
        found_in(csv_frame(b.data, NULL), ML_REGRESSION, &nothing, NULL, &w);
        buf_fini(&b);
        if (has_date)
            expect_one(&w, "ordered", "when");
        else
            assert_int_equal(w.n, 0);
    }
}

static void few_and_uneven_groups_are_told(void **state)
{
    const struct ml_rows_spec by = { .groups = "x3" };
    struct warnings w = { 0 };
    struct made m = clean(ROWS, ML_REGRESSION);

    (void)state;
    for (int i = 0; i < ROWS; i++)
        m.extra[i] = i % 7;
    found(&m, ML_REGRESSION, &by, NULL, &w);
    expect_one(&w, "few_groups", "x3");
    m = clean(ROWS, ML_REGRESSION);
    for (int i = 0; i < ROWS; i++)
        m.extra[i] = i < ROWS / 2 ? 0 : i;
    found(&m, ML_REGRESSION, &by, NULL, &w);
    expect_one(&w, "large_group", "x3");
}

/* A table of a number and of a name; names are drawn from `names`, in a skewed way, behind a prefix. */
static struct frame *named_rows(uint64_t seed, int rows, const char *prefix, int names)
{
    struct rng r;
    struct buf b;

    rng_init(&r, seed, 0);
    buf_init(&b, 1 << 20);
    assert_int_equal(buf_adds(&b, "x1,name,y\n", NULL), 0);
    for (int i = 0; i < rows; i++) {
        double u = rng_unit(&r);
        assert_int_equal(buf_addf(&b, NULL, "%.4f,%s%d,%.4f\n", rng_normal(&r), prefix,
                                  (int)(u * u * names), rng_normal(&r)),
                         0);
    }
    struct frame *f = csv_frame(b.data, NULL);
    buf_fini(&b);
    return f;
}

/* Nearly every name of a test row is new where nearly every name of the training rows stands once:
 * that is no sign of another kind of rows. */
static void names_that_rarely_repeat_are_no_other_kind_of_rows(void **state)
{
    static const int names[] = { 3, 40, 600, 3000, 20000, 1000000 };

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(names); k++) {
        for (int other = 0; other < 2; other++) {
            struct warnings w = { 0 };
            struct frame *f = named_rows(5 + k, 2 * ROWS, "a", names[k]),
                         *test = named_rows(95 + k, ROWS, other ? "b" : "a", names[k]);
            bool is_told = false;
            found_in(f, ML_REGRESSION, &nothing, test, &w);
            for (int i = 0; i < w.n; i++)
                is_told = is_told || str_eq(w.of[i].code, "other_test_rows");
            if (is_told != (other && names[k] < 5000))
                fail_msg("%d names, other %d: %d", names[k], other, is_told);
            frame_close(test);
        }
    }
}

static void test_rows_without_a_known_target_are_counted(void **state)
{
    static const struct {
        const char *rows, *says;
        enum ml_task task;
    } cases[] = {
        { "1,a\n2,\n3,c\n",
          "2 of 3 rows of the test table have no value in the target \"y\", or a class",
          ML_BINARY },
        { "1,c\n2,c\n", "All 2 rows", ML_BINARY },
        { "1,7\n2,\n3,9\n", "1 of 3 rows of the test table have no value in the target \"y\" and",
          ML_REGRESSION },
        { "1,a\n2,b\n", NULL, ML_BINARY },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct warnings w = { 0 };
        char text[100], train[24 * ROWS + 8] = "a,y\n";
        size_t n = 4;
        struct rng r;
        rng_init(&r, 5, 0);
        for (int k = 0; k < ROWS; k++) {
            double u = rng_normal(&r);
            n += (size_t)(cases[i].task == ML_BINARY
                              ? snprintf(train + n, sizeof train - n, "%.5f,%c\n", u,
                                         "ab"[rng_below(&r, 2)])
                              : snprintf(train + n, sizeof train - n, "%.5f,%.5f\n", u,
                                         rng_normal(&r)));
        }
        snprintf(text, sizeof text, "a,y\n%s", cases[i].rows);
        struct frame *test = csv_frame(text, NULL);
        found_in(csv_frame(train, NULL), cases[i].task, &nothing, test, &w);
        frame_close(test);
        if (!cases[i].says) {
            assert_int_equal(w.n, 0);
            continue;
        }
        expect_one(&w, "no_test_target", "y");
        if (!strstr(w.of[0].text, cases[i].says))
            fail_msg("%s", w.of[0].text);
    }
}

static void test_rows_of_another_kind_are_told(void **state)
{
    (void)state;
    for (int shifted = 0; shifted < 2; shifted++) {
        struct warnings w = { 0 };
        struct made m = clean(ROWS, ML_REGRESSION), other = clean(600, ML_REGRESSION);
        for (int i = 0; i < 600; i++)
            other.extra[i] = m.extra[i] + (shifted ? 1.5 : 0) + 0.001 * rng_normal(&m.r);
        struct frame *test = rig_frame(other.t);
        rig_table_free(other.t);
        found(&m, ML_REGRESSION, &nothing, test, &w);
        if (shifted)
            expect_one(&w, "other_test_rows", "x3");
        else
            assert_int_equal(w.n, 0);
        frame_close(test);
    }
}

/* A table with a column of these levels in turn, and a number that tells the target. */
static struct frame *of_levels(const char *const *levels, int n)
{
    struct buf b;
    struct rng r;

    rng_init(&r, 5, 0);
    buf_init(&b, 1 << 20);
    assert_int_equal(buf_adds(&b, "place,x,y\n", NULL), 0);
    for (int i = 0; i < 600; i++) {
        double x = rng_normal(&r);
        assert_int_equal(
            buf_addf(&b, NULL, "\"%s\",%.4f,%.4f\n", levels[i % n], x, x + rng_normal(&r)), 0);
    }
    struct frame *f = csv_frame(b.data, NULL);
    buf_fini(&b);
    return f;
}

static void levels_spelled_nearly_alike_are_told_with_their_rows(void **state)
{
    static const struct {
        const char *levels[6];
        const char *text; /* "" = no warning */
    } cases[] = {
        { { "New York", "new york", "NewYork", "Paris", "Rome", "Rome" },
          "\"New York\" (100), \"NewYork\" (100) and \"new york\" (100) rows" },
        { { "Paris", "Paris", "Paris", "Paris", "PARIS", "Rome" },
          "\"Paris\" (400) and \"PARIS\" (100) rows are spelled nearly alike:" },
        { { "Zürich", "ZÜRICH", "Bern", "bern.", "Basel", "Genf" }, "and so are 1 more level to" },
        { { "St. Gallen", "St Gallen", "St-Gallen", "Bern", "Basel", "Genf" }, "St-Gallen" },
        { { "Model 3", "model3", "Model X", "Model Y", "i3", "i4" }, "model3" },
        { { "A", "A+", "A-", "AB", "B+", "B-" }, "" },
        { { "1.5 l", "15 l", "1 5 l", "x-1", "x1", "x 2" }, "" },
        { { "C", "C++", "C#", "F#", "C*", "Java" }, "" },
        { { "red", "blue", "green", "black", "white", "grey" }, "" },
        { { "10-19", "1019", "20-29", "30-39", "40-49", "under 10" }, "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct warnings w = { 0 };
        found_in(of_levels(cases[i].levels, 6), ML_REGRESSION, &nothing, NULL, &w);
        if (!cases[i].text[0]) {
            for (int k = 0; k < w.n; k++)
                fail_msg("case %zu: %s", i, w.of[k].text);
            continue;
        }
        expect_one(&w, "alike", "place");
        if (!strstr(w.of[0].text, cases[i].text))
            fail_msg("case %zu: %s", i, w.of[0].text);
    }
}

static void classes_spelled_nearly_alike_are_told(void **state)
{
    struct warnings w = { 0 };
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    assert_int_equal(buf_adds(&b, "x,y\n", NULL), 0);
    for (int i = 0; i < 600; i++)
        assert_int_equal(buf_addf(&b, NULL, "%d,%s\n", i * 7919 % 600 * 3 % 1000,
                                  i % 3 == 0   ? "yes"
                                  : i % 9 == 1 ? "Yes"
                                               : "no"),
                         0);
    found_in(csv_frame(b.data, NULL), ML_MULTICLASS, &nothing, NULL, &w);
    buf_fini(&b);
    expect_one(&w, "alike", "y");
    assert_non_null(strstr(w.of[0].text, "\"yes\" (200) and \"Yes\" (67) rows"));
}

static void the_json_is_a_list_of_three_keys(void **state)
{
    struct warnings w = { .n = 2,
                          .of = { { "leak", "a \"b\"", "One." }, { "few_rows", "", "Two." } } };
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    assert_int_equal(warnings_json(&w, &b, NULL), 0);
    assert_string_equal(b.data, "[{\"code\":\"leak\",\"column\":\"a \\\"b\\\"\",\"text\":\"One.\"},"
                                "{\"code\":\"few_rows\",\"column\":\"\",\"text\":\"Two.\"}]");
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean_tables_get_none),
        cmocka_unit_test(columns_that_are_left_out_are_named),
        cmocka_unit_test(a_column_that_gives_the_target_away_is_named),
        cmocka_unit_test(rows_without_a_target_few_rows_and_rare_classes_are_counted),
        cmocka_unit_test(a_target_of_dates_says_its_unit),
        cmocka_unit_test(a_target_of_times_counts_from_midnight),
        cmocka_unit_test(classes_of_dates_say_how_they_are_called),
        cmocka_unit_test(a_row_number_is_an_identifier),
        cmocka_unit_test(rows_that_repeat_are_kept_in_one_fold),
        cmocka_unit_test(rows_that_are_measured_again_are_named),
        cmocka_unit_test(groups_and_order_that_nobody_named_are_hinted_at),
        cmocka_unit_test(an_order_that_no_column_names_is_hinted_at_where_it_is_strong),
        cmocka_unit_test(times_of_day_are_no_order),
        cmocka_unit_test(few_and_uneven_groups_are_told),
        cmocka_unit_test(names_that_rarely_repeat_are_no_other_kind_of_rows),
        cmocka_unit_test(test_rows_without_a_known_target_are_counted),
        cmocka_unit_test(test_rows_of_another_kind_are_told),
        cmocka_unit_test(levels_spelled_nearly_alike_are_told_with_their_rows),
        cmocka_unit_test(classes_spelled_nearly_alike_are_told),
        cmocka_unit_test(the_json_is_a_list_of_three_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
