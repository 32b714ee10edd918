/* test_figures.c - which numbers a text holds, and what stands around them. */
#include "tests/unit.h"

#include "base/utf8.h"
#include "ml/text/figures.h"

#include <stdio.h>
#include <string.h>

/* The numbers and the words of a text as "120 80 | #/#". */
static const char *told(const char *text)
{
    static char out[400];
    struct figures f;
    size_t at = 0;

    figures_read(text, &f);
    for (int i = 0; i < f.n; i++)
        at += (size_t)snprintf(out + at, sizeof out - at, "%.15g ", f.value[i]);
    snprintf(out + at, sizeof out - at, "%s| %s", f.is_quantity ? "quantity " : "", f.words);
    return out;
}

static void numbers_are_read_as_they_are_written(void **state)
{
    static const char *const texts[][2] = {
        { "120/80", "120 80 | #/#" },
        { "10x20x30 cm", "10 20 30 | #x#x#cm" },
        { "48.1, -11.5", "48.1 -11.5 quantity | #,#" },
        { "POINT (-0.5 51.25)", "-0.5 51.25 quantity | POINT(##)" },
        { "\xe2\x82\xac"
          "1,234.50",
          "1234.5 quantity | \xe2\x82\xac#" },
        { "$1,234,567", "1234567 | $#" },
        { "1,2", "1 2 | #,#" },
        { "1234,567", "1234 567 | #,#" }, /* no thousands behind four digits */
        { "1,2345", "1 2345 | #,#" },
        { "25-34", "25 34 | #-#" },
        { "25 - 34", "25 34 | #-#" },
        { "-5 to -3", "-5 -3 | #to#" },
        { "A-7", "7 | A-#" },
        { "3.12.7", "3 12 7 | #.#.#" },
        { "10.0.0.1", "10 0 0 1 | #.#.#.#" },
        { ".5 \xc2\xb1 .25", "0.5 0.25 quantity | #\xc2\xb1#" },
        { "1.2e3", "1200 quantity | #" },
        { "5e-1", "0.5 | #" },
        { "12E5", "12 5 | #E#" },
        { "1.5 euro", "1.5 quantity | #euro" },
        { "1970-01-02/1970-01-11", "1 10 quantity | #/#" },
        { "2024-02-30", "2024 2 30 | #-#-#" },
        { "2024-13-01x", "2024 13 1 | #-#-#x" },
        { "43\xc2\xb0"
          "28'23.6\"N",
          "43 28 23.6 quantity | #\xc2\xb0#'#\"N" },
        { "none", "| none" },
        { "", "| " },
        { "1 2 3 4 5", "| " },
        { "7.", "7 | #." },
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(told(texts[i][0]), texts[i][1]) != 0)
            fail_msg("\"%s\": %s, not %s", texts[i][0], told(texts[i][0]), texts[i][1]);
    }
}

static void long_texts_stay_in_bounds(void **state)
{
    char text[FIGURES_BYTES + 2];
    struct figures f;

    (void)state;
    memset(text, '9', sizeof text);
    text[FIGURES_BYTES] = '\0';
    figures_read(text, &f);
    assert_int_equal(f.n, 1);
    assert_true(f.value[0] > 1e159 && f.value[0] < 1e161);
    text[FIGURES_BYTES] = '9';
    text[FIGURES_BYTES + 1] = '\0';
    figures_read(text, &f);
    assert_int_equal(f.n, 0);
    /* the last letter of the words may be cut in two; it is then left out */
    for (size_t from = 0; from < 3; from++) {
        memset(text, 'x', from);
        for (size_t i = 0; from + 3 * i + 4 < sizeof text; i++)
            memcpy(text + from + 3 * i, "\xe2\x82\xac", 4);
        figures_read(text, &f);
        assert_true(strlen(f.words) >= FIGURES_WORDS - 4 && strlen(f.words) < FIGURES_WORDS);
        assert_true(utf8_ok(f.words, strlen(f.words)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_as_they_are_written),
        cmocka_unit_test(long_texts_stay_in_bounds),
    };
    return cmocka_run_group_tests_name("figures", tests, NULL, NULL);
}
