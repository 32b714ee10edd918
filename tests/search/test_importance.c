/* test_importance.c - PED-ANOVA: known causes are found in their order, what is no cause gets nearly nothing, the order
 * of scores is all that counts, conditional parameters count where they are active. */
#include "tests/search/evidence.h"

#include <math.h>

static double unit_random(const double *p, struct rng *r)
{
    (void)p;
    return rng_unit(r);
}

static double weighted(const double *p, struct rng *r)
{
    (void)r;
    return 4 * fabs(p[0] - 0.3) - 2 * p[1] + 0.5 * p[2];
}

/* x, y, z of falling weight; nothing; and what cannot matter: a constant and a free axis. */
static struct space *plain_space(void)
{
    struct space *s = space_new();

    spaces_float(s, "x", 0, 1, 0, false);
    spaces_float(s, "y", 0, 1, 0, false);
    spaces_float(s, "z", 0, 1, 0, false);
    spaces_int(s, "nothing", 1, 1000, 0, true);
    spaces_constant(s, "constant", 3);
    spaces_int(s, "free", 1, 9, 0, false);
    spaces_axis(s, AXIS_FREE);
    return s;
}

static void causes_come_in_the_order_of_their_weight(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct space *s = plain_space();
        struct evidence e = evidence_new(s, 1000, seed, weighted);
        double v[6], sum = 0;

        assert_int_equal(importance_ped_anova(&e.data, v), 1000);
        for (int j = 0; j < 6; j++)
            sum += v[j];
        assert_true(v[0] > v[1] && v[1] > v[2]);
        assert_true(v[3] < 0.06 * sum);
        assert_true(v[4] == 0 && v[5] == 0);
        evidence_free(&e);
        space_free(s);
    }
}

static void only_the_order_of_scores_counts(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct space *s = seed % 2 ? plain_space() : spaces_mixed();
        struct evidence e = evidence_new(s, 300, seed, unit_random);
        double a[16], b[16];

        assert_true(s->n <= 16);
        assert_int_equal(importance_ped_anova(&e.data, a), 300);
        for (int i = 0; i < 300; i++)
            e.gains[i] = exp(5 * e.gains[i]) - 7;
        e.gains[0] = e.gains[0] == -INFINITY ? 0 : e.gains[0];
        assert_int_equal(importance_ped_anova(&e.data, b), 300);
        assert_memory_equal(a, b, (size_t)s->n * sizeof *a);
        evidence_free(&e);
        space_free(s);
    }
}

/* A step at 0.9 with the top tenth above it: densities 1 and 10 there, 1 and 0 below, so without smoothing the divergence
 * is 0.1 (10 - 1)^2 + 0.9 (0 - 1)^2 = 9. */
static double stepped(const double *p, struct rng *r)
{
    return (p[0] >= 0.9) + 1e-6 * rng_unit(r);
}

static void the_divergence_of_a_step_is_near_its_exact_value(void **state)
{
    struct space *s = space_new();

    (void)state;
    spaces_float(s, "x", 0, 1, 0, false);
    struct evidence e = evidence_new(s, 50000, 1, stepped);
    double v = 0;
    assert_int_equal(importance_ped_anova(&e.data, &v), 50000);
    assert_true(fabs(v - 9) < 0.9);
    evidence_free(&e);
    space_free(s);
}

static double by_choice(const double *p, struct rng *r)
{
    return (p[0] == 2) + 0.01 * rng_unit(r);
}

static void a_choice_that_decides_has_the_divergence_of_its_shares(void **state)
{
    struct space *s = space_new();
    double v[2];

    (void)state;
    spaces_choice(s, "decides", 4, false);
    spaces_choice(s, "idle", 4, false);
    struct evidence e = evidence_new(s, 20000, 3, by_choice);
    assert_int_equal(importance_ped_anova(&e.data, v), 20000);
    /* With p of all at the winning choice and the top nowhere else: p (1/p - 1)^2 + (1 - p) (0 - 1)^2 = 1/p - 1. */
    double won = 0;
    for (int i = 0; i < 20000; i++)
        won += e.points[2 * (size_t)i] == 2;
    assert_true(fabs(v[0] - (20000 / won - 1)) < 0.01);
    assert_true(v[1] < 0.01 * v[0]);
    evidence_free(&e);
    space_free(s);
}

/* family 0 has `lr`, which decides within it; families 1 and 2 have `idle`. Family 0 is the better one. */
static double conditional(const double *p, struct rng *r)
{
    return p[0] == 0 ? 1 - fabs(p[1] - 0.5) : 0.6 * rng_unit(r);
}

static void a_conditional_parameter_counts_where_it_is_active(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct space *s = space_new();
        double v[3];
        int family = spaces_choice(s, "family", 3, false);

        spaces_float(s, "lr", 0, 1, 0, false);
        spaces_under(s, family, 1);
        spaces_float(s, "idle", 0, 1, 0, false);
        spaces_under(s, family, 6);
        struct evidence e = evidence_new(s, 600, seed, conditional);
        assert_int_equal(importance_ped_anova(&e.data, v), 600);
        /* All of the top is family 0: `idle` is never there, and its absence is the family's doing. */
        assert_true(v[2] == 0);
        assert_true(v[1] > 0 && v[0] > 0);
        evidence_free(&e);
        space_free(s);
    }
}

static void too_few_or_equal_trials_say_nothing(void **state)
{
    struct space *s = plain_space();
    struct evidence e = evidence_new(s, 50, 5, unit_random);
    double v[6];

    (void)state;
    for (int n = 0; n <= 2; n++) {
        e.data.n = n;
        assert_int_equal(importance_ped_anova(&e.data, v), 0);
        assert_true(v[0] == 0 && v[3] == 0);
    }
    e.data.n = 50;
    for (int i = 0; i < 50; i++)
        e.gains[i] = i % 2 ? 1 : NAN;
    assert_int_equal(importance_ped_anova(&e.data, v), 0);
    for (int i = 0; i < 50; i++)
        e.gains[i] = NAN;
    assert_int_equal(importance_ped_anova(&e.data, v), 0);
    evidence_free(&e);
    space_free(s);
}

static double wild(const double *p, struct rng *r)
{
    static const double odd[] = { NAN, INFINITY, -INFINITY, 1e308, -1e308, 0 };

    (void)p;
    return rng_below(r, 3) ? rng_unit(r) : odd[rng_below(r, 6)];
}

static void any_space_and_any_score_gives_finite_numbers(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct rng r;
        double v[SPACE_MAX_PARAMS];

        rng_init(&r, test_seed(), 9000 + seed);
        struct space *s = spaces_random(&r, 12, false);
        struct evidence e = evidence_new(s, (int)rng_below(&r, 80), seed, wild);
        (void)importance_ped_anova(&e.data, v);
        for (int j = 0; j < s->n; j++)
            assert_true(isfinite(v[j]) && v[j] >= 0);
        evidence_free(&e);
        space_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(causes_come_in_the_order_of_their_weight),
        cmocka_unit_test(only_the_order_of_scores_counts),
        cmocka_unit_test(the_divergence_of_a_step_is_near_its_exact_value),
        cmocka_unit_test(a_choice_that_decides_has_the_divergence_of_its_shares),
        cmocka_unit_test(a_conditional_parameter_counts_where_it_is_active),
        cmocka_unit_test(too_few_or_equal_trials_say_nothing),
        cmocka_unit_test(any_space_and_any_score_gives_finite_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
