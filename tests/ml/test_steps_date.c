/* test_steps_date.c - inputs that are made of dates: the calendar against the C library's over
 * several centuries, the days between two columns, and the sines and cosines of the dense form. */
#include "tests/unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/prep/prep.h"
#include "ml/prep/prep_private.h"
#include "ml/table/frame.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 3000 };

/* Two columns of dates; in every 100th row the second one is missing. */
static struct frame *dates_frame(double *first, double *second)
{
    struct err err = { 0 };
    struct rng rng;
    char path[300], hash[SHA256_HEX];

    rng_init(&rng, 3, 0);
    for (int i = 0; i < ROWS; i++) {
        /* the years 1600 to 2400, to the second */
        first[i] = floor((rng_unit(&rng) * 800 - 370) * 365.2425 * 86400);
        second[i] = i % 100 == 9 ? (double)NAN : first[i] + floor(rng_unit(&rng) * 1e6);
    }
    test_path(path, sizeof path, "dates.frame");
    struct frame_writer *w = frame_writer_new(path, &err);
    assert_non_null(w);
    frame_writer_kind(w, FRAME_DATE, NULL);
    assert_int_equal(frame_writer_numeric(w, "from", first, ROWS, &err), 0);
    frame_writer_kind(w, FRAME_DATE, NULL);
    assert_int_equal(frame_writer_numeric(w, "to", second, ROWS, &err), 0);
    assert_int_equal(frame_writer_end(w, hash, &err), 0);
    struct frame *f = frame_open(path, &err);
    if (!f)
        fail_msg("%s", err.text);
    unlink(path);
    return f;
}

static int input_of(const struct prep *p, const char *name)
{
    for (int i = 0; i < prep_inputs(p); i++) {
        if (strcmp(prep_input_name(p, i), name) == 0)
            return i;
    }
    fail_msg("there is no input \"%s\"", name);
    return -1;
}

static double value_of(const struct prep_view *v, const char *name, int64_t row)
{
    double x = 0;

    prep_view_numbers(v, input_of(v->prep, name), row, 1, &x);
    return x;
}

static void dates_become_parts_of_the_calendar(void **state)
{
    static double first[ROWS], second[ROWS];
    struct frame *f = dates_frame(first, second);
    const struct prep_spec spec = { .frame = f };
    struct err err = { 0 };
    struct prep *p = prep_fit(&spec, &err);
    struct prep_view *v = prep_view_new(p, f, &err);

    (void)state;
    assert_non_null(v);
    assert_false(prep_is_by_fold(p));
    for (int i = 0; i < ROWS; i++) {
        time_t t = (time_t)first[i];
        struct tm tm;
        gmtime_r(&t, &tm);
        assert_int_equal((int)value_of(v, "from: year", i), tm.tm_year + 1900);
        assert_int_equal((int)value_of(v, "from: month", i), tm.tm_mon + 1);
        assert_int_equal((int)value_of(v, "from: day", i), tm.tm_mday);
        assert_int_equal((int)value_of(v, "from: day of year", i), tm.tm_yday + 1);
        assert_int_equal((int)value_of(v, "from: weekday", i), (tm.tm_wday + 6) % 7 + 1);
        assert_int_equal((int)value_of(v, "from: hour", i), tm.tm_hour);
        assert_int_equal((int)value_of(v, "from: minute", i), tm.tm_min);
        double days = value_of(v, "from, to: days between", i);
        assert_true(isnan(second[i]) ? isnan(days) : days == (second[i] - first[i]) / 86400);
        assert_true(isnan(second[i]) == isnan(value_of(v, "to: hour", i)));
    }
    prep_view_free(v);
    prep_free(p);
    frame_close(f);
}

static void parts_that_repeat_have_waves(void **state)
{
    static double first[ROWS], second[ROWS];
    struct frame *f = dates_frame(first, second);
    const struct prep_spec spec = { .frame = f };
    struct err err = { 0 };
    struct prep *p = prep_fit(&spec, &err);
    struct prep_view *v = prep_view_new(p, f, &err);
    struct prep_dense d;
    double sum = 0, square = 0;
    int at = 0;

    (void)state;
    assert_int_equal(prep_dense_of(p, input_of(p, "from: hour"), &at), 1 + 2 * PREP_WAVES);
    assert_int_equal(prep_dense_make(v, 0, ROWS, &d, &err), 0);
    for (int i = 0; i < ROWS; i++) {
        const float *x = d.x + i * d.stride + at;
        double hour = value_of(v, "from: hour", i);
        double turn = 2 * M_PI * hour / 24, sd = p->cols[input_of(p, "from: hour")].wave_sd[0];
        double mean = p->cols[input_of(p, "from: hour")].wave_mean[0];
        assert_true(fabs(((double)x[1] * sd + mean) - cos(turn)) < 1e-5);
        sum += (double)x[2];
        square += (double)(x[2] * x[2]);
    }
    assert_true(fabs(sum / ROWS) < 1e-4 && fabs(square / ROWS - 1) < 1e-3);
    prep_dense_fini(&d);
    prep_view_free(v);
    prep_free(p);
    frame_close(f);
}

static void saved_dates_load_unchanged(void **state)
{
    static double first[ROWS], second[ROWS];
    struct frame *f = dates_frame(first, second);
    const struct prep_spec spec = { .frame = f };
    struct err err = { 0 };
    struct prep *p = prep_fit(&spec, &err);
    struct prep_dense x, y;
    struct buf a;

    (void)state;
    buf_init(&a, 1 << 20);
    assert_int_equal(prep_save(p, &a, &err), 0);
    struct view in = { (const uint8_t *)a.data, a.len, 0 };
    struct prep *q = prep_load(&in, &err);
    if (!q)
        fail_msg("%s", err.text);
    struct prep_view *v = prep_view_new(p, f, &err), *w = prep_view_new(q, f, &err);
    assert_int_equal(prep_dense_make(v, 0, ROWS, &x, &err), 0);
    assert_int_equal(prep_dense_make(w, 0, ROWS, &y, &err), 0);
    assert_memory_equal(x.x, y.x, (size_t)(ROWS * x.stride) * sizeof(float));
    prep_dense_fini(&x);
    prep_dense_fini(&y);
    prep_view_free(v);
    prep_view_free(w);
    prep_free(p);
    prep_free(q);
    buf_fini(&a);
    frame_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_become_parts_of_the_calendar),
        cmocka_unit_test(parts_that_repeat_have_waves),
        cmocka_unit_test(saved_dates_load_unchanged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
