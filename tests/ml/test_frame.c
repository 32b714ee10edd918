/* test_frame.c - what goes into a frame comes out exactly, in the narrowest type; equal tables give equal bytes and the
 * hash is that of the file; and no byte of a damaged or hostile file can do more than make it be refused. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/buf.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "ml/table/frame.h"
#include "ml/table/frame_file.h"

#include <math.h>
#include <unistd.h>

static const char *path_of(const char *name)
{
    static char path[300];

    return test_path(path, sizeof(path), name);
}

static struct frame *one_column(const double *v, int64_t n, char hash[SHA256_HEX])
{
    struct err err = { 0 };
    struct frame_writer *w = frame_writer_new(path_of("one"), &err);

    assert_non_null(w);
    assert_int_equal(frame_writer_numeric(w, "x", v, n, &err), 0);
    assert_int_equal(frame_writer_end(w, hash, &err), 0);
    struct frame *f = frame_open(path_of("one"), &err);
    if (!f)
        fail_msg("%s", err.text);
    return f;
}

static void numbers_come_back_exactly_from_the_narrowest_type(void **state)
{
    static const struct {
        double step, offset;
        int64_t bytes; /* most bytes a value may take */
    } cases[] = {
        { 1, -127, 1 },        { 1, 0, 2 },       { 100, -3000, 2 }, { 100000, 0, 4 },
        { 0.5, -10, 4 },       { 0.1, 0, 8 },     { 1e300, 0, 8 },   { 1, 2147483600, 8 },
        { 1, -2147483647, 4 }, { 0.25, 1e-3, 8 },
    };
    enum { ROWS = 70001 };
    double *v = mem_array(ROWS, sizeof(*v)), *got = mem_array(ROWS, sizeof(*got));

    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        char hash[SHA256_HEX], want[SHA256_HEX];
        struct buf bytes;
        for (int64_t i = 0; i < ROWS; i++)
            v[i] = i % 11 == 3 ? NAN : cases[c].offset + (double)(i % 250) * cases[c].step;
        struct frame *f = one_column(v, ROWS, hash);
        frame_numbers(f, 0, 0, ROWS, got);
        for (int64_t i = 0; i < ROWS; i++)
            assert_true(isnan(v[i]) ? isnan(got[i]) : got[i] == v[i]);
        frame_numbers(f, 0, 65530, 20, got); /* across the boundary of two chunks */
        for (int64_t i = 0; i < 20; i++)
            assert_true(isnan(v[65530 + i]) ? isnan(got[i]) : got[i] == v[65530 + i]);
        const int64_t some[] = { 0, 3, 3, 65535, 65536, 65540, ROWS - 1 };
        frame_numbers_at(f, 0, some, ARRAY_LEN(some), got);
        for (size_t i = 0; i < ARRAY_LEN(some); i++)
            assert_true(isnan(v[some[i]]) ? isnan(got[i]) : got[i] == v[some[i]]);
        assert_int_equal(f->cols[0].missing, (ROWS - 4) / 11 + 1);
        assert_int_equal(f->cols[0].distinct, 250);
        assert_true(f->cols[0].min == cases[c].offset &&
                    f->cols[0].max == cases[c].offset + 249 * cases[c].step);
        assert_true(io_file_bytes(path_of("one")) < ROWS * cases[c].bytes + 1000);
        assert_int_equal(io_read_file(path_of("one"), 1 << 24, &bytes, NULL), 0);
        sha256_hex(bytes.data, bytes.len, want);
        assert_string_equal(hash, want);
        buf_fini(&bytes);
        frame_close(f);
    }
    mem_free(v);
    mem_free(got);
}

static void infinities_are_values_without_a_place_in_the_statistics(void **state)
{
    const double v[] = { 1, INFINITY, -INFINITY, 3, NAN };
    char hash[SHA256_HEX];
    struct frame *f = one_column(v, 5, hash);
    double got[5];

    (void)state;
    frame_numbers(f, 0, 0, 5, got);
    assert_true(isinf(got[1]) && got[2] < 0 && isnan(got[4]));
    assert_true(f->cols[0].min == 1 && f->cols[0].max == 3 && f->cols[0].mean == 2 &&
                f->cols[0].missing == 1);
    frame_close(f);
}

/* Statistics of whole numbers are gathered several at a time; here they are gathered one by one. */
static void statistics_of_whole_numbers_are_exact(void **state)
{
    static const int64_t rows[] = { 1, 2, 3, 4, 5, 7, 64, 1001, 65536, 65537, 200003 };
    static const int32_t rims[] = { INT32_MAX, -INT32_MAX, FRAME_INT_MISSING, 0, -1 };
    int32_t *v = mem_array(200003, sizeof(*v));
    struct rng r;

    (void)state;
    rng_init(&r, 3, 0);
    for (size_t c = 0; c < ARRAY_LEN(rows) * 4; c++) {
        int64_t n = rows[c / 4], missing = 0, sum = 0;
        int32_t lo = INT32_MAX, hi = -INT32_MAX;
        struct frame_stats s;
        for (int64_t i = 0; i < n; i++) {
            uint32_t drawn = rng_below(&r, UINT32_MAX);
            v[i] = c % 4 == 0   ? FRAME_INT_MISSING
                   : c % 4 == 1 ? rims[drawn % ARRAY_LEN(rims)]
                   : c % 4 == 2 ? (int32_t)(drawn % 1000) - 500
                                : (int32_t)drawn;
            if (v[i] == FRAME_INT_MISSING) {
                missing++;
                continue;
            }
            lo = v[i] < lo ? v[i] : lo;
            hi = v[i] > hi ? v[i] : hi;
            sum += v[i];
        }
        frame_stats_init(&s);
        frame_stats_ints(&s, v, n);
        assert_int_equal(s.rows, n);
        assert_int_equal(s.missing, missing);
        assert_int_equal(s.finite, n - missing);
        assert_true(s.sum == (double)sum);
        assert_true(missing == n ? isinf(s.min) && isinf(s.max) : s.min == lo && s.max == hi);
        if (c % 4 == 1 && n > 1000)
            assert_int_equal(s.distinct, 4);
        frame_stats_fini(&s);
    }
    mem_free(v);
}

/* A small table of all kinds at `name`. */
static void write_small(const char *name, char hash[SHA256_HEX])
{
    static const char *const levels[] = { "never", "rare", "b \"q\"", "a\xc3\xbc" };
    struct err err = { 0 };
    double x[300];
    int32_t code[300];

    for (int i = 0; i < 300; i++) {
        x[i] = i % 7 ? i * 0.37 : NAN;
        code[i] = i == 5 ? 1 : i % 5 == 0 ? -1 : 2 + i % 2;
    }
    struct frame_writer *w = frame_writer_new(path_of(name), &err);
    assert_non_null(w);
    assert_int_equal(frame_writer_numeric(w, "x", x, 300, &err), 0);
    assert_int_equal(frame_writer_categorical(w, "c\n", code, 300, levels, 4, &err), 0);
    assert_int_equal(frame_writer_numeric(w, "y", x, 300, &err), 0);
    if (frame_writer_end(w, hash, &err) < 0)
        fail_msg("%s", err.text);
}

static void levels_are_sorted_and_codes_follow(void **state)
{
    char hash[SHA256_HEX];
    struct err err = { 0 };
    int32_t code[300];

    (void)state;
    write_small("small", hash);
    struct frame *f = frame_open(path_of("small"), &err);
    assert_non_null(f);
    const struct frame_col *c = &f->cols[frame_find(f, "c\n")];
    assert_int_equal(c->n_levels, 4);
    assert_string_equal(c->levels[0], "a\xc3\xbc");
    assert_string_equal(c->levels[1], "b \"q\"");
    assert_string_equal(c->levels[2], "rare");
    assert_string_equal(c->levels[3], "never");
    frame_codes(f, 1, 0, 300, code);
    assert_true(code[0] == -1 && code[1] == 0 && code[2] == 1 && code[5] == 2);
    assert_int_equal(frame_find(f, "z"), -1);
    char *json = frame_schema_json(f);
    assert_non_null(strstr(
        json, "{\"rows\":300,\"columns\":[{\"name\":\"x\",\"type\":\"numeric\",\"missing\":43"));
    assert_non_null(
        strstr(json, "\"name\":\"c\\u000a\",\"type\":\"categorical\",\"missing\":59,\"distinct\":4,"
                     "\"levels\":[\"a\xc3\xbc\",\"b \\\"q\\\"\",\"rare\",\"never\"]"));
    mem_free(json);
    frame_close(f);
}

static void kinds_and_notes_come_back_and_plain_columns_keep_their_bytes(void **state)
{
    static const double v[] = { 0, 86400, -1.5 };
    static const int32_t code[] = { 0, 1, 1 };
    static const char *const levels[] = { "a|b", "a" };
    char hash[SHA256_HEX], plain[SHA256_HEX];
    struct err err = { 0 };

    (void)state;
    for (int round = 0; round < 2; round++) {
        struct frame_writer *w = frame_writer_new(path_of("kinds"), &err);
        frame_writer_kind(w, round ? FRAME_PLAIN : FRAME_DATE, round ? "" : "{\"order\":\"iso\"}");
        assert_int_equal(frame_writer_numeric(w, "when", v, 3, &err), 0);
        if (round == 0)
            frame_writer_kind(w, FRAME_LIST, NULL);
        assert_int_equal(frame_writer_categorical(w, "tags", code, 3, levels, 2, &err), 0);
        assert_int_equal(frame_writer_numeric(w, "x", v, 3, &err), 0);
        assert_int_equal(frame_writer_end(w, round ? plain : hash, &err), 0);
        struct frame *f = frame_open(path_of("kinds"), &err);
        assert_non_null(f);
        assert_int_equal(f->cols[0].kind, round ? FRAME_PLAIN : FRAME_DATE);
        assert_string_equal(f->cols[0].note, round ? "" : "{\"order\":\"iso\"}");
        assert_int_equal(f->cols[1].kind, round ? FRAME_PLAIN : FRAME_LIST);
        assert_string_equal(f->cols[1].note, "");
        assert_int_equal(f->cols[2].kind, FRAME_PLAIN);
        char *schema = frame_schema_json(f);
        assert_int_equal(!strstr(schema, "\"type\":\"numeric\",\"kind\":\"date\",\"note\":\"{"),
                         round);
        mem_free(schema);
        frame_close(f);
    }
    assert_string_not_equal(hash, plain);
}

/* A table of n columns: a, then columns of three whole numbers, then columns of words. */
static struct frame *wide_frame(int n)
{
    static const double v[] = { 3, 1, 2 };
    static const int32_t code[] = { 0, 1, 1 };
    static const char *const levels[] = { "red", "blue" };
    char hash[SHA256_HEX], name[20];
    struct err err = { 0 };
    struct frame_writer *w = frame_writer_new(path_of("wide"), &err);

    for (int i = 0; i < n; i++) {
        (void)!snprintf(name, sizeof name, "c%d", i);
        assert_int_equal(i < n / 2 ? frame_writer_numeric(w, name, v, 3, &err)
                                   : frame_writer_categorical(w, name, code, 3, levels, 2, &err),
                         0);
    }
    assert_int_equal(frame_writer_end(w, hash, &err), 0);
    struct frame *f = frame_open(path_of("wide"), &err);
    assert_non_null(f);
    return f;
}

/* What a schema takes as a string within another. */
static size_t quoted(const char *s)
{
    size_t n = 2;

    for (; *s; s++)
        n += 1 + (*s == '"' || *s == '\\');
    return n;
}

static void schemas_say_less_where_there_is_no_room_for_more(void **state)
{
    enum { COLS = 1000 };
    struct frame *f = wide_frame(COLS);
    char *full = frame_schema_json(f), *got = frame_schema_within(f, quoted(full));
    size_t most = quoted(full) - 1;

    (void)state;
    assert_string_equal(got, full);
    for (int form = 0; form < 2; form++) {
        mem_free(got);
        got = frame_schema_within(f, most);
        assert_non_null(got);
        assert_true(quoted(got) <= most);
        assert_null(strstr(got, "levels"));
        /* the first and the last columns keep their statistics, the others only in the first form */
        assert_non_null(strstr(got, "\"c0\",\"type\":\"numeric\",\"missing\":0,\"distinct\":3,"
                                    "\"min\":1,\"max\":3,\"mean\":2,\"whole\":true}"));
        assert_int_equal(!strstr(got, "\"c300\",\"type\":\"numeric\",\"missing\":0"), form);
        assert_int_equal(
            !strstr(got, "\"c300\",\"type\":\"numeric\",\"distinct\":3,\"whole\":true}"), !form);
        assert_non_null(strstr(got, "\"c999\",\"type\":\"categorical\",\"missing\":0"));
        most = quoted(got) - 1;
    }
    assert_null(frame_schema_within(f, most));
    mem_free(got);
    mem_free(full);
    frame_close(f);
}

static void equal_tables_give_equal_bytes(void **state)
{
    char one[SHA256_HEX], two[SHA256_HEX];

    (void)state;
    write_small("one", one);
    write_small("two", two);
    assert_string_equal(one, two);
}

static void builders_refuse_what_makes_no_table(void **state)
{
    static const char *const levels[] = { "a" };
    const double v[] = { 1, 2 };
    const int32_t code[] = { 0, 1 };
    struct err err = { 0 };
    char hash[SHA256_HEX];
    struct frame_writer *w = frame_writer_new(path_of("bad"), &err);

    (void)state;
    assert_int_equal(frame_writer_numeric(w, "x", v, 2, &err), 0);
    assert_int_equal(frame_writer_numeric(w, "y", v, 1, &err), -1);
    assert_int_equal(frame_writer_numeric(w, "", v, 2, &err), -1);
    assert_int_equal(frame_writer_numeric(w, "\xff", v, 2, &err), -1);
    assert_int_equal(frame_writer_categorical(w, "c", code, 2, levels, 1, &err), -1);
    frame_writer_abort(w);
    assert_int_equal(access(path_of("bad"), F_OK), -1);
    w = frame_writer_new(path_of("bad"), &err);
    for (int i = 0; i < 3; i++) /* the first and the last are called the same */
        assert_int_equal(frame_writer_numeric(w, i == 1 ? "y" : "x", v, 2, &err), 0);
    assert_int_equal(frame_writer_end(w, hash, &err), -1);
    assert_int_equal(access(path_of("bad"), F_OK), -1);
    assert_int_equal(frame_writer_end(frame_writer_new(path_of("bad"), &err), hash, &err), -1);
    assert_null(frame_writer_new(path_of("no/such/folder"), &err));
    assert_null(frame_open(path_of("bad"), &err));
    assert_int_equal(err.code, ERR_NOTFOUND);
    assert_null(frame_open(path_of("."), &err));
}

/* Reads everything that opens, so that a sanitizer sees what a damaged file can reach. */
static bool survives(const char *path)
{
    struct err err = { 0 };
    struct frame *f = frame_open(path, &err);

    if (!f) {
        assert_true(err.code != ERR_NONE && err.text[0]);
        return false;
    }
    int64_t n = f->rows < 1000 ? f->rows : 1000;
    double *x = mem_array((size_t)n, sizeof(*x));
    int32_t *code = mem_array((size_t)n, sizeof(*code));
    for (int c = 0; c < f->n_cols; c++) {
        const struct frame_col *col = &f->cols[c];
        if (col->type == FRAME_NUMERIC)
            frame_numbers(f, c, f->rows - n, n, x);
        if (col->type == FRAME_CATEGORICAL)
            frame_codes(f, c, f->rows - n, n, code);
        for (int64_t i = 0; i < n && col->type == FRAME_CATEGORICAL; i++)
            assert_true(code[i] >= -1 && code[i] < col->n_levels);
    }
    mem_free(frame_schema_json(f));
    mem_free(x);
    mem_free(code);
    frame_close(f);
    return true;
}

/* A fresh file each time: the file system would write out one that is truncated and filled anew. */
static void put_file(const char *path, const void *bytes, size_t n)
{
    unlink(path);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
}

static void no_damage_is_more_than_refused(void **state)
{
    char hash[SHA256_HEX], path[300];
    struct buf good;
    struct rng r;
    int refused = 0;

    (void)state;
    write_small("good", hash);
    assert_int_equal(io_read_file(path_of("good"), 1 << 20, &good, NULL), 0);
    test_path(path, sizeof(path), "hurt");
    rng_init(&r, test_seed(), 0);
    for (size_t cut = 0; cut < good.len; cut += 1 + cut / 40) {
        put_file(path, good.data, cut);
        assert_false(survives(path));
    }
    uint8_t *bytes = mem_alloc(good.len);
    for (int i = 0; i < 2500; i++) {
        memcpy(bytes, good.data, good.len);
        /* Mostly the tables at the end, where damage does most. */
        for (int hits = 1 + (int)rng_below(&r, 3); hits > 0; hits--) {
            size_t at = rng_below(&r, 4) ? good.len - 1 - rng_below(&r, 600)
                                         : rng_below(&r, (uint32_t)good.len);
            bytes[at] = rng_below(&r, 3) ? (uint8_t)rng_u32(&r)
                                         : (uint8_t)(bytes[at] ^ 1u << rng_below(&r, 8));
        }
        put_file(path, bytes, good.len);
        refused += !survives(path);
    }
    assert_true(refused > 400);
    mem_free(bytes);
    buf_fini(&good);
}

static void any_fault_leaves_no_file(void **state)
{
    static const double v[] = { 1, 2, 3 };

    (void)state;
    TEST_SWEEP(nth, fired, stays)
    {
        struct err err = { 0 };
        char hash[SHA256_HEX];
        test_fault(nth, stays);
        struct frame_writer *w = frame_writer_new(path_of("faulty"), &err);
        int rc = w ? 0 : -1;
        if (rc == 0 && frame_writer_numeric(w, "x", v, 3, &err) < 0) {
            frame_writer_abort(w);
            rc = -1;
        } else if (rc == 0) {
            rc = frame_writer_end(w, hash, &err);
        }
        fired = fault_disarm();
        assert_int_equal(access(path_of("faulty"), F_OK), fired ? -1 : 0);
        assert_int_equal(rc, fired ? -1 : 0);
        unlink(path_of("faulty"));
    }
}

static int no_sync(int fd)
{
    (void)fd;
    return 0;
}

int main(void)
{
    static struct io_ops quick; /* nothing here needs to last */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_back_exactly_from_the_narrowest_type),
        cmocka_unit_test(statistics_of_whole_numbers_are_exact),
        cmocka_unit_test(infinities_are_values_without_a_place_in_the_statistics),
        cmocka_unit_test(levels_are_sorted_and_codes_follow),
        cmocka_unit_test(kinds_and_notes_come_back_and_plain_columns_keep_their_bytes),
        cmocka_unit_test(schemas_say_less_where_there_is_no_room_for_more),
        cmocka_unit_test(equal_tables_give_equal_bytes),
        cmocka_unit_test(builders_refuse_what_makes_no_table),
        cmocka_unit_test(no_damage_is_more_than_refused),
        cmocka_unit_test(any_fault_leaves_no_file),
    };

    quick = io_system;
    quick.fsync = no_sync;
    io = &quick;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
