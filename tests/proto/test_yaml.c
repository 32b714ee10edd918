/* test_yaml.c - YAML to JSON: what is taken and as which type, and what is refused, with line and column. */
#include "tests/unit.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "proto/yaml.h"

static void yaml_reads_as_the_json_beside_it(void **state)
{
    static const struct {
        const char *yaml, *json;
    } cases[] = {
        { "a: 1", "{\"a\":1}" },
        { "a: -0", "{\"a\":0}" },
        { "a: 9223372036854775807", "{\"a\":9223372036854775807}" },
        { "a: 1.5", "{\"a\":1.5}" },
        { "a: 1e-5", "{\"a\":1e-5}" },
        { "a: -2.5E+3", "{\"a\":-2500.0}" },
        { "a: true\nb: false", "{\"a\":true,\"b\":false}" },
        { "a: null\nb: ~\nc:", "{\"a\":null,\"b\":null,\"c\":null}" },
        { "a: yes\nb: no\nc: True\nd: on",
          "{\"a\":\"yes\",\"b\":\"no\",\"c\":\"True\",\"d\":\"on\"}" },
        { "a: 010", "{\"a\":\"010\"}" },
        { "a: 0x10", "{\"a\":\"0x10\"}" },
        { "a: 1_000", "{\"a\":\"1_000\"}" },
        { "a: +1", "{\"a\":\"+1\"}" },
        { "a: .5", "{\"a\":\".5\"}" },
        { "a: 1.", "{\"a\":\"1.\"}" },
        { "a: 1e", "{\"a\":\"1e\"}" },
        { "a: -", NULL },
        { "a: .inf", "{\"a\":\".inf\"}" },
        { "a: 12:30", "{\"a\":\"12:30\"}" },
        { "a: 2020-01-01", "{\"a\":\"2020-01-01\"}" },
        { "a: '1'", "{\"a\":\"1\"}" },
        { "a: \"true\"", "{\"a\":\"true\"}" },
        { "a: 'it''s'", "{\"a\":\"it's\"}" },
        { "a: \"x\\ny\"", "{\"a\":\"x\\ny\"}" },
        { "a: |\n  x\n  y\n", "{\"a\":\"x\\ny\\n\"}" },
        { "a: >50K", NULL },
        { "a: '>50K'", "{\"a\":\">50K\"}" },
        { "a: x # note", "{\"a\":\"x\"}" },
        { "a: [1, x, {b: 2}]", "{\"a\":[1,\"x\",{\"b\":2}]}" },
        { "a:\n- 1\n-\n  b: 2\n", "{\"a\":[1,{\"b\":2}]}" },
        { "1: a\ntrue: b\nnull: c", "{\"1\":\"a\",\"true\":\"b\",\"null\":\"c\"}" },
        { "99999999999999999999: a", "{\"99999999999999999999\":\"a\"}" },
        { "'': a", "{\"\":\"a\"}" },
        { "---\na: 1\n...\n", "{\"a\":1}" },
        { "{\"a\": [1, 2.5, \"x\", null, true]}", "{\"a\":[1,2.5,\"x\",null,true]}" },
        { "7", "7" },
        { "text", "\"text\"" },
        { "[]", "[]" },
        { "ü: 漢", "{\"ü\":\"漢\"}" },
        { "\xef\xbb\xbf"
          "a: 1",
          "{\"a\":1}" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        json_t *got = yamlx_load(cases[i].yaml, strlen(cases[i].yaml), "y", &err);
        if (!cases[i].json) {
            assert_null(got);
            continue;
        }
        if (!got)
            fail_msg("%s: %s", cases[i].yaml, err.text);
        json_t *want = jsonx_load(cases[i].json, strlen(cases[i].json), "j", &err);
        if (!json_equal(got, want))
            fail_msg("%s is not %s", cases[i].yaml, cases[i].json);
        json_decref(got);
        json_decref(want);
    }
}

static void refusals_name_line_and_column(void **state)
{
    static const struct {
        const char *yaml, *text;
    } cases[] = {
        { "", "y: is empty" },
        { "# only a note\n", "y: is empty" },
        { "a: 1\nb: 2\na: 3", "line 3, column 1: duplicate key a" },
        { "x: {a: 1, a: 2}", "line 1, column 11: duplicate key a" },
        { "a: &x 1\nb: *x", "line 1, column 4: anchors" },
        { "a: *x", "line 1, column 4: " },
        { "a: &x [1]", "line 1, column 4: anchors" },
        { "&k a: 1", "line 1, column 1: anchors" },
        { "a: !!str 1", "line 1, column 4: anchors, aliases and tags" },
        { "a: !mine {b: 1}", "line 1, column 4: anchors, aliases and tags" },
        { "!!map {}", "line 1, column 1: anchors" },
        { "? [a]\n: 1", "line 1, column 3: a key must be plain text" },
        { "? {a: b}\n: 1", "a key must be plain text" },
        { "a: 1\n---\nb: 2", "line 2, column 1: only one document" },
        { "a: [1", "line " },
        { "a: \"x", "line " },
        { "a:\n\tb: 1", "line 2" },
        { "a: b: c", "line 1" },
        { "a: 1\n b: 2", "line 2" },
        { "}", "line 1, column 1: " },
        { "a: 9223372036854775808", "line 1, column 4: number out of range" },
        { "a: 1e400", "line 1, column 4: number out of range" },
        { "a: \"x\\0y\"", "line 1, column 4: NUL byte" },
        { "\"x\\0y\": 1", "line 1, column 1: NUL byte" },
        { "%YAML 9.9\n---\na: 1", "" },
        { "a: \xff", "y: byte 4: " },
        { "a: \x01", "y: byte 4: " },
        { "\xff\xfe"
          "a",
          "y: " },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        json_t *got = yamlx_load(cases[i].yaml, strlen(cases[i].yaml), "y", &err);
        if (got)
            fail_msg("accepted: %s", cases[i].yaml);
        assert_int_equal(err.code, ERR_ARG);
        if (!strstr(err.text, cases[i].text))
            fail_msg("%s: says \"%s\"", cases[i].yaml, err.text);
    }
}

static void a_nul_byte_outside_of_text_is_refused(void **state)
{
    struct err err = { 0 };

    (void)state;
    assert_null(yamlx_load("a: 1\0b", 6, "y", &err));
    assert_int_equal(err.code, ERR_ARG);
}

static void depth_is_limited(void **state)
{
    char text[2 * YAMLX_MAX_DEPTH + 8];

    (void)state;
    for (int depth = YAMLX_MAX_DEPTH; depth <= YAMLX_MAX_DEPTH + 1; depth++) {
        struct err err = { 0 };
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        json_t *j = yamlx_load(text, 2 * (size_t)depth, "y", &err);
        assert_int_equal(j != NULL, depth <= YAMLX_MAX_DEPTH);
        json_decref(j);
    }
}

static void size_is_limited(void **state)
{
    char *text = mem_alloc(YAMLX_MAX_BYTES + 1);
    struct err err = { 0 };

    (void)state;
    memset(text, 'x', YAMLX_MAX_BYTES + 1);
    assert_null(yamlx_load(text, YAMLX_MAX_BYTES + 1, "y", &err));
    assert_int_equal(err.code, ERR_TOOBIG);
    json_t *j = yamlx_load(text, 1000, "y", &err);
    assert_int_equal(json_string_length(j), 1000);
    json_decref(j);
    mem_free(text);
}

/* Costly for parsers that look back: all of them within the limits of size must end quickly. */
static void hostile_shapes_end_quickly(void **state)
{
    static const char *const bits[] = { "[",   "{",    "- ", "? ",  "a: ", "\"",  "a,",
                                        "[a,", "{a: ", "\n", "&a ", "!",   "'x' " };
    size_t n = 100000;
    char *text = mem_alloc(n);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bits); i++) {
        size_t k = strlen(bits[i]);
        for (size_t at = 0; at < n; at++)
            text[at] = bits[i][at % k];
        json_decref(yamlx_load(text, n, "y", NULL));
    }
    mem_free(text);
}

/* ---- any JSON is read as JSON would be ---- */

static json_t *random_json(struct rng *r, int depth)
{
    static const char *const texts[] = { "",  "a", "true", "1",     "x: y", "- z",
                                         "#", "ü", "~",    "\"q\"", "a\\b", " pad " };
    uint32_t kind = rng_below(r, depth > 0 ? 7 : 5);
    char key[16];

    if (kind == 0)
        return json_null();
    if (kind == 1)
        return json_boolean(rng_below(r, 2));
    if (kind == 2)
        return json_integer((json_int_t)(rng_u64(r) >> rng_below(r, 64)));
    if (kind == 3)
        return json_real(rng_normal(r));
    if (kind == 4)
        return json_string(texts[rng_below(r, ARRAY_LEN(texts))]);
    json_t *v = kind == 5 ? json_array() : json_object();
    for (uint32_t i = rng_below(r, 5); i > 0; i--) {
        json_t *e = random_json(r, depth - 1);
        (void)snprintf(key, sizeof key, "%s%u", texts[rng_below(r, ARRAY_LEN(texts))], i);
        if (kind == 5)
            json_array_append_new(v, e);
        else
            json_object_set_new(v, key, e);
    }
    return v;
}

static void json_is_read_as_json(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 8);
    for (int round = 0; round < 500; round++) {
        struct err err = { 0 };
        json_t *v = random_json(&r, 5);
        char *text = jsonx_dump(v);
        json_t *got = yamlx_load(text, strlen(text), "y", &err);
        if (!got)
            fail_msg("%s: %s", text, err.text);
        if (!json_equal(v, got))
            fail_msg("another value: %s", text);
        json_decref(v);
        json_decref(got);
        mem_free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yaml_reads_as_the_json_beside_it),
        cmocka_unit_test(refusals_name_line_and_column),
        cmocka_unit_test(a_nul_byte_outside_of_text_is_refused),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(size_is_limited),
        cmocka_unit_test(hostile_shapes_end_quickly),
        cmocka_unit_test(json_is_read_as_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
