/* test_11_20_formats.c - found by hand: Parquet and JSON lines, which are read since then, were answered with "a quote inside
 * a field that does not start with one", and a row that is too long for a table of one column with "expected 1 fields". */
#include "tests/ml/csv_rig.h"

#include "base/base.h"

#include <string.h>

#define FILE_OF(text) text, sizeof(text) - 1

static void files_that_are_no_csv_are_named_with_the_way_out(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *said;
    } files[] = {
        { FILE_OF("PAR1\x15\x04\x15\x10"), "t.csv: the file is Parquet, and cut short" },
        { FILE_OF("\n {}\n"), "t.csv: the objects have no keys" },
        { FILE_OF("PK\x03\x04\x14\0\x06"), "an Excel workbook" },
        { FILE_OF("SQLite format 3\0\x10"), "an SQLite database" },
        { FILE_OF("ARROW1\0\0"), "t.csv: the file is cut short" },
        { FILE_OF("ORC\n\x03\0"), "pd.read_orc" },
        { FILE_OF("<!DOCTYPE html><html>"), "HTML" },
        { FILE_OF("a\n1\n2,3\n"),
          "t.csv: line 3: expected 1 field, found 2; the first line tells the delimiter" },
        { FILE_OF("a,b\n1\n"), "t.csv: line 2: expected 2 fields, found 1" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct err err = { 0 };
        assert_int_equal(table_try(files[i].text, files[i].n, &err), -1);
        if (!strstr(err.text, files[i].said))
            fail_msg("file %zu: \"%s\" instead of \"%s\"", i, err.text, files[i].said);
        assert_null(strstr(err.text, "a quote inside"));
    }
}

static void json_is_read(void **state)
{
    static const char *const texts[] = { "{\"a\": 1, \"y\": 0}\n{\"a\": 2}\n", "[\n  {\"a\": 1}]",
                                         "\xef\xbb\xbf{\"a\\\"b\" : 1}" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct err err = { 0 };
        if (table_try(texts[i], strlen(texts[i]), &err) < 0)
            fail_msg("%s: %s", texts[i], err.text);
    }
}

static void names_that_look_like_such_a_file_are_names(void **state)
{
    static const char *const texts[] = { "PAR1,b\n1,2\n",    "ORCID,b\n1,2\n", "PK,b\n1,2\n",
                                         "BZh9,b\n1,2\n",    "[a],b\n1,2\n",   "{a},b\n1,2\n",
                                         "<html>x,b\n1,2\n", "{ ,b\n1,2\n" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct err err = { 0 };
        int rc = csv_try(texts[i], strlen(texts[i]), 0, NULL, &err);
        assert_int_equal(rc, i == 6 ? -1 : 0); /* but nobody calls a column <html> */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_are_no_csv_are_named_with_the_way_out),
        cmocka_unit_test(json_is_read),
        cmocka_unit_test(names_that_look_like_such_a_file_are_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
