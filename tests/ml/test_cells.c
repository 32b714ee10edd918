/* test_cells.c - what columns of texts are taken for: numbers in every dress, dates in every order, lists, running text;
 * and the hostile mixtures which must stay categories. Read as CSV, so the way from the file to the frame is tested too. */
#include "tests/ml/csv_rig.h"

#include "base/buf.h"
#include "base/mem.h"
#include "ml/cells/form.h"
#include "ml/cells/judge.h"
#include "ml/cells/words.h"

#include <math.h>
#include <stdio.h>

enum { ROWS = 60 };

/* One column: `n` texts again and again over `rows` rows; %d in them is replaced by a number that grows with the row. */
static struct frame *column(const char *const *cells, size_t n, int rows,
                            const struct csv_opts *opts)
{
    struct buf b;

    buf_init(&b, 8 << 20);
    assert_int_equal(buf_adds(&b, "x,k\n", NULL), 0);
    for (int i = 0; i < rows; i++) {
        const char *cell = cells[(size_t)i % n], *hole = strstr(cell, "%d");
        assert_int_equal(buf_adds(&b, "\"", NULL), 0);
        assert_int_equal(buf_add(&b, cell, hole ? (size_t)(hole - cell) : strlen(cell), NULL), 0);
        if (hole)
            assert_int_equal(buf_addf(&b, NULL, "%d%s", 100 + i, hole + 2), 0);
        assert_int_equal(buf_addf(&b, NULL, "\",%d\n", i), 0);
    }
    struct frame *f = csv_frame(b.data, opts);
    buf_fini(&b);
    return f;
}

#define COLUMN(...)                              \
    column((const char *const[]){ __VA_ARGS__ }, \
           sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), ROWS, NULL)

static void numbers_are_read_in_every_dress(void **state)
{
    static const struct {
        const char *a, *b;
        double x, y;
        const char *note;
    } cases[] = {
        { "$1,234.50", "$7", 1234.5, 7, "\"currency\":\"$\"" },
        { "1.234,50", "-7,25", 1234.5, -7.25, "\"decimal\":\",\"" },
        { "1 234,5", "9 999 999", 1234.5, 9999999, "\"thousands\":\" \"" },
        { "1\xc2\xa0"
          "234,5",
          "3,25", 1234.5, 3.25, "\"decimal\":\",\"" },
        { "1'234.5", "3.25", 1234.5, 3.25, "\"thousands\":\"'\"" },
        { "12%", "7.5 %", 12, 7.5, "\"percent\":\"as written\"" },
        { "12%", "0.5", .12, .5, "\"percent\":\"hundredths\"" },
        { "(1,234)", "5", -1234, 5, "\"odd_negatives\":30" },
        { "1,234-", "5,000", -1234, 5000, "\"odd_negatives\":30" },
        { "+3.5",
          "\xe2\x88\x92"
          "2.5",
          3.5, -2.5, "number" },
        { "\xe2\x82\xac 3,50", "\xe2\x82\xac 1.200,00", 3.5, 1200, "\xe2\x82\xac" },
        { "3,50 \xe2\x82\xac", "-2,25 \xe2\x82\xac", 3.5, -2.25, "\xe2\x82\xac" },
        { "-$5.25", "$-3", -5.25, -3, "\"currency\":\"$\"" },
        { "1.5M", "300k", 1.5e6, 3e5, "\"magnitudes\":true" },
        { "12,34,567", "2,345", 1234567, 2345, "\"thousands\":\",\"" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct frame *f = COLUMN(cases[i].a, cases[i].b);
        if (f->cols[0].type != FRAME_NUMERIC || cell_number(f, "x", 0) != cases[i].x ||
            cell_number(f, "x", 1) != cases[i].y)
            fail_msg("%s and %s: not %g and %g (%s)", cases[i].a, cases[i].b, cases[i].x,
                     cases[i].y, f->cols[0].note);
        if (!strstr(f->cols[0].note, cases[i].note))
            fail_msg("%s: the note \"%s\" lacks %s", cases[i].a, f->cols[0].note, cases[i].note);
        frame_close(f);
    }
    struct frame *f = COLUMN("%d kg", "2%d.5 kg");
    assert_true(cell_number(f, "x", 0) == 100 && cell_number(f, "x", 1) == 2101.5);
    assert_non_null(strstr(f->cols[0].note, "\"unit\":\"kg\""));
    frame_close(f);
}

/* In a column of other amounts of the same kind. The texts of each kind differ in their unit. */
static void amounts_are_read_in_every_unit(void **state)
{
    static const struct {
        const char *kind, *others[3];
        struct {
            const char *text;
            double value;
        } cases[12];
    } kinds[] = {
        { "time",
          { "%d min", "1%d s", "%d h" },
          { { "2h 30m", 9000 },
            { "2h30m", 9000 },
            { "1 hour, 5 minutes and 3 s", 3903 },
            { "2 weeks", 1209600 },
            { "1 day 02:10:05.5", 94205.5 },
            { "27:15:00", 98100 },
            { "-2 days 00:00:00", -172800 },
            { "PT2H30M", 9000 },
            { "P1DT0.5S", 86400.5 },
            { "1.5 Hours", 5400 },
            { "0", 0 } } },
        { "length",
          { "%d cm", "1.%d m", "%d mm" },
          { { "5'11\"\"", 1.8034 },
            { "6 ft 2 in", 1.8796 },
            { "1,500 m", 1500 },
            { "2 miles", 3218.688 } } },
        { "mass",
          { "%d kg", "%d g", "1%d lb" },
          { { "8 lb 4 oz", 3.7421370525 }, { "2 t", 2000 } } },
        { "volume", { "%d ml", "1.%d l", "%d cl" }, { { "2 litres", 2 } } },
        { "data",
          { "%d KB", "1%d MB", "%d B" },
          { { "1.5 GB", 1.5e9 }, { "2KiB", 2048 }, { "3G", 3e9 } } },
        { "data_rate", { "%d kbps", "%d Mbps", "%d bps" }, { { "2 Gbit/s", 2e9 } } },
        { "frequency", { "%d MHz", "2.%d GHz", "%d kHz" }, { { "50 Hz", 50 } } },
    };

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        for (int i = 0; i < 12 && kinds[k].cases[i].text; i++) {
            const char *const *o = kinds[k].others;
            const double want = kinds[k].cases[i].value;
            struct frame *f = COLUMN(kinds[k].cases[i].text, o[0], o[1], o[2]);
            if (f->cols[0].type != FRAME_NUMERIC ||
                fabs(cell_number(f, "x", 0) - want) > 1e-9 * fabs(want))
                fail_msg("%s: not %g (%s)", kinds[k].cases[i].text, want, f->cols[0].note);
            assert_non_null(strstr(f->cols[0].note, kinds[k].kind));
            frame_close(f);
        }
    }
}

/* What stands at a bound is beside the number, so that "< 1 year" is not "1 year". */
static void bounds_are_beside_their_numbers(void **state)
{
    struct frame *f = COLUMN("<100", "%d", ">= 300", "%d.5", "200+", "> 0");

    (void)state;
    assert_int_equal(f->cols[0].type, FRAME_NUMERIC);
    assert_non_null(strstr(f->cols[0].note, "\"bounds\":40"));
    assert_true((float)cell_number(f, "x", 0) < 100 && cell_number(f, "x", 0) > 99.99);
    assert_true(cell_number(f, "x", 2) == 300 && cell_number(f, "x", 4) == 200);
    assert_true(cell_number(f, "x", 5) > 0 && cell_number(f, "x", 5) < .01);
    frame_close(f);

    f = COLUMN("< 1 year", "1 year", "2 years", "3 years", "4 years", "5 years", "6 years",
               "7 years", "8 years", "9 years", "10+ years", "n/a");
    assert_int_equal(f->cols[0].type, FRAME_NUMERIC);
    assert_int_equal(f->cols[0].missing, ROWS / 12);
    assert_true(cell_number(f, "x", 0) < 1 && cell_number(f, "x", 10) == 10);
    frame_close(f);
}

static void words_among_numbers_are_missing(void **state)
{
    static const char *const words[] = { "-",    "--",           ".",
                                         "None", "n/a",          "#N/A",
                                         "nil",  "unknown",      "missing",
                                         "<NA>", "\xe2\x80\x94", "\\N" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        const char *cells[] = { "%d", "%d.5", "2%d", words[i] };
        struct frame *f = column(cells, 4, ROWS, NULL);
        if (f->cols[0].type != FRAME_NUMERIC || f->cols[0].missing != ROWS / 4)
            fail_msg("%s: %lld missing", words[i], (long long)f->cols[0].missing);
        assert_int_equal(f->cols[0].not_numbers, 0);
        assert_true(cell_number(f, "x", 1) == 101.5);
        if (strcmp(words[i], "n/a") != 0) /* told since ever, so not told anew */
            assert_non_null(strstr(f->cols[0].note, "\"missing\":{"));
        frame_close(f);
    }
    /* the first cell decides nothing, and spellings of numbers are exact */
    struct frame *f = COLUMN("None", "0.1", "%d.25", "%d.125", "3%d.7");
    assert_true(cell_number(f, "x", 1) == 0.1 && cell_number(f, "x", 3) == 103.125);
    frame_close(f);
}

/* Both readers look at the first byte of a text before they compare it with their list. */
static void every_sign_of_a_currency_is_known(void **state)
{
    static const char *const signs[] = { "US$", "R$",  "A$",  "C$",  "HK$", "NZ$", "$",   "€",
                                         "£",   "¥",   "₹",   "₽", "₩",   "₺",   "₪",   "₫",
                                         "฿",   "¢",   "USD", "EUR", "GBP", "CHF", "JPY", "CNY",
                                         "INR", "AUD", "CAD", "SEK", "NOK", "DKK", "PLN", "CZK",
                                         "HUF", "BRL", "MXN", "RUB", "TRY", "ZAR", "KRW", "Rs.",
                                         "Rs",  "kr.", "kr",  "zł",  "Kč" };
    char text[40];
    struct form f;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
        for (int before = 0; before < 2; before++) {
            (void)snprintf(text, sizeof(text), before ? "%s 5" : "5 %s", signs[i]);
            if (!form_read(text, strlen(text), '.', &f) || f.value != 5 || !f.currency ||
                f.currency_n != strlen(signs[i]))
                fail_msg("%s is no currency", text);
        }
    }
    assert_false(form_read("krone 5", 7, '.', &f));
    assert_false(form_read("", 0, '.', &f));
}

static void every_word_for_missing_is_known(void **state)
{
    static const char *const words[] = { "-",
                                         "--",
                                         "---",
                                         ".",
                                         "..",
                                         "...",
                                         "*",
                                         "**",
                                         "\\N",
                                         "None",
                                         "nil",
                                         "N.A.",
                                         "n.a",
                                         "n/a.",
                                         "n/d",
                                         "#N/A",
                                         "#NA",
                                         "#NULL!",
                                         "#DIV/0!",
                                         "#VALUE!",
                                         "#NUM!",
                                         "#REF!",
                                         "#NAME?",
                                         "#N/A N/A",
                                         "<NA>",
                                         "<null>",
                                         "(null)",
                                         "NaT",
                                         "Missing",
                                         "Unknown",
                                         "undefined",
                                         "not known",
                                         "Not available",
                                         "unavailable",
                                         "no data",
                                         "nodata",
                                         "TBD",
                                         "tbd",
                                         "unspecified",
                                         "-nan",
                                         "+nan",
                                         "nan(ind)",
                                         "1.#IND",
                                         "-1.#QNAN",
                                         "??",
                                         "???",
                                         "unk",
                                         "_",
                                         "—",
                                         "–",
                                         "−",
                                         "…",
                                         "NA",
                                         "Not applicable",
                                         "",
                                         "  - ",
                                         "not recorded" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (!words_are_missing(words[i], strlen(words[i])))
            fail_msg("\"%s\" is no word for missing", words[i]);
    }
    assert_false(words_are_missing("nonesuch", 8));
    assert_false(words_are_missing("seven", 5));
}

static void a_few_other_words_are_missing_and_counted(void **state)
{
    const char *cells[100];

    (void)state;
    for (int i = 0; i < 100; i++)
        cells[i] = i == 41 ? "oops" : i == 70 ? "see below" : "%d";
    struct frame *f = column(cells, 100, 5000, NULL);
    assert_int_equal(f->cols[0].type, FRAME_NUMERIC);
    assert_int_equal(f->cols[0].not_numbers, 100);
    assert_int_equal(f->cols[0].missing, 100);
    assert_non_null(strstr(f->cols[0].note, "\"not_numbers\":{\"oops\":50,\"see below\":50}"));
    frame_close(f);
}

static void categories_never_become_numbers(void **state)
{
    static const char *const cases[][8] = {
        { "1", "2", "3", "A" },
        { "0", "1", "2", "3+" },
        { "S", "M", "L", "38", "40" },
        { "10A", "10B", "%d", "12" },       /* codes with letters */
        { "250.%d", "V57", "E9%d", "401" }, /* diagnoses */
        { "%d", "%dA", "%d", "%d" },        /* articles */
        { "007", "%d", "12", "13" },
        { "1st", "2nd", "3rd", "4th" },
        { "none", "1", "2", "3" }, /* as frequent as the numbers */
        { "yes", "no", "1", "0" },
        { "$%d", "\xe2\x82\xac%d", "$1%d", "\xe2\x82\xac%d" }, /* two currencies */
        { "%d kg", "%d m", "1%d kg", "1%d m" },
        { "500 ml", "1 l", "1.5 l", "2 l" },             /* few sizes */
        { "<5", ">5", "<10", ">10" },                    /* nothing but bounds */
        { "12A", "12B", "14D", "%dF" },                  /* seats */
        { "%dh 1%dm", "1%dm", "2h", "about 2%d hours" }, /* a quarter are no durations */
        { "2024Q1", "2024Q5", "Q%d", "2024-W54" },
        { "10-20", "20-30", "30-40", "%d" },
        { "item-%d", "item-1%d", "item-2%d", "item-3%d" },
        { "1.2.%d", "1.3.%d", "2.0.%d", "2.1.%d" },
        { "1B", "2B", "3B", "1B" },
        { "192.168.0.%d", "10.0.0.%d", "10.1.1.%d", "10.0.2.%d" },
        { "A1,234", "B2,345", "A3,456", "B4,567" },
        { "1/2", "3/4", "1/4", "1/8" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n = 0;
        while (n < 8 && cases[i][n])
            n++;
        struct frame *f = column(cases[i], n, 400, NULL);
        if (f->cols[0].type != FRAME_CATEGORICAL || f->cols[0].kind != FRAME_PLAIN)
            fail_msg("%s, %s ...: %s", cases[i][0], cases[i][1], f->cols[0].note);
        assert_string_equal(f->cols[0].note, "");
        frame_close(f);
    }
}

/* Seconds since 1970 of a day, by the C library. */
static double day(int y, int m, int d)
{
    return date_seconds(y, m, d);
}

static void dates_are_read_in_every_order(void **state)
{
    static const struct {
        const char *a, *b;
        int y, m, d;
        double more;
        const char *note;
    } cases[] = {
        { "2024-03-05", "2023-12-31", 2024, 3, 5, 0, "\"read\":\"date\"" },
        { "2024/3/5", "2023/12/31", 2024, 3, 5, 0, "date" },
        { "2024-03-05T12:30:15.25Z", "2024-03-05 01:02", 2024, 3, 5, 45015.25, "\"zones\":30" },
        { "2024-03-05T12:30:15+01:00", "2024-03-05T00:00:00-0530", 2024, 3, 5, 41415, "zones" },
        { "03/05/2024", "12/31/2023", 2024, 3, 5, 0, "\"order\":\"mdy\",\"by\":\"values\"" },
        { "05/03/2024", "31/12/2023", 2024, 3, 5, 0, "\"order\":\"dmy\",\"by\":\"values\"" },
        { "05.03.2024", "31.12.2023 14:00", 2024, 3, 5, 0, "\"order\":\"dmy\"" },
        { "05.03.24", "31.12.23", 2024, 3, 5, 0, "1969 to 2068" },
        { "5.3.2024", "6.4.2023", 2024, 3, 5, 0, "\"by\":\"default\"" },
        { "3/5/2024 2:05 PM", "3/31/2024 12:00 AM", 2024, 3, 5, 50700, "\"times\":60" },
        { "5 Mar 2024", "31 December 2023", 2024, 3, 5, 0, "date" },
        { "05-Mar-24", "31-DEC-23", 2024, 3, 5, 0, "date" },
        { "March 5, 2024", "Dec 31, 2023", 2024, 3, 5, 0, "date" },
        { "Tue, 05 Mar 2024 12:00:00 GMT", "Sun, 31 Dec 2023 00:00:00 GMT", 2024, 3, 5, 43200,
          "zones" },
        { "1969-07-20", "0001-01-01", 1969, 7, 20, 0, "date" },
        { "12:30", "23:59:59.5", 1970, 1, 1, 45000, "\"read\":\"time\"" },
        { "2:30 PM", "11:00 am", 1970, 1, 1, 52200, "time" },
        { "2024-03", "2023-12", 2024, 3, 1, 0, "date" },
        { "2024Q2", "2023-Q4", 2024, 4, 1, 0, "date" },
        { "Q2 2024", "q4/2023", 2024, 4, 1, 0, "date" },
        { "2024-W01", "2023-W52", 2024, 1, 1, 0, "date" },
        { "2021W01-3", "2020-W53", 2021, 1, 6, 0, "date" },
        { "2026-W53", "2025-W01", 2026, 12, 28, 0, "date" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct frame *f = COLUMN(cases[i].a, cases[i].b);
        double want = day(cases[i].y, cases[i].m, cases[i].d) + cases[i].more;
        if (f->cols[0].kind != FRAME_DATE || cell_number(f, "x", 0) != want)
            fail_msg("%s, %s: not %.2f (%s)", cases[i].a, cases[i].b, want, f->cols[0].note);
        if (!strstr(f->cols[0].note, cases[i].note))
            fail_msg("%s: the note \"%s\" lacks %s", cases[i].a, f->cols[0].note, cases[i].note);
        assert_int_equal(f->cols[0].missing, 0);
        frame_close(f);
    }
    assert_true(day(1970, 1, 1) == 0 && day(2000, 3, 1) == 951868800 &&
                day(1900, 1, 1) == -2208988800);
}

static void the_sequence_tells_day_from_month(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20); /* the first of each month, in order, American: no day is over 12 */
    assert_int_equal(buf_adds(&b, "x,k\n", NULL), 0);
    for (int i = 0; i < 120; i++)
        assert_int_equal(buf_addf(&b, NULL, "%02d/01/%d,1\n", i % 12 + 1, 2010 + i / 12), 0);
    struct frame *f = csv_frame(b.data, NULL);
    assert_non_null(strstr(f->cols[0].note, "\"order\":\"mdy\",\"by\":\"sequence\""));
    assert_true(cell_number(f, "x", 1) == day(2010, 2, 1));
    frame_close(f);
    struct csv_override over = { .name = "x" };
    struct csv_opts opts = { .overrides = &over, .n_overrides = 1 };
    assert_true(csv_override_word(&over, "date_dmy"));
    f = csv_frame(b.data, &opts);
    assert_true(cell_number(f, "x", 1) == day(2010, 1, 2));
    assert_non_null(strstr(f->cols[0].note, "\"by\":\"declared\""));
    frame_close(f);
    buf_fini(&b);
}

static void what_is_no_day_is_no_date(void **state)
{
    static const char *const cases[][2] = {
        { "2024-02-30", "2023-13-01" }, { "1-2-3", "4-5-6" },   { "12-34-5678", "99-88-7766" },
        { "25:61", "30:70" },           { "Mon", "Tue" },       { "May", "June" },
        { "2024-1", "2024-12" },        { "123-45-6789", "x" }, { "10.0.0.1", "10.0.0.2" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct frame *f = COLUMN(cases[i][0], cases[i][1]);
        if (f->cols[0].kind != FRAME_PLAIN)
            fail_msg("%s: %s", cases[i][0], f->cols[0].note);
        frame_close(f);
    }
}

static void seconds_since_1970_are_dates_by_name(void **state)
{
    (void)state;
    struct frame *f = csv_frame("created_at,event_time_ms,n\n1700000000,1700000000500,1700000000\n"
                                "1600000000,1600000000000,1\n",
                                NULL);
    assert_true(f->cols[0].kind == FRAME_DATE && cell_number(f, "created_at", 0) == 1700000000);
    assert_true(f->cols[1].kind == FRAME_DATE &&
                cell_number(f, "event_time_ms", 0) == 1700000000.5);
    assert_true(f->cols[2].kind == FRAME_PLAIN);
    frame_close(f);
}

/* Days as whole numbers: every value must be one, and there must be some. */
static void whole_numbers_that_are_all_days_are_dates(void **state)
{
    static const struct {
        const char *cells[5];
        bool are_days;
    } cases[] = {
        { { "20240305", "20231231", "19991130", "20200229", "" }, true },
        { { "20240305.0", "20231231.0", "19991130.0", "20200229.0", "" }, true },
        { { "20240305", "20231231", "19991130", "20200229", "n/a" }, true },
        { { "20240305", "20231231", "19991130", "20210229", "" }, false }, /* no leap year */
        { { "20240305", "20231231", "19991130", "20200229", "0" }, false },
        { { "20240305", "20231231", "19991130", "20200229.5", "" }, false },
        { { "20240305", "20231231", "19991130", "90200229", "" }, false },
        { { "20240305", "20231231", "20240305", "20231231", "" }, false }, /* too few differ */
        { { "20240300", "20231231", "19991130", "20200229", "" }, false },
    };
    struct csv_override over = { .name = "x" };
    struct csv_opts opts = { .overrides = &over, .n_overrides = 1 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct frame *f = column(cases[i].cells, 5, ROWS, NULL);
        if ((f->cols[0].kind == FRAME_DATE) != cases[i].are_days)
            fail_msg("case %zu: %d %s", i, (int)f->cols[0].kind, f->cols[0].note);
        if (cases[i].are_days) {
            assert_true(cell_number(f, "x", 0) == day(2024, 3, 5));
            assert_true(cell_number(f, "x", 3) == day(2020, 2, 29));
            assert_true(isnan(cell_number(f, "x", 4)) && f->cols[0].missing == ROWS / 5);
            assert_non_null(strstr(f->cols[0].note, "\"order\":\"yyyymmdd\",\"by\":\"values\""));
        }
        frame_close(f);
    }
    assert_true(csv_override_word(&over, "numeric"));
    struct frame *f = column(cases[0].cells, 5, ROWS, &opts);
    assert_true(f->cols[0].kind == FRAME_PLAIN && cell_number(f, "x", 0) == 20240305);
    frame_close(f);
    /* declared, what is no day is missing, and counted */
    assert_true(csv_override_word(&over, "yyyymmdd"));
    f = column(cases[3].cells, 5, ROWS, &opts);
    assert_true(f->cols[0].kind == FRAME_DATE && isnan(cell_number(f, "x", 3)));
    assert_true(cell_number(f, "x", 1) == day(2023, 12, 31));
    assert_int_equal(f->cols[0].not_numbers, ROWS / 5);
    frame_close(f);
    /* texts, which are read one by one, know the form too */
    assert_true(csv_override_word(&over, "date"));
    f = csv_frame("x\n20240305T123015Z\n20231231 01:00\n20240305\n2024-03-06\n", &opts);
    assert_true(cell_number(f, "x", 0) == day(2024, 3, 5) + 45015);
    assert_true(cell_number(f, "x", 1) == day(2023, 12, 31) + 3600);
    assert_true(cell_number(f, "x", 3) - cell_number(f, "x", 2) == 86400);
    frame_close(f);
}

/* A table to predict, of few rows or with a cell that is no day, is read by the note alone. */
static void a_note_of_whole_days_reads_another_table_alike(void **state)
{
    static const char *const cells[] = { "20240305", "20231231", "19991130", "20200229" };
    struct frame *f = column(cells, 4, ROWS, NULL);
    struct csv_override over = { .name = "x", .type = FRAME_NUMERIC, .kind = FRAME_DATE };
    struct csv_opts opts = { .overrides = &over, .n_overrides = 1 };
    char note[400];

    (void)state;
    (void)snprintf(note, sizeof(note), "%s", f->cols[0].note);
    frame_close(f);
    over.note = note;
    f = csv_frame("x\n20240306\n20240306.0\n12345678\n\n", &opts);
    assert_int_equal(f->cols[0].kind, FRAME_DATE);
    assert_true(cell_number(f, "x", 0) == day(2024, 3, 6));
    assert_true(cell_number(f, "x", 1) == day(2024, 3, 6));
    assert_true(isnan(cell_number(f, "x", 2)));
    frame_close(f);
}

static void lists_and_texts_are_told_from_categories(void **state)
{
    static const char *const items[] = { "red", "blue", "green", "black", "white", "pink" };
    static const char *const forms[] = { "|", ";", ",", ", " };
    struct buf b;

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(forms) + 1; k++) {
        bool has_brackets = k == ARRAY_LEN(forms);
        buf_init(&b, 1 << 20);
        assert_int_equal(buf_adds(&b, "x,k\n", NULL), 0);
        for (unsigned i = 0; i < 300; i++) {
            unsigned seed = i * 7919u + 13, n = 1 + seed % 3;
            assert_int_equal(buf_adds(&b, has_brackets ? "\"[" : "\"", NULL), 0);
            for (unsigned j = 0; j < n; j++, seed = seed / 3 + i)
                assert_int_equal(buf_addf(&b, NULL, has_brackets ? "%s\"\"%s\"\"" : "%s%s",
                                          j ? has_brackets ? ", " : forms[k] : "", items[seed % 6]),
                                 0);
            assert_int_equal(buf_addf(&b, NULL, "%s\",%u\n", has_brackets ? "]" : "", i), 0);
        }
        struct frame *f = csv_frame(b.data, NULL);
        char want[16] = "\"sep\":\",\"";
        want[7] = has_brackets ? ',' : forms[k][0];
        if (f->cols[0].kind != FRAME_LIST || !strstr(f->cols[0].note, want))
            fail_msg("form %zu: \"%s\"", k, f->cols[0].note);
        assert_true(has_brackets == (strstr(f->cols[0].note, "brackets") != NULL));
        frame_close(f);
        buf_fini(&b);
    }
    buf_init(&b, 1 << 20);
    assert_int_equal(buf_adds(&b, "text,name,place,uuid\n", NULL), 0);
    for (unsigned i = 0; i < 300; i++)
        assert_int_equal(
            buf_addf(&b, NULL,
                     "the %s car of %s %u is %s,\"Last%u, First%u\",\"City %u, State\",%08x-%04x\n",
                     items[i % 6], items[i * 7 % 5], i, items[i * 11 % 6], i, i % 20, i % 20,
                     i * 7919u, i),
            0);
    struct frame *f = csv_frame(b.data, NULL);
    assert_int_equal(f->cols[0].kind, FRAME_TEXT);
    assert_int_equal(f->cols[1].kind == FRAME_LIST, false);
    assert_int_equal(f->cols[2].kind, FRAME_PLAIN);
    assert_int_equal(f->cols[3].kind, FRAME_PLAIN);
    frame_close(f);
    buf_fini(&b);
}

static void declared_columns_obey(void **state)
{
    struct csv_override over[4] = {
        { .name = "a" }, { .name = "b" }, { .name = "c" }, { .name = "d" }
    };
    struct csv_opts opts = { .overrides = over, .n_overrides = 4 };
    struct frame *f;

    (void)state;
    assert_true(csv_override_word(&over[0], "numeric") && csv_override_word(&over[1], "date"));
    assert_true(csv_override_word(&over[2], "text") && csv_override_word(&over[3], "list"));
    assert_false(csv_override_word(&over[3], "lists"));
    f = csv_frame("a,b,c,d\n-,1/2/2024,x,p/q\n$5,x,y,q\n6,2/3/2024,z,q/p\n", &opts);
    assert_true(isnan(cell_number(f, "a", 0)) && cell_number(f, "a", 1) == 5);
    assert_true(cell_number(f, "b", 0) == day(2024, 1, 2) && f->cols[1].not_numbers == 1);
    assert_int_equal(f->cols[2].kind, FRAME_TEXT);
    assert_int_equal(f->cols[3].kind, FRAME_LIST);
    assert_non_null(strstr(f->cols[3].note, "\"sep\":\"/\""));
    frame_close(f);
}

/* A second table is read as the first one was, by the notes alone. */
static void a_note_reads_another_table_alike(void **state)
{
    static const char first[] =
        "a;b;c\n1.234,5;05/03/2024;12%\n7,25;31/03/2024;0.5\n2.000;01/04/2024;0.25\n";
    struct frame *f = csv_frame(first, NULL);
    struct csv_override over[3];
    char notes[3][400];

    (void)state;
    for (int c = 0; c < 3; c++) {
        (void)snprintf(notes[c], sizeof(notes[c]), "%s", f->cols[c].note);
        over[c] = (struct csv_override){ .name = c == 0   ? "a"
                                                 : c == 1 ? "b"
                                                          : "c",
                                         .type = f->cols[c].type,
                                         .kind = f->cols[c].kind,
                                         .note = notes[c] };
    }
    assert_true(cell_number(f, "a", 2) == 2000 && cell_number(f, "c", 0) == .12);
    frame_close(f);
    struct csv_opts opts = { .overrides = over, .n_overrides = 3 };
    f = csv_frame("a;b;c\n3.000;02/03/2024;50%\nx;y;-\n", &opts);
    assert_true(cell_number(f, "a", 0) == 3000 && cell_number(f, "c", 0) == .5);
    assert_true(cell_number(f, "b", 0) == day(2024, 3, 2));
    assert_true(f->cols[0].not_numbers == 1 && f->cols[1].not_numbers == 1 &&
                f->cols[2].not_numbers == 0);
    frame_close(f);
}

static void a_note_of_amounts_reads_another_table_alike(void **state)
{
    struct frame *f = COLUMN("%d min", "1%d s", "%d h");
    char note[400];

    (void)state;
    (void)snprintf(note, sizeof(note), "%s", f->cols[0].note);
    struct csv_override over = { .name = "x", .type = f->cols[0].type, .note = note };
    struct csv_opts opts = { .overrides = &over, .n_overrides = 1 };
    frame_close(f);
    f = csv_frame("x,k\n5 m,1\n90 s,2\n5 kg,3\n,4\n", &opts);
    assert_true(cell_number(f, "x", 0) == 300 && cell_number(f, "x", 1) == 90);
    assert_int_equal(f->cols[0].not_numbers, 1);
    assert_int_equal(f->cols[0].missing, 2);
    frame_close(f);
}

/* `missing` lists the only texts for missing: NA is a level then, a number may stand for missing, and a second table is
 * read so too. */
static void a_column_may_list_its_own_words_for_missing(void **state)
{
    static const char *const none[] = { NULL }, *const marks[] = { "-999", "a \"b\\", NULL };
    const struct csv_override over[] = { { .name = "*", .missing = marks, .has_no_type = true },
                                         { .name = "r", .missing = none, .has_no_type = true } };
    const struct csv_opts opts = { .overrides = over, .n_overrides = 2 };
    static const char text[] = "x,r,z\n-999,NA,NA\n1,EU,-999\n2.5,NA,\n3,EU,b\n,,b\n";
    struct frame *f = csv_frame(text, &opts);
    char note[200];

    (void)state;
    assert_int_equal(f->cols[0].missing, 2);
    assert_true(isnan(cell_number(f, "x", 0)) && f->cols[0].min == 1);
    assert_string_equal(cell_text(f, "r", 0), "NA");
    assert_int_equal(f->cols[1].missing, 1);
    assert_string_equal(cell_text(f, "z", 0), "NA");
    assert_int_equal(f->cols[2].missing, 2);
    (void)snprintf(note, sizeof(note), "%s", f->cols[0].note);
    assert_string_equal(note, "{\"missing_only\":[\"-999\",\"a \\\"b\\\\\"]}");
    frame_close(f);
    const struct csv_override again[] = { { .name = "x", .note = note } };
    const struct csv_opts like = { .overrides = again, .n_overrides = 1 };
    f = csv_frame("x,y\n-999,1\n7,2\n-,3\n", &like);
    assert_true(isnan(cell_number(f, "x", 0)) && cell_number(f, "x", 1) == 7);
    assert_true(isnan(cell_number(f, "x", 2)) && f->cols[0].not_numbers == 0);
    frame_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_in_every_dress),
        cmocka_unit_test(amounts_are_read_in_every_unit),
        cmocka_unit_test(bounds_are_beside_their_numbers),
        cmocka_unit_test(words_among_numbers_are_missing),
        cmocka_unit_test(every_sign_of_a_currency_is_known),
        cmocka_unit_test(every_word_for_missing_is_known),
        cmocka_unit_test(a_few_other_words_are_missing_and_counted),
        cmocka_unit_test(categories_never_become_numbers),
        cmocka_unit_test(dates_are_read_in_every_order),
        cmocka_unit_test(the_sequence_tells_day_from_month),
        cmocka_unit_test(what_is_no_day_is_no_date),
        cmocka_unit_test(seconds_since_1970_are_dates_by_name),
        cmocka_unit_test(whole_numbers_that_are_all_days_are_dates),
        cmocka_unit_test(a_note_of_whole_days_reads_another_table_alike),
        cmocka_unit_test(lists_and_texts_are_told_from_categories),
        cmocka_unit_test(declared_columns_obey),
        cmocka_unit_test(a_note_reads_another_table_alike),
        cmocka_unit_test(a_note_of_amounts_reads_another_table_alike),
        cmocka_unit_test(a_column_may_list_its_own_words_for_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
