/* test_fresh_points.c - fused draws: trials of one group share their shape parameters, conditional ones too; every marginal stays
 * exact, each trial stays a function of its number, and nothing is proposed twice. Plain draws are test_random.c. */
#include "tests/search/marginals.h"
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "search/contract/sampler.h"
#include "search/searchers.h"
#include "search/space/fresh_points.h"

#include <inttypes.h>
#include <math.h>

enum { FUSE = 4, GROUPS = 5000, N = FUSE * GROUPS };

/* Every kind of parameter, each as a shape or not by the bits of a mask. */
static struct space *shaped_space(uint64_t mask)
{
    struct space *s = marginals_space();

    for (int i = 0; i < s->n; i++) {
        if (mask >> i & 1)
            s->params[i].axis = AXIS_SHAPE;
    }
    return s;
}

static double *draw_points(const struct space *s, uint64_t seed, int fuse, int n)
{
    double *points = mem_array((size_t)n * (size_t)s->n, sizeof *points);
    struct search_setup setup = { .seed = seed, .fuse = fuse };
    struct sampler *x = sampler_find("random")->open(s, &setup, NULL);

    for (int at = 0; at < n; at += 40) /* no multiple of a group */
        assert_int_equal(x->ops->suggest(x, 1 + at, 40, points + (size_t)at * (size_t)s->n, NULL),
                         40);
    sampler_close(x);
    return points;
}

/* A shape parameter is drawn once a group: the first active value of each group is one independent draw. */
static int one_per_group(const struct space *s, const double *points, int i, double *out)
{
    int n = 0;

    for (int g = 0; g < GROUPS; g++) {
        for (int k = g * FUSE; k < (g + 1) * FUSE; k++) {
            const double *point = points + (size_t)k * (size_t)s->n;
            if (isnan(point[i]))
                continue;
            memcpy(out + (size_t)n++ * (size_t)s->n, point, (size_t)s->n * sizeof *out);
            break;
        }
    }
    return n;
}

static void fused_marginals_of_every_kind_are_right(void **state)
{
    (void)state;
    for (int half = 0; half < 2; half++) {
        struct space *s = shaped_space(half ? 0xaaaaaaaa : 0x55555555);
        double *points = draw_points(s, TEST_FIXED_SEED + (uint64_t)half, FUSE, N);
        double *once = mem_array((size_t)N * (size_t)s->n, sizeof *once);
        for (int i = 0; i < s->n; i++) {
            bool is_shape = s->params[i].axis == AXIS_SHAPE;
            int n = is_shape ? one_per_group(s, points, i, once) : 0;
            double z = marginals_surprise(s, is_shape ? once : points, is_shape ? n : N, i);
            if (!(z < 5))
                fail_msg("%s: %.1f standard deviations off, seed %" PRIu64, s->params[i].name, z,
                         TEST_FIXED_SEED);
        }
        mem_free(once);
        mem_free(points);
        space_free(s);
    }
}

static void a_group_shares_its_shapes_and_nothing_else(void **state)
{
    struct space *s = shaped_space(0x1555);
    double *points = draw_points(s, test_seed(), FUSE, N);
    int equal = 0;

    (void)state;
    for (int k = 1; k < N; k++) {
        const double *a = points + (size_t)(k - 1) * (size_t)s->n, *b = a + s->n;
        for (int i = 0; i < s->n; i++) {
            if (s->params[i].axis != AXIS_SHAPE || isnan(a[i]) || isnan(b[i]))
                continue;
            if (k % FUSE != 0)
                assert_true(a[i] == b[i]);
        }
        equal += a[0] == b[0];     /* shape, continuous */
        assert_true(a[1] != b[1]); /* its own, continuous */
    }
    assert_int_equal(equal, N - GROUPS);
    mem_free(points);
    space_free(s);
}

static void groups_and_parameters_are_independent(void **state)
{
    struct space *s = space_new();
    double share[100], serial[100] = { 0 }, pair[100] = { 0 };

    (void)state;
    spaces_int(s, "shape", 0, 9, 0, false);
    spaces_axis(s, AXIS_SHAPE);
    spaces_int(s, "own", 0, 9, 0, false);
    spaces_float(s, "rest", 0, 1, 0, false);
    double *p = draw_points(s, TEST_FIXED_SEED + 4, FUSE, N);
    marginals_even(share, 100);
    for (int g = 1; g < GROUPS; g++)
        serial[(int)(p[3 * FUSE * g] * 10 + p[3 * FUSE * (g - 1)])]++;
    for (int g = 0; g < GROUPS; g++)
        pair[(int)(p[3 * FUSE * g] * 10 + p[3 * FUSE * g + 1])]++;
    assert_true(marginals_chi(serial, share, 100) < 5);
    assert_true(marginals_chi(pair, share, 100) < 5);
    mem_free(p);
    space_free(s);
}

static void a_fused_trial_depends_on_its_number_only(void **state)
{
    struct space *s = shaped_space(0x1555);
    double a[32], b[32];

    (void)state;
    for (int64_t trial = -20; trial < 60; trial++) {
        struct fresh_points x, y;
        fresh_points_init(&x, s);
        fresh_points_init(&y, s);
        x.fuse = y.fuse = 5;
        for (int64_t before = 1; before < 100; before += 7) /* y has a history, x has none */
            assert_int_equal(fresh_points_next(&y, 4, before * 1000, b), 1);
        assert_int_equal(fresh_points_next(&x, 4, trial, a), 1);
        assert_int_equal(fresh_points_next(&y, 4, trial, b), 1);
        assert_memory_equal(a, b, (size_t)s->n * sizeof *a);
        fresh_points_fini(&x);
        fresh_points_fini(&y);
    }
    space_free(s);
}

/* Warm starts are numbered 0, -1, -2 ...: their groups hold as many as the others. */
static void groups_below_one_are_whole_too(void **state)
{
    struct space *s = space_new();
    double last = NAN, point[2];
    int runs = 0;

    (void)state;
    spaces_float(s, "shape", 0, 1, 0, false);
    spaces_axis(s, AXIS_SHAPE);
    spaces_float(s, "own", 0, 1, 0, false);
    for (int64_t trial = -11; trial <= 12; trial++) {
        struct fresh_points d;
        fresh_points_init(&d, s);
        d.fuse = 4;
        assert_int_equal(fresh_points_next(&d, 9, trial, point), 1);
        assert_int_equal(point[0] != last, (trial + 11) % 4 == 0);
        runs += point[0] != last;
        last = point[0];
        fresh_points_fini(&d);
    }
    assert_int_equal(runs, 6);
    space_free(s);
}

/* A group may be larger than what its shape has to offer: it moves on to another shape. */
static void finite_spaces_are_used_up_fused(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int round = 0; round < 60; round++) {
        struct space *s = spaces_random(&r, 6, true);
        double size = space_search_size(s), point[8];
        struct fresh_points d;
        for (int i = 0; i < s->n; i++)
            s->params[i].axis = rng_below(&r, 2) ? AXIS_SHAPE : AXIS_COSTLY;
        fresh_points_init(&d, s);
        d.fuse = 2 + (int)rng_below(&r, 40);
        for (int k = 0; size <= 2000 && k < size; k++) {
            assert_int_equal(fresh_points_next(&d, 3, 1 + k, point), 1);
            assert_int_equal(space_check(s, point, NULL), 0);
        }
        assert_int_equal(size <= 2000 ? fresh_points_next(&d, 3, 5000, point) : 0, 0);
        fresh_points_fini(&d);
        space_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fused_marginals_of_every_kind_are_right),
        cmocka_unit_test(a_group_shares_its_shapes_and_nothing_else),
        cmocka_unit_test(groups_and_parameters_are_independent),
        cmocka_unit_test(a_fused_trial_depends_on_its_number_only),
        cmocka_unit_test(groups_below_one_are_whole_too),
        cmocka_unit_test(finite_spaces_are_used_up_fused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
