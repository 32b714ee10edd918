/* test_spelling.c - misspelt words stand for the common ones that are one edit away, short words and
 * numbers for themselves; scores of misspelt titles find the titles; texts that are read once and read
 * anew give equal features; bytes come back, and damaged ones are refused. */
#include "tests/unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/text/corpus.h"
#include "ml/text/score.h"

#include <math.h>
#include <string.h>

enum { TEXTS = 3000, LONGEST = 48, PARTS = 5, TITLES = 24 };

/* ---- single words ---- */

struct known {
    const char *word;
    uint32_t rows;
};

static struct spelling known_fit(const struct known *k, int n, struct lexicon *l)
{
    const char **levels = mem_array((size_t)n, sizeof *levels);
    uint32_t *rows = mem_array((size_t)n, sizeof *rows);
    struct err err = { 0 };
    struct spelling s;

    for (int i = 0; i < n; i++) {
        levels[i] = k[i].word;
        rows[i] = k[i].rows;
    }
    assert_true(lexicon_make(levels, n, l));
    assert_int_equal(l->n_words, n);
    assert_int_equal(spelling_fit(l, rows, &s, &err), 0);
    mem_free(levels);
    mem_free(rows);
    return s;
}

static uint32_t hash_of(const char *word, uint32_t sign[WORDS_MOST_SIGNS], int *n)
{
    uint32_t hash = 0;
    size_t at = 0;

    *n = words_word(0, word, strlen(word), &at, sign, &hash);
    return hash;
}

static void assert_stands_for(const struct spelling *s, const char *word, const char *other)
{
    uint32_t sign[WORDS_MOST_SIGNS], hash, want;
    int n = 0;

    want = hash_of(other, sign, &n);
    hash = hash_of(word, sign, &n);
    if (spelling_of(s, sign, n, hash) != want)
        fail_msg("\"%s\" does not stand for \"%s\"", word, other);
}

static const struct known nurses[] = {
    { "nurse", 1000 }, { "driver", 700 }, { "diver", 90 },    { "nurs", 60 },
    { "cook", 500 },   { "welder", 400 }, { "elder", 30 },    { "wide", 9 },
    { "room12", 400 }, { "gärtner", 80 }, { "садовник", 80 }, { "cooks", 100 },
};

static void words_stand_for_the_common_ones_that_are_near(void **state)
{
    static const char *const pairs[][2] = {
        /* as they are: common ones, and one that is not common enough to stand for another */
        { "nurse", "nurse" },
        { "cooks", "cooks" },
        { "wides", "wides" },
        /* a sign too many, too few, wrong, two that changed places */
        { "nursse", "nurse" },
        { "welde", "welder" },
        { "walder", "welder" },
        { "drievr", "driver" },
        { "NURZE", "nurse" },
        /* common mistakes, and what is near to them only */
        { "nurs", "nurse" },
        { "elder", "welder" },
        { "nus", "nus" },
        { "nurrs", "nurse" },
        { "eldre", "welder" },
        /* the commonest of those that are near */
        { "dirver", "driver" },
        { "divver", "driver" },
        /* too far, too short, with a digit */
        { "welters", "welters" },
        { "cok", "cok" },
        { "room13", "room13" },
        /* other alphabets */
        { "gaertner", "gaertner" },
        { "gartner", "gärtner" },
        { "САВНИК", "САВНИК" },
        { "САДОВНК", "садовник" },
    };
    struct lexicon l;
    struct spelling s = known_fit(nurses, ARRAY_LEN(nurses), &l);

    (void)state;
    assert_int_equal(s.n, 10);
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
        assert_stands_for(&s, pairs[i][0], pairs[i][1]);
    spelling_fini(&s);
    lexicon_fini(&l);
}

/* A word that was saved is read back as the same signs. */
static void a_folded_sign_folds_to_itself(void **state)
{
    (void)state;
    for (uint32_t c = 1; c < 0xD800; c++)
        assert_int_equal(words_fold(words_fold(c)), words_fold(c));
}

static void bytes_come_back_and_damaged_ones_are_refused(void **state)
{
    struct lexicon l;
    struct spelling s = known_fit(nurses, ARRAY_LEN(nurses), &l), back;
    struct err err = { 0 };
    struct buf out;
    struct rng r;

    (void)state;
    buf_init(&out, 1 << 16);
    assert_int_equal(spelling_save(&s, &out, &err), 0);
    struct view in = { .data = (const uint8_t *)out.data, .len = out.len };
    assert_int_equal(spelling_load(&in, &back, &err), 0);
    assert_int_equal(in.pos, out.len);
    assert_stands_for(&back, "nurrs", "nurse");
    assert_stands_for(&back, "САДОВНК", "садовник");
    spelling_fini(&back);
    for (size_t cut = 0; cut < out.len; cut++) {
        in = (struct view){ .data = (const uint8_t *)out.data, .len = cut };
        assert_int_equal(spelling_load(&in, &back, &err), -1);
    }
    rng_init(&r, test_seed(), 1);
    for (int k = 0; k < 2000; k++) {
        size_t at = rng_below(&r, (uint32_t)out.len);
        uint8_t was = ((uint8_t *)out.data)[at];
        ((uint8_t *)out.data)[at] = (uint8_t)rng_below(&r, 256);
        in = (struct view){ .data = (const uint8_t *)out.data, .len = out.len };
        if (spelling_load(&in, &back, &err) == 0) {
            uint32_t sign[WORDS_MOST_SIGNS];
            int n = 0;
            uint32_t hash = hash_of("nurrs", sign, &n);
            (void)spelling_of(&back, sign, n, hash);
            spelling_fini(&back);
        }
        ((uint8_t *)out.data)[at] = was;
    }
    buf_fini(&out);
    spelling_fini(&s);
    lexicon_fini(&l);
}

/* ---- titles ---- */

struct table {
    char text[TEXTS][LONGEST];
    const char *levels[TEXTS];
    int32_t code[TEXTS];
    uint8_t part[TEXTS], use[TEXTS];
    double y[TEXTS], truth[TEXTS];
    struct bag_text all[TEXTS];
    struct score_rows rows;
};

/* Titles of two words with an effect for each title; about one edit in each text. */
static struct table *table_new(uint64_t seed)
{
    static const char *const first[] = { "senior", "junior", "assistant", "night" };
    static const char *const last[] = { "nurse",   "driver", "engineer",
                                        "teacher", "welder", "gardener" };
    struct table *t = mem_zalloc(sizeof *t);
    double effect[TITLES];
    struct rng r;

    rng_init(&r, seed, 0);
    for (int k = 0; k < TITLES; k++)
        effect[k] = rng_normal(&r);
    for (int i = 0; i < TEXTS; i++) {
        int title = (int)rng_below(&r, TITLES);
        char *text = t->text[i];
        snprintf(text, LONGEST, "%s %s", first[title % 4], last[title / 4]);
        for (int edits = (int)rng_below(&r, 3); edits > 0; edits--) {
            size_t n = strlen(text), at = rng_below(&r, (uint32_t)n);
            bool is_out = rng_below(&r, 2) == 0;
            memmove(text + at + !is_out, text + at + is_out, n - at + !is_out);
        }
        t->levels[i] = text;
        t->code[i] = i;
        t->part[i] = (uint8_t)rng_below(&r, PARTS);
        t->use[i] = i < TEXTS * 4 / 5;
        t->truth[i] = effect[title];
        t->y[i] = effect[title] + rng_normal(&r);
        t->all[i] = (struct bag_text){ i, 1 };
    }
    t->rows = (struct score_rows){
        { t->levels, TEXTS, NULL }, TEXTS, t->code, t->use, t->part, PARTS, t->y, NULL, 0
    };
    return t;
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

static void scores_find_titles_in_any_spelling(void **state)
{
    struct table *t = table_new(test_seed());
    float *out = mem_array(TEXTS, sizeof *out);
    struct err err = { 0 };
    struct score s;

    (void)state;
    assert_int_equal(score_fit("", &t->rows, 1 << 24, &s, &err), 1);
    assert_true(s.bag.rule.spelling && s.bag.rule.pairs && !s.bag.rule.letters);
    assert_int_equal(score_texts(&s, t->levels, TEXTS, out, &err), 0);
    /* words as they are spelt reach about .8 */
    assert_true(correlation(t->truth, out, TEXTS * 4 / 5, TEXTS) > 0.93);
    score_fini(&s);
    mem_free(out);
    mem_free(t);
}

static void texts_read_once_and_read_anew_have_equal_features(void **state)
{
    struct table *t = table_new(test_seed() + 1);
    const struct words_rule rule = { .pairs = true, .spelling = true };
    const struct texts anew = { t->levels, TEXTS, NULL };
    struct texts again = anew;
    struct corpus x, y, z;
    struct err err = { 0 };
    struct bag a, b, plain;
    struct lexicon l;

    (void)state;
    assert_true(lexicon_make(t->levels, TEXTS, &l));
    again.read = &l;
    assert_int_equal(bag_fit(&rule, &anew, t->all, TEXTS, BAG_MOST_KEPT, &a, &err), 0);
    assert_int_equal(bag_fit(&rule, &again, t->all, TEXTS, BAG_MOST_KEPT, &b, &err), 0);
    assert_int_equal(a.n_kept, b.n_kept);
    assert_memory_equal(a.bucket, b.bucket, (size_t)a.n_kept * sizeof *a.bucket);
    assert_int_equal(corpus_make(&a, &anew, NULL, 1, &x, &err), 0);
    assert_int_equal(corpus_make(&b, &again, NULL, 1, &y, &err), 0);
    assert_int_equal(x.entries, y.entries);
    assert_memory_equal(x.x.col, y.x.col, (size_t)x.entries * sizeof *x.x.col);
    assert_memory_equal(x.x.value, y.x.value, (size_t)x.entries * sizeof *x.x.value);
    /* as they are spelt there are several times as many */
    const struct words_rule spelt = { .pairs = true };
    assert_int_equal(bag_fit(&spelt, &again, t->all, TEXTS, BAG_MOST_KEPT, &plain, &err), 0);
    assert_true(plain.n_kept > 3 * a.n_kept);
    assert_int_equal(corpus_make(&plain, &again, NULL, 1, &z, &err), 0);
    assert_true(z.entries < x.entries);
    corpus_fini(&x);
    corpus_fini(&y);
    corpus_fini(&z);
    bag_fini(&a);
    bag_fini(&b);
    bag_fini(&plain);
    lexicon_fini(&l);
    mem_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_stand_for_the_common_ones_that_are_near),
        cmocka_unit_test(a_folded_sign_folds_to_itself),
        cmocka_unit_test(bytes_come_back_and_damaged_ones_are_refused),
        cmocka_unit_test(scores_find_titles_in_any_spelling),
        cmocka_unit_test(texts_read_once_and_read_anew_have_equal_features),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
