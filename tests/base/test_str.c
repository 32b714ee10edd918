/* test_str.c - parsers take the whole string or fail, and never a wrong value. */
#include "tests/unit.h"

#include "base/rng.h"
#include "base/str.h"
#include "base/utf8.h"

#include <inttypes.h>

static void whole_numbers_are_taken_whole_or_not_at_all(void **state)
{
    static const struct {
        const char *s;
        int rc;
        int64_t v;
    } cases[] = {
        { "0", 0, 0 },
        { "-1", 0, -1 },
        { "007", 0, 7 },
        { "9223372036854775807", 0, INT64_MAX },
        { "-9223372036854775808", 0, INT64_MIN },
        { "9223372036854775808", -1, 0 },
        { "-9223372036854775809", -1, 0 },
        { "99999999999999999999999", -1, 0 },
        { "", -1, 0 },
        { "-", -1, 0 },
        { "+1", -1, 0 },
        { " 1", -1, 0 },
        { "1 ", -1, 0 },
        { "1x", -1, 0 },
        { "0x10", -1, 0 },
        { "1.0", -1, 0 },
        { "--1", -1, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t v = 77;
        struct err err = { 0 };

        assert_int_equal(str_i64(cases[i].s, INT64_MIN, INT64_MAX, &v, &err), cases[i].rc);
        assert_true(v == (cases[i].rc ? 77 : cases[i].v));
        assert_int_equal(err.code, cases[i].rc ? ERR_ARG : ERR_NONE);
    }
}

static void ranges_are_inclusive(void **state)
{
    int64_t v = 0;
    struct err err = { 0 };

    (void)state;
    assert_int_equal(str_i64("5", 5, 7, &v, NULL), 0);
    assert_int_equal(str_i64("7", 5, 7, &v, NULL), 0);
    assert_int_equal(str_i64("8", 5, 7, &v, &err), -1);
    assert_string_equal(err.text, "8 is not from 5 to 7");
    assert_int_equal(str_i64("4", 5, 7, &v, NULL), -1);
}

static void every_integer_survives_the_round_trip(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 11);
    for (int i = 0; i < 20000; i++) {
        int64_t v = (int64_t)(rng_u64(&r) >> rng_below(&r, 64)), got = 0;
        uint64_t u = (uint64_t)v, got_u = 0;
        char text[32];

        if (i % 2)
            v = (int64_t)(0 - (uint64_t)v);
        snprintf(text, sizeof text, "%" PRId64, v);
        assert_int_equal(str_i64(text, INT64_MIN, INT64_MAX, &got, NULL), 0);
        assert_true(got == v);
        snprintf(text, sizeof text, "%" PRIu64, u);
        assert_int_equal(str_u64(text, &got_u, NULL), 0);
        assert_true(got_u == u);
    }
}

static void unsigned_overflow_is_found(void **state)
{
    uint64_t v = 0;

    (void)state;
    assert_int_equal(str_u64("18446744073709551615", &v, NULL), 0);
    assert_true(v == UINT64_MAX);
    assert_int_equal(str_u64("18446744073709551616", &v, NULL), -1);
    assert_int_equal(str_u64("-1", &v, NULL), -1);
}

static void reals_are_finite_decimal_numbers(void **state)
{
    static const char *const good[] = { "0", "-0.5", "1e3", "1E-3", ".5", "5.", "1e+2", "1e-400" };
    static const char *const bad[] = { "",      ".",     "-",     "nan", "inf",  "-inf",
                                       "0x1p3", "1e400", "1e",    "1e+", "+1",   " 1",
                                       "1 ",    "1,5",   "1.2.3", "e5",  "1e5x", "- 1" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        double v = 77;

        assert_int_equal(str_f64(good[i], &v, NULL), 0);
        assert_true(v == strtod(good[i], NULL));
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        double v = 77;

        assert_int_equal(str_f64(bad[i], &v, NULL), -1);
        assert_true(v == 77);
    }
}

static void durations_and_sizes(void **state)
{
    static const struct {
        const char *s;
        int64_t v; /* -1: an error */
    } times[] = { { "250ms", 250 },    { "60s", 60000 },   { "10m", 600000 },
                  { "2h", 7200000 },   { "1d", 86400000 }, { "90", 90000 },
                  { "1.5h", 5400000 }, { "1m30s", 90000 }, { "0", 0 },
                  { "0.0004s", 0 },    { "", -1 },         { "s", -1 },
                  { "-1s", -1 },       { "1 s", -1 },      { "1w", -1 },
                  { "1m30", -1 },      { "1e3s", -1 },     { "99999999999999999d", -1 },
                  { "1.2.3s", -1 } },
      sizes[] = { { "1024", 1024 }, { "8GiB", 8589934592 }, { "512MB", 512000000 },
                  { "1kB", 1000 },  { "1KiB", 1024 },       { "1.5MiB", 1572864 },
                  { "7B", 7 },      { "8G", -1 },           { "GiB", -1 },
                  { "-1GiB", -1 },  { "9999999TiB", -1 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        int64_t v = -1;

        assert_int_equal(str_duration_ms(times[i].s, &v, NULL), times[i].v < 0 ? -1 : 0);
        assert_true(v == times[i].v);
    }
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        int64_t v = -1;

        assert_int_equal(str_bytes(sizes[i].s, &v, NULL), sizes[i].v < 0 ? -1 : 0);
        assert_true(v == sizes[i].v);
    }
}

static void a_shown_duration_can_be_read_again(void **state)
{
    static const int64_t ms[] = { 0, 1, 999, 1000, 59900, 60000, 72000, 3600000, 90000000 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ms); i++) {
        char text[32];
        int64_t v = -1;

        str_fmt_ms(ms[i], text, sizeof text);
        assert_int_equal(str_duration_ms(text, &v, NULL), 0);
        assert_true(v == ms[i]);
    }
}

static void shown_values_read_well(void **state)
{
    char text[32];

    (void)state;
    str_fmt_ms(72000, text, sizeof text);
    assert_string_equal(text, "1m12s");
    str_fmt_ms(-1500, text, sizeof text);
    assert_string_equal(text, "-1.5s");
    str_fmt_ms(INT64_MIN, text, sizeof text);
    assert_true(text[0] == '-');
    str_fmt_bytes(0, text, sizeof text);
    assert_string_equal(text, "0 B");
    str_fmt_bytes(1572864, text, sizeof text);
    assert_string_equal(text, "1.5 MiB");
    str_fmt_bytes(INT64_MAX, text, sizeof text);
    assert_string_equal(text, "8.0 EiB");
}

static void names_hold_no_surprises(void **state)
{
    static const char *const bad[] = { "", ".", "..", ".x", "-x", "a b", "a/b", "\xc3\xa9", "a\n" };
    char longest[122];

    (void)state;
    assert_true(str_name_ok("a") && str_name_ok("Iris.v2_x-1") && str_name_ok("_"));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(str_name_ok(bad[i]));
    memset(longest, 'a', sizeof longest - 1);
    longest[121] = '\0';
    assert_false(str_name_ok(longest));
    assert_true(str_name_ok(longest + 1));
}

static void utf8_is_judged_as_rfc_3629_does(void **state)
{
    static const char *const good[] = {
        "", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf", "\xee\x80\x80"
    };
    static const char *const bad[] = { "\x80",
                                       "\xc3",
                                       "\xc0\x80",
                                       "\xc1\xbf",
                                       "\xe0\x80\x80",
                                       "\xed\xa0\x80",
                                       "\xf0\x80\x80\x80",
                                       "\xf4\x90\x80\x80",
                                       "\xf5\x80\x80\x80",
                                       "\xff",
                                       "\xe2\x82",
                                       "\xe2\x28\xa1" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(utf8_ok(good[i], strlen(good[i])));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(utf8_ok(bad[i], strlen(bad[i])));
    assert_true(utf8_ok("a\0b", 3));
}

static void hex_goes_both_ways(void **state)
{
    uint8_t bytes[256], back[256];
    char hex[513];

    (void)state;
    for (size_t i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    str_hex(bytes, 256, hex);
    assert_int_equal(str_unhex(hex, back, 256, NULL), 0);
    assert_memory_equal(bytes, back, 256);
    assert_int_equal(str_unhex("abc", back, 2, NULL), -1);
    assert_int_equal(str_unhex("zz", back, 1, NULL), -1);
    assert_int_equal(str_unhex("AF", back, 1, NULL), 0);
    assert_int_equal(back[0], 0xaf);
    assert_int_equal(str_unhex("", back, 0, NULL), 0);
    hex[64] = '\0';
    assert_true(str_sha256_ok(hex));
    hex[3] = 'A';
    assert_false(str_sha256_ok(hex));
    assert_false(str_sha256_ok(""));
}

static void copies_are_cut_and_terminated(void **state)
{
    char out[4] = "zzz";

    (void)state;
    assert_int_equal(str_copy(out, sizeof out, "abcdef"), 6);
    assert_string_equal(out, "abc");
    assert_int_equal(str_copy(out, sizeof out, ""), 0);
    assert_string_equal(out, "");
    assert_int_equal(str_copy(NULL, 0, "abc"), 3);
}

static void comparisons(void **state)
{
    (void)state;
    assert_true(str_eq(NULL, NULL) && str_eq("a", "a"));
    assert_false(str_eq("a", NULL) || str_eq(NULL, "a") || str_eq("a", "b"));
    assert_true(str_starts("abc", "ab") && str_starts("abc", "") && !str_starts("a", "ab"));
    assert_true(str_ends("abc", "bc") && str_ends("abc", "") && !str_ends("c", "bc"));
}

static void typing_errors_find_their_name(void **state)
{
    static const char *const names[] = { "time", "trials", "learning_rate", "max_depth", "lr" };
    static const struct {
        const char *s, *want;
    } cases[] = { { "tiem", "time" },
                  { "trails", "trials" },
                  { "learning-rate", "learning_rate" },
                  { "maxdepth", "max_depth" },
                  { "zebra", NULL },
                  { "", NULL },
                  { "x", NULL },
                  { "learnig_rat", "learning_rate" } };
    char huge[5000];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *got = str_nearest(cases[i].s, names, ARRAY_LEN(names));

        assert_true(str_eq(got, cases[i].want));
    }
    memset(huge, 'a', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    assert_null(str_nearest(huge, names, ARRAY_LEN(names)));
    assert_null(str_nearest("time", names, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_taken_whole_or_not_at_all),
        cmocka_unit_test(ranges_are_inclusive),
        cmocka_unit_test(every_integer_survives_the_round_trip),
        cmocka_unit_test(unsigned_overflow_is_found),
        cmocka_unit_test(reals_are_finite_decimal_numbers),
        cmocka_unit_test(durations_and_sizes),
        cmocka_unit_test(a_shown_duration_can_be_read_again),
        cmocka_unit_test(shown_values_read_well),
        cmocka_unit_test(names_hold_no_surprises),
        cmocka_unit_test(utf8_is_judged_as_rfc_3629_does),
        cmocka_unit_test(hex_goes_both_ways),
        cmocka_unit_test(copies_are_cut_and_terminated),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(typing_errors_find_their_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
