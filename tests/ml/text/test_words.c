/* test_words.c - what is a word, how it is folded, and that features depend on nothing but the
 * text. Also length and shape of texts, and the items of lists. */
#include "tests/unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "ml/text/items.h"
#include "ml/text/shape.h"
#include "ml/text/words.h"

#include <string.h>

static struct words read_words(const struct words_rule *rule, const char *text)
{
    struct words w = { 0 };

    words_read(rule, NULL, text, strlen(text), &w);
    return w;
}

static void assert_same(const struct words_rule *rule, const char *a, const char *b, bool same)
{
    struct words x = read_words(rule, a), y = read_words(rule, b);
    bool is = x.n == y.n && memcmp(x.hash, y.hash, (size_t)x.n * sizeof *x.hash) == 0;

    if (is != same)
        fail_msg("\"%s\" and \"%s\" should %s", a, b, same ? "be equal" : "differ");
    words_fini(&x);
    words_fini(&y);
}

static void words_are_folded_and_cut_at_what_is_no_letter(void **state)
{
    const struct words_rule rule = { .pairs = true };

    (void)state;
    assert_same(&rule, "The QUICK, brown fox!", "the quick brown  fox", true);
    assert_same(&rule, "ÄRGER Ünal ŠKODA", "ärger ünal škoda", true);
    assert_same(&rule, "ΑΘΗΝΑΣ Ώρα", "αθηνασ ώρα", true);
    assert_same(&rule, "λόγος", "ΛΌΓΟΣ", true);
    assert_same(&rule, "МОСКВА Ёлка Ґрунт", "москва ёлка ґрунт", true);
    assert_same(&rule, "İstanbul", "istanbul", true);
    assert_same(&rule, "one two", "two one", false);
    assert_same(&rule, "a b", "ab", false);
    assert_same(&rule, "“quoted”—dash", "quoted dash", true);
    /* each sign of Chinese is a word */
    struct words w = read_words(&rule, "北京 ok");
    assert_int_equal(w.n_words, 5); /* 3 words and 2 pairs */
    words_fini(&w);
    w = read_words(&rule, "");
    assert_int_equal(w.n, 0);
    words_fini(&w);
    /* and so is each emoji, whatever its colour, and however they are put together */
    assert_same(&rule, "ok \xf0\x9f\x98\x80\xf0\x9f\x91\x8d",
                "ok \xf0\x9f\x98\x80 \xf0\x9f\x91\x8d", true);
    assert_same(&rule, "\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd", "\xf0\x9f\x91\x8d", true);
    assert_same(&rule, "\xe2\x9d\xa4\xef\xb8\x8f", "\xe2\x9d\xa4", true);
    w = read_words(&rule, "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xe2\x98\xb9");
    assert_int_equal(w.n_words, 5); /* 3 words and 2 pairs */
    words_fini(&w);
}

static void letters_and_seed_make_other_features(void **state)
{
    struct words_rule rule = { .letters = true };
    struct words w = read_words(&rule, "cat");

    (void)state;
    /* the word; " ca" " cat" " cat " "cat" "cat " "at " */
    assert_int_equal(w.n_words, 1);
    assert_int_equal(w.n, 7);
    rule.seed = 9;
    struct words v = read_words(&rule, "cat");
    assert_int_not_equal(v.hash[0], w.hash[0]);
    words_fini(&w);
    words_fini(&v);
}

static void broken_utf8_and_huge_texts_take_bounded_work(void **state)
{
    const struct words_rule rule = { .pairs = true, .letters = true };
    const size_t size = 1 << 20;
    char *huge = mem_alloc(size + 1);

    (void)state;
    for (size_t i = 0; i < size; i++)
        huge[i] = (char)(i % 7 == 0 ? ' ' : (int)('a' + i % 23));
    huge[size] = '\0';
    struct words w = read_words(&rule, huge);
    assert_true(w.n > 0 && w.n < WORDS_MOST_BYTES * 6);
    words_fini(&w);
    memset(huge, 'x', size); /* one word */
    w = read_words(&rule, huge);
    assert_int_equal(w.n_words, 1);
    assert_true(w.n < 400);
    words_fini(&w);
    memset(huge, 0xE4, size); /* no character at all */
    w = read_words(&rule, huge);
    words_fini(&w);
    float shape[SHAPE_PARTS];
    shape_of(huge, size, shape);
    mem_free(huge);
}

static void shape_counts_signs_words_and_shares(void **state)
{
    const char *text = "Größe 42, OK!";
    float x[SHAPE_PARTS];

    (void)state;
    shape_of(text, strlen(text), x);
    assert_float_equal(x[SHAPE_CHARS], 13, 0);
    assert_float_equal(x[SHAPE_WORDS], 3, 0);
    assert_float_equal(x[SHAPE_LENGTH], 3, 0);
    assert_float_equal(x[SHAPE_DIGITS], 2.0 / 13, 1e-6);
    assert_float_equal(x[SHAPE_UPPER], 3.0 / 13, 1e-6);
    assert_float_equal(x[SHAPE_MARKS], 2.0 / 13, 1e-6);
    assert_float_equal(x[SHAPE_DIGIT_COUNT], 2, 0);
    assert_float_equal(x[SHAPE_MARK_COUNT], 2, 0);
    shape_of("", 0, x);
    for (int i = 0; i < SHAPE_PARTS; i++) {
        assert_float_equal(x[i], 0, 0);
        assert_true(strlen(shape_name((enum shape_part)i)) > 0);
    }
}

static void lists_count_frequent_items_and_the_others(void **state)
{
    const char *levels[] = { "red|blue", "red", "blue | red|red", "green|rare", "" };
    const int64_t rows[] = { 10, 20, 5, 6, 3 };
    uint8_t x[ITEMS_MOST + 2];
    struct items s, back;
    struct err err = { 0 };
    struct buf bytes;

    (void)state;
    assert_int_equal(items_fit("|", levels, 5, rows, &s, &err), 0);
    assert_int_equal(s.n, 4);
    assert_string_equal(s.name[0], "red");
    assert_string_equal(s.name[1], "blue");
    assert_int_equal(items_parts(&s), 6);
    items_of(&s, "red| red |new||blue", x);
    assert_int_equal(x[0], 4);
    assert_int_equal(x[1], 2);
    assert_int_equal(x[2], 1);
    assert_int_equal(x[5], 1);
    items_of(&s, "['red', \"blue\"]|{green}", x);
    assert_int_equal(x[0], 2);
    buf_init(&bytes, 1 << 20);
    assert_int_equal(items_save(&s, &bytes, &err), 0);
    struct view in = { (const uint8_t *)bytes.data, bytes.len, 0 };
    assert_int_equal(items_load(&in, &back, &err), 0);
    assert_int_equal(back.n, 4);
    assert_string_equal(back.name[3], s.name[3]);
    items_fini(&back);
    for (size_t n = 0; n < bytes.len; n++) {
        in = (struct view){ (const uint8_t *)bytes.data, n, 0 };
        assert_int_equal(items_load(&in, &back, &err), -1);
    }
    buf_fini(&bytes);
    items_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_folded_and_cut_at_what_is_no_letter),
        cmocka_unit_test(letters_and_seed_make_other_features),
        cmocka_unit_test(broken_utf8_and_huge_texts_take_bounded_work),
        cmocka_unit_test(shape_counts_signs_words_and_shares),
        cmocka_unit_test(lists_count_frequent_items_and_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
