/* test_space.c - building spaces: what is refused, with the parameter named, and that a refusal changes nothing. */
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "base/str.h"

#include <math.h>

static char *abc[] = { "a", "b", "c" };
static char *twice[] = { "a", "b", "a" };
static char *hollow[] = { "a", "" };
static char *missing[] = { "a", NULL };
static char *not_utf8[] = { "a", "\xff" };

#define P(...)                                 \
    {                                          \
        .name = "x", .parent = -1, __VA_ARGS__ \
    }
#define FLOAT_OF(l, h)     .kind = PARAM_FLOAT, .lo = (l), .hi = (h), .def = (l)
#define INT_OF(l, h)       .kind = PARAM_INT, .lo = (l), .hi = (h), .def = (l)
#define CHOICE_OF(k, n, c) .kind = (k), .n_choices = (n), .choices = (c)

static void bad_parameters_are_refused_by_name(void **state)
{
    static const struct {
        struct param p;
        const char *text;
    } cases[] = {
        { P(FLOAT_OF(1, 0)), "empty range" },
        { P(FLOAT_OF(NAN, 1)), "finite" },
        { P(FLOAT_OF(0, INFINITY)), "finite" },
        { P(FLOAT_OF(-1.7e308, 1.7e308)), "finite" },
        { P(FLOAT_OF(0, 1), .is_log = true), "above 0" },
        { P(FLOAT_OF(-1, 1), .is_log = true), "above 0" },
        { P(FLOAT_OF(1, 2), .is_log = true, .step = 0.5), "step too" },
        { P(FLOAT_OF(0, 1), .step = -0.1), "step above 0" },
        { P(FLOAT_OF(0, 1), .step = NAN), "step above 0" },
        { P(FLOAT_OF(0, 1), .step = 0.3), "does not divide" },
        { P(FLOAT_OF(0, 1), .step = 2), "does not divide" },
        { P(FLOAT_OF(0, 1e6), .step = 1e-9), "too small" },
        { P(.kind = PARAM_FLOAT, .lo = 0, .hi = 1, .def = 2), "default" },
        { P(.kind = PARAM_FLOAT, .lo = 0, .hi = 1, .def = NAN), "default" },
        { P(.kind = PARAM_FLOAT, .lo = 0, .hi = 1, .step = 0.5, .def = 0.4), "default" },
        { P(INT_OF(0.5, 3)), "integer" },
        { P(INT_OF(0, 3.5)), "integer" },
        { P(INT_OF(0, 4), .step = 0.5), "integer" },
        { P(INT_OF(0, 4), .step = 3), "does not divide" },
        { P(INT_OF(0, 4), .is_log = true), "above 0" },
        { P(INT_OF(1, 9), .is_log = true, .step = 2), "step too" },
        { P(INT_OF(1, 1e13), .is_log = true), "beyond" },
        { P(INT_OF(-1e15, 1e15)), "beyond" },
        { P(INT_OF(0, 1e16)), "beyond" },
        { P(.kind = PARAM_INT, .lo = 0, .hi = 4, .def = 1.5), "default" },
        { P(CHOICE_OF(PARAM_CATEGORICAL, 0, NULL)), "choices" },
        { P(CHOICE_OF(PARAM_CATEGORICAL, SPACE_MAX_CHOICES + 1, abc)), "choices" },
        { P(CHOICE_OF(PARAM_CATEGORICAL, 3, twice)), "\"a\" twice" },
        { P(CHOICE_OF(PARAM_ORDINAL, 2, hollow)), "empty" },
        { P(CHOICE_OF(PARAM_ORDINAL, 2, missing)), "empty" },
        { P(CHOICE_OF(PARAM_CATEGORICAL, 2, not_utf8)), "UTF-8" },
        { P(CHOICE_OF(PARAM_CATEGORICAL, 3, abc), .def = 3), "default" },
        { P(CHOICE_OF(PARAM_CATEGORICAL, 3, abc), .def = 0.5), "default" },
        { P(CHOICE_OF(PARAM_CATEGORICAL, 3, abc), .is_log = true), "log and step" },
        { P(CHOICE_OF(PARAM_ORDINAL, 3, abc), .step = 1), "log and step" },
        { P(FLOAT_OF(0, 1), .n_choices = 3, .choices = abc), "no choice" },
        { P(.kind = PARAM_CONSTANT, .lo = NAN), "finite" },
        { P(.kind = (enum param_kind)99), "unknown kind" },
        { P(FLOAT_OF(0, 1), .axis = (enum param_axis)99), "unknown kind" },
        { { .name = "x", FLOAT_OF(0, 1), .parent = 9, .parent_mask = 1 }, "not defined before" },
        { { .name = "x", FLOAT_OF(0, 1), .parent = -2, .parent_mask = 1 }, "not defined before" },
        { { .name = "x", FLOAT_OF(0, 1), .parent = 1, .parent_mask = 1 }, "not a choice" },
        { { .name = "x", FLOAT_OF(0, 1), .parent = 0, .parent_mask = 0 }, "no choice of choice" },
        { { .name = "x", FLOAT_OF(0, 1), .parent = 0, .parent_mask = 8 }, "has not" },
        { { .name = "x", FLOAT_OF(0, 1), .parent = 2, .parent_mask = 1 }, "more than 64" },
        { { .name = "x", FLOAT_OF(0, 1), .parent = 3, .parent_mask = 1 }, "free axis" },
        { { .name = "number", FLOAT_OF(0, 1), .parent = -1 }, "twice" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct space *s = space_new();
        struct err err = { 0 };
        spaces_choice(s, "choice", 3, false);
        spaces_float(s, "number", 0, 1, 0, false);
        spaces_choice(s, "many", 65, false);
        spaces_choice(s, "free", 3, false);
        spaces_axis(s, AXIS_FREE);
        double before = space_search_size(s);
        assert_int_equal(space_add(s, &cases[i].p, &err), -1);
        assert_int_equal(err.code, ERR_ARG);
        assert_string_equal(err.where, cases[i].p.name);
        if (!strstr(err.text, cases[i].text))
            fail_msg("case %zu says \"%s\"", i, err.text);
        assert_int_equal(s->n, 4);
        assert_true(space_search_size(s) == before);
        assert_int_equal(space_add(s, &cases[i].p, NULL), -1);
        space_free(s);
    }
}

static void bad_names_are_refused(void **state)
{
    char longer[SPACE_MAX_NAME + 2];
    char *const names[] = { NULL, "", "a\nb", "a\x7f", "\xc3\x28", longer };

    (void)state;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct space *s = space_new();
        struct err err = { 0 };
        struct param p = { .name = names[i], FLOAT_OF(0, 1), .parent = -1 };
        assert_int_equal(space_add(s, &p, &err), -1);
        assert_int_equal(err.code, ERR_ARG);
        assert_int_equal(s->n, 0);
        space_free(s);
    }
}

static void a_space_has_an_end(void **state)
{
    struct space *s = space_new();
    struct err err = { 0 };
    char name[16];

    (void)state;
    for (int i = 0; i < SPACE_MAX_PARAMS; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        spaces_float(s, name, 0, 1, 0, false);
    }
    struct param p = { .name = "more", FLOAT_OF(0, 1), .parent = -1 };
    assert_int_equal(space_add(s, &p, &err), -1);
    assert_string_equal(err.where, "more");
    assert_int_equal(space_find(s, "p511"), 511);
    assert_int_equal(space_find(s, "more"), -1);
    space_free(s);
}

static void the_widest_legal_parameters_are_taken(void **state)
{
    struct space *s = space_new();

    (void)state;
    spaces_float(s, "float", -1e307, 1e307, 0, false);
    spaces_float(s, "tiny", 5e-324, 1e308, 0, true);
    spaces_float(s, "steps", 0, 1, 1e-9, false);
    spaces_float(s, "point", 3, 3, 0, false);
    spaces_float(s, "logpoint", 3, 3, 0, true);
    spaces_int(s, "int", -5e14, 5e14, 0, false);
    spaces_int(s, "log", 1, 1e12, 0, true);
    spaces_choice(s, "choice", SPACE_MAX_CHOICES, false);
    int parent = spaces_choice(s, "parent", 64, true);
    struct param p = {
        .name = "child", FLOAT_OF(0, 1), .parent = parent, .parent_mask = UINT64_MAX
    };
    assert_int_equal(space_add(s, &p, NULL), parent + 1);
    space_free(s);
    space_free(NULL);
}

static void a_space_keeps_its_own_copies(void **state)
{
    char name[] = "x", a[] = "a", b[] = "b";
    char *choices[] = { a, b };
    struct param p = { .name = name, CHOICE_OF(PARAM_CATEGORICAL, 2, choices), .parent = -1 };
    struct space *s = space_new();

    (void)state;
    assert_int_equal(space_add(s, &p, NULL), 0);
    name[0] = a[0] = '?';
    choices[1] = NULL;
    assert_string_equal(s->params[0].name, "x");
    assert_string_equal(s->params[0].choices[0], "a");
    assert_string_equal(s->params[0].choices[1], "b");
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_parameters_are_refused_by_name),
        cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(a_space_has_an_end),
        cmocka_unit_test(the_widest_legal_parameters_are_taken),
        cmocka_unit_test(a_space_keeps_its_own_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
