/* test_columnar.c - Parquet and JSON lines made by hand, whole, cut short and damaged. The files of others are compared in
 * test_formats.c. */
#include "tests/ml/csv_rig.h"

#include "base/io.h"
#include "ml/read/read.h"

#include <math.h>
#include <unistd.h>

/* One required int32 column "x" with 3, -1 and 7, in one page, not packed. */
static const uint8_t parquet[] = {
    'P',
    'A',
    'R',
    '1',
    /* head of the page: type, lengths, {values, encodings} */
    0x15,
    0x00,
    0x15,
    0x18,
    0x15,
    0x18,
    0x2c,
    0x15,
    0x06,
    0x15,
    0x00,
    0x15,
    0x06,
    0x15,
    0x06,
    0x00,
    0x00,
    /* values */
    3,
    0,
    0,
    0,
    0xff,
    0xff,
    0xff,
    0xff,
    7,
    0,
    0,
    0,
    /* footer: version; schema of a root and a leaf; rows */
    0x15,
    0x02,
    0x19,
    0x2c,
    0x48,
    0x01,
    'r',
    0x15,
    0x02,
    0x00,
    0x15,
    0x02,
    0x25,
    0x00,
    0x18,
    0x01,
    'x',
    0x00,
    0x16,
    0x06,
    /* a row group: a column chunk with its metadata */
    0x19,
    0x1c,
    0x19,
    0x1c,
    0x26,
    0x08,
    0x1c,
    0x15,
    0x02,
    0x19,
    0x15,
    0x00,
    0x19,
    0x18,
    0x01,
    'x',
    0x15,
    0x00,
    0x16,
    0x06,
    0x16,
    0x3a,
    0x16,
    0x3a,
    0x26,
    0x08,
    0x00,
    0x00,
    0x16,
    0x3a,
    0x16,
    0x06,
    0x00,
    0x00,
    /* length of the footer */
    54,
    0,
    0,
    0,
    'P',
    'A',
    'R',
    '1',
};

static struct frame *read_bytes(const void *p, size_t n, const struct csv_opts *more,
                                struct err *err)
{
    char path[512], hash[SHA256_HEX];
    struct text_source s = { p, n, 0, 0 };
    struct csv_opts opts = more ? *more : (struct csv_opts){ 0 };
    struct frame *f = NULL;

    opts.name = "t";
    test_path(path, sizeof(path), "columnar.frame");
    if (table_to_frame(text_source_read, &s, &opts, path, hash, err) == 0)
        f = frame_open(path, err);
    else
        assert_int_equal(access(path, F_OK), -1);
    unlink(path);
    return f;
}

static void a_parquet_file_made_by_hand_is_read(void **state)
{
    struct err err = { 0 };
    struct frame *f = read_bytes(parquet, sizeof(parquet), NULL, &err);

    (void)state;
    if (!f) {
        fail_msg("%s", err.text);
        return; /* for the analyser */
    }
    assert_int_equal(f->rows, 3);
    assert_true(cell_number(f, "x", 0) == 3 && cell_number(f, "x", 1) == -1 &&
                cell_number(f, "x", 2) == 7);
    frame_close(f);
}

static void a_parquet_file_cut_short_is_one_error(void **state)
{
    (void)state;
    for (size_t n = 12; n < sizeof(parquet); n++) {
        struct err err = { 0 };
        assert_null(read_bytes(parquet, n, NULL, &err));
        assert_true(err.code == ERR_ARG && strncmp(err.text, "t: ", 3) == 0);
    }
}

static void a_damaged_parquet_file_is_an_error_or_a_table(void **state)
{
    uint8_t bytes[sizeof(parquet)];

    (void)state;
    for (size_t i = 4; i < sizeof(parquet); i++) {
        for (int v = 0; v < 256; v += TEST_ROUNDS(1, 5)) {
            struct err err = { 0 };
            memcpy(bytes, parquet, sizeof(bytes));
            bytes[i] = (uint8_t)v;
            struct frame *f = read_bytes(bytes, sizeof(bytes), NULL, &err);
            assert_true(f || err.text[0]);
            frame_close(f);
        }
    }
}

static void a_column_declared_text_is_spelt_as_a_text_file_would_have_it(void **state)
{
    static const struct csv_override over[] = { { .name = "x", .type = FRAME_CATEGORICAL } };
    const struct csv_opts opts = { .overrides = over, .n_overrides = 1 };
    struct err err = { 0 };
    struct frame *f = read_bytes(parquet, sizeof(parquet), &opts, &err);

    (void)state;
    assert_non_null(f);
    assert_string_equal(cell_text(f, "x", 1), "-1");
    frame_close(f);
}

static struct frame *lines(const char *text, struct err *err)
{
    return read_bytes(text, strlen(text), NULL, err);
}

static void a_key_that_appears_late_is_missing_before(void **state)
{
    struct csv_opts opts = { .chunk_rows = 32 };
    struct err err = { 0 };
    char text[20000] = "";
    size_t n = 0;

    (void)state;
    for (int i = 0; i < 400; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n,
                              i < 300 ? "{\"a\": %d}\n" : "{\"b\": \"v\", \"a\": %d, \"c\": 2.5}\n",
                              i);
    struct frame *f = read_bytes(text, n, &opts, &err);
    if (!f)
        fail_msg("%s", err.text);
    assert_int_equal(f->rows, 400);
    assert_int_equal(f->n_cols, 3);
    assert_int_equal(f->cols[1].missing, 300);
    assert_int_equal(f->cols[2].missing, 300);
    assert_string_equal(cell_text(f, "b", 299), "");
    assert_string_equal(cell_text(f, "b", 300), "v");
    assert_true(isnan(cell_number(f, "c", 0)) && cell_number(f, "c", 399) == 2.5);
    assert_true(cell_number(f, "a", 399) == 399);
    frame_close(f);
}

static void json_values_are_texts_numbers_and_nested_json(void **state)
{
    struct err err = { 0 };
    struct frame *f =
        lines("{\"s\":\"\\u00e9\\ud83d\\ude00\\n\",\"n\":-1.5e2,\"l\":[1, {\"k\":2}]}\n"
              "{\"n\":null,\"s\":\"x\",\"l\":\"plain\"}",
              &err);

    (void)state;
    if (!f)
        fail_msg("%s", err.text);
    assert_string_equal(cell_text(f, "s", 0), "\xc3\xa9\xf0\x9f\x98\x80\n");
    assert_true(cell_number(f, "n", 0) == -150 && isnan(cell_number(f, "n", 1)));
    assert_string_equal(cell_text(f, "l", 0), "[1, {\"k\":2}]");
    frame_close(f);
}

static void json_errors_name_the_line(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "{\"a\":1}\n{\"a\":}\n", "t: line 2: a value that is no JSON" },
        { "{\"a\":1}\n\n{\"a\" 2}\n", "t: line 3: a colon is missing" },
        { "{\"a\":1}\n[1]\n", "t: line 2: a row that is no object" },
        { "{\"a\":1}\n{\"a\":\"x\n", "t: line 2: a string is not closed on its line" },
        { "{\"a\":1}\n{\"a\":[1,2", "t: line 2: the file ends within the object that begins here" },
        { "[{\"a\":1},{\"a\":2}", "the array is not closed" },
        { "{\"a\":\"\\u0000\"}", "column \"a\": row 1: bytes that are no text" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        assert_null(lines(cases[i].text, &err));
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s: %s", cases[i].text, err.text);
    }
}

/* Both where the text is cut and where it is whole when it is looked at; nesting has a limit, too. */
static void json_of_any_length_and_depth_is_one_error(void **state)
{
    enum { LONG = 3 << 20 };
    static const char *const says[] = { "line 2: a key or value is over the limit of 1048576 bytes",
                                        "line 2: a value that is nested too deeply" };
    char *text = malloc(LONG + 100);

    (void)state;
    assert_non_null(text);
    for (size_t n = (1 << 20) - 400000; n < LONG; n += 300000) {
        struct err err = { 0 };
        int head = snprintf(text, 100, "{\"a\":1}\n{\"a\":\"");
        memset(text + head, 'x', n);
        memcpy(text + (size_t)head + n, "\"}\n", 4);
        struct frame *f = lines(text, &err);
        assert_int_equal(f != NULL, n <= 1 << 20);
        if (!f && !strstr(err.text, says[0]))
            fail_msg("%zu bytes: %s", n, err.text);
        frame_close(f);
    }
    for (int depth = 500; depth <= 10000; depth += 9500) {
        struct err err = { 0 };
        int head = snprintf(text, 100, "{\"a\":1}\n{\"a\":");
        memset(text + head, '[', (size_t)depth);
        memset(text + head + depth, ']', (size_t)depth);
        memcpy(text + head + 2 * depth, "}\n", 3);
        struct frame *f = lines(text, &err);
        assert_int_equal(f != NULL, depth == 500);
        if (!f && !strstr(err.text, says[1]))
            fail_msg("%d levels: %s", depth, err.text);
        frame_close(f);
    }
    free(text);
}

static int no_sync(int fd)
{
    (void)fd;
    return 0;
}

int main(void)
{
    static struct io_ops quick; /* nothing here needs to last, and 33,000 files are written */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parquet_file_made_by_hand_is_read),
        cmocka_unit_test(a_parquet_file_cut_short_is_one_error),
        cmocka_unit_test(a_damaged_parquet_file_is_an_error_or_a_table),
        cmocka_unit_test(a_column_declared_text_is_spelt_as_a_text_file_would_have_it),
        cmocka_unit_test(a_key_that_appears_late_is_missing_before),
        cmocka_unit_test(json_values_are_texts_numbers_and_nested_json),
        cmocka_unit_test(json_errors_name_the_line),
        cmocka_unit_test(json_of_any_length_and_depth_is_one_error),
    };

    quick = io_system;
    quick.fsync = no_sync;
    io = &quick;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
