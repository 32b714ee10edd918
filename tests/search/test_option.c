/* test_option.c - options of searchers by name, and the head of saved states. */
#include "tests/unit.h"

#include "base/buf.h"
#include "search/contract/option.h"
#include "search/contract/state.h"
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

static void a_state_head_fits_its_owner_only(void **state)
{
    const struct state_head head = { "tpe", 2, 77, 5 };
    const struct {
        struct state_head head;
        enum err_code code;
    } cases[] = {
        { { "tpe", 2, 77, 5 }, ERR_NONE },     { { "random", 2, 77, 5 }, ERR_CONFLICT },
        { { "tpe", 3, 77, 5 }, ERR_VERSION },  { { "tpe", 2, 78, 5 }, ERR_CONFLICT },
        { { "tpe", 2, 77, 6 }, ERR_CONFLICT },
    };
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    assert_int_equal(state_put(&b, &head, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct view in = { (const uint8_t *)b.data, b.len, 0 };
        struct err err = { 0 };
        int rc = state_check(&in, &cases[i].head, &err);
        assert_int_equal(rc, cases[i].code == ERR_NONE ? 0 : -1);
        assert_int_equal(err.code, cases[i].code);
        if (rc == 0)
            assert_int_equal(state_end(&in, NULL), 0);
    }
    b.data[0] ^= 1;
    struct view in = { (const uint8_t *)b.data, b.len, 0 };
    assert_int_equal(state_check(&in, &head, NULL), -1);
    buf_fini(&b);
}

static void option_values_tell_fingerprints_apart(void **state)
{
    const double a[] = { 1, 2 }, b[] = { 1, 3 }, c[] = { 2, 1 };

    (void)state;
    assert_true(state_fingerprint(a, 2) == state_fingerprint(a, 2));
    assert_true(state_fingerprint(a, 2) != state_fingerprint(b, 2));
    assert_true(state_fingerprint(a, 2) != state_fingerprint(c, 2));
    assert_true(state_fingerprint(a, 1) != state_fingerprint(a, 2));
    assert_true(state_fingerprint(NULL, 0) == state_fingerprint(NULL, 0));
}

static void a_set_of_hashes_is_one_whatever_the_order(void **state)
{
    enum { N = 5000 };
    struct hash_set a, b, c;
    struct buf x, y;

    (void)state;
    hash_set_init(&a);
    hash_set_init(&b);
    hash_set_init(&c);
    buf_init(&x, 1 << 20);
    buf_init(&y, 1 << 20);
    for (uint64_t i = 0; i < N; i++) {
        assert_false(hash_set_has(&a, i * 64));
        assert_true(
            hash_set_add(&a, i * 64)); /* hashes that collide in their low bits, 0 among them */
        assert_true(hash_set_add(&b, (N - 1 - i) * 64));
        assert_false(hash_set_add(&a, i * 64));
        assert_true(hash_set_has(&a, i * 64));
    }
    assert_int_equal(a.n, N);
    assert_int_equal(hash_set_save(&a, &x, NULL), 0);
    assert_int_equal(hash_set_save(&b, &y, NULL), 0);
    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.data, y.data, x.len);
    struct view in = { (const uint8_t *)x.data, x.len, 0 };
    assert_int_equal(hash_set_load(&c, &in, NULL), 0);
    for (uint64_t i = 0; i < N; i++)
        assert_true(hash_set_has(&c, i * 64));
    assert_false(hash_set_has(&c, 63));
    buf_fini(&x);
    buf_fini(&y);
    hash_set_fini(&a);
    hash_set_fini(&b);
    hash_set_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_set_by_name_within_their_range),
        cmocka_unit_test(a_state_head_fits_its_owner_only),
        cmocka_unit_test(option_values_tell_fingerprints_apart),
        cmocka_unit_test(a_set_of_hashes_is_one_whatever_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
