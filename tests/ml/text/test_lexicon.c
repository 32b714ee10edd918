/* test_lexicon.c - texts that are read once give the features, bags and scores of texts that are read
 * anew, bit for bit: words of several alphabets, long words, broken UTF-8, empty texts, many texts. */
#include "tests/unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/text/corpus.h"
#include "ml/text/score.h"

#include <string.h>

enum { TEXTS = 900, LONGEST = 600, PARTS = 5 };

struct made {
    char text[TEXTS][LONGEST + 8];
    const char *levels[TEXTS];
    int64_t rows[TEXTS];
    struct bag_text all[TEXTS];
};

/* Words of a vocabulary with signs of one to four bytes, of which some are broken, and a few random
 * bytes. */
static void text_draw(struct rng *r, char *out)
{
    static const char *const pieces[] = {
        "red",  "Red",      "blue",     "grün", "GRÜN",
        "Ёлка", "ёлка",     "北京",     "ok",   "a",
        "it's", "x_1",      "İstanbul", "ß",    "\xF0\x9F\x98\x80",
        "\xC3", "\xE5\x8C", "2026-11",  "naïve"
    };
    int n = (int)rng_below(r, 40), at = 0;

    for (int k = 0; k < n && at < LONGEST - 90; k++) {
        const char *piece = pieces[rng_below(r, ARRAY_LEN(pieces))];
        at += snprintf(out + at, (size_t)(LONGEST - at), "%s%s", piece,
                       rng_below(r, 4)   ? " "
                       : rng_below(r, 2) ? ""
                                         : ", ");
        /* words that are longer than the signs that n-grams are taken from */
        for (int i = 0; i < 70 && rng_below(r, 60) == 0; i++)
            out[at++] = (char)('a' + i % 7);
        if (rng_below(r, 9) == 0)
            out[at++] = (char)(1 + rng_below(r, 255));
    }
    out[at] = '\0';
}

static struct made *made_new(uint64_t seed)
{
    struct made *m = mem_zalloc(sizeof *m);
    struct rng r;

    rng_init(&r, seed, 0);
    for (int t = 0; t < TEXTS; t++) {
        text_draw(&r, m->text[t]);
        m->levels[t] = m->text[t];
        m->rows[t] = rng_below(&r, 4);
        m->all[t] = (struct bag_text){ t, 1 + rng_below(&r, 3) };
    }
    return m;
}

/* Every word, pair and n-gram in the order of words_read. */
static void a_lexicon_has_the_features_of_each_text(void **state)
{
    const struct words_rule rule = { .letters = true };
    struct made *m = made_new(test_seed());
    struct words want = { 0 };
    struct lexicon l;

    (void)state;
    assert_true(lexicon_make(m->levels, TEXTS, &l));
    assert_true(lexicon_grams(&l));
    assert_true(l.n_words > 20 && l.n_words < l.n);
    for (int t = 0; t < TEXTS; t++) {
        int n = 0;
        words_read(&rule, NULL, m->text[t], strlen(m->text[t]), &want);
        assert_int_equal(want.n_words, l.start[t + 1] - l.start[t]);
        for (int64_t at = l.start[t]; at < l.start[t + 1]; at++)
            assert_int_equal(words_single(l.hash[l.word[at]]), want.hash[n++]);
        for (int64_t at = l.start[t]; at < l.start[t + 1]; at++) {
            uint32_t w = l.word[at];
            for (uint32_t g = l.gram_at[w]; g < l.gram_at[w + 1]; g++)
                assert_int_equal(l.gram_hash[l.gram[g]], want.hash[n++]);
        }
        assert_int_equal(n, want.n);
    }
    words_fini(&want);
    lexicon_fini(&l);
    mem_free(m);
}

static void assert_same_bags(const struct words_rule *rule, const struct made *m,
                             struct lexicon *lexicon)
{
    const struct texts anew = { m->levels, TEXTS, NULL }, again = { m->levels, TEXTS, lexicon };
    struct err err = { 0 };
    struct corpus x, y;
    struct bag a, b;

    /* few are kept, so that the bound on rows counts */
    assert_int_equal(bag_fit(rule, &anew, m->all, TEXTS, 64, &a, &err), 0);
    assert_int_equal(bag_fit(rule, &again, m->all, TEXTS, 64, &b, &err), 0);
    assert_true(a.n_kept > 10);
    assert_int_equal(a.n_kept, b.n_kept);
    assert_int_equal(a.n_words, b.n_words);
    assert_memory_equal(a.bucket, b.bucket, (size_t)a.n_kept * sizeof *a.bucket);
    assert_memory_equal(a.idf, b.idf, (size_t)a.n_kept * sizeof *a.idf);
    assert_int_equal(corpus_make(&a, &anew, m->rows, 2, &x, &err), 0);
    assert_int_equal(corpus_make(&b, &again, m->rows, 2, &y, &err), 0);
    assert_int_equal(x.entries, y.entries);
    assert_true(x.entries > 100);
    assert_memory_equal(x.x.col, y.x.col, (size_t)x.entries * sizeof *x.x.col);
    assert_memory_equal(x.x.value, y.x.value, (size_t)x.entries * sizeof *x.x.value);
    assert_memory_equal(x.x.start, y.x.start, (size_t)(x.x.rows + 1) * sizeof *x.x.start);
    corpus_fini(&x);
    corpus_fini(&y);
    bag_fini(&a);
    bag_fini(&b);
}

static void bags_of_texts_read_once_are_those_of_texts_read_anew(void **state)
{
    struct made *m = made_new(test_seed() + 1);
    struct lexicon l;

    (void)state;
    assert_true(lexicon_make(m->levels, TEXTS, &l));
    for (int k = 0; k < 16; k++) {
        const struct words_rule rule = {
            .pairs = k & 1, .letters = k & 2, .presence = k & 4, .spelling = k & 8
        };
        assert_same_bags(&rule, m, &l);
    }
    lexicon_fini(&l);
    mem_free(m);
}

static void put_score(const struct score_rows *rows, struct buf *out)
{
    struct err err = { 0 };
    struct score s;
    int rc = score_fit("", rows, 1 << 26, &s, &err);

    if (rc != 1)
        fail_msg("no score (%d): %s", rc, err.text);
    assert_int_equal(score_save(&s, out, &err), 0);
    /* the scores that come with the fit are those that a fold of the same rows is given */
    size_t n = (size_t)rows->texts.n_levels * (size_t)(s.n_outputs * (PARTS + 1));
    float *fold = mem_array(n, sizeof *fold);
    assert_int_equal(score_fold(&s, rows, fold, &err), 0);
    assert_non_null(s.first);
    assert_memory_equal(s.first, fold, n * sizeof *fold);
    mem_free(fold);
    score_fini(&s);
}

static void scores_of_texts_read_once_have_equal_bytes(void **state)
{
    struct made *m = made_new(test_seed() + 2);
    static int32_t code[TEXTS];
    static uint8_t part[TEXTS];
    static double y[TEXTS];
    struct buf a, b;
    struct lexicon l;
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 3);
    for (int t = 0; t < TEXTS; t++) {
        code[t] = t;
        part[t] = (uint8_t)rng_below(&r, PARTS);
        y[t] = (strstr(m->text[t], "red") != NULL) + 0.3 * rng_normal(&r);
    }
    struct score_rows rows = { .texts = { m->levels, TEXTS, NULL },
                               .rows = TEXTS,
                               .code = code,
                               .part = part,
                               .parts = PARTS,
                               .y = y };
    buf_init(&a, 1 << 24);
    buf_init(&b, 1 << 24);
    put_score(&rows, &a);
    assert_true(lexicon_make(m->levels, TEXTS, &l));
    rows.texts.read = &l;
    put_score(&rows, &b);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    buf_fini(&a);
    buf_fini(&b);
    lexicon_fini(&l);
    mem_free(m);
}

static void too_many_bytes_are_not_kept(void **state)
{
    const size_t size = WORDS_MOST_BYTES;
    char *text = mem_alloc(size + 1);
    const char **levels = mem_array(1100, sizeof *levels);
    struct lexicon l;

    (void)state;
    memset(text, 'a', size);
    text[size] = '\0';
    for (int t = 0; t < 1100; t++)
        levels[t] = text;
    assert_true(lexicon_make(levels, 1000, &l));
    assert_int_equal(l.n_words, 1);
    lexicon_fini(&l);
    assert_false(lexicon_make(levels, 1100, &l));
    mem_free(levels);
    mem_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lexicon_has_the_features_of_each_text),
        cmocka_unit_test(bags_of_texts_read_once_are_those_of_texts_read_anew),
        cmocka_unit_test(scores_of_texts_read_once_have_equal_bytes),
        cmocka_unit_test(too_many_bytes_are_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
