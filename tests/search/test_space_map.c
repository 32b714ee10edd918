/* test_space_map.c - values and units: round trips, even cells, activity, legality, texts. */
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "base/str.h"

#include <math.h>

/* Every value of a discrete parameter, or a sample of a large one. */
static void units_round_trip(const struct param *p)
{
    int64_t size = (int64_t)param_size(p), stride = MAX(1, size / 2000);

    for (int64_t at = 0; at < size; at += stride) {
        double cell = (double)at;
        double v = param_value(p, cell), u = param_to_unit(p, v);
        assert_true(u >= 0 && u < 1);
        assert_true(param_is_legal(p, v));
        if (param_from_unit(p, u) != v)
            fail_msg("%s: %.17g came back as %.17g", p->name, v, param_from_unit(p, u));
        assert_true(param_cell(p, v) == cell);
    }
}

static void discrete_values_survive_the_unit_cube(void **state)
{
    struct space *s = space_new();
    char name[24];

    (void)state;
    spaces_int(s, "a", 0, 1, 0, false);
    spaces_int(s, "b", -7, 93, 5, false);
    spaces_int(s, "c", -5e14, 5e14, 0, false);
    spaces_int(s, "d", 1, 1, 0, true);
    spaces_int(s, "e", 1, 1000, 0, true);
    spaces_int(s, "f", 1, 1e12, 0, true);
    spaces_int(s, "g", 1e12 - 1000, 1e12, 0, true);
    spaces_float(s, "h", 0, 1, 0.1, false);
    spaces_float(s, "i", -0.3, 0.3, 0.05, false);
    spaces_float(s, "j", 0, 1, 1e-9, false);
    spaces_float(s, "k", 1e6, 1e6 + 1, 0.001, false);
    spaces_float(s, "l", 1.0 / 3, 4.0 / 3, 1.0 / 7, false);
    spaces_float(s, "m", 2.5, 2.5, 0, false);
    spaces_float(s, "n", 2.5, 2.5, 0, true);
    spaces_constant(s, "o", -2.25);
    for (int n = 1; n <= 64; n++) {
        (void)snprintf(name, sizeof name, "choice%d", n);
        spaces_choice(s, name, n, n % 2);
    }
    spaces_choice(s, "many", SPACE_MAX_CHOICES, false);
    for (int i = 0; i < s->n; i++)
        units_round_trip(&s->params[i]);
    space_free(s);
}

static void continuous_values_survive_nearly(void **state)
{
    struct space *s = space_new();
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    spaces_float(s, "a", -3, 7, 0, false);
    spaces_float(s, "b", 1e-5, 10, 0, true);
    spaces_float(s, "c", 1e-300, 1e300, 0, true);
    for (int i = 0; i < s->n; i++) {
        const struct param *p = &s->params[i];
        double last = -INFINITY;
        for (int k = 0; k < 1000; k++) {
            double u = rng_unit(&r), v = param_from_unit(p, u);
            assert_true(param_is_legal(p, v));
            assert_true(fabs(param_to_unit(p, v) - u) < 1e-12);
            double w = param_from_unit(p, k / 1000.0);
            assert_true(w > last);
            last = w;
        }
        assert_true(param_from_unit(p, 0) == p->lo || p->is_log);
        assert_true(param_to_unit(p, p->lo) < 1e-12);
        assert_true(param_to_unit(p, p->hi) < 1 && param_to_unit(p, p->hi) > 1 - 1e-12);
    }
    space_free(s);
}

static void units_outside_are_clamped(void **state)
{
    struct space *s = spaces_mixed();
    static const double odd[] = { -1, -0.0, 1, 2, INFINITY, -INFINITY, NAN };

    (void)state;
    for (int i = 0; i < s->n; i++) {
        for (size_t k = 0; k < ARRAY_LEN(odd); k++)
            assert_true(param_is_legal(&s->params[i], param_from_unit(&s->params[i], odd[k])));
    }
    space_free(s);
}

static void steps_read_as_decimals(void **state)
{
    struct space *s = space_new();
    char text[40];

    (void)state;
    spaces_float(s, "x", 0, 1, 0.1, false);
    for (int k = 0; k <= 10; k++) {
        char want[40];
        (void)snprintf(want, sizeof want, "%g", k / 10.0);
        space_value_text(s, 0, param_value(&s->params[0], k), text, sizeof text);
        assert_string_equal(text, want);
        assert_true(param_value(&s->params[0], k) == strtod(want, NULL));
    }
    space_free(s);
}

static void texts_are_short_and_read_back(void **state)
{
    struct space *s = spaces_mixed();
    struct rng r;
    char text[64], tiny[4];

    (void)state;
    rng_init(&r, test_seed(), 2);
    space_value_text(s, 0, 2, text, sizeof text);
    assert_string_equal(text, "c2");
    space_value_text(s, 0, NAN, text, sizeof text);
    assert_string_equal(text, "-");
    space_value_text(s, space_find(s, "leaves"), 31, text, sizeof text);
    assert_string_equal(text, "31");
    space_value_text(s, 0, 2, tiny, sizeof tiny);
    for (int i = 0; i < 1000; i++) {
        double v = param_from_unit(&s->params[1], rng_unit(&r));
        space_value_text(s, 1, v, text, sizeof text);
        assert_true(strtod(text, NULL) == v);
    }
    space_free(s);
}

static void points_of_any_space_are_legal_and_round_trip(void **state)
{
    double point[64], unit[64], again[64];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 3);
    for (int round = 0; round < 2000; round++) {
        struct space *s = spaces_random(&r, 24, rng_below(&r, 2));
        struct err err = { 0 };
        spaces_point(s, &r, point);
        if (space_check(s, point, &err) < 0)
            fail_msg("%s", err.text);
        space_to_unit(s, point, unit);
        space_from_unit(s, unit, again);
        for (int i = 0; i < s->n; i++) {
            assert_int_equal(isnan(point[i]), isnan(unit[i]));
            assert_int_equal(isnan(point[i]), !space_is_active(s, point, i));
            if (!isnan(point[i]) && !isinf(param_size(&s->params[i])))
                assert_true(again[i] == point[i]);
        }
        space_defaults(s, point);
        if (space_check(s, point, &err) < 0)
            fail_msg("defaults: %s", err.text);
        space_free(s);
    }
}

static void illegal_points_are_refused_by_name(void **state)
{
    static const struct {
        const char *param;
        double v;
        const char *where, *text;
    } cases[] = {
        { "family", 3, "family", "choice" },
        { "family", -1, "family", "choice" },
        { "family", 0.5, "family", "choice" },
        { "family", NAN, "family", "missing" },
        { "lr", 1, "lr", "outside" },
        { "lr", NAN, "lr", "missing" },
        { "lr", INFINITY, "lr", "outside" },
        { "depth", 13, "depth", "outside" },
        { "depth", 2.5, "depth", "step" },
        { "leaves", 31, "leaves", "not active" },
        { "momentum", 0, "momentum", "not active" },
        { "version", 3, "version", "outside" },
        { "rounds", 15, "rounds", "step" },
        { "family", 1, "depth", "not active" },
    };
    struct space *s = spaces_mixed();
    double point[16];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        space_defaults(s, point);
        assert_int_equal(space_check(s, point, &err), 0);
        point[space_find(s, cases[i].param)] = cases[i].v;
        assert_int_equal(space_check(s, point, &err), -1);
        assert_string_equal(err.where, cases[i].where);
        if (!strstr(err.text, cases[i].text))
            fail_msg("case %zu says \"%s\"", i, err.text);
    }
    space_free(s);
}

static void deep_conditions_open_one_by_one(void **state)
{
    enum { DEPTH = SPACE_MAX_PARAMS };
    struct space *s = spaces_chain(DEPTH);
    double unit[DEPTH], point[DEPTH];

    (void)state;
    for (int open = 0; open < DEPTH; open += 37) {
        for (int i = 0; i < DEPTH; i++)
            unit[i] = i < open ? 0.75 : 0.25;
        space_from_unit(s, unit, point);
        assert_int_equal(space_check(s, point, NULL), 0);
        for (int i = 0; i < DEPTH; i++)
            assert_int_equal(space_is_active(s, point, i), i <= open);
    }
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(discrete_values_survive_the_unit_cube),
        cmocka_unit_test(continuous_values_survive_nearly),
        cmocka_unit_test(units_outside_are_clamped),
        cmocka_unit_test(steps_read_as_decimals),
        cmocka_unit_test(texts_are_short_and_read_back),
        cmocka_unit_test(points_of_any_space_are_legal_and_round_trip),
        cmocka_unit_test(illegal_points_are_refused_by_name),
        cmocka_unit_test(deep_conditions_open_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
