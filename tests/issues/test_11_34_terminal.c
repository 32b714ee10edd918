/* test_11_34_terminal.c - names and messages that others wrote reached the terminal with their control characters; the error
 * of a score had eight digits, dates no zone. */
#include "tests/unit.h"

#include "base/base.h"
#include "cli/print.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void control_characters_are_shown_escaped(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "plain", "plain" },
        { "größe ± 3 …", "größe ± 3 …" },
        { "\033]0;title\007", "\\x1b]0;title\\x07" },
        { "two\nlines\ttab\r", "two\\nlines\\ttab\\r" },
        { "\x7f", "\\x7f" },
        { "c1 \xc2\x9b 31m", "c1 \\u009b 31m" },
        { "raw \x9b 31m", "raw \\x9b 31m" },
        { "cut \xe2\x82", "cut \\xe2\\x82" },
        { "abc\xe2\x80\xae"
          "cba",
          "abc\\u202e"
          "cba" },
        { "\xe2\x81\xa6in\xe2\x81\xa9", "\\u2066in\\u2069" },
        { "", "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_string_equal(print_safe(cases[i].text), cases[i].want);
        json_t *o = json_pack("{s:o}", "name", json_string(cases[i].text));
        if (o && cases[i].text[0])
            assert_string_equal(print_text(o, "name"), cases[i].want);
        json_decref(o);
    }
}

static void several_texts_can_be_shown_at_once(void **state)
{
    (void)state;
    const char *a = print_safe("\001"), *b = print_safe("\002"), *c = print_safe("\003");
    assert_string_equal(a, "\\x01");
    assert_string_equal(b, "\\x02");
    assert_string_equal(c, "\\x03");
}

static void cells_of_a_table_are_safe(void **state)
{
    static const char *const heads[] = { "name" };
    struct table *t = table_new(heads, 1);
    char text[200] = "";
    FILE *f = tmpfile();

    (void)state;
    table_cell(t, "%s", "a\033[2Jb\nc");
    table_print(t, f);
    rewind(f);
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    assert_non_null(strstr(text, "a\\x1b[2Jb\\nc\n"));
    assert_null(strchr(text, '\033'));
}

/* A terminal of so many columns in place of stdout's; what was written there. */
static size_t on_terminal(struct table *t, int columns, char *out, size_t size)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    struct winsize w = { .ws_row = 24, .ws_col = (unsigned short)columns };

    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        skip();
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    FILE *f = fdopen(slave, "w");
    assert_non_null(f);
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &w), 0);
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
    table_print(t, f);
    fclose(f);
    /* One read may return less than was written; the end is an error, because the other side is closed. */
    size_t len = 0;
    for (ssize_t n; (n = read(master, out + len, size - 1 - len)) > 0;)
        len += (size_t)n;
    assert_true(len > 0);
    out[len] = '\0';
    close(master);
    return len;
}

static void texts_of_a_table_give_way_on_a_narrow_terminal(void **state)
{
    static const char *const heads[] = { "name", "score", "why" };
    char out[1000], *save = NULL;

    (void)state;
    for (int columns = 30; columns < 120; columns += 10) {
        struct table *t = table_new(heads, 3);
        table_cell(t, "a-study-with-quite-a-long-name");
        table_cell(t, "0.91342");
        table_cell(t, "%s", "no runner is connected that can take this größe");
        on_terminal(t, columns, out, sizeof out);
        assert_non_null(strstr(out, "0.91342")); /* numbers stay whole */
        for (char *line = strtok_r(out, "\r\n", &save); line; line = strtok_r(NULL, "\r\n", &save))
            assert_true(print_width(line) <= columns);
    }
}

static void errors_have_two_digits(void **state)
{
    static const struct {
        double value, error;
        const char *want;
    } cases[] = {
        { 12345.678, 490.01522, "12345.7 ± 490" },
        { 12345.678, 12345.6, "12345.7 ± 12000" },
        { 0.913421, 0.0046213, "0.91342 ± 0.0046" },
        { 2.5, 1.25, "2.50000 ± 1.2" },
        { 2.5, 0, "2.50000 ± 0.00000" },
        { 0.5, 0.00001234, "0.50000 ± 0.000012" },
        { 40.5, 36.94, "40.50000 ± 37" },
        { 1e9, 1.5e8, "1e+09 ± 1.5e+08" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *v = json_real(cases[i].value), *se = json_real(cases[i].error);
        char text[80];
        print_score(v, se, text, sizeof text);
        assert_string_equal(text, cases[i].want);
        json_decref(v);
        json_decref(se);
    }
}

static void dates_say_their_zone(void **state)
{
    json_t *when = json_integer(INT64_C(1777638600000));
    char text[40];

    (void)state;
    print_when(when, text, sizeof text);
    assert_string_equal(text, "2026-05-01 12:30 UTC");
    json_decref(when);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_are_shown_escaped),
        cmocka_unit_test(several_texts_can_be_shown_at_once),
        cmocka_unit_test(cells_of_a_table_are_safe),
        cmocka_unit_test(texts_of_a_table_give_way_on_a_narrow_terminal),
        cmocka_unit_test(errors_have_two_digits),
        cmocka_unit_test(dates_say_their_zone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
