/* test_gp_luck.c - failures beyond a border are told from failures by chance, although the trials
 * are crowded where they succeed. */
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "search/samplers/gp/gp_luck.h"

enum { D = 3 };

static struct space *cube(void)
{
    struct space *s = space_new();

    spaces_float(s, "a", 0, 1, 0, false);
    spaces_float(s, "b", 0, 1, 0, false);
    spaces_choice(s, "c", 3, false);
    return s;
}

/* n trials, of which a half is near the best place. Those beyond the border fail, or one in two. */
static void trials_add(struct gp_luck *l, const struct gp_code *code, int n, uint64_t seed,
                       bool has_border)
{
    struct rng r;

    rng_init(&r, seed, 0);
    for (int i = 0; i < n; i++) {
        double near = i % 2 ? 0.3 : 1, x[D];
        for (int k = 0; k < 2; k++)
            x[k] = near * rng_unit(&r);
        x[2] = (double)rng_below(&r, 3);
        bool has_luck = rng_unit(&r) < 0.5;
        gp_luck_add(l, code, x, has_border ? x[0] + x[1] > 0.5 : has_luck);
    }
}

/* Of 20 fixed seeds; chance is found in fewer of them, because it looks like a border at times. */
static void borders_are_told_from_chance(void **state)
{
    struct space *s = cube();
    int borders = 0, chances = 0;
    struct gp_code code;

    (void)state;
    assert_int_equal(gp_code_init(&code, s, NULL), 0);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct gp_luck border = { 0 }, chance = { 0 };
        trials_add(&border, &code, 60, seed, true);
        trials_add(&chance, &code, 60, seed, false);
        borders += !gp_luck_is_chance(&border);
        chances += gp_luck_is_chance(&chance);
        gp_luck_fini(&border);
        gp_luck_fini(&chance);
    }
    assert_int_equal(borders, 20);
    assert_in_range(chances, 16, 20);
    space_free(s);
}

static void few_of_a_kind_are_never_called_chance(void **state)
{
    struct space *s = cube();
    struct gp_luck l = { 0 }, other = { 0 };
    struct gp_code code;
    double x[D] = { 0.5, 0.5, 1 };

    (void)state;
    assert_int_equal(gp_code_init(&code, s, NULL), 0);
    for (int i = 0; i < 29; i++) {
        gp_luck_add(&l, &code, x, i % 2);
        assert_false(gp_luck_is_chance(&l));
    }
    gp_luck_add(&l, &code, x, true);
    assert_true(gp_luck_is_chance(&l)); /* one place, two ends: nothing else can be said */
    gp_luck_fini(&l);
    for (int i = 0; i < 200; i++) {
        gp_luck_add(&l, &code, x, i < 4);
        gp_luck_add(&other, &code, x, i >= 4);
        assert_false(gp_luck_is_chance(&other));
        assert_false(gp_luck_is_chance(&l));
    }
    gp_luck_fini(&l);
    gp_luck_fini(&other);
    space_free(s);
}

/* What is not looked at any more costs nothing and changes nothing. */
static void thousands_of_trials_are_no_burden(void **state)
{
    struct space *s = cube();
    struct gp_luck l = { 0 };
    struct gp_code code;

    (void)state;
    assert_int_equal(gp_code_init(&code, s, NULL), 0);
    trials_add(&l, &code, 5000, 1, false);
    assert_true(l.n < 1000);
    gp_luck_fini(&l);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(borders_are_told_from_chance),
        cmocka_unit_test(few_of_a_kind_are_never_called_chance),
        cmocka_unit_test(thousands_of_trials_are_no_burden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
