/* test_err.c - errors are cut safely, keep the first cause, and name the field. */
#include "tests/unit.h"

#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"

#include <errno.h>

static void set_fills_code_and_text_and_returns_minus_one(void **state)
{
    struct err err = { 0 };

    (void)state;
    assert_int_equal(err_set(&err, ERR_BUSY, "queue %d", 7), -1);
    assert_int_equal(err.code, ERR_BUSY);
    assert_string_equal(err.text, "queue 7");
    assert_string_equal(err.where, "");
}

static void null_err_is_legal_everywhere(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, ERR_IO, "x"), -1);
    assert_int_equal(err_at(NULL, "a", "x"), -1);
    assert_int_equal(err_wrap(NULL, "x"), -1);
    assert_int_equal(err_errno(NULL, "x"), -1);
    err_clear(NULL);
}

static void wrap_puts_context_in_front_and_keeps_code_and_where(void **state)
{
    struct err err = { 0 };

    (void)state;
    err_at(&err, "budget.time", "must be positive");
    err_wrap(&err, "spec %s", "a.yaml");
    assert_string_equal(err.text, "spec a.yaml: budget.time: must be positive");
    assert_string_equal(err.where, "budget.time");
    assert_int_equal(err.code, ERR_ARG);
}

static void wrapping_a_long_text_keeps_the_first_cause(void **state)
{
    struct err err = { 0 };
    char big[600];

    (void)state;
    memset(big, 'c', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    err_set(&err, ERR_IO, "disk full");
    for (int i = 0; i < 5; i++)
        err_wrap(&err, "%s", big);
    assert_true(strlen(err.text) < sizeof err.text);
    assert_int_equal(err.code, ERR_IO);
    err_set(&err, ERR_IO, "disk full");
    err_wrap(&err, "%s", big);
    assert_non_null(strstr(err.text, ": disk full"));
}

static void a_cut_text_stays_valid_utf8(void **state)
{
    struct err err = { 0 };
    char text[900] = "";

    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        size_t n = shift;

        memset(text, 'x', shift);
        while (n + 4 < sizeof text)
            n += str_copy(text + n, sizeof text - n, "\xf0\x9f\x98\x80");
        err_set(&err, ERR_ARG, "%s", text);
        assert_true(utf8_ok(err.text, strlen(err.text)));
        err_at(&err, text, "%s", text);
        assert_true(utf8_ok(err.text, strlen(err.text)));
        assert_true(utf8_ok(err.where, strlen(err.where)));
    }
}

static void quoted_bytes_that_are_not_utf8_become_question_marks(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        { "a\xff"
          "b",
          "a?b" },
        { "caf\xc3", "caf?" },
        { "\xe2\x82", "??" },
        { "\xed\xa0\x80", "???" },
        { "\xc3\xbc \xf0\x9f\x98\x80", "\xc3\xbc \xf0\x9f\x98\x80" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        err_at(&err, cases[i].in, "x");
        assert_string_equal(err.where, cases[i].out);
        err_set(&err, ERR_ARG, "\"%s\"", cases[i].in);
        err_wrap(&err, "%s", cases[i].in);
        assert_true(utf8_ok(err.text, strlen(err.text)));
        assert_true(strstr(err.text, cases[i].out) == err.text);
    }
    struct err err = { 0 };
    err_set(&err, ERR_ARG, "%.2s!", "a\xc3\xbc"); /* a precision cuts between bytes too */
    assert_string_equal(err.text, "a?!");
}

static void arguments_may_point_into_the_error_itself(void **state)
{
    struct err err = { 0 };

    (void)state;
    err_set(&err, ERR_IO, "inner");
    err_set(&err, ERR_ARG, "outer(%s)", err.text);
    assert_string_equal(err.text, "outer(inner)");
}

static void errno_becomes_text_and_full_disk_its_own_code(void **state)
{
    struct err err = { 0 };

    (void)state;
    errno = ENOSPC;
    err_errno(&err, "write %s", "a");
    assert_int_equal(err.code, ERR_FULL);
    assert_string_equal(err.text, "write a: No space left on device");
    assert_int_equal(errno, ENOSPC);
    errno = EACCES;
    err_errno(&err, "open");
    assert_int_equal(err.code, ERR_IO);
}

static void every_code_has_its_own_name(void **state)
{
    (void)state;
    for (int i = 0; i < ERR_CODES; i++) {
        assert_non_null(err_code_name((enum err_code)i));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(err_code_name((enum err_code)i),
                                    err_code_name((enum err_code)j));
    }
    assert_string_equal(err_code_name((enum err_code)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_fills_code_and_text_and_returns_minus_one),
        cmocka_unit_test(null_err_is_legal_everywhere),
        cmocka_unit_test(wrap_puts_context_in_front_and_keeps_code_and_where),
        cmocka_unit_test(wrapping_a_long_text_keeps_the_first_cause),
        cmocka_unit_test(a_cut_text_stays_valid_utf8),
        cmocka_unit_test(quoted_bytes_that_are_not_utf8_become_question_marks),
        cmocka_unit_test(arguments_may_point_into_the_error_itself),
        cmocka_unit_test(errno_becomes_text_and_full_disk_its_own_code),
        cmocka_unit_test(every_code_has_its_own_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
