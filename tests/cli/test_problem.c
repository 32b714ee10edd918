/* test_problem.c - benchmark problems are what their papers say: sizes, class counts, ranges, the same bytes for the same
 * seed. */
#include "tests/unit.h"

#include "base/buf.h"
#include "base/io.h"
#include "cli/problem.h"

static void write_problem(const char *name, int64_t rows, uint64_t seed, struct buf *text)
{
    char path[400];
    struct err err = { 0 };
    const struct problem *p = problem_find(name, &err);

    assert_non_null(p);
    test_path(path, sizeof(path), "problem.csv");
    assert_true(problem_write(p, rows ? rows : p->rows, seed, path, &err) > 0);
    assert_int_equal(io_read_file(path, 1 << 24, text, &err), 0);
}

static int count(const char *text, const char *what)
{
    int n = 0;

    for (const char *p = text; (p = strstr(p, what)) != NULL; p += strlen(what))
        n++;
    return n;
}

static void enumerated_sets_have_the_published_counts(void **state)
{
    static const struct {
        const char *problem, *ending;
        int rows;
    } cases[] = {
        { "tic-tac-toe", ",yes\n", 626 },       { "tic-tac-toe", ",no\n", 332 },
        { "balance-scale", ",left\n", 288 },    { "balance-scale", ",right\n", 288 },
        { "balance-scale", ",balanced\n", 49 }, { "monks1", ",monk\n", 216 },
        { "monks1", ",other\n", 216 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf text;
        write_problem(cases[i].problem, 0, 1, &text);
        assert_int_equal(count(text.data, cases[i].ending), cases[i].rows);
        buf_fini(&text);
    }
}

static void generated_problems_have_the_rows_asked_for(void **state)
{
    static const char *const names[] = { "waveform", "friedman1", "twonorm", "two-spirals" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct buf text;
        write_problem(names[i], 37, 5, &text);
        assert_int_equal(count(text.data, "\n"), 38);
        buf_fini(&text);
    }
}

static void the_same_seed_gives_the_same_bytes(void **state)
{
    struct buf a, b, c;

    (void)state;
    write_problem("waveform", 50, 5, &a);
    write_problem("waveform", 50, 5, &b);
    write_problem("waveform", 50, 6, &c);
    assert_string_equal(a.data, b.data);
    assert_string_not_equal(a.data, c.data);
    buf_fini(&a);
    buf_fini(&b);
    buf_fini(&c);
}

static void an_unknown_problem_names_the_nearest(void **state)
{
    struct err err = { 0 };

    (void)state;
    assert_null(problem_find("wavefrom", &err));
    assert_non_null(strstr(err.text, "waveform"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enumerated_sets_have_the_published_counts),
        cmocka_unit_test(generated_problems_have_the_rows_asked_for),
        cmocka_unit_test(the_same_seed_gives_the_same_bytes),
        cmocka_unit_test(an_unknown_problem_names_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
