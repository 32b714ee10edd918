/* test_option.c - options of searchers by name and sets of hashes. */
#include "tests/unit.h"

#include "base/buf.h"
#include "search/contract/option.h"
#include "search/space/hash_set.h"

#include <math.h>

static const struct search_option options[] = {
    { "eta", 2, 16, 3, true, "how many of a rung are dropped" },
    { "gamma", 0, 1, 0.25, false, "share of good ones" },
};

static void options_are_set_by_name_within_their_range(void **state)
{
    static const struct {
        const char *name;
        double value;
        const char *text; /* NULL = accepted */
    } cases[] = {
        { "eta", 2, NULL },
        { "eta", 16, NULL },
        { "eta", 2.5, "whole" },
        { "eta", 1, "from 2 to 16" },
        { "eta", 17, "to 16" },
        { "eta", NAN, "from" },
        { "gamma", 0.3, NULL },
        { "gamma", INFINITY, "to 1" },
        { "gama", 0, "did you mean gamma" },
        { "zebra", 0, "unknown" },
        { "", 0, "unknown" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        double v[2];
        struct err err = { 0 };
        search_options_default(options, 2, v);
        assert_true(v[0] == 3 && v[1] == 0.25);
        int rc = search_option_set(options, 2, cases[i].name, cases[i].value, v, &err);
        assert_int_equal(rc, cases[i].text ? -1 : 0);
        if (cases[i].text) {
            assert_non_null(strstr(err.text, cases[i].text));
            assert_string_equal(err.where, cases[i].name);
            assert_true(v[0] == 3 && v[1] == 0.25);
        } else {
            assert_true(v[cases[i].name[0] == 'g'] == cases[i].value);
        }
    }
    struct err err = { 0 };
    assert_int_equal(search_option_set(NULL, 0, "eta", 3, NULL, &err), -1);
    assert_string_equal(err.where, "eta");
}

static void a_set_of_hashes_holds_what_was_added(void **state)
{
    enum { N = 5000 };
    struct hash_set a;

    (void)state;
    hash_set_init(&a);
    for (uint64_t i = 0; i < N; i++) { /* hashes that collide in their low bits, 0 among them */
        assert_false(hash_set_has(&a, i * 64));
        assert_true(hash_set_add(&a, i * 64));
        assert_false(hash_set_add(&a, i * 64));
        assert_true(hash_set_has(&a, i * 64));
    }
    assert_int_equal(a.n, N);
    for (uint64_t i = 0; i < N; i++)
        assert_true(hash_set_has(&a, i * 64));
    assert_false(hash_set_has(&a, 63));
    hash_set_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_set_by_name_within_their_range),
        cmocka_unit_test(a_set_of_hashes_holds_what_was_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
