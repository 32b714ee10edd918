/* test_data.c - the learning problem: what auto means for a target, classes and their order, rows without a target, errors
 * that name the column, and shared matrices made once however many threads ask (SAN=thread). */
#include "tests/ml/csv_rig.h"

#include "base/base.h"
#include "base/buf.h"
#include "base/mem.h"
#include "ml/model/data.h"
#include "ml/model/model.h"
#include "ml/model/split.h"
#include "ml/model/target.h"

#include <math.h>
#include <pthread.h>

static struct ml_data_spec spec_of(const struct frame *f, const char *target, enum ml_task task)
{
    return (struct ml_data_spec){ .frame = f,
                                  .target = target,
                                  .positive = "",
                                  .task = task,
                                  .metric = metric_default(task),
                                  .folds = 5,
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

/* Rows of "x,y" with y drawn in turn from a list. */
static struct frame *table(const char *const *y, int n_y, int rows)
{
    char hash[SHA256_HEX];
    struct buf b;

    buf_init(&b, 1 << 22);
    assert_int_equal(buf_adds(&b, "x,y\n", NULL), 0);
    for (int i = 0; i < rows; i++)
        assert_int_equal(buf_addf(&b, NULL, "%d,%s\n", i % 13, y[i % n_y]), 0);
    struct frame *f = csv_frame_n(b.data, b.len, 0, NULL, hash);
    buf_fini(&b);
    return f;
}

static void auto_reads_the_target(void **state)
{
    static const struct {
        const char *y[6];
        int n, rows;
        enum ml_task want;
    } cases[] = {
        { { "a", "b" }, 2, 20, ML_BINARY },
        { { "0", "1", "" }, 3, 20, ML_BINARY },
        { { "0.5", "1" }, 2, 20, ML_BINARY },
        { { "a", "b", "c" }, 3, 20, ML_MULTICLASS },
        { { "1", "2", "3" }, 3, 20, ML_MULTICLASS },
        { { "1", "2", "3" }, 3, 12, ML_REGRESSION },
        { { "1.5", "2", "3" }, 3, 90, ML_REGRESSION },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct frame *f = table(cases[i].y, cases[i].n, cases[i].rows);
        enum ml_task task;
        assert_int_equal(ml_task_infer(f, "y", &task, NULL), 0);
        assert_int_equal(task, cases[i].want);
        frame_close(f);
    }
}

static void classes_stand_in_a_fixed_order(void **state)
{
    static const char *const yes_no[] = { "yes", "no", "no" }, *const tied[] = { "b", "a" };
    static const char *const numbers[] = { "10", "9", "-1", "2.5" }, *const texts[] = { "z", "B",
                                                                                        "a" };
    struct frame *f = table(yes_no, 3, 30);
    struct ml_data_spec spec = spec_of(f, "y", ML_BINARY);
    struct ml_data *d = opened(&spec);

    (void)state;
    assert_string_equal(d->classes[0], "no"); /* the rarer one is positive */
    assert_string_equal(d->classes[1], "yes");
    assert_true(d->y[0] == 1 && d->y[1] == 0 && d->n_outputs == 1 && d->n_classes == 2);
    ml_data_close(d);
    spec.positive = "no";
    d = opened(&spec);
    assert_string_equal(d->classes[1], "no");
    assert_true(d->y[0] == 0 && d->y[1] == 1);
    ml_data_close(d);
    frame_close(f);
    f = table(tied, 2, 30);
    spec = spec_of(f, "y", ML_BINARY);
    d = opened(&spec);
    assert_string_equal(d->classes[1], "b");
    ml_data_close(d);
    frame_close(f);
    f = table(numbers, 4, 40);
    spec = spec_of(f, "y", ML_MULTICLASS);
    d = opened(&spec);
    assert_string_equal(d->classes[0], "-1");
    assert_string_equal(d->classes[1], "2.5");
    assert_string_equal(d->classes[3], "10");
    assert_true(d->y[0] == 3 && d->y[1] == 2 && d->n_outputs == 4);
    ml_data_close(d);
    frame_close(f);
    struct csv_override as_text = { .name = "y", .type = FRAME_CATEGORICAL };
    struct csv_opts opts = { .overrides = &as_text, .n_overrides = 1 };
    f = csv_frame("x,y\n1,10\n2,9\n3,10\n4,9\n5,100\n6,100\n", &opts);
    spec = spec_of(f, "y", ML_MULTICLASS);
    d = opened(&spec);
    assert_string_equal(d->classes[0], "9"); /* numeric text by value */
    assert_string_equal(d->classes[2], "100");
    ml_data_close(d);
    frame_close(f);
    f = table(texts, 3, 30);
    spec = spec_of(f, "y", ML_MULTICLASS);
    d = opened(&spec);
    assert_string_equal(d->classes[0], "B");
    assert_string_equal(d->classes[2], "z");
    ml_data_close(d);
    frame_close(f);
}

static void labels_stay_as_they_are_spelt(void **state)
{
    static const struct {
        const char *y[3], *want[3], *positive;
        int n;
        bool is_label;
    } cases[] = {
        { { "1.0", "0.0" }, { "0.0", "1.0" }, "1", 2, false },
        { { "1.0", "0.0" }, { "1.0", "0.0" }, "0.0", 2, false },
        { { "+1", "-1" }, { "-1", "+1" }, "+1", 2, false },
        { { "2", "1" }, { "1", "2" }, "2.0", 2, false },
        /* two spellings of one number are one class */
        { { "1.0", "1", "0" }, { "0", "1.0" }, "1.0", 3, false },
        { { "9007199254740992", "9007199254740993" },
          { "9007199254740992", "9007199254740993" },
          "9007199254740993",
          2,
          true },
        { { "NA", "", "EU" }, { "EU", "NA" }, "NA", 3, true },
        { { "1", "+1" }, { "1", "+1" }, "+1", 2, true },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct csv_override as_label = { "y", .type = FRAME_CATEGORICAL, .is_exact = true };
        const struct csv_opts opts = { .overrides = &as_label, .n_overrides = 1 };
        char hash[SHA256_HEX];
        struct buf b;
        buf_init(&b, 1 << 20);
        assert_int_equal(buf_adds(&b, "x,y\n", NULL), 0);
        for (int k = 0; k < 60; k++)
            assert_int_equal(buf_addf(&b, NULL, "%d,%s\n", k, cases[i].y[k % cases[i].n]), 0);
        struct frame *f = csv_frame_n(b.data, b.len, 0, cases[i].is_label ? &opts : NULL, hash);
        buf_fini(&b);
        struct ml_data_spec spec = spec_of(f, "y", ML_BINARY);
        spec.positive = cases[i].positive;
        struct ml_data *d = opened(&spec);
        assert_int_equal(d->n_classes, 2);
        for (int c = 0; c < 2; c++)
            assert_string_equal(d->classes[c], cases[i].want[c]);
        double y[60];
        assert_int_equal(
            target_read_as(f, "y", ML_BINARY, 2, (const char *const *)d->classes, y, NULL), 0);
        for (int k = 0; k < 60; k++)
            assert_true(y[k] == d->y[k] || (isnan(y[k]) && isnan(d->y[k])));
        ml_data_close(d);
        frame_close(f);
    }
}

static void rows_without_a_target_are_not_trained_on(void **state)
{
    static const char *const y[] = { "1.5", "", "2.5", "NA", "9" };
    struct frame *f = table(y, 5, 100);
    struct ml_data_spec spec = spec_of(f, "y", ML_REGRESSION);
    struct ml_data *d = opened(&spec);

    (void)state;
    assert_int_equal(d->n_train, 60);
    for (int i = 0; i < 100; i++)
        assert_int_equal(d->fold[i] == SPLIT_NONE, isnan(d->y[i]));
    ml_data_close(d);
    spec.test_fraction = 0.25;
    d = opened(&spec);
    int64_t test = 0, none = 0;
    for (int i = 0; i < 100; i++)
        test += d->fold[i] == SPLIT_TEST, none += d->fold[i] == SPLIT_NONE;
    assert_true(none == 40 && test > 0 && d->n_train + test + none == 100);
    ml_data_close(d);
    frame_close(f);
}

static void errors_name_the_column(void **state)
{
    static const struct {
        const char *text, *target, *positive;
        enum ml_task task;
        enum metric_id metric;
        const char *want;
    } cases[] = {
        { "x,y\n1,2\n2,3\n", "z", "", ML_BINARY, METRIC_AUC, "no column is called \"z\"" },
        { "x,y\n1,\n2,\n", "y", "", ML_BINARY, METRIC_AUC, "\"y\" has no values" },
        { "x,y\n1,a\n2,a\n3,\n", "y", "", ML_BINARY, METRIC_AUC, "\"y\" has only one value" },
        { "x,y\n1,a\n2,b\n3,c\n", "y", "", ML_BINARY, METRIC_AUC,
          "\"y\" has 3 classes: a binary task needs two" },
        { "x,y\n1,a\n2,b\n3,b\n", "y", "", ML_REGRESSION, METRIC_RMSE,
          "\"y\" holds text: regression needs numbers" },
        { "x,y\n1,a\n2,b\n3,b\n", "y", "c", ML_BINARY, METRIC_AUC,
          "\"y\" has no class \"c\"; its classes are \"a\" and \"b\"" },
        { "x,y\n1,1\n2,inf\n3,2\n", "y", "", ML_REGRESSION, METRIC_RMSE,
          "\"y\" is infinite in data row 2" },
        { "x,y\n1,1\n2,0\n3,1\n", "y", "", ML_BINARY, METRIC_RMSE,
          "metric rmse does not fit this task" },
        { "x,y\n1,1\n1,0\n1,1\n", "y", "", ML_BINARY, METRIC_AUC,
          "no column holds anything to learn from" },
        { "y\n1\n0\n1\n", "y", "", ML_BINARY, METRIC_AUC,
          "no column holds anything to learn from" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct frame *f = csv_frame(cases[i].text, NULL);
        struct ml_data_spec spec = spec_of(f, cases[i].target, cases[i].task);
        struct err err = { 0 };
        spec.positive = cases[i].positive;
        spec.metric = cases[i].metric;
        spec.folds = 2;
        assert_null(ml_data_open(&spec, &err));
        if (!strstr(err.text, cases[i].want))
            fail_msg("case %zu: \"%s\" lacks \"%s\"", i, err.text, cases[i].want);
        frame_close(f);
    }
}

static void too_many_classes_are_refused(void **state)
{
    char hash[SHA256_HEX];
    struct buf b;
    struct err err = { 0 };

    (void)state;
    buf_init(&b, 1 << 22);
    assert_int_equal(buf_adds(&b, "x,y,n\n", NULL), 0);
    for (int i = 0; i < 9000; i++)
        assert_int_equal(buf_addf(&b, NULL, "%d,c%d,%d\n", i % 5, i % 1500, i % 4500), 0);
    struct frame *f = csv_frame_n(b.data, b.len, 0, NULL, hash);
    struct ml_data_spec spec = spec_of(f, "y", ML_MULTICLASS);
    assert_null(ml_data_open(&spec, &err));
    assert_non_null(strstr(err.text, "\"y\" has 1500 classes; at most 1000"));
    spec.target = "n";
    assert_null(ml_data_open(&spec, &err));
    assert_non_null(strstr(err.text, "\"n\" has at least 4096 classes"));
    frame_close(f);
    buf_fini(&b);
}

struct asker {
    struct ml_data *d;
    const struct prep_bins *bins[3];
    const struct prep_dense *dense;
};

static void *ask(void *arg)
{
    static const int sizes[] = { 255, 63, 16 };
    struct asker *a = arg;

    for (int i = 0; i < 3; i++)
        a->bins[i] = ml_data_bins(a->d, FOLD_ALL, sizes[i], NULL);
    a->dense = ml_data_dense(a->d, FOLD_ALL, NULL);
    return NULL;
}

static void matrices_are_made_once(void **state)
{
    static const char *const y[] = { "a", "b", "b" };
    struct frame *f = table(y, 3, 20000);
    struct ml_data_spec spec = spec_of(f, "y", ML_BINARY);
    struct ml_data *d = opened(&spec);
    int64_t before = ml_data_shared_bytes(d);
    struct asker askers[4];
    pthread_t threads[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        askers[i].d = d;
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) {
        assert_non_null(askers[i].dense);
        assert_ptr_equal(askers[i].dense, askers[0].dense);
        for (int b = 0; b < 3; b++) {
            assert_non_null(askers[i].bins[b]);
            assert_ptr_equal(askers[i].bins[b], askers[0].bins[b]);
        }
    }
    assert_ptr_equal(ml_data_bins(d, FOLD_ALL, 1000, NULL), askers[0].bins[0]);
    assert_true(ml_data_shared_bytes(d) >= before + 20000 * (3 * 16 + 16 * 4));
    ml_data_close(d);
    frame_close(f);
}

static void columns_are_the_bins_turned_over(void **state)
{
    static const char *const y[] = { "a", "b", "b" };
    struct frame *f = table(y, 3, 777);
    struct ml_data_spec spec = spec_of(f, "y", ML_BINARY);
    struct ml_data *d = opened(&spec);

    (void)state;
    for (int size = 3; size <= 255; size += 252) {
        const uint8_t *columns = ml_data_columns(d, FOLD_ALL, size, NULL);
        const struct prep_bins *b = ml_data_bins(d, FOLD_ALL, size, NULL);
        assert_non_null(columns);
        assert_ptr_equal(columns, b->columns);
        assert_ptr_equal(columns, ml_data_columns(d, FOLD_ALL, size, NULL));
        for (int64_t i = 0; i < b->rows; i++) {
            for (int c = 0; c < b->cols; c++)
                assert_int_equal(columns[c * b->rows + i], b->bins[i * b->stride + c]);
        }
    }
    ml_data_close(d);
    frame_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_reads_the_target),
        cmocka_unit_test(classes_stand_in_a_fixed_order),
        cmocka_unit_test(labels_stay_as_they_are_spelt),
        cmocka_unit_test(rows_without_a_target_are_not_trained_on),
        cmocka_unit_test(errors_name_the_column),
        cmocka_unit_test(too_many_classes_are_refused),
        cmocka_unit_test(matrices_are_made_once),
        cmocka_unit_test(columns_are_the_bins_turned_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
