/* test_steps_screen.c - which inputs are worth deriving: whole numbers that are names, and
 * combinations of two columns. Both screens must find what is there, and nothing in noise or in
 * what the columns say alone. */
#include "tests/unit.h"

#include "base/mem.h"
#include "base/rng.h"
#include "ml/prep/prep.h"
#include "ml/table/frame.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 6000 };

struct made {
    double a[ROWS], b[ROWS], code[ROWS], y[ROWS];
    uint8_t part[ROWS];
};

/* a and b: numbers from 1 to 3; code: one of 200 whole numbers. */
static struct prep *prepared(struct made *m, double (*target)(const struct made *, int, double))
{
    struct err err = { 0 };
    struct rng rng;
    char path[300], hash[SHA256_HEX];

    rng_init(&rng, 11, 0);
    for (int i = 0; i < ROWS; i++) {
        m->a[i] = 1 + 2 * rng_unit(&rng);
        m->b[i] = 1 + 2 * rng_unit(&rng);
        m->code[i] = 100 + rng_below(&rng, 200);
        m->part[i] = (uint8_t)rng_below(&rng, PREP_PARTS);
        m->y[i] = target(m, i, rng_normal(&rng));
    }
    struct frame_writer *w = frame_writer_new(test_path(path, sizeof path, "screen.frame"), &err);
    assert_non_null(w);
    assert_int_equal(frame_writer_numeric(w, "a", m->a, ROWS, &err), 0);
    assert_int_equal(frame_writer_numeric(w, "b", m->b, ROWS, &err), 0);
    assert_int_equal(frame_writer_numeric(w, "code", m->code, ROWS, &err), 0);
    assert_int_equal(frame_writer_end(w, hash, &err), 0);
    struct frame *f = frame_open(path, &err);
    assert_non_null(f);
    const struct prep_target t = { .y = m->y, .part = m->part };
    const struct prep_spec spec = { .frame = f, .target = &t };
    struct prep *p = prep_fit(&spec, &err);
    if (!p)
        fail_msg("%s", err.text);
    frame_close(f);
    unlink(path);
    return p;
}

static double noise(const struct made *m, int i, double e)
{
    (void)m;
    (void)i;
    return e;
}

static double alone(const struct made *m, int i, double e)
{
    return sin(3 * m->a[i]) + m->b[i] * m->b[i] + m->code[i] / 50 + 0.3 * e;
}

static double ratio(const struct made *m, int i, double e)
{
    return sin(6 * m->a[i] / m->b[i]) + 0.2 * e;
}

static double difference(const struct made *m, int i, double e)
{
    return fabs(m->a[i] - m->b[i]) + 0.1 * e;
}

static double names(const struct made *m, int i, double e)
{
    return sin(m->code[i] * m->code[i]) + e;
}

/* The names of the inputs that are derived, one after the other. */
static void assert_derived(double (*target)(const struct made *, int, double), const char *want)
{
    static struct made m;
    struct prep *p = prepared(&m, target);
    char got[400] = "";

    for (int i = 0; i < prep_inputs(p); i++) {
        size_t at = strlen(got);
        if (prep_input_step(p, i))
            snprintf(got + at, sizeof got - at, "%s|", prep_input_name(p, i));
    }
    assert_string_equal(got, want);
    prep_free(p);
}

static void nothing_is_derived_of_noise_or_of_columns_alone(void **state)
{
    (void)state;
    assert_derived(noise, "");
    assert_derived(alone, "");
}

static void combinations_that_matter_are_found(void **state)
{
    (void)state;
    assert_derived(ratio, "a, b: ratio|");
    assert_derived(difference, "a, b: difference|");
}

static void whole_numbers_that_are_names_are_found(void **state)
{
    (void)state;
    assert_derived(names, "code: mean of target|code: frequency|");
}

/* ---- several columns of whole numbers ---- */

enum { SHOP, ITEM, WEAK, MILES, JUNK, COLS };
static const char *const col_names[COLS] = { "shop", "item", "weak", "miles", "junk" };

/* Which of the columns have a mean of the target: names that matter as `strong` and `weak` say, a
 * quantity, and numbers that say nothing. */
static void assert_names(double strong, double weak, const char *want)
{
    static double x[COLS][ROWS], y[ROWS];
    static uint8_t part[ROWS];
    struct err err = { 0 };
    struct rng rng;
    char path[300], hash[SHA256_HEX], got[400] = "";

    rng_init(&rng, 12, 0);
    for (int i = 0; i < ROWS; i++) {
        for (int c = 0; c < COLS; c++)
            x[c][i] = 100 + rng_below(&rng, 200);
        part[i] = (uint8_t)rng_below(&rng, PREP_PARTS);
        y[i] = strong * (sin(x[SHOP][i] * x[SHOP][i]) + sin(3 * x[ITEM][i] * x[ITEM][i])) +
               weak * sin(x[WEAK][i] * x[WEAK][i]) + x[MILES][i] / 200 + rng_normal(&rng);
    }
    struct frame_writer *w = frame_writer_new(test_path(path, sizeof path, "names.frame"), &err);
    assert_non_null(w);
    for (int c = 0; c < COLS; c++)
        assert_int_equal(frame_writer_numeric(w, col_names[c], x[c], ROWS, &err), 0);
    assert_int_equal(frame_writer_end(w, hash, &err), 0);
    struct frame *f = frame_open(path, &err);
    assert_non_null(f);
    const struct prep_target t = { .y = y, .part = part };
    const struct prep_spec spec = { .frame = f, .target = &t };
    struct prep *p = prep_fit(&spec, &err);
    if (!p)
        fail_msg("%s", err.text);
    for (int i = 0; i < prep_inputs(p); i++) {
        size_t at = strlen(got);
        if (strstr(prep_input_name(p, i), ": mean of target"))
            snprintf(got + at, sizeof got - at, "%.5s|", prep_input_name(p, i));
    }
    assert_string_equal(got, want);
    prep_free(p);
    frame_close(f);
    unlink(path);
}

static void weak_names_are_found_beside_strong_ones_only(void **state)
{
    (void)state;
    assert_names(0, 0.27, "");
    assert_names(0.6, 0.27, "shop:|item:|weak:|");
    assert_names(0.6, 0, "shop:|item:|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weak_names_are_found_beside_strong_ones_only),
        cmocka_unit_test(nothing_is_derived_of_noise_or_of_columns_alone),
        cmocka_unit_test(combinations_that_matter_are_found),
        cmocka_unit_test(whole_numbers_that_are_names_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
