/* test_csv_wide.c - numbers read in groups give the same file, bit for bit, as numbers read row by row, whatever stands
 * beside them; the values are those of strtod; and short texts that were there before keep their codes. */
#include "tests/ml/csv_rig.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/simd.h"
#include "ml/read/csv_seen.h"

#include <math.h>
#include <stdlib.h>

static const char *const odd_numbers[] = {
    "",
    "-",
    "5-",
    "-0",
    "007",
    "-05",
    "0",
    "--1",
    "1e5",
    " 7",
    "+7",
    "1.",
    ".5",
    "-.5",
    "1..2",
    "1.2.3",
    "-0.0",
    "0.0",
    "000.5",
    "0.00009",
    "0.0001",
    "-0.00",
    "1.50",
    "99999999",
    "-9999999",
    "-99999999",
    "123456789",
    "2147483647",
    "1-2.5",
    "1.2-5",
    "2147483648",
    "9999999999999.5",
    "99999999999999.5",
    "0.12345678901234",
    "0.123456789012345",
    "-1234567.12345678",
    "1234567.12345678",
    "1.5x",
    "x.55",
    "12345678901234.",
};

static void digits(struct rng *r, char *out, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = (char)('0' + rng_below(r, 10));
    out[n] = '\0';
}

/* kind 0: whole numbers; 1: decimals; 2: both. */
static void number_of(struct rng *r, unsigned kind, unsigned oddness, char out[64])
{
    char whole[32], part[32];

    if (rng_below(r, 1000) < oddness) {
        (void)snprintf(out, 64, "%s", odd_numbers[rng_below(r, ARRAY_LEN(odd_numbers))]);
        return;
    }
    digits(r, whole, 1 + rng_below(r, kind ? 7 : 9));
    digits(r, part, 1 + rng_below(r, 8));
    if (whole[0] == '0' && rng_below(r, 50))
        whole[0] = '3';
    if (kind == 1 || (kind == 2 && rng_below(r, 20) == 0))
        (void)snprintf(out, 64, "%s%s.%s", rng_below(r, 4) ? "" : "-", whole, part);
    else
        (void)snprintf(out, 64, "%s%s", rng_below(r, 4) ? "" : "-", whole);
}

/* Bits of shape: some fields quoted, lines end in CR LF, doubled quotes in a text column. */
enum { QUOTED = 1, CRLF = 2, ESCAPED = 4, SHAPES = 8 };

static void table_fill(struct buf *b, uint64_t seed, unsigned shape, int cols, unsigned oddness)
{
    struct rng r;
    char number[64];

    rng_init(&r, seed, 0);
    for (int c = 0; c < cols; c++)
        (void)buf_addf(b, NULL, "%sc%d", c ? "," : "", c);
    (void)buf_adds(b, shape & ESCAPED ? ",t" : "", NULL);
    for (int i = 0; i < 3000; i++) {
        (void)buf_adds(b, shape & CRLF ? "\r\n" : "\n", NULL);
        for (int c = 0; c < cols; c++) {
            const char *quote = shape & QUOTED && rng_below(&r, 2) ? "\"" : "";
            number_of(&r, (unsigned)c % 3, oddness, number);
            (void)buf_addf(b, NULL, "%s%s%s%s", c ? "," : "", quote, number, quote);
        }
        if (shape & ESCAPED)
            (void)buf_addf(b, NULL, ",\"t\"\"%u\"", rng_below(&r, 40));
    }
    (void)buf_adds(b, "\n", NULL);
}

static void groups_read_what_rows_read(void **state)
{
    static const int widths[] = { 1, 2, 3, 7 };
    static const unsigned oddness[] = { 0, 2, 30 };

    (void)state;
    if (simd_best() < SIMD_AVX2)
        skip();
    for (unsigned i = 0; i < SHAPES * ARRAY_LEN(widths) * ARRAY_LEN(oddness); i++) {
        unsigned shape = i % SHAPES, width = i / SHAPES % ARRAY_LEN(widths);
        char plain[SHA256_HEX], wide[SHA256_HEX];
        struct buf b;
        buf_init(&b, 8 << 20);
        table_fill(&b, i, shape, widths[width], oddness[i / SHAPES / ARRAY_LEN(widths)]);
        simd_force(SIMD_PLAIN);
        frame_close(csv_frame_n(b.data, b.len, 0, NULL, plain));
        simd_force(simd_best());
        frame_close(csv_frame_n(b.data, b.len, i % 2 ? 0 : 1009, NULL, wide));
        if (strcmp(plain, wide) != 0)
            fail_msg("table %u (shape %u, %d columns) is not the same", i, shape, widths[width]);
        buf_fini(&b);
    }
}

static void decimals_are_the_nearest_doubles(void **state)
{
    enum { ROWS = 20000 };
    char(*text)[64] = mem_alloc(ROWS * sizeof(*text));
    double *x = mem_alloc(ROWS * sizeof(*x));
    struct buf b;
    struct rng r;

    (void)state;
    rng_init(&r, 5, 0);
    buf_init(&b, 8 << 20);
    (void)buf_adds(&b, "a,b\n", NULL);
    for (int i = 0; i < ROWS; i++) {
        char whole[32], part[32];
        uint32_t n = 1 + rng_below(&r, 13);
        digits(&r, whole, n);
        digits(&r, part, 1 + rng_below(&r, 15 - n));
        if (n > 1 && whole[0] == '0')
            whole[0] = '1';
        (void)snprintf(text[i], 64, "%s%s.%s", rng_below(&r, 2) ? "" : "-", whole, part);
        (void)buf_addf(&b, NULL, "%s,1\n", text[i]);
    }
    struct frame *f = csv_frame_n(b.data, b.len, 0, NULL, (char[SHA256_HEX]){ 0 });
    frame_numbers(f, 0, 0, ROWS, x);
    for (int i = 0; i < ROWS; i++) {
        double want = strtod(text[i], NULL) + 0.0;
        if (x[i] != want)
            fail_msg("%s was read as %.17g", text[i], x[i]);
    }
    frame_close(f);
    buf_fini(&b);
    mem_free(text);
    mem_free(x);
}

/* Text i of `length`, and as it is written in quotes. */
static void text_of(uint32_t i, char text[64], char written[64])
{
    uint32_t length = 1 + i % 20;
    size_t n = (size_t)snprintf(text, 64, "%s%x", i % 7 == 3 ? "\"" : "", i), to = 0;

    for (; n < length; n++)
        text[n] = 'q';
    text[n] = '\0';
    for (size_t from = 0; from < n; from++) {
        if (text[from] == '"')
            written[to++] = '"';
        written[to++] = text[from];
    }
    written[to] = '\0';
}

/* Few texts, more than are kept, and so many that none is kept any more. */
static void texts_keep_their_codes(void **state)
{
    static const uint32_t levels[] = { 3, 300, CSV_SEEN_LEVELS + 500, CSV_SEEN_MOST + 500 };

    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(levels); c++) {
        uint32_t rows = levels[c] * 2 + 1000;
        char text[64], written[64];
        struct buf b;
        struct rng r;
        buf_init(&b, 64 << 20);
        (void)buf_adds(&b, "a,b", NULL);
        for (uint32_t i = 0; i < rows; i++) {
            text_of(i % levels[c], text, written);
            const char *quote = strchr(text, '"') || i % 3 == 0 ? "\"" : "";
            (void)buf_addf(&b, NULL, "\n%s%s%s,x", quote, written, quote);
        }
        rng_init(&r, c, 0);
        const struct csv_override as_text = { .name = "a", .type = FRAME_CATEGORICAL };
        const struct csv_opts opts = { .overrides = &as_text, .n_overrides = 1 };
        struct frame *f = csv_frame_n(b.data, b.len, 0, &opts, (char[SHA256_HEX]){ 0 });
        assert_int_equal(f->rows, rows);
        assert_int_equal(f->cols[0].n_levels, levels[c]);
        for (int k = 0; k < 2000; k++) {
            uint32_t row = rng_below(&r, rows);
            text_of(row % levels[c], text, written);
            assert_string_equal(cell_text(f, "a", row), text);
        }
        frame_close(f);
        buf_fini(&b);
    }
}

/* A key is of all bytes and of their number, also where a text holds NUL bytes. */
static void keys_tell_texts_apart(void **state)
{
    static const struct {
        const char *text;
        size_t n;
    } texts[] = {
        { "a", 1 },         { "a\0", 2 },         { "aaaaaaaa", 8 },         { "aaaaaaaa\0", 9 },
        { "aaaaaaaaa", 9 }, { "aaaaaaaaaa", 10 }, { "aaaaaaaaaaaaaaa", 15 }, { "b", 1 }
    };
    struct csv_seen seen = { 0 };
    char one[32] = "", other[32];
    uint32_t code = 0;

    (void)state;
    for (uint32_t i = 0; i < ARRAY_LEN(texts); i++) {
        memset(other, 'z', sizeof(other));
        memcpy(one, texts[i].text, texts[i].n);
        memcpy(other, texts[i].text, texts[i].n);
        assert_false(csv_seen_find(&seen, one, texts[i].n, &code));
        csv_seen_keep_text(&seen, one, texts[i].n, i);
        assert_true(csv_seen_find(&seen, other, texts[i].n, &code));
        assert_int_equal(code, i);
    }
    csv_seen_keep_text(&seen, "sixteen letters.", 16, 99);
    assert_false(csv_seen_find(&seen, "sixteen letters.", 16, &code));
    csv_seen_keep_text(&seen, "late text       ", 9, CSV_SEEN_MOST + 1);
    assert_int_equal(csv_seen_bytes(&seen), 0);
    csv_seen_keep_text(&seen, "b               ", 1, 0);
    assert_false(csv_seen_find(&seen, "b               ", 1, &code));
    csv_seen_fini(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_read_what_rows_read),
        cmocka_unit_test(decimals_are_the_nearest_doubles),
        cmocka_unit_test(texts_keep_their_codes),
        cmocka_unit_test(keys_tell_texts_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
