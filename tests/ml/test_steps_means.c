/* test_steps_means.c - steps that make means of the target: of combinations of two columns of few levels (categories, or whole
 * numbers), and of the parts of codes. Those that matter are found, those of noise (and of sums of effects) are not; no row's value knows its own target;
 * levels that are missing or new have values of their own; bytes come back. */
#include "tests/ml/csv_rig.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/prep/prep.h"

#include <math.h>

enum { ROWS = 4000, LEVELS = 12 };

/* How a row's two levels a and b are written, and the step that shall find them. */
struct kind {
    const char *step, *head;
    void (*put)(struct buf *out, int i, int a, int b, struct rng *rng);
};

static void cross_put(struct buf *out, int i, int a, int b, struct rng *rng)
{
    (void)rng;
    assert_int_equal(i % 40 ? buf_addf(out, NULL, "a%d", a) : 0, 0);
    assert_int_equal(buf_addf(out, NULL, ",b%d", b), 0);
}

static void number_put(struct buf *out, int i, int a, int b, struct rng *rng)
{
    (void)rng;
    assert_int_equal(i % 40 ? buf_addf(out, NULL, "a%d", a) : 0, 0);
    assert_int_equal(buf_addf(out, NULL, ",%d", b), 0);
}

static void numbers_put(struct buf *out, int i, int a, int b, struct rng *rng)
{
    (void)rng;
    assert_int_equal(i % 40 ? buf_addf(out, NULL, "%d", a) : 0, 0);
    assert_int_equal(buf_addf(out, NULL, ",%d", b), 0);
}

/* Nearly every code is there once. */
static void code_put(struct buf *out, int i, int a, int b, struct rng *rng)
{
    if (i % 40)
        assert_int_equal(
            buf_addf(out, NULL, "P%c-%02d-%04d", 'A' + a, b, (int)rng_below(rng, 9999)), 0);
}

static const struct kind kinds[] = { { "cross", "a,b,x\n", cross_put },
                                     { "cross_numbers", "a,b,x\n", number_put },
                                     { "cross_numbers", "a,b,x\n", numbers_put },
                                     { "parts", "code,x\n", code_put } };
enum { CROSS, NUMBER, NUMBERS, PARTS, KINDS };

struct made {
    const struct kind *kind;
    struct frame *f;
    struct prep *p;
    double y[ROWS];
    int a[ROWS], b[ROWS];
    uint8_t part[ROWS];
};

static struct made *made_of(const struct kind *kind, double (*target)(int a, int b, double e))
{
    struct made *m = mem_zalloc(sizeof *m);
    struct err err = { 0 };
    struct rng rng;
    struct buf b;

    rng_init(&rng, 8, 0);
    m->kind = kind;
    buf_init(&b, 1 << 20);
    assert_int_equal(buf_adds(&b, m->kind->head, NULL), 0);
    for (int i = 0; i < ROWS; i++) {
        m->a[i] = (int)rng_below(&rng, LEVELS);
        m->b[i] = (int)rng_below(&rng, LEVELS);
        m->part[i] = (uint8_t)rng_below(&rng, PREP_PARTS);
        m->y[i] = target(m->a[i], m->b[i], rng_normal(&rng));
        m->kind->put(&b, i, m->a[i], m->b[i], &rng);
        assert_int_equal(buf_addf(&b, NULL, ",%.4f\n", rng_normal(&rng)), 0);
    }
    m->f = csv_frame(b.data, NULL);
    buf_fini(&b);
    const struct prep_target t = { .y = m->y, .part = m->part };
    const struct prep_spec spec = { .frame = m->f, .target = &t };
    m->p = prep_fit(&spec, &err);
    if (!m->p)
        fail_msg("%s", err.text);
    return m;
}

static struct made *made_new(int kind, double (*target)(int a, int b, double e))
{
    return made_of(&kinds[kind], target);
}

static void made_free(struct made *m)
{
    prep_free(m->p);
    frame_close(m->f);
    mem_free(m);
}

/* The first input of the step; -1 = none. */
static int input_of(const struct made *m)
{
    for (int i = 0; i < prep_inputs(m->p); i++) {
        const char *step = prep_input_step(m->p, i);
        if (step && strcmp(step, m->kind->step) == 0)
            return i;
    }
    return -1;
}

static double noise(int a, int b, double e)
{
    (void)a, (void)b;
    return e;
}

static double sum(int a, int b, double e)
{
    return sin(a) * 2 + cos(b * 3) + 0.3 * e;
}

static double cells(int a, int b, double e)
{
    return 2 * sin(a * 17 + b * b * 5) + 0.5 * e;
}

/* The same behind noise. */
static double faint(int a, int b, double e)
{
    return 2 * sin(a * 17 + b * b * 5) + 4 * e;
}

/* What the combinations of a kind are found in: of numbers, where trees would not find it by themselves. */
static double (*target_of(int kind))(int, int, double)
{
    return kind == NUMBER || kind == NUMBERS ? faint : cells;
}

static void only_combinations_that_matter_are_found_of(int kind)
{
    static double (*const no[])(int, int, double) = { noise, sum };

    for (size_t i = 0; i < ARRAY_LEN(no); i++) {
        struct made *m = made_new(kind, no[i]);
        assert_int_equal(input_of(m), -1);
        made_free(m);
    }
    struct made *m = made_new(kind, target_of(kind));
    int at = input_of(m), column[PREP_SOURCES];
    assert_true(at >= 0);
    assert_string_equal(prep_input_name(m->p, at), "a, b: mean of target");
    assert_int_equal(prep_input_columns(m->p, at, column), 2);
    made_free(m);
}

static void only_combinations_that_matter_are_found(void **state)
{
    (void)state;
    for (int k = 0; k < PARTS; k++)
        only_combinations_that_matter_are_found_of(k);
}

/* Of codes: the parts that matter, and no others. */
static double first_only(int a, int b, double e)
{
    (void)b;
    return 2 * sin(a * 17) + 0.5 * e;
}

static void only_parts_of_codes_that_matter_are_found(void **state)
{
    struct made *m = made_new(PARTS, noise);

    (void)state;
    assert_int_equal(input_of(m), -1);
    made_free(m);
    m = made_new(PARTS, first_only);
    int at = input_of(m);
    assert_true(at >= 0);
    assert_string_equal(prep_input_name(m->p, at), "code: part 1: mean of target");
    /* its frequency, and no further part */
    for (int i = at + 2; i < prep_inputs(m->p); i++)
        assert_null(strstr(prep_input_name(m->p, i), "part"));
    made_free(m);
    m = made_new(PARTS, sum);
    at = input_of(m);
    assert_true(at >= 0 && input_of(m) + 4 <= prep_inputs(m->p)); /* two parts at least */
    made_free(m);
}

/* The dense values of the combination's mean; the view is freed. */
static void values_of(const struct made *m, struct prep_view *v, int64_t n, float *out)
{
    struct err err = { 0 };
    struct prep_dense d;
    int at = 0;

    assert_non_null(v);
    assert_int_equal(prep_dense_make(v, 0, n, &d, &err), 0);
    prep_dense_of(m->p, input_of(m), &at);
    for (int64_t i = 0; i < n; i++)
        out[i] = d.x[i * d.stride + at];
    prep_dense_fini(&d);
    prep_view_free(v);
}

static void no_value_knows_its_own_target_of(int kind)
{
    struct made *m = made_new(kind, target_of(kind));
    const struct prep_target t = { .y = m->y, .part = m->part };
    static float before[ROWS], after[ROWS];
    int others = 0;

    values_of(m, prep_view_fold(m->p, m->f, &t, NULL, NULL), ROWS, before);
    for (int i = 7; i < ROWS; i += 911) {
        m->y[i] += 3;
        values_of(m, prep_view_fold(m->p, m->f, &t, NULL, NULL), ROWS, after);
        assert_true(before[i] == after[i]);
        for (int k = 0; k < ROWS; k++)
            others += before[k] != after[k];
        m->y[i] -= 3;
    }
    assert_true(others > 0);
    made_free(m);
}

static void no_value_knows_its_own_target(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++)
        no_value_knows_its_own_target_of(k);
}

/* A table to predict: values follow the cells; what is missing or new is near the mean. */
static void other_tables_get_the_values_of_their_cells_of(int kind, const char *csv)
{
    struct made *m = made_new(kind, target_of(kind));
    struct frame *f = csv_frame(csv, NULL);
    struct err err = { 0 };
    float z[5];

    values_of(m, prep_view_new(m->p, f, &err), 5, z);
    assert_true((z[0] > 0) == (cells(1, 2, 0) > 0) && fabsf(z[0]) > 0.2F);
    assert_true((z[1] > 0) == (cells(0, 2, 0) > 0));
    assert_true(fabsf(z[3]) < 0.2F && z[3] == z[4]);
    frame_close(f);
    made_free(m);
}

static void other_tables_get_the_values_of_their_cells(void **state)
{
    (void)state;
    other_tables_get_the_values_of_their_cells_of(
        CROSS, "a,b,x\na1,b2,0\na0,b2,0\n,b2,0\nnew,b2,0\na1,new,0\n");
    other_tables_get_the_values_of_their_cells_of(
        NUMBER, "a,b,x\na1,2,0\na0,2,0\n,2,0\nnew,2,0\na1,2.5,0\n");
    other_tables_get_the_values_of_their_cells_of(
        NUMBERS, "a,b,x\n1,2,0\n0,2,0\n,2,0\n99,2,0\n1,-1e300,0\n");
}

/* Numbers where the table to predict has words, and words where it has numbers. */
static void tables_of_other_types_get_the_values_of_what_is_new(void **state)
{
    static const char *const csv[] = { "a,b,x\na1,b2,0\na5,b7,0\n", "a,b,x\n1,2,0\n5,7,0\n" };
    struct err err = { 0 };

    (void)state;
    for (int k = CROSS; k < PARTS; k++) {
        for (size_t c = 0; c < ARRAY_LEN(csv); c++) {
            struct made *m = made_new(k, target_of(k));
            struct frame *f = csv_frame(csv[c], NULL);
            struct prep_view *v = prep_view_new(m->p, f, &err);
            float z[2];
            if (v) {
                values_of(m, v, 2, z);
                assert_true(isfinite(z[0]) && isfinite(z[1]));
            }
            frame_close(f);
            made_free(m);
        }
    }
}

/* A column of two numbers is in no pair: a threshold of the other is as many splits as it has levels. */
static double of_two(int a, int b, double e)
{
    return (a % 2 ? b > 5 : b <= 5) + 0.5 * e;
}

static void two_put(struct buf *out, int i, int a, int b, struct rng *rng)
{
    (void)i, (void)rng;
    assert_int_equal(buf_addf(out, NULL, "%d,%d", a % 2, b), 0);
}

static void numbers_are_left_to_trees_where_these_find_the_same(void **state)
{
    const struct kind two = { "cross_numbers", "a,b,x\n", two_put };
    struct made *m = made_of(&two, of_two);

    (void)state;
    assert_int_equal(input_of(m), -1);
    made_free(m);
    /* they explain most of what the levels leave */
    m = made_new(NUMBERS, cells);
    assert_int_equal(input_of(m), -1);
    made_free(m);
}

static void new_codes_get_the_values_of_their_parts(void **state)
{
    struct made *m = made_new(PARTS, first_only);
    struct frame *f =
        csv_frame("code,x\nPB-03-77777,0\nPF-99-1,0\n,0\nPZ-01-0001,0\nhello,0\n", NULL);
    struct err err = { 0 };
    float z[5];

    (void)state;
    values_of(m, prep_view_new(m->p, f, &err), 5, z);
    assert_true((z[0] > 0) == (first_only(1, 0, 0) > 0) && fabsf(z[0]) > 0.2F);
    assert_true((z[1] > 0) == (first_only(5, 0, 0) > 0));
    assert_true(fabsf(z[3]) < 0.2F && z[3] == z[4]); /* new, and of another form */
    frame_close(f);
    made_free(m);
}

static void bytes_come_back_of(int kind)
{
    struct made *m = made_new(kind, target_of(kind));
    struct err err = { 0 };
    struct buf a, b;

    buf_init(&a, 1 << 22);
    buf_init(&b, 1 << 22);
    assert_int_equal(prep_save(m->p, &a, &err), 0);
    struct view in = { (const uint8_t *)a.data, a.len, 0 };
    struct prep *q = prep_load(&in, &err);
    if (!q)
        fail_msg("%s", err.text);
    assert_int_equal(prep_save(q, &b, &err), 0);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    prep_free(q);
    for (size_t i = 0; i < a.len; i += i < 900 ? 1 : 53) {
        a.data[i] = (char)(a.data[i] ^ 0x15);
        in = (struct view){ (const uint8_t *)a.data, a.len, 0 };
        if ((q = prep_load(&in, NULL)) != NULL)
            prep_view_free(prep_view_new(q, m->f, NULL));
        prep_free(q);
        a.data[i] = (char)(a.data[i] ^ 0x15);
    }
    buf_fini(&a);
    buf_fini(&b);
    made_free(m);
}

static void bytes_come_back_and_damaged_ones_do_no_harm(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++)
        bytes_come_back_of(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_combinations_that_matter_are_found),
        cmocka_unit_test(only_parts_of_codes_that_matter_are_found),
        cmocka_unit_test(no_value_knows_its_own_target),
        cmocka_unit_test(other_tables_get_the_values_of_their_cells),
        cmocka_unit_test(tables_of_other_types_get_the_values_of_what_is_new),
        cmocka_unit_test(numbers_are_left_to_trees_where_these_find_the_same),
        cmocka_unit_test(new_codes_get_the_values_of_their_parts),
        cmocka_unit_test(bytes_come_back_and_damaged_ones_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
