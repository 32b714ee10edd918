/* test_jsonx.c - strict loading, typed gets that name the path, unknown keys with the nearest name. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>

static json_t *load(const char *s, struct err *err)
{
    return jsonx_load(s, strlen(s), "input", err);
}

static void strict_loading_refuses_what_it_should(void **state)
{
    static const char *const bad[] = {
        "",
        "{",
        "{}x",
        "{\"a\":1,\"a\":2}",
        "\"\\u0000\"",
        "\"\xff\"",
        "nul",
        "[1,]",
        "{\"a\":1,}",
        "'a'",
        "NaN",
        "1e999",
        "01",
        "// c\n1",
        "[1] [2]",
        "\"a\nb\"",
        "-",
        "{\"a\"}",
        "99999999999999999999",
    };
    static const char *const good[] = { "1", "null", "\"x\"", " [1, 2.5, -3e2] ", "{\"a\":{}}" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = { 0 };

        assert_null(load(bad[i], &err));
        assert_int_equal(err.code, ERR_ARG);
        assert_memory_equal(err.text, "input: ", 7);
    }
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        json_t *v = load(good[i], NULL);

        assert_non_null(v);
        json_decref(v);
    }
    assert_null(jsonx_load("1\0", 2, "input", NULL));
}

static void depth_is_limited_but_brackets_in_text_do_not_count(void **state)
{
    char text[400] = "";
    json_t *v = NULL;

    (void)state;
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    assert_non_null(v = load(text, NULL));
    json_decref(v);
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    assert_null(load(text, NULL));
    memset(text, '[', 200);
    text[0] = '"';
    memcpy(text + 50, "\\\"", 2);
    text[200] = '"';
    text[201] = '\0';
    assert_non_null(v = load(text, NULL));
    json_decref(v);
}

static void gets_tell_present_absent_and_wrong_apart(void **state)
{
    struct err err = { 0 };
    json_t *o = load("{\"i\":5,\"r\":0.5,\"k\":1e3,\"b\":true,\"s\":\"abc\",\"n\":null,"
                     "\"o\":{},\"a\":[1,2]}",
                     NULL);
    json_t *v = NULL;
    int64_t i = -9;
    double r = -9;
    bool b = false;
    const char *s = "untouched";

    (void)state;
    assert_int_equal(jsonx_i64(o, "p", "i", JSONX_REQUIRED, 0, 5, &i, &err), 1);
    assert_int_equal(i, 5);
    assert_int_equal(jsonx_i64(o, "p", "k", JSONX_REQUIRED, 0, 5000, &i, &err), 1);
    assert_int_equal(i, 1000);
    assert_int_equal(jsonx_f64(o, "p", "r", JSONX_REQUIRED, &r, &err), 1);
    assert_int_equal(jsonx_f64(o, "p", "i", JSONX_REQUIRED, &r, &err), 1);
    assert_true(r == 5);
    assert_int_equal(jsonx_bool(o, "p", "b", JSONX_REQUIRED, &b, &err), 1);
    assert_true(b);
    assert_int_equal(jsonx_str(o, "p", "n", JSONX_OPTIONAL, 9, &s, &err), 0);
    assert_int_equal(jsonx_str(o, "p", "zz", JSONX_OPTIONAL, 9, &s, &err), 0);
    assert_string_equal(s, "untouched");
    assert_int_equal(jsonx_str(o, "p", "s", JSONX_OPTIONAL, 3, &s, &err), 1);
    assert_int_equal(jsonx_obj(o, "p", "o", JSONX_REQUIRED, &v, &err), 1);
    assert_int_equal(jsonx_arr(o, "p", "a", JSONX_REQUIRED, 2, &v, &err), 1);
    assert_int_equal(err.code, ERR_NONE);
    json_decref(o);
}

static void every_error_names_the_path_of_the_field(void **state)
{
    struct err err = { 0 };
    json_t *o = load("{\"i\":5,\"r\":0.5,\"s\":\"abc\",\"a\":[1,2],\"n\":null}", NULL), *v = NULL;
    int64_t i = 0;
    double r = 0;
    bool b = false;
    const char *s = NULL;

    (void)state;
    assert_int_equal(jsonx_i64(o, "budget", "i", JSONX_REQUIRED, 6, 9, &i, &err), -1);
    assert_string_equal(err.text, "budget.i: must be from 6 to 9, not 5");
    assert_string_equal(err.where, "budget.i");
    assert_int_equal(jsonx_i64(o, NULL, "r", JSONX_REQUIRED, 0, 9, &i, &err), -1);
    assert_string_equal(err.text, "r: must be a whole number, not 0.5");
    assert_int_equal(jsonx_i64(o, "", "s", JSONX_REQUIRED, 0, 9, &i, &err), -1);
    assert_string_equal(err.text, "s: must be a whole number, not text");
    assert_int_equal(jsonx_f64(o, "x[2]", "n", JSONX_REQUIRED, &r, &err), -1);
    assert_string_equal(err.text, "x[2].n: is required");
    assert_int_equal(jsonx_f64(o, "", "a", JSONX_REQUIRED, &r, &err), -1);
    assert_int_equal(jsonx_bool(o, "", "i", JSONX_OPTIONAL, &b, &err), -1);
    assert_int_equal(jsonx_str(o, "", "s", JSONX_REQUIRED, 2, &s, &err), -1);
    assert_string_equal(err.text, "s: is 3 bytes long, at most 2 are allowed");
    assert_int_equal(jsonx_arr(o, "", "a", JSONX_REQUIRED, 1, &v, &err), -1);
    assert_string_equal(err.text, "a: has 2 items, at most 1 are allowed");
    assert_int_equal(jsonx_obj(o, "", "a", JSONX_REQUIRED, &v, &err), -1);
    assert_string_equal(err.text, "a: must be an object, not a list");
    assert_int_equal(jsonx_obj(json_object_get(o, "a"), "a", "x", JSONX_OPTIONAL, &v, &err), -1);
    assert_string_equal(err.where, "a");
    assert_int_equal(jsonx_obj(NULL, "a", "x", JSONX_OPTIONAL, &v, &err), -1);
    json_decref(o);
}

static void an_unknown_key_gets_the_nearest_known_one(void **state)
{
    static const char *const keys[] = { "time", "trials" };
    struct err err = { 0 };
    json_t *o = load("{\"time\":1,\"tirals\":2}", NULL), *z = load("{\"zzz\":1}", NULL);

    (void)state;
    assert_int_equal(jsonx_only(o, "budget", keys, 2, &err), -1);
    assert_string_equal(err.text, "budget.tirals: unknown key; did you mean trials?");
    assert_string_equal(err.where, "budget.tirals");
    assert_int_equal(jsonx_only(z, "", keys, 2, &err), -1);
    assert_string_equal(err.text, "zzz: unknown key");
    json_object_del(o, "tirals");
    assert_int_equal(jsonx_only(o, "budget", keys, 2, &err), 0);
    json_decref(o);
    o = json_array();
    assert_int_equal(jsonx_only(o, "budget", keys, 2, &err), -1);
    json_decref(o);
    json_decref(z);
}

static void paths_are_joined_and_cut(void **state)
{
    char path[12];

    (void)state;
    jsonx_path(path, sizeof path, NULL, "a");
    assert_string_equal(path, "a");
    jsonx_path(path, sizeof path, "a.b", "c");
    assert_string_equal(path, "a.b.c");
    jsonx_path_at(path, sizeof path, "a.b", 3);
    assert_string_equal(path, "a.b[3]");
    jsonx_path(path, sizeof path, "aaaaaaaaaaaaaaaa", "c");
    assert_int_equal(strlen(path), 11);
}

static void dumps_are_sorted_and_reals_survive(void **state)
{
    struct rng r;
    json_t *o = load("{\"b\":1,\"a\":[true,null,\"\xc3\xa9\"]}", NULL);
    char *s = jsonx_dump(o);

    (void)state;
    assert_string_equal(s, "{\"a\":[true,null,\"\xc3\xa9\"],\"b\":1}");
    mem_free(s);
    json_decref(o);
    rng_init(&r, test_seed(), 21);
    for (int i = 0; i < 2000; i++) {
        uint64_t bits = rng_u64(&r);
        double v = 0;

        memcpy(&v, &bits, sizeof v);
        o = jsonx_real(v);
        assert_int_equal(json_is_null(o), !isfinite(v));
        s = jsonx_dump(o);
        json_decref(o);
        o = load(s, NULL);
        assert_non_null(o);
        assert_true(!isfinite(v) || json_number_value(o) == v);
        json_decref(o);
        mem_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_loading_refuses_what_it_should),
        cmocka_unit_test(depth_is_limited_but_brackets_in_text_do_not_count),
        cmocka_unit_test(gets_tell_present_absent_and_wrong_apart),
        cmocka_unit_test(every_error_names_the_path_of_the_field),
        cmocka_unit_test(an_unknown_key_gets_the_nearest_known_one),
        cmocka_unit_test(paths_are_joined_and_cut),
        cmocka_unit_test(dumps_are_sorted_and_reals_survive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
