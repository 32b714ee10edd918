/* test_boost_edge.c - must show: tables at the edge of what boosting can be given. Each case trains, predicts finite numbers
 * and sends the same bytes wherever it stands; sizes that grow must not grow the work more than they should. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/boost/boost.h"
#include "ml/model/models.h"

#include <float.h>
#include <math.h>
#include <unistd.h>

static void params_default(const struct rig *r, double *p)
{
    family_defaults(family_find("boost"), p);
    p[BOOST_ROW_SAMPLE] = p[BOOST_COL_SAMPLE] = 1;
    p[BOOST_MIN_LEAF] = 1;
    p[BOOST_CLASS_WEIGHT] = r->d->spec.task != ML_REGRESSION;
}

/* Trains fold 0 or all; every prediction is a finite number. */
static void trains(struct rig *r, const double *params, int fold, int64_t steps)
{
    struct lane l = rig_lane(r, "boost", params, fold, steps);
    struct buf b = rig_lane_bytes("boost", &l, steps);
    float *p = rig_predict(r, "boost", &b);

    for (int64_t i = 0; i < r->d->rows * r->d->n_outputs; i++)
        assert_true(isfinite(p[i]));
    free(p);
    buf_fini(&b);
    rig_lane_close("boost", &l);
}

static void trains_every_way(struct rig *r)
{
    static const enum boost_loss numbers[] = { BOOST_SQUARED, BOOST_ABSOLUTE, BOOST_HUBER,
                                               BOOST_QUANTILE };
    double params[FAMILY_MAX_PARAMS];

    for (int way = 0; way < 4; way++) {
        params_default(r, params);
        params[BOOST_GROW] = way == 1;
        params[BOOST_RANDOM] = way == 2;
        params[BOOST_ROW_SAMPLE] = way == 3 ? 0.5 : 1;
        params[BOOST_COL_SAMPLE] = way == 3 ? 0.01 : 1;
        params[BOOST_COL_LEVEL] = way == 3 ? 0.01 : 1;
        if (r->d->spec.task == ML_REGRESSION)
            params[BOOST_OBJECTIVE] = numbers[way];
        trains(r, params, 0, 8);
        trains(r, params, FOLD_ALL, 8);
    }
}

static void one_training_row_and_one_column(void **state)
{
    (void)state;
    for (int task = ML_BINARY; task <= ML_REGRESSION; task *= 2) {
        struct rig_table *t = rig_table_new(task == ML_MULTICLASS ? 3 : 2);
        double *x = rig_numbers(t), *y = rig_numbers(t);
        for (int i = 0; i < t->rows; i++)
            x[i] = y[i] = i;
        struct rig *r = rig_new(t, (enum ml_task)task, metric_default((enum ml_task)task), 2);
        trains_every_way(r);
        rig_free(r);
    }
}

/* What is constant or missing in every row is no input; a table of nothing else is one error. What is so only in the rows of
 * a fold is an input that never splits. */
static void columns_that_tell_nothing(void **state)
{
    struct rig_table *t = rig_table_new(40);
    double *same = rig_numbers(t), *gone = rig_numbers(t), *x = rig_numbers(t), *y = rig_numbers(t);

    (void)state;
    for (int i = 0; i < 40; i++) {
        same[i] = 7;
        gone[i] = (double)NAN;
        x[i] = i % 8;
        y[i] = x[i] + i % 2;
    }
    struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
    assert_int_equal(prep_inputs(r->d->prep), 1);
    rig_free(r);
    t = rig_table_new(40);
    double *late = rig_numbers(t);
    x = rig_numbers(t), y = rig_numbers(t);
    for (int i = 0; i < 40; i++) {
        x[i] = i % 8;
        y[i] = x[i] + i % 2;
        late[i] = (double)NAN;
    }
    late[3] = 1;
    late[4] = 2; /* whatever the folds, there is one whose training rows have at most one of them */
    r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
    assert_int_equal(prep_inputs(r->d->prep), 2);
    trains_every_way(r);
    double params[FAMILY_MAX_PARAMS];
    params_default(r, params);
    trains(r, params, 1, 8);
    rig_free(r);
}

static void nothing_but_constants_is_one_error(void **state)
{
    struct rig_table *t = rig_table_new(20);
    double *same = rig_numbers(t), *gone = rig_numbers(t), *y = rig_numbers(t);
    struct err err = { 0 };

    (void)state;
    for (int i = 0; i < 20; i++) {
        same[i] = 1;
        gone[i] = (double)NAN;
        y[i] = i;
    }
    struct frame *f = rig_frame(t);
    rig_table_free(t);
    struct ml_data_spec spec = { .frame = f,
                                 .target = "y",
                                 .positive = "",
                                 .task = ML_REGRESSION,
                                 .metric = METRIC_RMSE,
                                 .folds = 2 };
    assert_null(ml_data_open(&spec, &err));
    assert_int_equal(err.code, ERR_ARG);
    frame_close(f);
}

static void extreme_values_are_values(void **state)
{
    static const double values[] = { DBL_MAX, -DBL_MAX, 1e308,       -1e308,   DBL_MIN, 5e-324,
                                     -5e-324, 0.0,      -0.0,        1e39,     3.4e38,  1.4e-45,
                                     1e-46,   1,        (double)NAN, 1 + 1e-15 };
    enum { N = 160 };

    (void)state;
    for (int tiny = 0; tiny < 2; tiny++) {
        struct rig_table *t = rig_table_new(N);
        double *x = rig_numbers(t), *z = rig_numbers(t), *y = rig_numbers(t);
        for (int i = 0; i < N; i++) {
            x[i] = values[i % (int)ARRAY_LEN(values)];
            z[i] = i;
            y[i] = tiny ? i * 7 % 5 * 5e-324 : i % 5; /* numbers below the least float read as 0 */
        }
        struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
        trains_every_way(r);
        rig_free(r);
    }
}

/* A target beyond what a float holds predicts as far as floats go; inside it, the fit is what it is anywhere else. */
static void huge_and_tiny_targets_fit_alike(void **state)
{
    static const double scales[] = { 1, 1e30, 1e-30, 1e36 };
    double first[64] = { 0 };

    (void)state;
    for (size_t s = 0; s < ARRAY_LEN(scales); s++) {
        struct rig_table *t = rig_table_new(64);
        double *x = rig_numbers(t), *y = rig_numbers(t), params[FAMILY_MAX_PARAMS];
        for (int i = 0; i < 64; i++) {
            x[i] = i;
            y[i] = scales[s] * (i / 8 % 3 + 0.01 * i);
        }
        struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
        params_default(r, params);
        struct lane l = rig_lane(r, "boost", params, FOLD_ALL, 20);
        struct buf b = rig_lane_bytes("boost", &l, 20);
        float *p = rig_predict(r, "boost", &b);
        for (int i = 0; i < 64; i++) {
            if (s == 0)
                first[i] = (double)p[i];
            assert_float_equal((double)p[i] / scales[s], first[i], 1e-4);
        }
        free(p);
        buf_fini(&b);
        rig_lane_close("boost", &l);
        rig_free(r);
    }
}

static void more_bins_than_values(void **state)
{
    (void)state;
    for (int bins = 0; bins < 3; bins++) {
        struct rig_table *t = rig_table_new(100);
        double *x = rig_numbers(t), *z = rig_numbers(t), *y = rig_numbers(t),
               params[FAMILY_MAX_PARAMS];
        for (int i = 0; i < 100; i++) {
            x[i] = i % 2;
            z[i] = i % 3;
            y[i] = 10 * x[i] + z[i];
        }
        struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
        params_default(r, params);
        params[BOOST_BINS] = bins;
        params[BOOST_L2] = 0;
        params[BOOST_LEARNING_RATE] = 1;
        struct lane l = rig_lane(r, "boost", params, FOLD_ALL, 3);
        struct buf b = rig_lane_bytes("boost", &l, 3);
        float *p = rig_predict(r, "boost", &b);
        for (int i = 0; i < 100; i++) /* six cells, six leaves: nothing is left over */
            assert_float_equal(p[i], 10 * (i % 2) + i % 3, 1e-3);
        free(p);
        buf_fini(&b);
        rig_lane_close("boost", &l);
        rig_free(r);
    }
}

/* ---- large shapes ---- */

static struct rig *rig_of_file(const char *path, enum ml_task task)
{
    struct rig *r = mem_zalloc(sizeof *r);
    struct err err = { 0 };

    r->frame = frame_open(path, &err);
    assert_non_null(r->frame);
    unlink(path);
    struct ml_data_spec spec = { .frame = r->frame,
                                 .target = "y",
                                 .positive = task == ML_BINARY ? "1" : "",
                                 .task = task,
                                 .metric = metric_default(task),
                                 .folds = 2,
                                 .split_seed = 3 };
    r->d = ml_data_open(&spec, &err);
    if (!r->d)
        fail_msg("%s", err.text);
    return r;
}

static void done(int rc, const struct err *err)
{
    if (rc < 0)
        fail_msg("%s", err->text);
}

/* 10,000 levels of which each has a few rows: the 254 most frequent have bins of their own, the others share one. */
static void ten_thousand_levels(void **state)
{
    enum { ROWS = 40000, LEVELS = 10000 };
    char path[300], hash[SHA256_HEX], *text = malloc(LEVELS * 8);
    const char **names = malloc(LEVELS * sizeof *names);
    int32_t *codes = malloc(ROWS * sizeof *codes);
    double *y = malloc(ROWS * sizeof *y), params[FAMILY_MAX_PARAMS], sum = 0, flat = 0;
    struct err err = { 0 };
    struct rng g;

    (void)state;
    rng_init(&g, 9, 9);
    for (int i = 0; i < LEVELS; i++) {
        snprintf(text + i * 8, 8, "l%d", i);
        names[i] = text + i * 8;
    }
    for (int i = 0; i < ROWS;
         i++) { /* half the rows in 200 frequent levels of which the odd ones are high */
        codes[i] = i % 2 ? (int32_t)rng_below(&g, 200) : 200 + (int32_t)rng_below(&g, LEVELS - 200);
        y[i] = (codes[i] < 200 && codes[i] % 2 ? 3 : 0) + rng_normal(&g);
    }
    struct frame_writer *w = frame_writer_new(test_path(path, sizeof path, "levels"), &err);
    done(frame_writer_categorical(w, "x", codes, ROWS, names, LEVELS, &err), &err);
    done(frame_writer_numeric(w, "y", y, ROWS, &err), &err);
    done(frame_writer_end(w, hash, &err), &err);
    struct rig *r = rig_of_file(path, ML_REGRESSION);
    family_defaults(family_find("boost"), params);
    struct lane l = rig_lane(r, "boost", params, FOLD_ALL, 20);
    struct buf b = rig_lane_bytes("boost", &l, 20);
    float *p = rig_predict(r, "boost", &b);
    for (int i = 0; i < ROWS; i++) {
        sum += pow((double)p[i] - y[i], 2) / ROWS;
        flat += pow(0.75 - y[i], 2) / ROWS;
    }
    assert_true(flat > 2.5);
    assert_true(sum < 1.15); /* the noise is 1 */
    free(p);
    buf_fini(&b);
    rig_lane_close("boost", &l);
    rig_free(r);
    free(text), free(names), free(codes), free(y);
}

/* 100,000 columns: memory of a lane is that of its rows, not of its columns, beside the list of them. */
static void a_hundred_thousand_columns_of_two_hundred_rows(void **state)
{
    enum { ROWS = 200, COLS = TEST_ROUNDS(100000, 10000), THE_COL = COLS / 9 * 7 };
    static double x[ROWS], y[ROWS];
    char path[300], hash[SHA256_HEX], name[16];
    double params[FAMILY_MAX_PARAMS];
    struct err err = { 0 };
    struct rng g;

    (void)state;
    rng_init(&g, 10, 10);
    struct frame_writer *w = frame_writer_new(test_path(path, sizeof path, "wide"), &err);
    for (int c = 0; c < COLS; c++) {
        snprintf(name, sizeof name, "x%d", c);
        for (int i = 0; i < ROWS; i++) {
            x[i] = rng_u32(&g) >> 28; /* few values: writing and binning are not what is tested */
            y[i] += c == THE_COL ? x[i] >= 8 : 0;
        }
        done(frame_writer_numeric(w, name, x, ROWS, &err), &err);
    }
    done(frame_writer_numeric(w, "y", y, ROWS, &err), &err);
    done(frame_writer_end(w, hash, &err), &err);
    struct rig *r = rig_of_file(path, ML_BINARY);
    family_defaults(family_find("boost"), params);
    params[BOOST_ROW_SAMPLE] = params[BOOST_COL_SAMPLE] = 1;
    struct lane l = rig_lane(r, "boost", params, 0, 1);
    const struct boost_lane *state_of = l.state;
    assert_int_equal(state_of->forest.trees[0].nodes[0].col, THE_COL); /* found among all of them */
    assert_true(model_find("boost")->bytes(&l) < 4 << 20);
    rig_lane_close("boost", &l);
    rig_free(r);
}

static void a_class_of_two_rows_is_in_every_fold_or_none(void **state)
{
    (void)state;
    for (int classes = 2; classes <= 3; classes++) {
        enum ml_task task = classes == 2 ? ML_BINARY : ML_MULTICLASS;
        struct rig_table *t = rig_mixed(task, 300, classes, 6);
        double *y = t->cols[t->n_cols - 1].num;
        for (int i = 0; i < 300; i++)
            y[i] = i == 7 || i == 200 ? classes - 1 : i % (classes - 1);
        struct rig *r = rig_new(t, task, metric_default(task), 5);
        trains_every_way(r);
        for (int fold = 1; fold < 5; fold++) {
            double params[FAMILY_MAX_PARAMS];
            params_default(r, params);
            trains(r, params, fold, 10);
        }
        rig_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_training_row_and_one_column),
        cmocka_unit_test(columns_that_tell_nothing),
        cmocka_unit_test(nothing_but_constants_is_one_error),
        cmocka_unit_test(extreme_values_are_values),
        cmocka_unit_test(huge_and_tiny_targets_fit_alike),
        cmocka_unit_test(more_bins_than_values),
        cmocka_unit_test(ten_thousand_levels),
        cmocka_unit_test(a_hundred_thousand_columns_of_two_hundred_rows),
        cmocka_unit_test(a_class_of_two_rows_is_in_every_fold_or_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
