/* test_fanova.c - fANOVA: shares of variance against those known exactly, on grids, for interactions and under conditions;
 * what depends on nothing gets nothing; any space and score gives sane shares. */
#include "tests/search/evidence.h"

#include "search/insight/fanova.h"

#include <math.h>

/* Every point of a full grid of `size`^n choices or steps, once. */
static struct evidence grid_of(const struct space *s, int size,
                               double (*gain)(const double *point, struct rng *r))
{
    int n = 1;

    for (int j = 0; j < s->n; j++)
        n *= size;
    struct evidence e = evidence_new(s, n, 1, gain);
    for (int i = 0; i < n; i++) {
        double point[8] = { 0 };
        for (int j = 0, rest = i; j < s->n; j++, rest /= size) {
            point[j] = param_value(&s->params[j], rest % size);
            e.units[i * s->n + j] = (float)param_to_unit(&s->params[j], point[j]);
        }
        e.gains[i] = gain(point, NULL);
    }
    return e;
}

static double additive(const double *p, struct rng *r)
{
    (void)r;
    return 3 * p[0] + 2 * p[1] + p[2];
}

/* Uniform on the same steps: variances are as 9 : 4 : 1. */
static void shares_of_a_sum_are_those_of_its_variances(void **state)
{
    static const double want[] = { 9 / 14.0, 4 / 14.0, 1 / 14.0, 0 };
    struct space *s = space_new();
    double v[4];

    (void)state;
    spaces_int(s, "a", 0, 7, 0, false);
    spaces_int(s, "b", 0, 7, 0, false);
    spaces_int(s, "c", 0, 7, 0, false);
    spaces_constant(s, "none", 1);
    s->n = 3; /* the grid is over three */
    struct evidence e = grid_of(s, 8, additive);
    assert_int_equal(fanova_main_effects(&e.data, 7, v), 512);
    for (int j = 0; j < 3; j++)
        assert_true(fabs(v[j] - want[j]) < 0.03);
    evidence_free(&e);
    s->n = 4;
    space_free(s);
}

static double exclusive(const double *p, struct rng *r)
{
    (void)r;
    return p[0] == p[1];
}

static void a_pure_interaction_has_no_main_effects(void **state)
{
    struct space *s = space_new();
    double v[2];

    (void)state;
    spaces_choice(s, "a", 2, false);
    spaces_choice(s, "b", 2, false);
    struct evidence e = evidence_new(s, 400, 2, exclusive);
    assert_int_equal(fanova_main_effects(&e.data, 7, v), 400);
    assert_true(v[0] < 0.01 && v[1] < 0.01);
    evidence_free(&e);
    space_free(s);
}

static double product(const double *p, struct rng *r)
{
    (void)r;
    return p[0] * p[1];
}

/* x y over the unit square: main effects 3/7 each, the interaction 1/7. */
static void a_product_leaves_its_interaction_to_nobody(void **state)
{
    struct space *s = space_new();
    double v[2];

    (void)state;
    spaces_float(s, "x", 0, 1, 0, false);
    spaces_float(s, "y", 0, 1, 0, false);
    struct evidence e = evidence_new(s, 1200, 3, product);
    assert_int_equal(fanova_main_effects(&e.data, 7, v), 1200);
    assert_true(fabs(v[0] - 3 / 7.0) < 0.03 && fabs(v[1] - 3 / 7.0) < 0.03);
    evidence_free(&e);
    space_free(s);
}

/* Family 0: 2 + x, family 1: y, family 2: 0. Exactly: E = 5/2, 1/2, 0, so the variance of the family is 7/6, and x and y
 * each have 1/3 of 1/12. */
static double conditional(const double *p, struct rng *r)
{
    (void)r;
    return p[0] == 0 ? 2 + p[1] : p[0] == 1 ? p[2] : 0;
}

static void conditional_parameters_have_their_share_of_the_time_they_are_active(void **state)
{
    double family_var = 7 / 6.0, each = 1 / 36.0, total = family_var + 2 * each;

    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct space *s = space_new();
        double v[3];
        int family = spaces_choice(s, "family", 3, false);

        spaces_float(s, "x", 0, 1, 0, false);
        spaces_under(s, family, 1);
        spaces_float(s, "y", 0, 1, 0, false);
        spaces_under(s, family, 2);
        struct evidence e = evidence_new(s, 500, seed, conditional);
        assert_int_equal(fanova_main_effects(&e.data, seed, v), 500);
        assert_true(fabs(v[0] - family_var / total) < 0.01);
        assert_true(fabs(v[1] - each / total) < 0.005 && fabs(v[2] - each / total) < 0.005);
        evidence_free(&e);
        space_free(s);
    }
}

static double skewed(const double *p, struct rng *r)
{
    (void)r;
    return p[0];
}

/* The measure is the space's, not the sample's: trials crowded at one end change little. */
static void crowded_trials_do_not_change_the_measure(void **state)
{
    struct space *s = space_new();
    double v[2];

    (void)state;
    spaces_choice(s, "a", 2, false);
    spaces_float(s, "x", 0, 1, 0, false);
    struct evidence e = evidence_new(s, 1000, 4, skewed);
    for (int i = 0; i < 1000; i++) {
        double x = e.units[2 * i + 1] * (double)e.units[2 * i + 1] * e.units[2 * i + 1];
        e.units[2 * i + 1] = (float)x;
        e.gains[i] = e.points[2 * i] + x; /* variances 1/4 and 1/12 */
    }
    assert_int_equal(fanova_main_effects(&e.data, 1, v), 1000);
    assert_true(fabs(v[0] - 0.75) < 0.03 && fabs(v[1] - 0.25) < 0.03);
    evidence_free(&e);
    space_free(s);
}

static double wild(const double *p, struct rng *r)
{
    static const double odd[] = { NAN, INFINITY, -INFINITY, 1e6, 0 };

    (void)p;
    return rng_below(r, 4) ? rng_unit(r) : odd[rng_below(r, 5)];
}

static void any_space_and_any_score_gives_shares(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct rng r;
        double v[SPACE_MAX_PARAMS], again[SPACE_MAX_PARAMS];

        rng_init(&r, test_seed(), 7000 + seed);
        struct space *s = spaces_random(&r, 8, seed % 2);
        struct evidence e = evidence_new(s, (int)rng_below(&r, 40), seed, wild);
        int n = fanova_main_effects(&e.data, seed, v);
        for (int j = 0; j < s->n; j++) {
            assert_true(v[j] >= 0 && v[j] <= 1);
            assert_true(n > 0 || v[j] == 0);
            assert_true(v[j] == 0 || importance_concerns(&s->params[j]));
        }
        assert_int_equal(fanova_main_effects(&e.data, seed, again), n);
        assert_memory_equal(v, again, (size_t)s->n * sizeof *v);
        evidence_free(&e);
        space_free(s);
    }
}

/* One layer of conditions: what parameters explain by themselves adds up to at most everything. */
static double noise(const double *p, struct rng *r)
{
    (void)p;
    return rng_unit(r);
}

static void main_effects_add_up_to_at_most_one(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct space *s = spaces_mixed();
        struct evidence e = evidence_new(s, 60, seed, noise);
        double v[16], sum = 0;

        assert_true(s->n <= 16);
        assert_int_equal(fanova_main_effects(&e.data, seed, v), 60);
        for (int j = 0; j < s->n; j++)
            sum += v[j];
        assert_true(sum <= 1 + 1e-9);
        evidence_free(&e);
        space_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_of_a_sum_are_those_of_its_variances),
        cmocka_unit_test(a_pure_interaction_has_no_main_effects),
        cmocka_unit_test(a_product_leaves_its_interaction_to_nobody),
        cmocka_unit_test(conditional_parameters_have_their_share_of_the_time_they_are_active),
        cmocka_unit_test(crowded_trials_do_not_change_the_measure),
        cmocka_unit_test(any_space_and_any_score_gives_shares),
        cmocka_unit_test(main_effects_add_up_to_at_most_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
