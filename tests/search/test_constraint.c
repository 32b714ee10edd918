/* test_constraint.c - inequalities between parameters: what they mean, what is refused and where, and
 * that random and quasi-random points keep them, also where few points do. */
#include "tests/unit.h"

#include "base/base.h"
#include "search/space/constraint.h"
#include "search/space/fresh_points.h"
#include "search/space/quasi_points.h"

#include <math.h>

/* own.a: 1..20, own.b: 1 2 4 8, own.k: p q, own.c: 0..10 where k is q, own.x-y: 0..1 */
static struct space *space_make(void)
{
    static char *b[] = { "1", "2", "4", "8" }, *k[] = { "p", "q" };
    struct space *s = space_new();
    const struct param params[] = {
        { .name = "own.a", .kind = PARAM_INT, .lo = 1, .hi = 20, .def = 1, .parent = -1 },
        { .name = "own.b", .kind = PARAM_CATEGORICAL, .n_choices = 4, .choices = b, .parent = -1 },
        { .name = "own.k", .kind = PARAM_CATEGORICAL, .n_choices = 2, .choices = k, .parent = -1 },
        { .name = "own.c", .hi = 10, .parent = 2, .parent_mask = 2 },
        { .name = "own.x-y", .hi = 1, .parent = -1 },
    };

    for (size_t i = 0; i < ARRAY_LEN(params); i++)
        assert_int_equal(space_add(s, &params[i], NULL), (int)i);
    return s;
}

static void a_text_means_what_it_says(void **state)
{
    static const struct {
        const char *text;
        bool holds;
    } cases[] = {
        { "a <= 5", true },
        { "a < 5", false },
        { "a == 5", true },
        { "a != 5", false },
        { "a >= 6", false },
        { "a > 4.5", true },
        { "b == 4", true },
        { "a * b <= 20", true },
        { "a*b<20", false },
        { "a + b * 2 == 13", true },
        { "(a + b) * 2 == 18", true },
        { "a - b - 1 == 0", true },
        { "8 / b / 2 == 1", true },
        { "-a < -4", true },
        { "- ( a - 5 ) == 0", true },
        { "1e1 > a", true },
        { "`x-y` <= 0.25", true },
        { "`x-y` > .25", false },
        { "a / (b - 4) > 0", false },
        { "a / (b - 4) <= 0", false },
        { "a / (b - 4) != 0", false },
        { "c > 100", true }, /* not active */
    };
    const double point[] = { 5, 2, 0, NAN, 0.25 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct space *s = space_make();
        struct err err = { 0 };

        assert_true(space_holds(s, point));
        if (space_constrain(s, "own.", cases[i].text, &err) < 0)
            fail_msg("%s: %s", cases[i].text, err.text);
        if (space_holds(s, point) != cases[i].holds)
            fail_msg("%s: %d", cases[i].text, !cases[i].holds);
        space_free(s);
    }
}

static void what_is_no_constraint_is_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "", "a number or the name" },
        { "a", "a comparison" },
        { "a <", "a number or the name" },
        { "a < 1 < 2", "one comparison" },
        { "a + < 1", "a number or the name" },
        { "q < 1", "no such parameter" },
        { "own.a < 1", "no such parameter" },
        { "k < 1", "words for values" },
        { "(a < 1", "a ) is missing" },
        { "((((((((((((((((((a)))))))))))))))))) < 1", "nested too deeply" },
        { "----------------------a < 1", "nested too deeply" },
        { "`a < 1", "a ` is missing" },
        { "a < 1e999", "no number" },
        { "a < 1.2.3", "goes on" },
        { "a = 1", "a comparison" },
        { "a < 1; drop", "goes on" },
    };
    char many[600] = "a";

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct space *s = space_make();
        struct err err = { 0 };

        assert_int_equal(space_constrain(s, "own.", cases[i].text, &err), -1);
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s: %s", cases[i].text, err.text);
        assert_int_equal(s->n_constraints, 0);
        space_free(s);
    }
    for (size_t n = 1; n < 121; n += 2)
        (void)snprintf(many + n, sizeof many - n, "+a");
    (void)snprintf(many + strlen(many), 8, " < 1");
    struct space *s = space_make();
    struct err err = { 0 };
    assert_int_equal(space_constrain(s, "own.", many, &err), -1);
    assert_non_null(strstr(err.text, "too long"));
    for (int i = 0; i < CONSTRAINTS_MAX; i++)
        assert_int_equal(space_constrain(s, "own.", "a > 0", NULL), 0);
    assert_int_equal(space_constrain(s, "own.", "a > 0", NULL), -1);
    space_free(s);
}

static void points_keep_them_also_where_few_do(void **state)
{
    struct space *s = space_make();
    struct fresh_points f;
    struct quasi_points q;
    double point[5];

    (void)state;
    /* about one point in 1,000 */
    assert_int_equal(space_constrain(s, "own.", "a * b == 160", NULL), 0);
    assert_int_equal(space_constrain(s, "own.", "`x-y` > 0.9", NULL), 0);
    fresh_points_init(&f, s);
    quasi_points_init(&q, s, &sequence_sobol, 1);
    for (int i = 1; i <= 50; i++) {
        assert_int_equal(fresh_points_next(&f, test_seed(), i, point), 1);
        assert_true(space_holds(s, point));
        assert_int_equal(quasi_points_next(&q, point), 1);
        assert_true(space_holds(s, point));
    }
    point[0] = 3;
    assert_false(fresh_points_mark(&f, point)); /* breaks one: never new */
    quasi_points_fini(&q);
    fresh_points_fini(&f);
    space_free(s);
}

static void a_finite_space_ends_when_all_that_keep_them_were_seen(void **state)
{
    struct space *s = space_new();
    const struct param params[] = {
        { .name = "a", .kind = PARAM_INT, .lo = 1, .hi = 30, .def = 1, .parent = -1 },
        { .name = "b", .kind = PARAM_INT, .lo = 1, .hi = 30, .def = 1, .parent = -1 },
    };
    struct fresh_points f;
    struct quasi_points q;
    double point[2];
    int n = 0, m = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(params); i++)
        assert_int_equal(space_add(s, &params[i], NULL), (int)i);
    assert_int_equal(space_constrain(s, "", "a + b <= 6", NULL), 0);
    fresh_points_init(&f, s);
    while (fresh_points_next(&f, test_seed(), n + 1, point) == 1 && n < 100)
        n++;
    quasi_points_init(&q, s, &sequence_halton, 1);
    while (quasi_points_next(&q, point) == 1 && m < 100)
        m++;
    assert_int_equal(n, 15); /* 5 + 4 + 3 + 2 + 1 */
    assert_int_equal(m, 15);
    quasi_points_fini(&q);
    fresh_points_fini(&f);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_means_what_it_says),
        cmocka_unit_test(what_is_no_constraint_is_refused),
        cmocka_unit_test(points_keep_them_also_where_few_do),
        cmocka_unit_test(a_finite_space_ends_when_all_that_keep_them_were_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
