/* test_steps_rotate.c - directions of many columns: those that matter are found and those
 * of noise or of single columns are not, values are sums as they should be, and bytes come back. */
#include "tests/ml/prep_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/prep/prep.h"
#include "ml/table/frame.h"

#include <math.h>
#include <unistd.h>

enum { ROWS = 5000, COLS = 5 };

static const double spreads[COLS] = { 4, 2.5, 1.5, 1, 0.5 };

struct made {
    double z[COLS][ROWS], x[COLS][ROWS], axis[COLS][COLS], y[ROWS];
    uint8_t part[ROWS];
    struct frame *f;
    struct prep *p;
    char path[300];
};

/* z: independent, of different spreads; x: z turned by an orthogonal matrix (Gram and Schmidt). */
static void turn(struct made *m, struct rng *rng)
{
    for (int i = 0; i < COLS; i++) {
        double square = 0;
        for (int k = 0; k < COLS; k++)
            m->axis[i][k] = rng_normal(rng);
        for (int j = 0; j < i; j++) {
            double dot = 0;
            for (int k = 0; k < COLS; k++)
                dot += m->axis[i][k] * m->axis[j][k];
            for (int k = 0; k < COLS; k++)
                m->axis[i][k] -= dot * m->axis[j][k];
        }
        for (int k = 0; k < COLS; k++)
            square += m->axis[i][k] * m->axis[i][k];
        for (int k = 0; k < COLS; k++)
            m->axis[i][k] /= sqrt(square);
    }
    for (int r = 0; r < ROWS; r++) {
        for (int k = 0; k < COLS; k++) {
            m->x[k][r] = 0;
            for (int i = 0; i < COLS; i++)
                m->x[k][r] += m->axis[i][k] * m->z[i][r];
        }
    }
}

/* unit: the first column is written in units this much smaller. */
static struct made *made_new(double (*target)(const struct made *, int, double), double unit,
                             int n_classes)
{
    struct made *m = mem_zalloc(sizeof *m);
    struct err err = { 0 };
    struct rng rng;
    char hash[SHA256_HEX];

    rng_init(&rng, 23, 0);
    for (int r = 0; r < ROWS; r++) {
        for (int k = 0; k < COLS; k++)
            m->z[k][r] = spreads[k] * rng_normal(&rng);
        m->part[r] = (uint8_t)rng_below(&rng, PREP_PARTS);
    }
    turn(m, &rng);
    for (int r = 0; r < ROWS; r++) {
        m->y[r] = target(m, r, rng_normal(&rng));
        m->x[0][r] *= unit;
    }
    for (int r = 0; r < ROWS; r += 50)
        m->x[1][r] = (double)NAN;
    struct frame_writer *w =
        frame_writer_new(test_path(m->path, sizeof m->path, "rotate.frame"), &err);
    assert_non_null(w);
    for (int k = 0; k < COLS; k++) {
        char name[8];
        snprintf(name, sizeof name, "x%d", k);
        assert_int_equal(frame_writer_numeric(w, name, m->x[k], ROWS, &err), 0);
    }
    assert_int_equal(frame_writer_end(w, hash, &err), 0);
    m->f = frame_open(m->path, &err);
    assert_non_null(m->f);
    const struct prep_target t = { .y = m->y, .part = m->part, .n_classes = n_classes };
    const struct prep_spec spec = { .frame = m->f, .target = &t };
    m->p = prep_fit(&spec, &err);
    if (!m->p)
        fail_msg("%s", err.text);
    return m;
}

static void made_free(struct made *m)
{
    prep_free(m->p);
    frame_close(m->f);
    unlink(m->path);
    mem_free(m);
}

/* The first input that is a direction; *n: how many there are. */
static int first_direction(const struct prep *p, int *n)
{
    int first = -1;

    *n = 0;
    for (int i = 0; i < prep_inputs(p); i++) {
        const char *step = prep_input_step(p, i);
        if (!step || strcmp(step, "rotate") != 0)
            continue;
        first = first < 0 ? i : first;
        ++*n;
    }
    return first;
}

static double noise(const struct made *m, int r, double e)
{
    (void)m;
    (void)r;
    return e;
}

static double alone(const struct made *m, int r, double e)
{
    return sin(m->x[0][r]) + m->x[2][r] * m->x[2][r] / 8 + 0.3 * e;
}

static double linear(const struct made *m, int r, double e)
{
    return m->z[0][r] + m->z[1][r] + 0.5 * e;
}

static double bands(const struct made *m, int r, double e)
{
    return sin(m->z[0][r]) + (m->z[1][r] > 0) + 0.2 * e;
}

static double two_bands(const struct made *m, int r, double e)
{
    return bands(m, r, e) > 0.5;
}

/* What two directions say is a seventh of what there is. */
static double faint_bands(const struct made *m, int r, double e)
{
    return sin(m->z[0][r]) + (m->z[1][r] > 0) + 2 * e;
}

static void nothing_is_turned_for_noise_or_for_single_columns(void **state)
{
    static double (*const targets[])(const struct made *, int, double) = { noise, alone, linear };
    int n;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        struct made *m = made_new(targets[i], 1, 0);
        first_direction(m->p, &n);
        /* what a sum of the columns' own effects says is no reason */
        assert_int_equal(n, 0);
        made_free(m);
    }
}

/* The found directions are the axes that the target depends on, whatever the sign. */
static void bands_along_directions_are_found(void **state)
{
    static const struct {
        double (*target)(const struct made *, int, double);
        int n_classes;
    } cases[] = { { bands, 0 }, { two_bands, 2 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct made *m = made_new(cases[i].target, 1, cases[i].n_classes);
        double *want = m->z[0], dot = 0, a = 0, b = 0;
        int n, column[PREP_SOURCES], at = first_direction(m->p, &n);
        assert_in_range(n, 1, COLS);
        assert_string_equal(prep_input_name(m->p, at), "x0 and 4 more: direction 1");
        assert_int_equal(prep_input_columns(m->p, at, column), COLS);
        struct err err = { 0 };
        struct prep_view *v = prep_view_new(m->p, m->f, &err);
        struct prep_dense d;
        assert_non_null(v);
        assert_int_equal(prep_dense_make(v, 0, ROWS, &d, &err), 0);
        int c = 0;
        assert_int_equal(prep_dense_of(m->p, at, &c), 1);
        for (int r = 0; r < ROWS; r++) {
            double x = d.x[r * d.stride + c];
            if (r % 50 == 0)
                continue;
            dot += x * want[r], a += x * x, b += want[r] * want[r];
        }
        assert_true(fabs(dot) > 0.97 * sqrt(a * b));
        prep_dense_fini(&d);
        prep_view_free(v);
        made_free(m);
    }
}

/* Columns in very different units: the axes are those in units of spreads, and something is found still. */
static void units_do_not_hide_directions(void **state)
{
    struct made *m = made_new(bands, 1e6, 0);
    int n;

    (void)state;
    first_direction(m->p, &n);
    assert_true(n >= 1);
    made_free(m);
}

static void bytes_come_back_and_damaged_ones_do_no_harm(void **state)
{
    struct made *m = made_new(bands, 1, 0);

    (void)state;
    prep_bytes_check(m->p, 31);
    made_free(m);
}

static void directions_are_found_under_much_noise(void **state)
{
    struct made *m = made_new(faint_bands, 1, 0);
    int n;

    (void)state;
    assert_true(first_direction(m->p, &n) >= 0);
    made_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_turned_for_noise_or_for_single_columns),
        cmocka_unit_test(directions_are_found_under_much_noise),
        cmocka_unit_test(bands_along_directions_are_found),
        cmocka_unit_test(units_do_not_hide_directions),
        cmocka_unit_test(bytes_come_back_and_damaged_ones_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
