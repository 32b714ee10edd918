/* test_tablefile.c - tables from files: what is right loads to the last value, whatever is wrong is one error that names the
 * file and the key, and damaged or cut files of any kind do no harm. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "cli/tablefile.h"

#include <glob.h>
#include <math.h>

static const char grid_json[] =
    "{\"name\":\"g\",\"direction\":\"minimize\",\"params\":["
    "{\"name\":\"a\",\"kind\":\"ordinal\",\"choices\":[0.1,1,10]},"
    "{\"name\":\"b\",\"kind\":\"categorical\",\"choices\":[\"x\",\"y\"]}],"
    "\"n\":6,\"data\":\"t.f32\",\"dtype\":\"float32 little-endian\",\"best\":0.5}";
static const char curves_json[] =
    "{\"name\":\"c\",\"direction\":\"maximize\",\"params\":["
    "{\"name\":\"r\",\"kind\":\"float\",\"lower\":0.001,\"upper\":1,\"log\":true},"
    "{\"name\":\"u\",\"kind\":\"int\",\"lower\":1,\"upper\":9,\"log\":false}],"
    "\"n\":2,\"epochs\":3,\"data\":\"t.f32\",\"configurations\":[[0.01,3],[0.5,9]]}";
static const float grid_values[] = { 3, 2, 0.5f, 7, 8, 9 };
static const float curve_values[] = { 1, 1, 2, 2, 3, 3, 5, 0.5f, 4, 1, 6, 1.5f };

static void put(const char *name, const void *bytes, size_t n)
{
    char path[300];

    assert_int_equal(io_replace(test_path(path, sizeof path, name), bytes, n, 0600, NULL), 0);
}

static struct tabular *load(const char *json, size_t n, const float *values, size_t n_values,
                            struct err *err)
{
    char path[300];

    put("t.json", json, n);
    put("t.f32", values, n_values * sizeof *values); /* tests run on little-endian machines */
    return tablefile_load(test_path(path, sizeof path, "t.json"), err);
}

static void a_grid_loads_as_written(void **state)
{
    struct err err = { 0 };
    struct tabular *t = load(grid_json, strlen(grid_json), grid_values, 6, &err);

    (void)state;
    if (!t)
        fail_msg("%s", err.text);
    CHECK(t);
    assert_true(t->is_grid && t->is_minimised && t->n == 6 && t->epochs == 1);
    assert_int_equal(t->space->params[0].kind, PARAM_INT);
    for (size_t i = 0; i < 6; i++) {
        size_t row = i / 2, col = i % 2;
        double point[] = { (double)row, (double)col };
        assert_int_equal(tabular_find(t, point, NULL), i);
        assert_true(tabular_value(t, i, 1) == -grid_values[i]);
    }
    assert_true(t->best == -0.5 && t->median == -5);
    tabular_free(t);
}

static void curves_load_as_written(void **state)
{
    struct err err = { 0 };
    struct tabular *t = load(curves_json, strlen(curves_json), curve_values, 12, &err);

    (void)state;
    if (!t)
        fail_msg("%s", err.text);
    CHECK(t);
    assert_true(!t->is_grid && !t->is_minimised && t->n == 2 && t->epochs == 3);
    assert_true(tabular_value(t, 1, 2) == 4 && tabular_best_until(t, 1, 2) == 5);
    assert_true(tabular_seconds(t, 1, 3) == 1.5 && t->mean_time == 2.25 && t->best == 6);
    tabular_free(t);
}

/* `from` replaced by `to` in a text. */
static char *changed(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    size_t size = strlen(text) + strlen(to) + 1;
    char *out = mem_alloc(size);

    assert_non_null(at);
    snprintf(out, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

static void each_wrong_key_is_named(void **state)
{
    static const struct {
        bool is_grid;
        const char *from, *to, *says;
    } cases[] = {
        { true, "\"name\":\"g\"", "\"nam\":\"g\"", "nam: unknown key; did you mean name" },
        { true, "\"minimize\"", "\"down\"", "direction: must be minimize or maximize" },
        { true, "\"minimize\"", "3", "direction: " },
        { true, "\"n\":6", "\"n\":7", "data: t.f32 has 24 bytes" },
        { true, "\"n\":6", "\"n\":0", "n: " },
        { true, "\"n\":6", "\"n\":999999999999", "n: " },
        { true, "t.f32", "../t.f32", "data: must name a file beside the table" },
        { true, "t.f32", "none.f32", "data: " },
        { true, "float32 little-endian", "float64", "dtype: " },
        { true, "\"best\":0.5", "\"best\":0.4", "best: is said to be 0.4" },
        { true, "ordinal", "float", "params[0].kind: must be ordinal or categorical" },
        { true, "[0.1,1,10]", "[]", "params[0]: " },
        { true, "ordinal\"", "ordinal\",\"when\":{\"x\":[\"a\"]}", "params[0].when: must be" },
        { true, "[0.1,1,10]", "7", "params[0].choices: " },
        { true, "[\"x\",\"y\"]", "[\"x\",\"x\"]", "params[1]: " },
        { true, "\"name\":\"b\"", "\"name\":\"a\"", "params[1]: " },
        { true, "\"y\"]", "\"y\",\"z\"]", "6 values for a grid of 9 points" },
        { false, "\"epochs\":3", "\"epochs\":0", "epochs: " },
        { false, "\"epochs\":3,", "", "epochs: " },
        { false, "\"epochs\":3", "\"epochs\":2", "data: t.f32 has 48 bytes, not the 32" },
        { false, "[0.01,3]", "[0.01]", "configurations[0]: must be 2 numbers" },
        { false, "[0.5,9]", "[0.5,\"9\"]", "configurations[1]: must be 2 numbers" },
        { false, "[0.01,3],", "", "configurations: 1 rows, but n is 2" },
        { false, "[0.5,9]", "[0.5,10]", "configuration 1: " },
        { false, "\"upper\":9", "\"upper\":0", "params[1]: " },
        { false, "0.001", "0", "params[0]: " },
        { false, "\"lower\":1,", "", "params[1].lower: " },
        { false, "\"log\":true", "\"log\":1", "params[0].log: " },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *json =
            changed(cases[i].is_grid ? grid_json : curves_json, cases[i].from, cases[i].to);
        struct err err = { 0 };
        struct tabular *t = load(json, strlen(json), cases[i].is_grid ? grid_values : curve_values,
                                 cases[i].is_grid ? 6 : 12, &err);
        if (t || !strstr(err.text, cases[i].says) || !strstr(err.text, "t.json"))
            print_error("case %zu (%s): %s\n", i, cases[i].to, t ? "loaded" : err.text);
        assert_null(t);
        assert_non_null(strstr(err.text, cases[i].says));
        assert_non_null(strstr(err.text, "t.json"));
        mem_free(json);
    }
}

static void values_that_are_no_outcome_are_refused(void **state)
{
    float v[12];
    struct err err = { 0 };

    (void)state;
    memcpy(v, curve_values, sizeof v);
    v[3] = 0.5f; /* earlier than the epoch before */
    assert_null(load(curves_json, strlen(curves_json), v, 12, &err));
    assert_non_null(strstr(err.text, "time of configuration 0 does not rise at epoch 2"));
    memcpy(v, grid_values, sizeof grid_values);
    v[1] = INFINITY;
    assert_null(load(grid_json, strlen(grid_json), v, 6, &err));
    for (int i = 0; i < 6; i++)
        v[i] = NAN;
    assert_null(load(grid_json, strlen(grid_json), v, 6, &err));
}

static void cut_and_damaged_files_do_no_harm(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int round = 0; round < 300; round++) {
        bool is_grid = rng_below(&r, 2);
        const char *text = is_grid ? grid_json : curves_json;
        size_t n = strlen(text), n_values = is_grid ? 6 : 12;
        char *copy = mem_strdup(text);
        float v[12];
        struct err err = { 0 };
        memcpy(v, is_grid ? grid_values : curve_values, n_values * sizeof *v);
        if (rng_below(&r, 3) == 0)
            n = rng_below(&r, (uint32_t)n);
        else
            copy[rng_below(&r, (uint32_t)n)] = (char)rng_u32(&r);
        ((unsigned char *)v)[rng_below(&r, 24)] = (unsigned char)rng_u32(&r);
        struct tabular *t = load(copy, n, v, n_values - rng_below(&r, 2), &err);
        assert_true(t || err.text[0]);
        tabular_free(t);
        mem_free(copy);
    }
}

static void the_public_tables_load(void **state)
{
    glob_t found;

    (void)state;
    if (glob("../shared/search-tables/*.json", 0, NULL, &found) != 0) {
        print_message("../shared/search-tables is not there\n");
        skip();
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct err err = { 0 };
        struct tabular *t = tablefile_load(found.gl_pathv[i], &err);
        if (!t)
            fail_msg("%s", err.text);
        CHECK(t);
        assert_true(t->best > t->median && t->median > t->worst && t->mean_time > 0);
        tabular_free(t);
    }
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grid_loads_as_written),
        cmocka_unit_test(curves_load_as_written),
        cmocka_unit_test(each_wrong_key_is_named),
        cmocka_unit_test(values_that_are_no_outcome_are_refused),
        cmocka_unit_test(cut_and_damaged_files_do_no_harm),
        cmocka_unit_test(the_public_tables_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
