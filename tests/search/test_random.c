/* test_random.c - the random sampler draws what it says: chi-squared over the marginal of every kind of parameter, under
 * conditions too, and over pairs; and the test itself would notice a bias. Free of the no-repeat rule: every space here
 * has a real parameter beside, so that no point comes twice. */
#include "tests/search/marginals.h"
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "search/contract/sampler.h"
#include "search/searchers.h"
#include "search/space/fresh_points.h"

#include <inttypes.h>
#include <math.h>

enum { N = 20000 };

/* N points of a space, in batches of odd sizes. */
static double *draw_points(const struct space *s, uint64_t seed)
{
    double *points = mem_array((size_t)N * (size_t)s->n, sizeof *points);
    struct search_setup setup = { .seed = seed };
    struct sampler *x = sampler_find("random")->open(s, &setup, NULL);

    for (int at = 0; at < N; at += 40)
        assert_int_equal(x->ops->suggest(x, 1 + at, 40, points + (size_t)at * (size_t)s->n, NULL),
                         40);
    sampler_close(x);
    return points;
}

static void marginals_of_every_kind_are_right(void **state)
{
    struct space *s = marginals_space();
    double *points = draw_points(s, TEST_FIXED_SEED);

    (void)state;
    for (int i = 0; i < s->n; i++) {
        double z = marginals_surprise(s, points, N, i);
        if (!(z < 5))
            fail_msg("%s: %.1f standard deviations off, seed %" PRIu64, s->params[i].name, z,
                     TEST_FIXED_SEED);
    }
    mem_free(points);
    space_free(s);
}

static void conditional_parameters_are_active_as_often_as_their_parents_say(void **state)
{
    static const struct {
        const char *name;
        double share;
    } cases[] = {
        { "child float", 0.5 }, { "child log", 0.25 }, { "nested", 0.25 }, { "deep", 0.25 * 2 / 3 }
    };
    struct space *s = marginals_space();
    double *points = draw_points(s, TEST_FIXED_SEED + 1);

    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        double count[2] = { 0 }, share[2] = { 1 - cases[c].share, cases[c].share };
        int i = space_find(s, cases[c].name);
        for (int k = 0; k < N; k++)
            count[!isnan(points[(size_t)k * (size_t)s->n + (size_t)i])]++;
        assert_true(marginals_chi(count, share, 2) < 5);
    }
    mem_free(points);
    space_free(s);
}

static void parameters_and_neighbouring_trials_are_independent(void **state)
{
    struct space *s = space_new();
    double share[100], pair[100], serial[100];

    (void)state;
    spaces_int(s, "a", 0, 9, 0, false);
    spaces_int(s, "b", 0, 9, 0, false);
    spaces_float(s, "c", 0, 1, 0, false);
    marginals_even(share, 100);
    double *points = draw_points(s, TEST_FIXED_SEED + 2);
    memset(pair, 0, sizeof pair);
    memset(serial, 0, sizeof serial);
    for (int k = 0; k < N; k++) {
        pair[(int)(points[3 * k] * 10 + points[3 * k + 1])]++;
        if (k > 0)
            serial[(int)(points[3 * k] * 10 + points[3 * k - 3])]++;
    }
    assert_true(marginals_chi(pair, share, 100) < 5);
    assert_true(marginals_chi(serial, share, 100) < 5);
    mem_free(points);
    space_free(s);
}

static void the_test_would_notice_a_bias(void **state)
{
    struct space *s = space_new();

    (void)state;
    spaces_float(s, "x", 1e-5, 10, 0, true);
    double *points = draw_points(s, TEST_FIXED_SEED + 3);
    assert_true(marginals_surprise(s, points, N, 0) < 5);
    for (int k = 0; k < N; k++) { /* 5% of the mass moved to the upper half */
        if (k % 10 == 0 && points[k] < 0.01)
            points[k] = 1;
    }
    assert_true(marginals_surprise(s, points, N, 0) > 5);
    mem_free(points);
    space_free(s);
}

static void a_trial_depends_on_its_number_only(void **state)
{
    struct space *s = marginals_space();
    double a[16], b[16];

    (void)state;
    for (int64_t trial = 1; trial < 200; trial++) {
        struct fresh_points x, y;
        fresh_points_init(&x, s);
        fresh_points_init(&y, s);
        for (int64_t before = 1; before < trial; before += 7) /* y has a history, x has none */
            assert_int_equal(fresh_points_next(&y, 4, before * 1000, b), 1);
        assert_int_equal(fresh_points_next(&x, 4, trial, a), 1);
        assert_int_equal(fresh_points_next(&y, 4, trial, b), 1);
        assert_memory_equal(a, b, (size_t)s->n * sizeof *a);
        fresh_points_fini(&x);
        fresh_points_fini(&y);
    }
    space_free(s);
}

/* One value has nearly all the mass: the rest must come all the same, and soon. */
static void a_skewed_space_is_used_up_too(void **state)
{
    struct space *s = space_new();
    struct fresh_points d;
    double point[8];

    (void)state;
    int gate = spaces_choice(s, "gate", 64, false);
    spaces_int(s, "behind", 1, 500, 0, true);
    spaces_under(s, gate, 1);
    assert_true(space_search_size(s) == 563);
    fresh_points_init(&d, s);
    for (int k = 0; k < 563; k++) {
        assert_int_equal(fresh_points_next(&d, test_seed(), 1 + k, point), 1);
        assert_int_equal(space_check(s, point, NULL), 0);
    }
    assert_int_equal(fresh_points_next(&d, test_seed(), 999, point), 0);
    fresh_points_fini(&d);
    space_free(s);
}

/* Infinite by kind, but with two or three numbers in it. */
static void a_range_of_a_few_numbers_does_not_hang(void **state)
{
    struct space *s = space_new();
    struct fresh_points d;
    double point[1];

    (void)state;
    spaces_float(s, "x", 1, 1 + 0x1p-52, 0, false);
    fresh_points_init(&d, s);
    for (int k = 0; k < 100; k++) {
        assert_int_equal(fresh_points_next(&d, 7, k, point), 1);
        assert_int_equal(space_check(s, point, NULL), 0);
    }
    fresh_points_fini(&d);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marginals_of_every_kind_are_right),
        cmocka_unit_test(conditional_parameters_are_active_as_often_as_their_parents_say),
        cmocka_unit_test(parameters_and_neighbouring_trials_are_independent),
        cmocka_unit_test(the_test_would_notice_a_bias),
        cmocka_unit_test(a_trial_depends_on_its_number_only),
        cmocka_unit_test(a_skewed_space_is_used_up_too),
        cmocka_unit_test(a_range_of_a_few_numbers_does_not_hang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
