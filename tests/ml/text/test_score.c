/* test_score.c - scores of texts: they find the words that matter, tell nothing where there is
 * nothing to tell, never see a row's own target, have equal bits on every instruction set, and
 * survive a file; damaged bytes are refused. Also topics and the decomposition below them. */
#include "tests/unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/cpu/simd.h"
#include "ml/text/score.h"
#include "ml/text/svd.h"
#include "ml/text/topics.h"

#include <math.h>
#include <string.h>

enum { ROWS = 3000, VOCABULARY = 200, TEXT = 200, PARTS = 5 };

struct table {
    char text[ROWS][TEXT];
    const char *levels[ROWS];
    int32_t code[ROWS];
    uint8_t part[ROWS], use[ROWS];
    double y[ROWS], truth[ROWS];
    struct score_rows rows;
};

/* Texts of 5 to 14 random words "w<number>"; the first 20 words add or take 1. noise: spread around
 * that. */
static struct table *table_new(double noise, const char *sep, uint64_t seed)
{
    struct table *t = mem_zalloc(sizeof *t);
    struct rng r;

    rng_init(&r, seed, 0);
    for (int i = 0; i < ROWS; i++) {
        int n = 5 + (int)rng_below(&r, 10), at = 0;
        for (int k = 0; k < n; k++) {
            int w = (int)rng_below(&r, VOCABULARY);
            at += snprintf(t->text[i] + at, (size_t)(TEXT - at), "%sw%d", k > 0 ? sep : "", w);
            t->truth[i] += w < 20 ? (w % 2 ? 1 : -1) : 0;
        }
        t->levels[i] = t->text[i];
        t->code[i] = i;
        t->part[i] = (uint8_t)rng_below(&r, PARTS);
        t->use[i] = i < ROWS * 4 / 5;
        t->y[i] = t->truth[i] + noise * rng_normal(&r);
    }
    t->rows = (struct score_rows){
        { t->levels, ROWS, NULL }, ROWS, t->code, t->use, t->part, PARTS, t->y, NULL, 0
    };
    return t;
}

static struct score fitted(const char *sep, const struct score_rows *rows)
{
    struct err err = { 0 };
    struct score s;

    if (score_fit(sep, rows, 1 << 26, &s, &err) != 1)
        fail_msg("no score: %s", err.text);
    return s;
}

/* The scores of the rows, whose text is their own: [outputs][ROWS]. */
static void score_rows_of(const struct score *s, const struct table *t, float *out)
{
    int fits = PARTS + 1, stride = s->n_outputs * fits;
    float *all = mem_array((size_t)ROWS * (size_t)stride, sizeof *all);
    struct err err = { 0 };

    if (score_fold(s, &t->rows, all, &err) < 0)
        fail_msg("%s", err.text);
    for (int i = 0; i < ROWS; i++) {
        for (int o = 0; o < s->n_outputs; o++)
            out[o * ROWS + i] = all[i * stride + o * fits + (t->use[i] ? 1 + t->part[i] : 0)];
    }
    mem_free(all);
}

static double correlation(const double *a, const float *b, int from, int to)
{
    double n = to - from, sa = 0, sb = 0, aa = 0, bb = 0, ab = 0;

    for (int i = from; i < to; i++) {
        sa += a[i];
        sb += (double)b[i];
    }
    for (int i = from; i < to; i++) {
        double x = a[i] - sa / n, y = (double)b[i] - sb / n;
        aa += x * x;
        bb += y * y;
        ab += x * y;
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

static void scores_find_the_words_that_matter(void **state)
{
    static const char *const seps[] = { "", "|" };

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct table *t = table_new(0.5, k ? "|" : " ", 5);
        struct score s = fitted(seps[k], &t->rows);
        float *out = mem_array(ROWS, sizeof *out), *all = mem_array(ROWS, sizeof *all);
        struct err err = { 0 };
        score_rows_of(&s, t, out);
        assert_int_equal(score_texts(&s, t->levels, ROWS, all, &err), 0);
        assert_true(correlation(t->truth, out, 0, ROWS * 4 / 5) > 0.9);
        assert_true(correlation(t->truth, out, ROWS * 4 / 5, ROWS) > 0.9);
        /* rows that were not used are scored by all used ones in both ways */
        for (int i = ROWS * 4 / 5; i < ROWS; i++)
            assert_float_equal(out[i], all[i], 1e-5);
        /* a new text of known words, and one without any */
        const char *words[] = { k ? "w1|w3|w5" : "w1 w3 w5", k ? "w0|w2|w4" : "w0 w2 w4", "" };
        float x[3];
        assert_int_equal(score_texts(&s, words, 3, x, &err), 0);
        assert_true(x[0] > x[2] && x[2] > x[1]);
        mem_free(out);
        mem_free(all);
        score_fini(&s);
        mem_free(t);
    }
}

static void a_row_is_scored_by_fits_that_have_not_seen_its_target(void **state)
{
    struct table *t = table_new(0.5, " ", 6);
    struct score s = fitted("", &t->rows);
    float *before = mem_array(ROWS, sizeof *before), *after = mem_array(ROWS, sizeof *after);

    (void)state;
    score_rows_of(&s, t, before);
    for (int i = 0; i < ROWS; i++)
        t->y[i] += t->part[i] == 2 || !t->use[i] ? 50 : 0;
    score_rows_of(&s, t, after);
    int moved = 0;
    for (int i = 0; i < ROWS; i++) {
        if (t->use[i] && t->part[i] == 2)
            assert_memory_equal(&before[i], &after[i], sizeof *before);
        else
            moved += before[i] != after[i];
    }
    assert_true(moved > ROWS / 2);
    mem_free(before);
    mem_free(after);
    score_fini(&s);
    mem_free(t);
}

static void shuffled_targets_are_scored_at_chance(void **state)
{
    struct table *t = table_new(0, " ", 7);
    float *out = mem_array(ROWS, sizeof *out);
    struct err err = { 0 };
    struct score s;
    struct rng r;

    (void)state;
    rng_init(&r, 8, 0);
    for (int i = 0; i < ROWS; i++)
        t->y[i] = rng_below(&r, 2);
    int rc = score_fit("", &t->rows, 0, &s, &err);
    assert_true(rc >= 0);
    if (rc == 1) {
        assert_true(s.gain < 0.01);
        score_rows_of(&s, t, out);
        assert_true(fabs(correlation(t->y, out, 0, ROWS * 4 / 5)) < 0.06);
        assert_true(fabs(correlation(t->y, out, ROWS * 4 / 5, ROWS)) < 0.12);
        score_fini(&s);
    }
    mem_free(out);
    mem_free(t);
}

static void classes_have_a_score_each(void **state)
{
    struct table *t = table_new(0.1, " ", 9);
    (void)state;
    for (int i = 0; i < ROWS; i++)
        t->y[i] = t->y[i] < -0.8 ? 0 : t->y[i] > 0.8 ? 2 : 1;
    t->rows.n_classes = 3;
    struct score s = fitted("", &t->rows);
    assert_int_equal(s.n_outputs, 3);
    float *out = mem_array((size_t)ROWS * 3, sizeof *out);
    score_rows_of(&s, t, out);
    for (int o = 0; o < 3; o++) {
        double c = correlation(t->truth, out + (int64_t)o * ROWS, 0, ROWS);
        assert_true(s.which[o] != 0 || c < -0.5);
        assert_true(s.which[o] != 2 || c > 0.5);
    }
    mem_free(out);
    score_fini(&s);
    mem_free(t);
}

static void every_instruction_set_and_cache_gives_equal_bits(void **state)
{
    struct table *t = table_new(1, " ", 10);
    float *first = mem_array(ROWS, sizeof *first), *out = mem_array(ROWS, sizeof *out);
    struct err err = { 0 };

    (void)state;
    for (int k = 0; k <= (int)simd_best() + 1; k++) {
        struct score s;
        simd_force((enum simd_level)MIN(k, (int)simd_best()));
        /* the last round keeps no cache */
        assert_int_equal(score_fit("", &t->rows, k > (int)simd_best() ? 0 : 1 << 26, &s, &err), 1);
        score_rows_of(&s, t, k == 0 ? first : out);
        if (k > 0)
            assert_memory_equal(first, out, ROWS * sizeof *out);
        score_fini(&s);
    }
    simd_force(simd_best());
    mem_free(first);
    mem_free(out);
    mem_free(t);
}

static void a_score_survives_a_file_and_damage_is_refused(void **state)
{
    struct table *t = table_new(1, " ", 11);
    struct score s = fitted("", &t->rows), back;
    float *a = mem_array(ROWS, sizeof *a), *b = mem_array(ROWS, sizeof *b);
    struct err err = { 0 };
    struct buf bytes, again;

    (void)state;
    buf_init(&bytes, 1 << 24);
    buf_init(&again, 1 << 24);
    assert_int_equal(score_save(&s, &bytes, &err), 0);
    struct view in = { (const uint8_t *)bytes.data, bytes.len, 0 };
    assert_int_equal(score_load(&in, &back, &err), 0);
    assert_int_equal(in.pos, bytes.len);
    assert_int_equal(score_save(&back, &again, &err), 0);
    assert_int_equal(again.len, bytes.len);
    assert_memory_equal(again.data, bytes.data, bytes.len);
    assert_int_equal(score_texts(&s, t->levels, ROWS, a, &err), 0);
    assert_int_equal(score_texts(&back, t->levels, ROWS, b, &err), 0);
    assert_memory_equal(a, b, ROWS * sizeof *a);
    score_fini(&back);
    for (size_t n = 0; n < bytes.len; n += 1 + n / 50) {
        in = (struct view){ (const uint8_t *)bytes.data, n, 0 };
        assert_int_equal(score_load(&in, &back, &err), -1);
    }
    struct rng r;
    rng_init(&r, test_seed(), 12);
    for (int k = 0; k < 500; k++) {
        size_t at = rng_below(&r, (uint32_t)(k < 250 ? 64 : bytes.len));
        char kept = bytes.data[at];
        bytes.data[at] = (char)rng_u32(&r);
        in = (struct view){ (const uint8_t *)bytes.data, bytes.len, 0 };
        if (score_load(&in, &back, &err) == 0) {
            float some[3 * SCORE_MOST_OUTPUTS];
            assert_int_equal(score_texts(&back, t->levels, 3, some, &err), 0);
            score_fini(&back);
        }
        bytes.data[at] = kept;
    }
    buf_fini(&bytes);
    buf_fini(&again);
    mem_free(a);
    mem_free(b);
    score_fini(&s);
    mem_free(t);
}

/* ---- topics ---- */

static void eigenvectors_of_a_known_matrix(void **state)
{
    double a[9] = { 2, 1, 0, 1, 2, 0, 0, 0, 5 }, value[3], vector[9];

    (void)state;
    svd_eigen(a, 3, value, vector);
    assert_float_equal(value[0], 5, 1e-12);
    assert_float_equal(value[1], 3, 1e-12);
    assert_float_equal(value[2], 1, 1e-12);
    assert_float_equal(fabs(vector[1]), sqrt(0.5), 1e-12);
}

static void topics_tell_two_vocabularies_apart(void **state)
{
    static char text[400][64];
    const char *levels[400];
    const struct texts texts = { levels, 400, NULL };
    int64_t rows[400];
    struct topics t, back;
    struct err err = { 0 };
    struct rng r;

    (void)state;
    rng_init(&r, 13, 0);
    for (int i = 0; i < 400; i++) {
        int at = 0;
        for (int k = 0; k < 8; k++)
            at += snprintf(text[i] + at, sizeof text[i] - (size_t)at, "%c%u ", i % 2 ? 'a' : 'b',
                           rng_below(&r, 30));
        levels[i] = text[i];
        rows[i] = 1;
    }
    assert_int_equal(topics_fit(&texts, rows, 4, &t, &err), 1);
    int16_t *out = mem_array(400 * 4, sizeof *out), *again = mem_array(400 * 4, sizeof *again);
    assert_int_equal(topics_texts(&t, &texts, out, &err), 0);
    /* the first two directions are the two vocabularies, or their sum and difference */
    int right = 0;
    for (int i = 2; i < 400; i++) {
        const int16_t *x = out + i * t.dims;
        const int16_t *p = out + (i % 2) * t.dims, *q = out + (1 - i % 2) * t.dims;
        int near = abs(x[0] - p[0]) + abs(x[1] - p[1]), far = abs(x[0] - q[0]) + abs(x[1] - q[1]);
        right += near < far;
    }
    assert_int_equal(right, 398);
    struct buf bytes;
    buf_init(&bytes, 1 << 20);
    assert_int_equal(topics_save(&t, &bytes, &err), 0);
    struct view in = { (const uint8_t *)bytes.data, bytes.len, 0 };
    assert_int_equal(topics_load(&in, &back, &err), 0);
    assert_int_equal(topics_texts(&back, &texts, again, &err), 0);
    assert_memory_equal(out, again, 400 * (size_t)t.dims * sizeof *out);
    topics_fini(&back);
    for (size_t n = 0; n < bytes.len; n += 1 + n / 50) {
        in = (struct view){ (const uint8_t *)bytes.data, n, 0 };
        assert_int_equal(topics_load(&in, &back, &err), -1);
    }
    buf_fini(&bytes);
    topics_fini(&t);
    mem_free(out);
    mem_free(again);
}

static void texts_without_words_have_neither_topics_nor_a_score(void **state)
{
    const char *levels[] = { "", "...", "!!", "-" };
    const int32_t code[] = { 0, 1, 2, 3, 0, 1 };
    const uint8_t part[] = { 0, 1, 0, 1, 0, 1 };
    const double y[] = { 0, 1, 0, 1, 0, 1 };
    const int64_t rows[] = { 2, 2, 1, 1 };
    const struct score_rows in = { { levels, 4, NULL }, 6, code, NULL, part, 2, y, NULL, 0 };
    struct err err = { 0 };
    struct topics t;
    struct score s;

    (void)state;
    assert_int_equal(topics_fit(&in.texts, rows, 8, &t, &err), 0);
    assert_int_equal(score_fit("", &in, 0, &s, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_find_the_words_that_matter),
        cmocka_unit_test(a_row_is_scored_by_fits_that_have_not_seen_its_target),
        cmocka_unit_test(shuffled_targets_are_scored_at_chance),
        cmocka_unit_test(classes_have_a_score_each),
        cmocka_unit_test(every_instruction_set_and_cache_gives_equal_bits),
        cmocka_unit_test(a_score_survives_a_file_and_damage_is_refused),
        cmocka_unit_test(eigenvectors_of_a_known_matrix),
        cmocka_unit_test(topics_tell_two_vocabularies_apart),
        cmocka_unit_test(texts_without_words_have_neither_topics_nor_a_score),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
