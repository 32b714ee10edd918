/* test_csv_scan.c - the masks against a byte-by-byte state machine, for the fast and the portable form, over texts drawn
 * from the bytes that matter; and the UTF-8 check against the standard's edges. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/read/csv_scan.h"

enum { MOST = 400 };

struct seen {
    uint32_t ends[MOST];
    size_t n_ends;
    bool in_quotes;
    enum csv_scan_fault fault;
    size_t fault_at;
};

/* One byte at a time; a fault of a byte pair lies at its second byte, as in csv_scan. */
static void plain_scan(struct seen *s, const uint8_t *t, size_t n)
{
    enum { START, FIELD, QUOTED, CLOSED, CR } at = START;

    memset(s, 0, sizeof(*s));
    for (size_t i = 0; i < n && !s->fault; i++) {
        uint8_t c = t[i];
        enum csv_scan_fault fault = CSV_SCAN_OK;
        if (c == 0)
            fault = CSV_SCAN_NUL;
        else if (at == QUOTED)
            at = c == '"' ? CLOSED : QUOTED;
        else if (at == CR && c != '\n')
            fault = CSV_SCAN_CR;
        else if (c == ',' || c == '\n')
            s->ends[s->n_ends++] = (uint32_t)i, at = START;
        else if (c == '"' && (at == START || at == CLOSED))
            at = QUOTED;
        else if (c == '\r')
            at = CR;
        else if (at == CLOSED)
            fault = CSV_SCAN_QUOTE_CLOSE;
        else if (c == '"')
            fault = CSV_SCAN_QUOTE_OPEN;
        else
            at = FIELD;
        s->fault = fault;
        s->fault_at = i;
    }
    s->in_quotes = at == QUOTED;
}

typedef void scan_fn(struct csv_scan *s, const uint8_t *text, size_t n, char delimiter);

static void check_scan(scan_fn *scan, const uint8_t *text, size_t n)
{
    uint32_t ends[MOST + 64];
    struct csv_scan got = { .ends = ends, .cap_ends = ARRAY_LEN(ends) };
    struct seen want;
    size_t lines = 0;

    plain_scan(&want, text, n);
    scan(&got, text, n, ',');
    if (want.fault) {
        assert_int_not_equal(got.fault, CSV_SCAN_OK);
        assert_int_equal(got.fault_at, want.fault_at);
    } else {
        assert_int_equal(got.fault, CSV_SCAN_OK);
        assert_int_equal(got.n_ends, want.n_ends);
        assert_int_equal(got.in_quotes, want.in_quotes);
    }
    for (size_t i = 0; i < want.n_ends && want.ends[i] < (want.fault ? want.fault_at : n); i++) {
        assert_int_equal(ends[i], want.ends[i]);
        lines += text[ends[i]] == '\n';
    }
    if (!want.fault)
        assert_int_equal(got.n_lines, lines);
}

static void masks_equal_a_plain_state_machine(void **state)
{
    static const char alphabet[] = "aab,,\"\"\"\n\r\n9\xc3";
    uint8_t text[MOST + 64];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 0);
    for (int i = 0; i < 60000; i++) {
        size_t n = rng_below(&r, MOST - 64), kinds = 3 + rng_below(&r, sizeof(alphabet) - 3);
        for (size_t j = 0; j < sizeof(text); j++)
            text[j] =
                rng_below(&r, 3000) == 0 ? 0 : (uint8_t)alphabet[rng_below(&r, (uint32_t)kinds)];
        check_scan(csv_scan, text, n);
        check_scan(csv_scan_portable, text, n);
    }
}

/* Well-formed texts are rare among random ones: quoted fields of random length, straddling every boundary. */
static void quoted_fields_straddle_every_boundary(void **state)
{
    uint8_t text[MOST + 64] = { 0 };

    (void)state;
    for (size_t before = 0; before < 70; before++) {
        for (size_t len = 0; len < 140; len++) {
            size_t n = 0;
            memset(text, 'x', sizeof(text));
            n = before;
            text[n++] = ',';
            text[n++] = '"';
            for (size_t j = 0; j < len; j++)
                text[n++] = j % 3 == 0 ? ',' : j % 3 == 1 ? '\n' : 'y';
            text[n++] = '"';
            if (len % 2) {
                text[n++] = '"';
                text[n++] = '"';
            }
            text[n++] = '\r';
            text[n++] = '\n';
            check_scan(csv_scan, text, n);
            check_scan(csv_scan_portable, text, n);
        }
    }
}

static void utf8_is_judged_by_the_standard(void **state)
{
    static const struct {
        const char *text;
        size_t fault; /* length = none */
    } cases[] = {
        { "plain ascii, long enough for a word", 35 },
        { "\xc3\xbc", 2 },
        { "\xe2\x82\xac", 3 },
        { "\xf0\x9f\x98\x80", 4 },
        { "\xf4\x8f\xbf\xbf", 4 },
        { "\xf4\x90\x80\x80", 0 },
        { "\xc0\xaf", 0 },
        { "\xe0\x80\xaf", 0 },
        { "\xed\xa0\x80", 0 },
        { "\xed\x9f\xbf", 3 },
        { "\xf8\x88\x80\x80\x80", 0 },
        { "abc\x80", 3 },
        { "12345678\xc3", 8 },
        { "a\xe2\x82", 1 },
        { "\xf0\x8f\xbf\xbf", 0 },
        { "\xff", 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(csv_utf8_fault((const uint8_t *)cases[i].text, strlen(cases[i].text)),
                         cases[i].fault);
        /* the same among ASCII, at every place of the words that are looked at together */
        for (size_t before = 0; before < 70; before++) {
            size_t n = strlen(cases[i].text), fault = cases[i].fault + before;
            uint8_t text[160];
            memset(text, 'x', sizeof(text));
            memcpy(text + before, cases[i].text, n);
            assert_int_equal(csv_utf8_fault(text, before + n), fault);
            bool is_valid = cases[i].fault == n;
            assert_int_equal(csv_utf8_fault(text, sizeof(text)), is_valid ? sizeof(text) : fault);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_equal_a_plain_state_machine),
        cmocka_unit_test(quoted_fields_straddle_every_boundary),
        cmocka_unit_test(utf8_is_judged_by_the_standard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
