/* test_steps_figures.c - columns of texts that hold numbers: they become inputs where the order of
 * the values matters, and not where they are names; what a table has that the training rows had not
 * is read as well; bytes come back, and damaged ones are refused. */
#include "tests/ml/csv_rig.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/prep/prep.h"

#include <math.h>
#include <string.h>

enum { ROWS = 2000, NAMES = 60 };

struct kind {
    const char *name;
    /* Writes a cell, and returns what it adds to the target. */
    double (*put)(struct buf *out, struct rng *rng);
    /* the inputs that shall be there, parted by ";" */
    const char *inputs;
};

static double pressure(struct buf *out, struct rng *rng)
{
    int a = 90 + (int)rng_below(rng, 90), b = 50 + (int)rng_below(rng, 60);

    assert_int_equal(buf_addf(out, NULL, "%d/%d", a, b), 0);
    return (a + b - 215) / 15.0;
}

static double money(struct buf *out, struct rng *rng)
{
    static const char *const signs[] = { "$", "\xe2\x82\xac", "\xc2\xa3" };
    double v = rng_unit(rng) * 1000;
    int k = (int)rng_below(rng, 3);

    assert_int_equal(buf_addf(out, NULL, "%s%.2f", signs[k], v), 0);
    return v / 300 * (k + 1);
}

static double box(struct buf *out, struct rng *rng)
{
    int a = 1 + (int)rng_below(rng, 50), b = 1 + (int)rng_below(rng, 50),
        c = 1 + (int)rng_below(rng, 50);

    assert_int_equal(buf_addf(out, NULL, "%dx%dx%d", a, b, c), 0);
    return log(a * b * c);
}

static double stay(struct buf *out, struct rng *rng)
{
    int month = 1 + (int)rng_below(rng, 11), day = 1 + (int)rng_below(rng, 28),
        last = 1 + (int)rng_below(rng, 28);

    assert_int_equal(
        buf_addf(out, NULL, "2024-%02d-%02d/2024-%02d-%02d", month, day, month + 1, last), 0);
    return (last - day) / 5.0;
}

/* Each name has an effect; their order says nothing. */
static double name(struct buf *out, struct rng *rng)
{
    int k = (int)rng_below(rng, NAMES);

    assert_int_equal(buf_addf(out, NULL, "shop %d", k), 0);
    return 2 * sin(k * 12.9898 * (k + 1));
}

static double serial(struct buf *out, struct rng *rng)
{
    assert_int_equal(buf_addf(out, NULL, "S-%07d", (int)rng_below(rng, 9999999)), 0);
    return 0;
}

static const struct kind kinds[] = {
    { "two numbers, and their sum", pressure, "number 1;number 2;sum of its numbers;" },
    { "three currencies", money, "number 1;written " },
    { "three numbers, and their product", box,
      "number 1;number 2;number 3;product of its numbers;" },
    { "two days, and what lies between them", stay, "number 1;number 2;number 2 - number 1;" },
    { "names with numbers", name, "" },
    { "serial numbers", serial, "" },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct made {
    struct frame *f;
    struct prep *p;
    double y[ROWS];
    uint8_t part[ROWS];
};

/* classes 3: the target is in thirds. */
static struct made *made_new(const struct kind *kind, int classes)
{
    static const char *const labels[] = { "a", "b", "c" };
    struct made *m = mem_zalloc(sizeof *m);
    struct err err = { 0 };
    struct rng rng;
    struct buf b;

    rng_init(&rng, 12, 0);
    buf_init(&b, 1 << 20);
    assert_int_equal(buf_adds(&b, "cell,x\n", NULL), 0);
    for (int i = 0; i < ROWS; i++) {
        m->y[i] = kind->put(&b, &rng) + rng_normal(&rng) / 2;
        if (classes)
            m->y[i] = m->y[i] < -1 ? 0 : m->y[i] < 1 ? 1 : 2;
        m->part[i] = (uint8_t)rng_below(&rng, PREP_PARTS);
        assert_int_equal(buf_addf(&b, NULL, ",%.4f\n", rng_normal(&rng)), 0);
    }
    m->f = csv_frame(b.data, NULL);
    buf_fini(&b);
    const struct prep_target t = {
        .y = m->y, .part = m->part, .n_classes = classes, .classes = labels
    };
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
    mem_free(m);
}

/* The names of the step's inputs without the column, each with ";". */
static void inputs_of(const struct prep *p, char *out, size_t size)
{
    size_t at = 0;

    out[0] = '\0';
    for (int i = 0; i < prep_inputs(p); i++) {
        const char *step = prep_input_step(p, i);
        if (step && strcmp(step, "figures") == 0)
            at += (size_t)snprintf(out + at, size - at, "%s;",
                                   prep_input_name(p, i) + strlen("cell: "));
    }
}

static void numbers_become_inputs_where_their_order_matters(void **state)
{
    char got[500];

    (void)state;
    for (int k = 0; k < KINDS; k++) {
        struct made *m = made_new(&kinds[k], 0);
        inputs_of(m->p, got, sizeof got);
        size_t n = strlen(kinds[k].inputs);
        if (n ? strncmp(got, kinds[k].inputs, n) != 0 : got[0] != '\0')
            fail_msg("%s: inputs \"%s\", not \"%s\"", kinds[k].name, got, kinds[k].inputs);
        made_free(m);
    }
}

static void classes_are_evidence_as_well(void **state)
{
    struct made *m = made_new(&kinds[0], 3);
    char got[500];

    (void)state;
    inputs_of(m->p, got, sizeof got);
    assert_string_equal(got, "number 1;number 2;sum of its numbers;");
    made_free(m);
    m = made_new(&kinds[5], 3);
    inputs_of(m->p, got, sizeof got);
    assert_string_equal(got, "");
    made_free(m);
}

/* The dense value of an input of the step in each row; cells: a table with that column. */
static void values_of(const struct prep *p, const char *cells, const char *input, float *out, int n)
{
    struct frame *f = csv_frame(cells, NULL);
    struct err err = { 0 };
    struct prep_view *v = prep_view_new(p, f, &err);
    struct prep_dense d;
    int found = -1, at = 0;

    assert_non_null(v);
    assert_int_equal(prep_dense_make(v, 0, n, &d, &err), 0);
    for (int i = 0; i < prep_inputs(p); i++)
        found = strstr(prep_input_name(p, i), input) ? i : found;
    assert_true(found >= 0);
    prep_dense_of(p, found, &at);
    for (int i = 0; i < n; i++)
        out[i] = d.x[(size_t)i * (size_t)d.stride + (size_t)at];
    prep_dense_fini(&d);
    prep_view_free(v);
    frame_close(f);
}

static void new_texts_are_read_and_others_are_missing(void **state)
{
    static const char cells[] = "cell,x\n130/80,0\n160/80,0\n190/80,0\n7/8/9,0\nhigh,0\n,0\n";
    struct made *m = made_new(&kinds[0], 0);
    float x[6];

    (void)state;
    values_of(m->p, cells, "number 1", x, 6);
    assert_true(x[0] < x[1] && x[1] < x[2]);
    assert_true(fabsf((x[2] - x[1]) - (x[1] - x[0])) < 1e-5F);
    /* what has no such numbers is imputed, all in the same way */
    assert_true(x[3] == x[4] && x[4] == x[5]);
    made_free(m);
}

static struct prep *loaded(const struct buf *b, struct err *err)
{
    struct view in = { (const uint8_t *)b->data, b->len, 0 };

    return prep_load(&in, err);
}

static void bytes_come_back_and_damage_is_refused(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct made *m = made_new(&kinds[k], 0);
        struct err err = { 0 };
        struct buf one, two;
        buf_init(&one, 1 << 20);
        buf_init(&two, 1 << 20);
        assert_int_equal(prep_save(m->p, &one, &err), 0);
        struct prep *again = loaded(&one, &err);
        assert_non_null(again);
        assert_int_equal(prep_save(again, &two, &err), 0);
        assert_int_equal(one.len, two.len);
        assert_memory_equal(one.data, two.data, one.len);
        prep_free(again);
        /* no byte of it leads beyond the bounds, whatever it says */
        for (size_t at = 0; at < one.len; at += at < 600 ? 1 : 97) {
            char was = one.data[at];
            one.data[at] = (char)(was ^ 0x55);
            prep_free(loaded(&one, &err));
            one.data[at] = was;
        }
        for (size_t n = 0; n < one.len; n += 97) {
            struct view in = { (const uint8_t *)one.data, n, 0 };
            assert_null(prep_load(&in, &err));
        }
        buf_fini(&one);
        buf_fini(&two);
        made_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_become_inputs_where_their_order_matters),
        cmocka_unit_test(classes_are_evidence_as_well),
        cmocka_unit_test(new_texts_are_read_and_others_are_missing),
        cmocka_unit_test(bytes_come_back_and_damage_is_refused),
    };
    return cmocka_run_group_tests_name("steps_figures", tests, NULL, NULL);
}
