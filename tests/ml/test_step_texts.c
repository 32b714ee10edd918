/* test_step_texts.c - texts and lists as inputs of models: which inputs they give, that no value
 * knows its own target or that of a row that the fold holds out, and that files and other tables do
 * what step.h says. What words say is tested in tests/ml/text/. */
#include "tests/unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/prep/prep.h"
#include "ml/prep/step_column.h"

#include <math.h>
#include <string.h>

enum { ROWS = 2000, NAME = 120 };

struct rig {
    struct frame *f;
    double y[ROWS];
    uint8_t part[ROWS], train[ROWS];
    struct prep_target target;
    struct prep *p;
};

static void frame_path(char out[256])
{
    test_path(out, 256, "texts.frame");
}

/* A text of its own in each row, but for every 40th, which is missing, and a list in each. Words w0
 * to w9 and the items i0 to i3 add to the target. */
static void rig_frame(struct rig *r)
{
    char(*text)[NAME] = mem_array(ROWS, NAME), (*list)[NAME] = mem_array(ROWS, NAME), path[256];
    const char **levels = mem_array(ROWS, sizeof *levels), **lists = mem_array(ROWS, sizeof *lists);
    int32_t *code = mem_array(ROWS, sizeof *code), *list_code = mem_array(ROWS, sizeof *code);
    int n = 0;
    char hash[SHA256_HEX];
    struct err err = { 0 };
    struct rng g;

    rng_init(&g, 17, 0);
    for (int i = 0; i < ROWS; i++) {
        int at = snprintf(text[i], NAME, "Row%d", i), at_list = snprintf(list[i], NAME, "u%d", i);
        r->y[i] = 0.3 * rng_normal(&g);
        for (int k = 0; k < 8; k++) {
            int w = (int)rng_below(&g, 60);
            at += snprintf(text[i] + at, (size_t)(NAME - at), " w%d", w);
            r->y[i] += i % 40 && w < 10 ? (w % 2 ? 1 : -1) : 0;
        }
        for (int k = 0; k < 3; k++) {
            int w = (int)rng_below(&g, 20);
            at_list += snprintf(list[i] + at_list, (size_t)(NAME - at_list), ";i%d", w);
            r->y[i] += w < 4 ? 1 : 0;
        }
        code[i] = i % 40 ? n : -1;
        if (i % 40)
            levels[n++] = text[i];
        lists[i] = list[i];
        list_code[i] = i;
        r->part[i] = (uint8_t)rng_below(&g, PREP_PARTS);
        r->train[i] = i % 4 != 0;
    }
    frame_path(path);
    struct frame_writer *w = frame_writer_new(path, &err);
    frame_writer_kind(w, FRAME_TEXT, NULL);
    assert_int_equal(frame_writer_categorical(w, "note", code, ROWS, levels, n, &err), 0);
    frame_writer_kind(w, FRAME_LIST, "{\"sep\":\";\"}");
    assert_int_equal(frame_writer_categorical(w, "tags", list_code, ROWS, lists, ROWS, &err), 0);
    assert_int_equal(frame_writer_end(w, hash, &err), 0);
    r->f = frame_open(path, &err);
    assert_non_null(r->f);
    mem_free(text);
    mem_free(list);
    mem_free(levels);
    mem_free(lists);
    mem_free(code);
    mem_free(list_code);
}

static void rig_init(struct rig *r, int n_classes)
{
    static const char *const classes[] = { "low", "mid", "high" };
    struct err err = { 0 };

    rig_frame(r);
    for (int i = 0; i < ROWS && n_classes; i++)
        r->y[i] = r->y[i] < 0 ? 0 : r->y[i] < 1 ? 1 : 2;
    r->target = (struct prep_target){
        .y = r->y, .n_classes = n_classes, .classes = classes, .part = r->part
    };
    const struct prep_spec spec = { .frame = r->f, .target = &r->target };
    r->p = prep_fit(&spec, &err);
    if (!r->p)
        fail_msg("%s", err.text);
}

static void rig_fini(struct rig *r)
{
    prep_free(r->p);
    frame_close(r->f);
}

static struct prep_dense dense_of(struct prep_view *v, int64_t rows)
{
    struct prep_dense d;
    struct err err = { 0 };

    if (!v || prep_dense_make(v, 0, rows, &d, &err) < 0)
        fail_msg("%s", err.text);
    prep_view_free(v);
    return d;
}

static struct prep_dense fold_rows(struct rig *r, const uint8_t *train)
{
    return dense_of(prep_view_fold(r->p, r->f, &r->target, train, NULL), ROWS);
}

static int input_of(const struct rig *r, const char *name)
{
    for (int i = 0; i < prep_inputs(r->p); i++) {
        if (strcmp(prep_input_name(r->p, i), name) == 0)
            return i;
    }
    fail_msg("there is no input \"%s\"", name);
    return -1;
}

static double correlation(const struct rig *r, const struct prep_dense *d, const char *name,
                          bool held)
{
    double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    int at = 0;

    prep_dense_of(r->p, input_of(r, name), &at);
    for (int i = 0; i < ROWS; i++) {
        double a = (double)d->x[i * d->stride + at], b = r->y[i];
        if (r->train[i] == held || i % 40 == 0)
            continue;
        n += 1;
        x += a;
        y += b;
        xx += a * a;
        yy += b * b;
        xy += a * b;
    }
    return (xy - x * y / n) / sqrt((xx - x * x / n) * (yy - y * y / n));
}

static void texts_and_lists_become_inputs_that_tell_the_target(void **state)
{
    static struct rig r;
    int column[PREP_SOURCES];

    (void)state;
    rig_init(&r, 0);
    struct prep_dense d = fold_rows(&r, r.train);
    for (int held = 0; held < 2; held++) {
        assert_true(correlation(&r, &d, "note: score of words", held) > 0.6);
        assert_true(correlation(&r, &d, "tags: score of items", held) > 0.3);
    }
    (void)input_of(&r, "note: characters");
    (void)input_of(&r, "note: topic 1");
    (void)input_of(&r, "tags: has i3");
    assert_int_equal(prep_columns(r.p), 2);
    assert_int_equal(prep_input_columns(r.p, input_of(&r, "tags: has i3"), column), 1);
    assert_string_equal(prep_column_name(r.p, column[0]), "tags");
    prep_dense_fini(&d);
    rig_fini(&r);
    rig_init(&r, 3);
    (void)input_of(&r, "note: score of words for high");
    rig_fini(&r);
}

static void no_value_knows_its_own_target_or_one_that_is_held_out(void **state)
{
    static struct rig r;

    (void)state;
    rig_init(&r, 0);
    struct prep_dense before = fold_rows(&r, r.train);
    for (int i = 0; i < ROWS; i++)
        r.y[i] += r.train[i] ? 0 : 1000;
    struct prep_dense after = fold_rows(&r, r.train);
    assert_memory_equal(before.x, after.x, (size_t)(ROWS * before.stride) * sizeof(float));
    prep_dense_fini(&after);
    for (int i = 5; i < ROWS; i += 397) {
        r.y[i] += 10;
        after = fold_rows(&r, r.train);
        assert_memory_equal(before.x + i * before.stride, after.x + i * before.stride,
                            (size_t)before.cols * sizeof(float));
        prep_dense_fini(&after);
        r.y[i] -= 10;
    }
    prep_dense_fini(&before);
    rig_fini(&r);
}

static void shuffled_targets_stay_at_chance(void **state)
{
    static struct rig r;
    struct err err = { 0 };
    struct rng g;

    (void)state;
    rig_frame(&r);
    rng_init(&g, 19, 0);
    for (int i = 0; i < ROWS; i++)
        r.y[i] = rng_normal(&g);
    r.target = (struct prep_target){ .y = r.y, .part = r.part };
    const struct prep_spec spec = { .frame = r.f, .target = &r.target };
    r.p = prep_fit(&spec, &err);
    assert_non_null(r.p);
    struct prep_dense d = fold_rows(&r, r.train);
    for (int i = 0; i < prep_inputs(r.p); i++) {
        const char *name = prep_input_name(r.p, i);
        if (strstr(name, "score"))
            assert_true(fabs(correlation(&r, &d, name, true)) < 0.15 &&
                        fabs(correlation(&r, &d, name, false)) < 0.1);
    }
    prep_dense_fini(&d);
    rig_fini(&r);
}

static void a_column_in_another_order_moves_all_its_inputs(void **state)
{
    static struct rig r;
    int32_t order[ROWS];
    struct err err = { 0 };

    (void)state;
    rig_init(&r, 0);
    struct prep_view *v = prep_view_new(r.p, r.f, &err);
    struct prep_dense plain, moved;
    assert_int_equal(prep_dense_make(v, 0, ROWS, &plain, &err), 0);
    for (int i = 0; i < ROWS; i++)
        order[i] = (i + 1) % ROWS;
    for (int c = 0; c < 2; c++) {
        assert_int_equal(prep_view_shuffle(v, c, order, &err), 0);
        assert_int_equal(prep_dense_make(v, 0, ROWS, &moved, &err), 0);
        for (int k = 0; k < prep_inputs(r.p); k++) {
            int at = 0, column[PREP_SOURCES];
            prep_dense_of(r.p, k, &at);
            prep_input_columns(r.p, k, column);
            for (int i = 0; i < ROWS; i++) {
                int from = column[0] == c ? order[i] : i;
                assert_true(moved.x[i * moved.stride + at] == plain.x[from * plain.stride + at]);
            }
        }
        prep_dense_fini(&moved);
    }
    prep_dense_fini(&plain);
    prep_view_free(v);
    rig_fini(&r);
}

static void saved_steps_load_unchanged_and_damaged_bytes_do_no_harm(void **state)
{
    static struct rig r;
    struct buf a, b;
    struct err err = { 0 };

    (void)state;
    rig_init(&r, 3);
    buf_init(&a, 1 << 24);
    buf_init(&b, 1 << 24);
    assert_int_equal(prep_save(r.p, &a, &err), 0);
    struct view in = { (const uint8_t *)a.data, a.len, 0 };
    struct prep *q = prep_load(&in, &err);
    if (!q)
        fail_msg("%s", err.text);
    assert_int_equal(prep_save(q, &b, &err), 0);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    struct prep_dense x = dense_of(prep_view_new(r.p, r.f, &err), ROWS);
    struct prep_dense y = dense_of(prep_view_new(q, r.f, &err), ROWS);
    assert_memory_equal(x.x, y.x, (size_t)(ROWS * x.stride) * sizeof(float));
    prep_dense_fini(&x);
    prep_dense_fini(&y);
    prep_free(q);
    for (size_t i = 0; i < a.len; i += i < 300 ? 1 : 1 + a.len / 400) {
        a.data[i] = (char)(a.data[i] ^ 1 << i % 8);
        in = (struct view){ (const uint8_t *)a.data, a.len, 0 };
        q = prep_load(&in, NULL);
        if (q && i % 16 == 0)
            prep_view_free(prep_view_new(q, r.f, NULL));
        prep_free(q);
        a.data[i] = (char)(a.data[i] ^ 1 << i % 8);
        in = (struct view){ (const uint8_t *)a.data, i, 0 };
        assert_null(prep_load(&in, NULL));
    }
    buf_fini(&a);
    buf_fini(&b);
    rig_fini(&r);
}

static void numbers_where_texts_are_expected_have_no_value(void **state)
{
    static const double x[] = { 1, 2 };
    static struct rig r;
    char hash[SHA256_HEX], path[256];
    struct err err = { 0 };

    (void)state;
    rig_init(&r, 0);
    test_path(path, sizeof path, "numbers.frame");
    struct frame_writer *w = frame_writer_new(path, &err);
    assert_int_equal(frame_writer_numeric(w, "tags", x, 2, &err), 0);
    assert_int_equal(frame_writer_numeric(w, "note", x, 2, &err), 0);
    assert_int_equal(frame_writer_end(w, hash, &err), 0);
    struct frame *f = frame_open(path, &err);
    assert_non_null(f);
    struct prep_dense d = dense_of(prep_view_new(r.p, f, &err), 2);
    assert_memory_equal(d.x, d.x + d.stride, (size_t)d.cols * sizeof(float));
    prep_dense_fini(&d);
    frame_close(f);
    rig_fini(&r);
}

/* Titles that people write by hand are levels to the reader, but texts to the steps; names and codes
 * are not. */
static void levels_of_several_words_are_texts_where_they_seldom_repeat(void **state)
{
    static char text[600][24];
    static const char *levels[600];
    struct frame_col c = { .type = FRAME_CATEGORICAL, .levels = levels, .n_levels = 600 };

    (void)state;
    for (int i = 0; i < 600; i++) {
        snprintf(text[i], sizeof text[i], "senior job%d", i);
        levels[i] = text[i];
    }
    assert_true(step_is_wordy(&c, 2000));
    assert_false(step_is_wordy(&c, 20000));
    c.kind = FRAME_TEXT;
    assert_false(step_is_wordy(&c, 2000));
    c.kind = FRAME_PLAIN;
    for (int i = 0; i < 600; i++)
        snprintf(text[i], sizeof text[i], "job%d", i);
    assert_false(step_is_wordy(&c, 2000));
    for (int i = 0; i < 600; i++)
        snprintf(text[i], sizeof text[i], "2026-11-%d", i);
    assert_false(step_is_wordy(&c, 2000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_and_lists_become_inputs_that_tell_the_target),
        cmocka_unit_test(no_value_knows_its_own_target_or_one_that_is_held_out),
        cmocka_unit_test(shuffled_targets_stay_at_chance),
        cmocka_unit_test(a_column_in_another_order_moves_all_its_inputs),
        cmocka_unit_test(saved_steps_load_unchanged_and_damaged_bytes_do_no_harm),
        cmocka_unit_test(numbers_where_texts_are_expected_have_no_value),
        cmocka_unit_test(levels_of_several_words_are_texts_where_they_seldom_repeat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
