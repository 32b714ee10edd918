/* test_csv_num.c - numbers as text: every form, the value bit for bit that strtod gives, the spellings that %.15g gives
 * back, and the quick forms against the full one. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/cells/csv_num.h"

#include <math.h>

static struct csv_value number(const char *text)
{
    char padded[1200] = { 0 };
    struct csv_value v;

    assert_true(strlen(text) < sizeof(padded) - 16);
    memcpy(padded, text, strlen(text));
    csv_number(padded, strlen(text), &v);
    return v;
}

static void forms_are_told_apart(void **state)
{
    static const struct {
        const char *text;
        enum csv_kind kind;
        bool is_plain;
    } cases[] = {
        { "", CSV_MISSING, false },
        { "  ", CSV_MISSING, false },
        { "NA", CSV_MISSING, false },
        { "n/a", CSV_MISSING, false },
        { "NaN", CSV_MISSING, false },
        { "nan", CSV_MISSING, false },
        { "NULL", CSV_MISSING, false },
        { "?", CSV_MISSING, false },
        { " ? ", CSV_MISSING, false },
        { "None", CSV_TEXT, false },
        { "-", CSV_TEXT, false },
        { "+", CSV_TEXT, false },
        { ".", CSV_TEXT, false },
        { "-.", CSV_TEXT, false },
        { "e5", CSV_TEXT, false },
        { "1e", CSV_TEXT, false },
        { "1e+", CSV_TEXT, false },
        { "1.2.3", CSV_TEXT, false },
        { "1 2", CSV_TEXT, false },
        { "0x10", CSV_TEXT, false },
        { "1,5", CSV_TEXT, false },
        { "12a", CSV_TEXT, false },
        { "--1", CSV_TEXT, false },
        { "1e999", CSV_TEXT, false },
        { "-1e400", CSV_TEXT, false },
        { "nanx", CSV_TEXT, false },
        { "infin", CSV_TEXT, false },
        { "0", CSV_INT, true },
        { "-0", CSV_INT, false },
        { "7", CSV_INT, true },
        { "007", CSV_INT, false },
        { "+7", CSV_INT, false },
        { " 7", CSV_INT, false },
        { "7.0", CSV_INT, false },
        { "7.", CSV_INT, false },
        { "1e3", CSV_INT, false },
        { "2147483647", CSV_INT, true },
        { "-2147483647", CSV_INT, true },
        { "2147483648", CSV_DOUBLE, true },
        { "-2147483648", CSV_DOUBLE, true },
        { "0.5", CSV_DOUBLE, true },
        { ".5", CSV_DOUBLE, false },
        { "0.50", CSV_DOUBLE, false },
        { "00.5", CSV_DOUBLE, false },
        { "0.0001", CSV_DOUBLE, true },
        { "0.00001", CSV_DOUBLE, false },
        { "1e-7", CSV_DOUBLE, false },
        { "123456789012345", CSV_DOUBLE, true },
        { "1234567890123456", CSV_DOUBLE, false },
        { "Infinity", CSV_DOUBLE, false },
        { "-inf", CSV_DOUBLE, false },
        { "1e-400", CSV_INT, false }, /* rounds to 0 */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct csv_value v = number(cases[i].text);
        if (v.kind != cases[i].kind || v.is_plain != cases[i].is_plain)
            fail_msg("\"%s\": kind %d plain %d", cases[i].text, v.kind, v.is_plain);
    }
}

/* Whatever has one comma between digits is the number that a point there gives; anything else is a text. */
static void a_decimal_comma_is_a_decimal_point(void **state)
{
    static const char *const texts[] = {
        "1,5",   "-0,25", "+3,125", ",5",       "12345678,875",
        " 7,5 ", "1,5e3", "0,1",    "-,5e-300", "123456789,0123456789"
    };
    static const char *const no[] = { "1,",   ",",    "1,2,3", "1.5,2", "1,5.2",   "a,5",
                                      "1,5x", "1, 5", "",      "15",    "1,234.5", "--1,5" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        char padded[80] = "", point[80] = "";
        struct csv_value v, want;
        memcpy(padded, texts[i], strlen(texts[i]));
        memcpy(point, texts[i], strlen(texts[i]));
        *strchr(point, ',') = '.';
        csv_number_comma(padded, strlen(texts[i]), &v);
        csv_number(point, strlen(texts[i]), &want);
        assert_true(v.kind == want.kind && v.kind != CSV_TEXT && v.d == want.d && !v.is_plain);
    }
    for (size_t i = 0; i < ARRAY_LEN(no); i++) {
        char padded[80] = "";
        struct csv_value v;
        memcpy(padded, no[i], strlen(no[i]));
        csv_number_comma(padded, strlen(no[i]), &v);
        if (v.kind != CSV_TEXT)
            fail_msg("\"%s\" is no number", no[i]);
    }
}

static void check_like_strtod(const char *text)
{
    struct csv_value v = number(text);
    double want = strtod(text, NULL);
    char again[64];

    if (isinf(want)) {
        assert_int_equal(v.kind, CSV_TEXT);
        return;
    }
    if ((v.kind != CSV_INT && v.kind != CSV_DOUBLE) || v.d != want ||
        (v.kind == CSV_INT && v.i != want))
        fail_msg("\"%s\": %.17g, want %.17g", text, v.d, want);
    assert_int_equal(v.kind == CSV_INT, fabs(want) < 2147483648.0 && want == floor(want));
    (void)snprintf(again, sizeof(again), "%.15g", v.d);
    if (v.is_plain)
        assert_string_equal(again, text);
}

static void values_are_the_nearest_doubles(void **state)
{
    static const char *const hard[] = {
        "9007199254740993",
        "9007199254740992.999999999",
        "0.1e-6",
        "2.2250738585072011e-308",
        "4.9e-324",
        "2.4703282292062328e-324",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "89255.0e-22",
        "8.5e22",
        "9223372036854775807",
        "18446744073709551615",
        "18446744073709551616",
        "1e27",
        "9999999999999999999e-27",
        "1e-27",
        "7.0420557077594588669468784357561207962098443483187940792729600000e59",
        "0.000000000000000000000000000000000000000000000000000000000000000000000000001",
        "100000000000000016777215",
        "100000000000000016777216",
        "1090544144181609348671888949248",
        "3.00000000000000000000000000000000000000000000000000001",
    };
    char text[128];
    struct rng r;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hard); i++)
        check_like_strtod(hard[i]);
    rng_init(&r, test_seed(), 0);
    for (int i = 0; i < 400000; i++) {
        uint64_t bits = rng_u64(&r);
        double x = rng_normal(&r) * pow(10, (double)rng_below(&r, 40) - 20), any;
        memcpy(&any, &bits, sizeof(any));
        switch (i % 7) {
        case 0:
            (void)snprintf(text, sizeof(text), "%.17g", x);
            break;
        case 1:
            (void)snprintf(text, sizeof(text), "%.*f", (int)rng_below(&r, 12), x);
            break;
        case 2:
            (void)snprintf(text, sizeof(text), "%lld",
                           (long long)((int64_t)bits >> rng_below(&r, 63)));
            break;
        case 3:
            (void)snprintf(text, sizeof(text), "%.*g", (int)rng_below(&r, 20) + 1,
                           isfinite(any) ? any : x);
            break;
        case 4:
            (void)snprintf(text, sizeof(text), "%.*e", (int)rng_below(&r, 25), x);
            break;
        case 5:
            (void)snprintf(text, sizeof(text), "%u.%08u", rng_below(&r, 100000),
                           rng_below(&r, 100000000));
            break;
        default:
            (void)snprintf(text, sizeof(text), "%.*f", (int)rng_below(&r, 30), x);
            break;
        }
        check_like_strtod(text);
    }
}

static void halfway_texts_of_any_length_round_to_even(void **state)
{
    char text[1100];

    (void)state;
    memset(text, '0', sizeof(text));
    memcpy(text, "9007199254740993.", 17); /* halfway between two doubles */
    text[1000] = '\0';
    check_like_strtod(text);
    text[999] = '1'; /* and a hair above */
    check_like_strtod(text);
}

static void quick_forms_agree_with_the_full_one(void **state)
{
    char text[40] = { 0 };
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int i = 0; i < 400000; i++) {
        static const char alphabet[] = "0123456789012345678900..-+e ";
        size_t n = 1 + rng_below(&r, 18);
        int32_t whole = 0;
        double d = 0;
        bool is_plain = false;
        for (size_t j = 0; j < n; j++)
            text[j] = alphabet[rng_below(&r, sizeof(alphabet) - 1)];
        memset(text + n, '7', sizeof(text) - n); /* what follows must not matter */
        struct csv_value v;
        csv_number(text, n, &v);
        if (csv_quick_int(text, n, &whole) || csv_quick_long(text, n, &whole))
            assert_true(v.kind == CSV_INT && v.i == whole && v.is_plain);
        if (csv_quick_decimal(text, n, &d, &is_plain))
            assert_true((v.kind == CSV_INT || v.kind == CSV_DOUBLE) && v.d == d &&
                        v.is_plain == is_plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_told_apart),
        cmocka_unit_test(a_decimal_comma_is_a_decimal_point),
        cmocka_unit_test(values_are_the_nearest_doubles),
        cmocka_unit_test(halfway_texts_of_any_length_round_to_even),
        cmocka_unit_test(quick_forms_agree_with_the_full_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
