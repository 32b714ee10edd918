/* test_steps.c - inputs that steps derive from columns. What counts most: no value of a row knows
 * the row's own target, and no value in a view of a fold knows the target of a row that the fold is
 * not trained on. Also that unknown levels, saved bytes and damaged bytes do what step.h says. */
#include "tests/ml/csv_rig.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/prep/prep.h"

#include <math.h>
#include <time.h>

enum { ROWS = 4000, LEVELS = 200, HELD = 3 };

struct rig {
    struct frame *f;
    double y[ROWS];
    uint8_t part[ROWS], fold[ROWS], train[ROWS];
    struct prep_target target;
    struct prep *p;
};

/* A column of LEVELS levels, a number, and a target that follows the level; rows of fold 0 are held
 * out. One level in 50 rows is missing. */
static void rig_init(struct rig *r, int n_classes)
{
    struct buf text;
    struct rng rng;
    char hash[SHA256_HEX];

    rng_init(&rng, 5, 0);
    buf_init(&text, 1 << 20);
    assert_int_equal(buf_adds(&text, "c,x\n", NULL), 0);
    for (int i = 0; i < ROWS; i++) {
        int level = (int)rng_below(&rng, LEVELS);
        assert_int_equal(i % 50 == 7 ? buf_addf(&text, NULL, ",%d\n", i)
                                     : buf_addf(&text, NULL, "l%d,%d\n", level, i),
                         0);
        r->y[i] = n_classes ? (double)(level % n_classes) : sin(level) + rng_unit(&rng);
        r->part[i] = (uint8_t)rng_below(&rng, PREP_PARTS);
        r->fold[i] = (uint8_t)rng_below(&rng, 5);
        r->train[i] = r->fold[i] != 0;
    }
    static const char *const classes[] = { "a", "b", "c", "d" };
    r->f = csv_frame_n(text.data, text.len, 0, NULL, hash);
    buf_fini(&text);
    r->target = (struct prep_target){
        .y = r->y, .n_classes = n_classes, .classes = classes, .part = r->part
    };
    const struct prep_spec spec = { .frame = r->f, .target = &r->target };
    struct err err = { 0 };
    r->p = prep_fit(&spec, &err);
    if (!r->p)
        fail_msg("%s", err.text);
}

static void rig_fini(struct rig *r)
{
    prep_free(r->p);
    frame_close(r->f);
}

/* The dense rows of a view, which is freed. */
static struct prep_dense dense_of(struct prep_view *v)
{
    struct prep_dense d;
    struct err err = { 0 };

    if (!v || prep_dense_make(v, 0, ROWS, &d, &err) < 0)
        fail_msg("%s", err.text);
    prep_view_free(v);
    return d;
}

static struct prep_dense fold_rows(struct rig *r, const uint8_t *train)
{
    return dense_of(prep_view_fold(r->p, r->f, &r->target, train, NULL));
}

static bool row_differs(const struct prep_dense *a, const struct prep_dense *b, int row)
{
    return memcmp(a->x + row * a->stride, b->x + row * b->stride, (size_t)a->cols * sizeof *a->x) !=
           0;
}

static void inputs_are_named_by_column_and_step(void **state)
{
    static struct rig r;
    int column[PREP_SOURCES];

    (void)state;
    rig_init(&r, 0);
    assert_int_equal(prep_inputs(r.p), 5);
    assert_int_equal(prep_columns(r.p), 2);
    assert_string_equal(prep_input_name(r.p, 2), "c: mean of target");
    assert_string_equal(prep_input_name(r.p, 3), "c: frequency");
    assert_string_equal(prep_input_name(r.p, 4), "c: effect on target");
    assert_string_equal(prep_input_step(r.p, 2), "levels");
    assert_null(prep_input_step(r.p, 0));
    assert_int_equal(prep_input_columns(r.p, 3, column), 1);
    assert_string_equal(prep_column_name(r.p, column[0]), "c");
    assert_true(prep_is_by_fold(r.p));
    const double by_input[] = { 1, 10, 100, 1000, 10000 };
    double by_column[2];
    prep_by_column(r.p, by_input, by_column);
    assert_true(by_column[0] == 11101 && by_column[1] == 10);
    rig_fini(&r);
    rig_init(&r, 3);
    assert_int_equal(prep_inputs(r.p), 9);
    assert_non_null(strstr(prep_input_name(r.p, 2), "c: share of "));
    rig_fini(&r);
}

static void no_value_knows_its_own_target(void **state)
{
    static struct rig r;

    (void)state;
    for (int n_classes = 0; n_classes <= 3; n_classes += 3) {
        rig_init(&r, n_classes);
        struct prep_dense before = fold_rows(&r, NULL);
        for (int i = 3; i < ROWS; i += 397) {
            double was = r.y[i];
            int others = 0;
            r.y[i] = n_classes ? (was > 0 ? 0 : 1) : was + 0.5;
            struct prep_dense after = fold_rows(&r, NULL);
            assert_false(row_differs(&before, &after, i));
            for (int j = 0; j < ROWS; j++)
                others += row_differs(&before, &after, j);
            assert_true(others > 0);
            prep_dense_fini(&after);
            r.y[i] = was;
        }
        prep_dense_fini(&before);
        rig_fini(&r);
    }
}

static void a_fold_knows_no_target_that_it_holds_out(void **state)
{
    static struct rig r;

    (void)state;
    rig_init(&r, 0);
    struct prep_dense before = fold_rows(&r, r.train);
    for (int i = 0; i < ROWS; i++)
        r.y[i] += r.train[i] ? 0 : 1000.0 * i;
    struct prep_dense after = fold_rows(&r, r.train);
    assert_memory_equal(before.x, after.x, (size_t)(ROWS * before.stride) * sizeof(float));
    prep_dense_fini(&before);
    prep_dense_fini(&after);
    rig_fini(&r);
}

/* Rows that are copied from the form of another fold are those that the fold would make. */
static void forms_of_folds_may_be_copied(void **state)
{
    static struct rig r;
    struct prep_bins first, copied, made;
    struct err err = { 0 };

    (void)state;
    rig_init(&r, 2 + 1);
    struct prep_view *all = prep_view_fold(r.p, r.f, &r.target, NULL, &err),
                     *fold = prep_view_fold(r.p, r.f, &r.target, r.train, &err);
    assert_int_equal(prep_bins_make(all, 0, ROWS, &first, &err), 0);
    assert_int_equal(prep_bins_make(fold, 0, ROWS, &made, &err), 0);
    assert_int_equal(prep_bins_make_like(fold, &first, ROWS, &copied, &err), 0);
    assert_memory_equal(made.bins, copied.bins, (size_t)(ROWS * made.stride));
    assert_memory_not_equal(made.bins, first.bins, (size_t)(ROWS * made.stride));
    prep_bins_fini(&first);
    prep_bins_fini(&copied);
    prep_bins_fini(&made);
    prep_view_free(all);
    prep_view_free(fold);
    rig_fini(&r);
}

static void tables_to_predict_get_the_means_of_all_rows(void **state)
{
    static struct rig r;
    struct frame *g = csv_frame("x,c\n1,l7\n1,new\n1,\n", NULL);
    struct prep_dense d;
    struct err err = { 0 };
    int at = 0;

    (void)state;
    rig_init(&r, 0);
    struct prep_view *v = prep_view_new(r.p, g, &err);
    assert_non_null(v);
    assert_int_equal(prep_dense_make(v, 0, 3, &d, &err), 0);
    prep_dense_of(r.p, 2, &at);
    /* sin(7) = .657 lies above the mean; an unknown level and missing ones get about the mean */
    assert_true(d.x[at] > 0.5F);
    assert_true(fabsf(d.x[d.stride + at]) < 0.2F && fabsf(d.x[2 * d.stride + at]) < 0.5F);
    prep_dense_fini(&d);
    prep_view_free(v);
    frame_close(g);
    rig_fini(&r);
}

static void saved_steps_load_unchanged_and_damaged_bytes_do_no_harm(void **state)
{
    static struct rig r;
    struct buf a, b;
    struct err err = { 0 };

    (void)state;
    rig_init(&r, 3);
    buf_init(&a, 1 << 22);
    buf_init(&b, 1 << 22);
    assert_int_equal(prep_save(r.p, &a, &err), 0);
    struct view in = { (const uint8_t *)a.data, a.len, 0 };
    struct prep *q = prep_load(&in, &err);
    if (!q)
        fail_msg("%s", err.text);
    assert_int_equal(in.pos, a.len);
    assert_int_equal(prep_save(q, &b, &err), 0);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    prep_free(q);
    for (size_t i = 0; i < a.len; i += i < 600 ? 1 : 97) {
        for (int bit = 0; bit < 8; bit += 3) {
            a.data[i] = (char)(a.data[i] ^ 1 << bit);
            in = (struct view){ (const uint8_t *)a.data, a.len, 0 };
            q = prep_load(&in, NULL);
            if (q)
                prep_view_free(prep_view_new(q, r.f, NULL));
            prep_free(q);
            a.data[i] = (char)(a.data[i] ^ 1 << bit);
        }
        in = (struct view){ (const uint8_t *)a.data, i, 0 };
        assert_null(prep_load(&in, NULL));
    }
    buf_fini(&a);
    buf_fini(&b);
    rig_fini(&r);
}

/* Processor seconds of fitting a preparation on `cols` columns of ten levels, each with its means. */
static double seconds_of_columns(int cols)
{
    enum { FEW_ROWS = 100, FEW = 10 };
    struct buf text;
    struct err err = { 0 };
    char hash[SHA256_HEX];
    double y[FEW_ROWS];
    uint8_t part[FEW_ROWS];

    buf_init(&text, (size_t)cols * (FEW_ROWS * 2 + 8) + 100);
    for (int c = 0; c < cols; c++)
        assert_int_equal(buf_addf(&text, NULL, "%sc%d", c ? "," : "", c), 0);
    for (int i = 0; i < FEW_ROWS; i++) {
        for (int c = 0; c < cols; c++)
            assert_int_equal(
                buf_addf(&text, NULL, "%c%c", c ? ',' : '\n', 'a' + i / (c % 7 + 1) % FEW), 0);
        y[i] = i % 7;
        part[i] = (uint8_t)(i % PREP_PARTS);
    }
    struct frame *f = csv_frame_n(text.data, text.len, 0, NULL, hash);
    const struct prep_target target = { .y = y, .part = part };
    struct prep_spec spec = { .frame = f, .target = &target };
    assert_true(prep_choice_set(&spec.choice, "few_levels", "means"));
    clock_t from = clock();
    struct prep *p = prep_fit(&spec, &err);
    double seconds = (double)(clock() - from) / CLOCKS_PER_SEC;
    if (!p)
        fail_msg("%s", err.text);
    assert_true(prep_columns(p) == cols && prep_inputs(p) > cols);
    prep_free(p);
    frame_close(f);
    buf_fini(&text);
    return seconds;
}

static void time_grows_with_the_columns_not_with_their_square(void **state)
{
    enum { COLS = TEST_ROUNDS(4000, 500), MORE = 8 };

    (void)state;
    double few = seconds_of_columns(COLS), many = seconds_of_columns(COLS * MORE);
    if (many > few * MORE * 3)
        fail_msg("%d columns: %.2f s, %d columns: %.2f s", COLS, few, COLS * MORE, many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_are_named_by_column_and_step),
        cmocka_unit_test(no_value_knows_its_own_target),
        cmocka_unit_test(a_fold_knows_no_target_that_it_holds_out),
        cmocka_unit_test(forms_of_folds_may_be_copied),
        cmocka_unit_test(tables_to_predict_get_the_means_of_all_rows),
        cmocka_unit_test(saved_steps_load_unchanged_and_damaged_bytes_do_no_harm),
        cmocka_unit_test(time_grows_with_the_columns_not_with_their_square),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
