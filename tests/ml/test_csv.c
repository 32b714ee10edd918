/* test_csv.c - the CSV reader as a whole: what text means, that no boundary of reads, buffers or chunks shows, that memory
 * stays bounded, and that each kind of broken input gets one error naming line and column and leaves nothing behind. */
#include "tests/ml/csv_rig.h"

#include "base/buf.h"
#include "base/fault.h"
#include "base/gz.h"
#include "base/mem.h"
#include "base/rng.h"

#include <dirent.h>
#include <math.h>
#include <unistd.h>

static void types_are_inferred_from_every_value(void **state)
{
    struct frame *f =
        csv_frame("a,b,c,d,e\n1,x,1.5,,NA\n-2,1,,NaN,\n300000,2,2.5e3,null,?\n", NULL);

    (void)state;
    assert_int_equal(f->rows, 3);
    assert_int_equal(f->n_cols, 5);
    assert_true(cell_number(f, "a", 2) == 300000 && cell_number(f, "a", 1) == -2);
    assert_string_equal(cell_text(f, "b", 0), "x");
    assert_string_equal(cell_text(f, "b", 2), "2");
    assert_true(isnan(cell_number(f, "c", 1)) && cell_number(f, "c", 2) == 2500);
    assert_int_equal(f->cols[3].missing, 3);
    assert_int_equal(f->cols[4].missing, 3);
    assert_int_equal(f->cols[4].type, FRAME_NUMERIC);
    frame_close(f);
}

static void quoting_follows_rfc_4180(void **state)
{
    struct frame *f = csv_frame(
        "\"na,me\",\"q\"\"q\"\r\n\"a,b\",\"say \"\"hi\"\"\"\r\n\"line\nbreak\",\"\"\r\n\"7\",\"\"\"\"\r\n",
        NULL);

    (void)state;
    assert_int_equal(f->rows, 3);
    assert_string_equal(cell_text(f, "na,me", 0), "a,b");
    assert_string_equal(cell_text(f, "na,me", 1), "line\nbreak");
    assert_string_equal(cell_text(f, "na,me", 2), "7");
    assert_string_equal(cell_text(f, "q\"q", 0), "say \"hi\"");
    assert_string_equal(cell_text(f, "q\"q", 1), "");
    assert_string_equal(cell_text(f, "q\"q", 2), "\"");
    frame_close(f);
}

static void quoted_numbers_are_numbers(void **state)
{
    struct frame *f = csv_frame("a,b\n\"12\",\"1.25\"\n\"-3\",\"\"\n", NULL);

    (void)state;
    assert_true(cell_number(f, "a", 0) == 12 && cell_number(f, "a", 1) == -3);
    assert_true(cell_number(f, "b", 0) == 1.25 && isnan(cell_number(f, "b", 1)));
    frame_close(f);
}

static void columns_without_a_name_are_called_by_their_place(void **state)
{
    static const char *const want[] = { "c1_3", "c1", "c3", "c1_2", "c5" };
    struct frame *f = csv_frame(",c1,\"\",c1_2,\n7,1,2,3,\n8,4,5,6,\n", NULL);

    (void)state;
    assert_int_equal(f->n_cols, 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(f->cols[i].name, want[i]);
    assert_true(cell_number(f, "c1_3", 1) == 8 && cell_number(f, "c3", 0) == 2);
    assert_int_equal(f->cols[4].missing, 2);
    frame_close(f);
}

static void delimiter_header_and_mark_are_found(void **state)
{
    static const struct {
        const char *text;
        int cols;
        int64_t rows;
        const char *first;
    } cases[] = {
        { "a,b\n1,2\n", 2, 1, "a" },
        { "a;b\n1,5;2\n", 2, 1, "a" },
        { "a\tb\tc\n1\t2\t3\n", 3, 1, "a" },
        { "a|b\n1|2\n3|4\n", 2, 2, "a" },
        { "1,2\n3,4\n", 2, 2, "c1" },
        { "\xef\xbb\xbf"
          "a,b\n1,2\n",
          2, 1, "a" },
        { "one\n1\n2", 1, 2, "one" },
        { "\"x;y\",b\n\"p;q\",2\n", 2, 1, "x;y" },
        { "\n\r\na,b\n1,2\n", 2, 1, "a" },
        { "a,b\n\n1,2\n\r\n3,4\n\n", 2, 2, "a" },
        { "a,b\r\n1,2\r\n3,4", 2, 2, "a" },
        { ",a,b\n0,1,2\n1,3,4\n", 3, 2, "c1" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct frame *f = csv_frame(cases[i].text, NULL);
        assert_int_equal(f->n_cols, cases[i].cols);
        assert_int_equal(f->rows, cases[i].rows);
        assert_string_equal(f->cols[0].name, cases[i].first);
        frame_close(f);
    }
}

static void decimal_commas_are_numbers_where_no_comma_separates(void **state)
{
    struct frame *f =
        csv_frame("a;b;c;d\n1,5;01,20;7;\"2,25\"\r\n-0,5;1,50;8,125;NA\r\n3;1,2,3;9;1e1\r\n", NULL);

    (void)state;
    assert_true(cell_number(f, "a", 0) == 1.5 && cell_number(f, "a", 1) == -0.5);
    assert_true(cell_number(f, "a", 2) == 3 && cell_number(f, "c", 1) == 8.125);
    assert_true(cell_number(f, "d", 0) == 2.25 && isnan(cell_number(f, "d", 1)));
    assert_string_equal(cell_text(f, "b", 0), "01,20"); /* as it was spelled, once a text came */
    assert_string_equal(cell_text(f, "b", 1), "1,50");
    assert_string_equal(cell_text(f, "b", 2), "1,2,3");
    frame_close(f);
    f = csv_frame("1,5;2\n3;4\n", NULL); /* a number in the first row: no header */
    assert_true(f->rows == 2 && cell_number(f, "c1", 0) == 1.5);
    frame_close(f);
}

static void a_comma_before_three_digits_parts_thousands(void **state)
{
    struct frame *f = csv_frame("a;b\n1,234;5.5\n2,500;6\n", NULL);

    (void)state;
    assert_true(cell_number(f, "a", 0) == 1234 && cell_number(f, "a", 1) == 2500);
    assert_true(cell_number(f, "b", 0) == 5.5);
    frame_close(f);
    f = csv_frame("a,b\n\"1,5\",2\n\"2,5\",3\n", NULL); /* one column writes decimal commas */
    assert_true(cell_number(f, "a", 0) == 1.5 && cell_number(f, "a", 1) == 2.5);
    frame_close(f);
}

static void options_override_what_is_guessed(void **state)
{
    struct csv_override over[] = { { .name = "a", .type = FRAME_CATEGORICAL },
                                   { .name = "c", .type = FRAME_IGNORED },
                                   { .name = "d", .type = FRAME_NUMERIC } };
    struct csv_opts opts = { .header = CSV_HEADER_YES, .overrides = over, .n_overrides = 3 };
    struct frame *f = csv_frame("a,b,c,d\n01,2,x,1.50\n1,3,y,\n", &opts);

    (void)state;
    assert_string_equal(cell_text(f, "a", 0), "01");
    assert_string_equal(cell_text(f, "a", 1), "1");
    assert_int_equal(f->cols[2].type, FRAME_IGNORED);
    assert_true(cell_number(f, "d", 0) == 1.5);
    frame_close(f);
    opts = (struct csv_opts){ .header = CSV_HEADER_NO, .delimiter = ',' };
    f = csv_frame("x;y,z\nu,v\n", &opts);
    assert_int_equal(f->rows, 2);
    assert_string_equal(cell_text(f, "c1", 0), "x;y");
    frame_close(f);
}

static void spellings_survive_when_numbers_turn_out_to_be_text(void **state)
{
    static const char *const cells[] = { "7",      "00.7",       "1.50",   "1e5",
                                         "-0",     "+3",         "0.1",    "12345678901234567890",
                                         "0.0001", "1e-7",       " 4",     ".5",
                                         "5.",     "0.0",        "-17.25", "123456789.5",
                                         "1E5",    "2147483648", "inf",    "99999999" };
    size_t n = ARRAY_LEN(cells);
    const int reps = 9000; /* more than two chunks of two columns before the text comes */
    struct buf b;

    (void)state;
    buf_init(&b, 64 << 20);
    assert_int_equal(buf_adds(&b, "id,v\n", NULL), 0);
    for (int i = 0; i < reps * (int)n; i++)
        assert_int_equal(
            buf_addf(&b, NULL, "%d,%s\n", i, i % 977 == 5 ? "NA" : cells[(size_t)i % n]), 0);
    /* a code, so the column is text */
    assert_int_equal(buf_adds(&b, "0,0123\n", NULL), 0);
    char hash[SHA256_HEX];
    struct frame *f = csv_frame_n(b.data, b.len, 0, NULL, hash);
    assert_int_equal(f->rows, reps * (int)n + 1);
    assert_int_equal(f->cols[0].type, FRAME_NUMERIC);
    assert_int_equal(f->cols[1].n_levels, n + 1);
    for (int64_t i = 0; i + 1 < f->rows; i += 7)
        assert_string_equal(cell_text(f, "v", i), i % 977 == 5 ? "" : cells[(size_t)i % n]);
    assert_string_equal(cell_text(f, "v", f->rows - 1), "0123");
    frame_close(f);
    buf_fini(&b);
}

/* "01" and "1" may be two classes, and a postal code loses its zeros as a number: from the first such field on, or in any
 * later chunk, the column is text as written. Fractions, signs and a lone zero tell nothing. */
static void whole_numbers_that_begin_with_a_zero_are_codes(void **state)
{
    const struct csv_override over = { .name = "a", .type = FRAME_NUMERIC };
    const struct csv_opts opts = { .overrides = &over, .n_overrides = 1 };
    static const char text[] = "a,b,c,d\n1,0,00.5,5\n01,10,-01,00\n007,0,1e05,\"0\"\n";
    struct frame *f = csv_frame(text, NULL);
    struct buf b;

    (void)state;
    assert_string_equal(cell_text(f, "a", 0), "1");
    assert_string_equal(cell_text(f, "a", 1), "01");
    assert_string_equal(cell_text(f, "a", 2), "007");
    assert_string_equal(cell_text(f, "d", 1), "00");
    assert_int_equal(f->cols[1].type, FRAME_NUMERIC);
    assert_int_equal(f->cols[2].type, FRAME_NUMERIC);
    frame_close(f);
    f = csv_frame(text, &opts);
    assert_true(cell_number(f, "a", 1) == 1 && cell_number(f, "a", 2) == 7);
    frame_close(f);
    buf_init(&b, 8 << 20);
    for (int i = 0; i < 150000; i++)
        assert_int_equal(buf_adds(&b, i % 3 ? "12\n" : "2.50\n", NULL), 0);
    assert_int_equal(buf_adds(&b, "02\n", NULL), 0);
    char hash[SHA256_HEX];
    f = csv_frame_n(b.data, b.len, 0, NULL, hash);
    assert_int_equal(f->cols[0].n_levels, 3);
    assert_string_equal(cell_text(f, "c1", 3), "2.50");
    assert_string_equal(cell_text(f, "c1", f->rows - 1), "02");
    frame_close(f);
    buf_fini(&b);
}

static void levels_come_by_frequency_then_text(void **state)
{
    struct frame *f = csv_frame("v,w\nb,1\na,1\nc,1\nc,1\n,1\n", NULL);
    const struct frame_col *c = &f->cols[0];

    (void)state;
    assert_int_equal(c->n_levels, 3);
    assert_string_equal(c->levels[0], "c");
    assert_string_equal(c->levels[1], "a");
    assert_string_equal(c->levels[2], "b");
    assert_int_equal(c->missing, 1);
    assert_int_equal(c->distinct, 3);
    frame_close(f);
}

/* A table with every kind of field, drawn from a seed. */
static void random_text(struct buf *b, uint64_t seed, int rows)
{
    static const char *const words[] = { "plain",
                                         "\"quo,ted\"",
                                         "\"two\nlines\"",
                                         "\"a \"\"b\"\"\"",
                                         "\xc3\xbc\xe2\x82\xac",
                                         "",
                                         "NA",
                                         "x" };
    struct rng r;

    rng_init(&r, seed, 0);
    assert_int_equal(buf_adds(b, "i,d,t,m,\"l\"\n", NULL), 0);
    for (int i = 0; i < rows; i++) {
        const char *eol = rng_below(&r, 2) ? "\n" : "\r\n";
        int rc = buf_addf(b, NULL, "%d,%.*f,%s,", (int)rng_below(&r, 2000000) - 1000000,
                          (int)rng_below(&r, 9), rng_normal(&r) * 100,
                          words[rng_below(&r, ARRAY_LEN(words))]);
        assert_int_equal(rc, 0);
        if (rng_below(&r, 50) == 0)
            rc = buf_adds(b, words[rng_below(&r, 5)], NULL);
        else if (rng_below(&r, 9))
            rc = buf_addf(b, NULL, "%u", rng_below(&r, 100));
        assert_int_equal(rc, 0);
        assert_int_equal(buf_addf(b, NULL, ",\"%u\"%s", rng_below(&r, 70000), eol), 0);
    }
}

static void read_sizes_do_not_show(void **state)
{
    static const size_t steps[] = { 0, 1, 7, 64, 4099 };
    char want[SHA256_HEX], got[SHA256_HEX];

    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct buf b;
        buf_init(&b, 64 << 20);
        random_text(&b, seed, 20000);
        frame_close(csv_frame_n(b.data, b.len, 0, NULL, want));
        for (size_t i = 1; i < ARRAY_LEN(steps); i++) {
            frame_close(csv_frame_n(b.data, b.len, steps[i], NULL, got));
            assert_string_equal(got, want);
        }
        buf_fini(&b);
    }
}

/* A slow, plain reading of one well-formed record: the oracle. Returns the field's bytes, unquoted. */
static size_t plain_field(const char **at, char *out)
{
    const char *p = *at;
    size_t n = 0;
    bool in_quotes = *p == '"';

    p += in_quotes;
    for (;; p++) {
        if (in_quotes && *p == '"' && p[1] == '"')
            out[n++] = *p++;
        else if (in_quotes && *p == '"')
            in_quotes = false;
        else if (!in_quotes && (*p == ',' || *p == '\n' || *p == '\r'))
            break;
        else
            out[n++] = *p;
    }
    out[n] = '\0';
    p += *p == '\r';
    *at = p + 1;
    return n;
}

static void every_field_is_what_a_plain_reader_reads(void **state)
{
    static const char *const names[] = { "i", "d", "t", "m", "l" };
    char field[64], hash[SHA256_HEX];
    struct buf b;

    (void)state;
    buf_init(&b, 64 << 20);
    random_text(&b, test_seed() + 100, 30000);
    struct frame *f = csv_frame_n(b.data, b.len, 0, NULL, hash);
    assert_int_equal(f->rows, 30000);
    const char *p = b.data;
    for (int c = 0; c < 5; c++)
        plain_field(&p, field);
    for (int64_t row = 0; row < f->rows; row++) {
        for (int c = 0; c < 5; c++) {
            plain_field(&p, field);
            bool is_missing = !*field || strcmp(field, "NA") == 0;
            if (f->cols[c].type == FRAME_CATEGORICAL)
                assert_string_equal(cell_text(f, names[c], row), is_missing ? "" : field);
            else if (is_missing || strspn(field, "+-.0123456789") < strlen(field))
                assert_true(isnan(cell_number(f, names[c], row)));
            else
                assert_true(cell_number(f, names[c], row) == strtod(field, NULL));
        }
    }
    frame_close(f);
    buf_fini(&b);
}

static void broken_text_gets_one_error_with_its_place(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "", "t.csv: the file is empty" },
        { "\xef\xbb\xbf", "the file is empty" },
        { "\n\n\r\n", "the file is empty" },
        { "a,b\n", "t.csv: there is a header but no data" },
        { "a,b", "there is a header but no data" },
        { "a,b\n1,2\n1,2,3\n", "t.csv: line 3: expected 2 fields, found 3" },
        { "a,b\n1\n", "line 2: expected 2 fields, found 1" },
        { "a,b\n1,2\n\n3\n4,5\n", "line 4: expected 2 fields, found 1" },
        { "a,b\n1,\"x\n", "line 2, column \"b\": a quote is opened here and never closed" },
        { "a,b\nx,\"y\"z\n", "line 2, column \"b\": text after the closing quote of a field" },
        { "a,b\nx,y\"z\n",
          "line 2, column \"b\": a quote inside a field that does not start with one" },
        { "a,b\n\"p\nq\",y\n\"p\nq\",y\"\n", "line 5, column \"b\": a quote inside" },
        { "a,b\n1,x\ry\n", "line 2, column \"b\": a carriage return without a line feed" },
        { "a\rb\rc\r", "line 1, column 1: a carriage return without a line feed" },
        { "a,b\n1,x\xff\n", "line 2, column \"b\": invalid UTF-8; if this is Latin-1" },
        { "a,\xc0\xaf\n1,2\n", "line 1, column 2: invalid UTF-8" },
        { "a,b\n1,\xed\xa0\x80\n", "line 2, column \"b\": invalid UTF-8" },
        { ",,\n1,2,3\n", "t.csv: line 1: column 1 has no name" },
        { "a,b,a\n1,2,3\n", "line 1: two columns are called \"a\"" },
        { "\"\",\"\"\nx,y\n", "line 1: column 1 has no name" },
        { "c2,,c2\n1,2,3\n", "line 1: two columns are called \"c2\"" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        for (size_t step = 0; step < 2; step++) {
            assert_int_equal(csv_try(cases[i].text, strlen(cases[i].text), step, NULL, &err), -1);
            if (!strstr(err.text, cases[i].want))
                fail_msg("case %zu: \"%s\" lacks \"%s\"", i, err.text, cases[i].want);
        }
        assert_int_equal(csv_try(cases[i].text, strlen(cases[i].text), 0, NULL, NULL),
                         -1); /* err may be NULL */
    }
}

static void nul_bytes_are_refused(void **state)
{
    static const char text[] = "a,b\n1,2\n1,\0\n", wide[] = "\xff\xfe"
                                                            "a\0,\0b\0\n\0";
    struct err err = { 0 };

    (void)state;
    assert_int_equal(csv_try(text, sizeof(text) - 1, 0, NULL, &err), -1);
    assert_non_null(strstr(err.text, "line 3, column \"b\": a NUL byte"));
    assert_int_equal(csv_try(wide, sizeof(wide) - 1, 0, NULL, &err), -1);
    assert_non_null(strstr(err.text, "the file is UTF-16; convert it: iconv"));
    assert_int_equal(csv_try("\xff\xfe\0\0a\0\0\0\n\0\0\0", 12, 0, NULL, &err), -1);
    assert_non_null(strstr(err.text, "the file is UTF-32; convert it: iconv"));
    assert_int_equal(csv_try("\xfe\xff\0a\0\n", 6, 0, NULL, &err), -1);
    assert_non_null(strstr(err.text, "the file is UTF-16; convert it: iconv"));
}

static void overrides_that_do_not_fit_are_refused(void **state)
{
    struct csv_override number[] = { { .name = "b", .type = FRAME_NUMERIC } },
                        unknown[] = { { .name = "agee", .type = FRAME_NUMERIC } };
    struct csv_opts opts = { .overrides = number, .n_overrides = 1 };
    struct err err = { 0 };

    (void)state;
    assert_int_equal(csv_try("a,b\n1,\n1,def\n3,abc\n", 19, 0, &opts, &err), -1);
    assert_string_equal(err.text,
                        "t.csv: column \"b\" is to hold numbers, and no cell of it is one: "
                        "\"def\"");
    opts.overrides = unknown;
    assert_int_equal(csv_try("age,b\n1,2\n", 10, 0, &opts, &err), -1);
    assert_string_equal(err.text, "t.csv: no column is called \"agee\"; did you mean \"age\"?");
    opts.overrides_optional = true;
    assert_int_equal(csv_try("age,b\n1,2\n", 10, 0, &opts, &err), 0);
}

static void limits_are_kept_without_much_memory(void **state)
{
    struct err err = { 0 };
    struct buf b;

    (void)state;
    buf_init(&b, 16 << 20);
    assert_int_equal(buf_adds(&b, "a,b\n1,", NULL), 0);
    for (int i = 0; i < (CSV_MAX_FIELD >> 4) + 1; i++)
        assert_int_equal(buf_adds(&b, "0123456789abcdef", NULL), 0);
    assert_int_equal(buf_adds(&b, "\n", NULL), 0);
    assert_int_equal(csv_try(b.data, b.len, 0, NULL, &err), -1);
    assert_non_null(strstr(err.text, "line 2, column \"b\": a field"));
    buf_clear(&b);
    assert_int_equal(buf_adds(&b, "a,b\n1,\"", NULL), 0); /* a quote left open in a long file */
    for (int i = 0; i < (CSV_MAX_FIELD >> 4) * 2; i++)
        assert_int_equal(buf_adds(&b, "x,y,z,1,2,3,4,5\n", NULL), 0);
    assert_int_equal(csv_try(b.data, b.len, 0, NULL, &err), -1);
    assert_non_null(strstr(err.text, "line 2, column \"b\": a field is over the limit"));
    assert_non_null(strstr(err.text, "is a quote left open here?"));
    buf_clear(&b);
    for (int i = 0; i <= CSV_MAX_COLUMNS; i++)
        assert_int_equal(buf_adds(&b, "a,", NULL), 0);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(buf_adds(&b, "b,", NULL), 0);
    assert_int_equal(csv_try(b.data, b.len, 0, NULL, &err), -1);
    assert_non_null(strstr(err.text, "more than 100000 columns"));
    buf_clear(&b);
    struct csv_opts opts = { .max_bytes = 4 << 20 };
    assert_int_equal(buf_adds(&b, "a\n", NULL), 0);
    for (int i = 0; i < 400000; i++)
        assert_int_equal(buf_addf(&b, NULL, "text-%d\n", i), 0);
    assert_int_equal(csv_try(b.data, b.len, 0, &opts, &err), -1);
    assert_non_null(strstr(err.text, "more than the memory allowed"));
    buf_fini(&b);
}

static void hundred_thousand_columns_work(void **state)
{
    char hash[SHA256_HEX];
    struct buf b;

    (void)state;
    buf_init(&b, 64 << 20);
    for (int i = 0; i < CSV_MAX_COLUMNS; i++)
        assert_int_equal(buf_addf(&b, NULL, i ? ",x%d" : "x%d", i), 0);
    for (int row = 0; row < 40; row++) { /* more than one chunk */
        for (int i = 0; i < CSV_MAX_COLUMNS; i++)
            assert_int_equal(buf_addf(&b, NULL, "%c%d", i ? ',' : '\n', (i + row) % 10), 0);
    }
    struct frame *f = csv_frame_n(b.data, b.len, 0, NULL, hash);
    assert_int_equal(f->n_cols, CSV_MAX_COLUMNS);
    assert_int_equal(f->rows, 40);
    assert_true(cell_number(f, "x99999", 39) == (99999 + 39) % 10);
    assert_true(cell_number(f, "x12345", 35) == (12345 + 35) % 10);
    frame_close(f);
    buf_fini(&b);
}

static long failing_source(void *ctx, void *out, size_t n, struct err *err)
{
    int *calls = ctx;

    memset(out, 'a', n);
    return (*calls)++ == 0 ? 10 : err_set(err, ERR_IO, "the line went dead");
}

static void errors_of_the_stream_come_through(void **state)
{
    struct csv_opts opts = { .name = "t.csv" };
    struct err err = { 0 };
    char hash[SHA256_HEX], path[256];
    int calls = 0;

    (void)state;
    assert_int_equal(csv_to_frame(failing_source, &calls, &opts,
                                  test_path(path, sizeof(path), "dead"), hash, &err),
                     -1);
    assert_int_equal(err.code, ERR_IO);
    assert_string_equal(err.text, "t.csv: the line went dead");
}

static int files_here(void)
{
    const char *name = getenv("TMPDIR");
    DIR *dir = opendir(name ? name : "/tmp");
    int n = 0;

    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        n += strstr(e->d_name, ".frame") != NULL;
    closedir(dir);
    return n;
}

static void any_fault_leaves_no_file_behind(void **state)
{
    struct buf b;
    int before = files_here();

    (void)state;
    buf_init(&b, 8 << 20);
    random_text(&b, 4, 3000);
    TEST_SWEEP(nth, fired, stays)
    {
        struct err err = { 0 };
        test_fault(nth, stays);
        int rc = csv_try(b.data, b.len, 0, NULL, &err);
        fired = fault_disarm();
        assert_int_equal(rc, fired ? -1 : 0);
        assert_int_equal(files_here(), before);
    }
    buf_fini(&b);
}

static void real_tables_have_the_sizes_that_are_told(void **state)
{
    static const struct {
        const char *file;
        int64_t rows, missing;
        int cols, categorical;
    } cases[] = {
        { "iris.csv", 150, 0, 5, 1 },
        { "wine.csv", 178, 0, 14, -1 },
        { "breast_cancer_wdbc.csv", 569, 0, 31, -1 },
        { "adult.csv.gz", 48842, 6465, 15, 9 },
        { "bank_marketing.csv.gz", 45211, 0, 17, -1 },
        { "letter.csv", 20000, 0, 17, 1 },
        { "satimage.csv", 6435, 0, 37, -1 },
        { "mammography.csv", 11183, 0, 7, -1 },
        { "covertype_150k.csv.gz", 150000, 0, 13, 2 },
        { "california_housing.csv.gz", 20640, 207, 10, 1 },
        { "abalone.csv", 4177, 0, 9, 1 },
        { "concrete.csv", 1030, 0, 9, 0 },
        { "diamonds.csv.gz", 53940, 0, 10, 3 },
        { "sylvine.csv", 5124, 0, 21, -1 },
    };

    (void)state;
    if (access("../shared/datasets/README.md", R_OK) != 0) {
        print_message("[  SKIPPED ] no ../shared/datasets here\n");
        skip();
    }
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char path[256], out[256], hash[SHA256_HEX];
        struct err err = { 0 };
        struct csv_opts opts = { .name = cases[i].file };
        int64_t missing = 0;
        int categorical = 0;
        (void)snprintf(path, sizeof(path), "../shared/datasets/%s", cases[i].file);
        struct gz *g = gz_open(path, &err);
        assert_non_null(g);
        if (csv_to_frame(gz_source, g, &opts, test_path(out, sizeof(out), "real"), hash, &err) < 0)
            fail_msg("%s", err.text);
        gz_close(g);
        struct frame *f = frame_open(out, &err);
        assert_non_null(f);
        assert_int_equal(f->rows, cases[i].rows);
        assert_int_equal(f->n_cols, cases[i].cols);
        for (int c = 0; c < f->n_cols; c++) {
            missing += f->cols[c].missing;
            categorical += f->cols[c].type == FRAME_CATEGORICAL;
        }
        assert_int_equal(missing, cases[i].missing);
        if (cases[i].categorical >= 0)
            assert_int_equal(categorical, cases[i].categorical);
        frame_close(f);
    }
}

/* The sets of distinct values of so many columns would be large together, so they are counted at the
 * end. Column c has the values 0 .. m - 1 with m = ROWS - c % 7, half of them, and some missing. */
static void distinct_values_of_very_many_columns_are_counted_later(void **state)
{
    enum { ROWS = 1200, COLS = 2600 };
    struct buf text;
    char hash[SHA256_HEX];

    (void)state;
    buf_init(&text, (size_t)ROWS * COLS * 8);
    for (int c = 0; c < COLS; c++)
        assert_int_equal(buf_addf(&text, NULL, "%sc%d", c ? "," : "", c), 0);
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(buf_adds(&text, "\n", NULL), 0);
        for (int c = 0; c < COLS; c++) {
            int v = i % (ROWS - c % 7);
            int rc = c % 3 == 2 && i == 5
                         ? buf_adds(&text, ",", NULL)
                         : buf_addf(&text, NULL, c % 2 ? "%s%d.5" : "%s%d", c ? "," : "", v);
            assert_int_equal(rc, 0);
        }
    }
    struct frame *f = csv_frame_n(text.data, text.len, 0, NULL, hash);
    assert_int_equal(f->n_cols, COLS);
    for (int c = 0; c < COLS; c++) {
        const struct frame_col *col = &f->cols[c];
        bool has_gap = c % 3 == 2;
        assert_int_equal(col->missing, has_gap);
        /* a missing 5 may come again where the values repeat */
        assert_int_equal(col->distinct, ROWS - c % 7 - (has_gap && c % 7 < 6));
        assert_true(col->max == ROWS - c % 7 - 1 + (c % 2 ? 0.5 : 0));
    }
    frame_close(f);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_inferred_from_every_value),
        cmocka_unit_test(quoting_follows_rfc_4180),
        cmocka_unit_test(quoted_numbers_are_numbers),
        cmocka_unit_test(columns_without_a_name_are_called_by_their_place),
        cmocka_unit_test(delimiter_header_and_mark_are_found),
        cmocka_unit_test(decimal_commas_are_numbers_where_no_comma_separates),
        cmocka_unit_test(a_comma_before_three_digits_parts_thousands),
        cmocka_unit_test(options_override_what_is_guessed),
        cmocka_unit_test(spellings_survive_when_numbers_turn_out_to_be_text),
        cmocka_unit_test(whole_numbers_that_begin_with_a_zero_are_codes),
        cmocka_unit_test(levels_come_by_frequency_then_text),
        cmocka_unit_test(read_sizes_do_not_show),
        cmocka_unit_test(every_field_is_what_a_plain_reader_reads),
        cmocka_unit_test(broken_text_gets_one_error_with_its_place),
        cmocka_unit_test(nul_bytes_are_refused),
        cmocka_unit_test(overrides_that_do_not_fit_are_refused),
        cmocka_unit_test(limits_are_kept_without_much_memory),
        cmocka_unit_test(hundred_thousand_columns_work),
        cmocka_unit_test(distinct_values_of_very_many_columns_are_counted_later),
        cmocka_unit_test(errors_of_the_stream_come_through),
        cmocka_unit_test(any_fault_leaves_no_file_behind),
        cmocka_unit_test(real_tables_have_the_sizes_that_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
