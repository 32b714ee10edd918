/* test_quasi_points.c - sequences led through spaces: parameters that never are active together share a dimension and others never
 * do; the cover of a conditional space is even in every branch; an adopted point shifts nothing; finite spaces end. */
#include "tests/search/marginals.h"
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "search/space/quasi_points.h"

#include <math.h>

/* By trying: over many points, two parameters with one dimension are never both there. */
static void only_parameters_that_exclude_each_other_share_a_dimension(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int round = 0; round < 200; round++) {
        struct space *s = spaces_random(&r, 12, false);
        struct quasi_points w;
        double point[16];
        quasi_points_init(&w, s, &sequence_halton, 1);
        for (int t = 0; t < 50; t++) {
            bool taken[16] = { false };
            spaces_point(s, &r, point);
            for (int i = 0; i < s->n; i++) {
                if (w.dim[i] < 0 || isnan(point[i]))
                    continue;
                assert_false(taken[w.dim[i]]);
                taken[w.dim[i]] = true;
            }
        }
        quasi_points_fini(&w);
        space_free(s);
    }
}

static void families_share_dimensions(void **state)
{
    struct space *s = space_new();
    struct quasi_points w;
    char name[16];

    (void)state;
    int family = spaces_choice(s, "family", 8, false);
    for (int i = 0; i < 8 * 5; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        spaces_float(s, name, 0, 1, 0, false);
        spaces_under(s, family, UINT64_C(1) << i / 5);
    }
    spaces_constant(s, "constant", 3);
    spaces_int(s, "free", 1, 9, 0, false);
    spaces_axis(s, AXIS_FREE);
    quasi_points_init(&w, s, &sequence_sobol, 1);
    assert_int_equal(w.dims, 6);
    quasi_points_fini(&w);
    space_free(s);
}

/* Every branch gets its share to within one, and inside it the values are spread evenly too. */
static void branches_are_covered_evenly(void **state)
{
    enum { N = 256 };
    struct space *s = space_new();
    double point[4];

    (void)state;
    int family = spaces_choice(s, "family", 4, false);
    spaces_float(s, "a", 0, 1, 0, false);
    spaces_under(s, family, 1);
    spaces_float(s, "b", 1e-4, 1, 0, true);
    spaces_under(s, family, 2);
    spaces_int(s, "c", 0, 15, 0, false);
    spaces_under(s, family, 12);
    spaces_float(s, "d", 0, 1, 0, false); /* keeps points apart */
    struct quasi_points w;
    double five[5];
    quasi_points_init(&w, s, &sequence_sobol, TEST_FIXED_SEED);
    int branch[4] = { 0 }, a[8] = { 0 }, b[8] = { 0 }, c[16] = { 0 };
    for (int k = 0; k < N; k++) {
        assert_int_equal(quasi_points_next(&w, five), 1);
        memcpy(point, five, sizeof point);
        branch[(int)point[0]]++;
        if (!isnan(point[1]))
            a[(int)(point[1] * 8)]++;
        if (!isnan(point[2]))
            b[(int)((log10(point[2]) + 4) * 2)]++;
        if (!isnan(point[3]))
            c[(int)point[3]]++;
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(branch[i], N / 4);
    for (int i = 0; i < 8; i++)
        assert_true(abs(a[i] - N / 32) <= 1 && abs(b[i] - N / 32) <= 1);
    for (int i = 0; i < 16; i++)
        assert_true(abs(c[i] - N / 32) <= 1);
    quasi_points_fini(&w);
    space_free(s);
}

/* The points of one that adopted some are those of one that did not, less the adopted. */
static void a_mark_takes_one_point_and_shifts_nothing(void **state)
{
    enum { N = 60 };
    struct space *s = spaces_mixed();
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 2);
    for (int round = 0; round < 20; round++) {
        double plain[N * 16], point[16];
        bool is_marked[N] = { false };
        struct quasi_points x, y;
        quasi_points_init(&x, s, &sequence_halton, test_seed() + (uint64_t)round);
        quasi_points_init(&y, s, &sequence_halton, test_seed() + (uint64_t)round);
        for (int k = 0; k < N; k++)
            assert_int_equal(quasi_points_next(&x, plain + (size_t)k * (size_t)s->n), 1);
        for (int k = 0; k < N; k += 1 + (int)rng_below(&r, 4)) {
            assert_true(quasi_points_mark(&y, plain + (size_t)k * (size_t)s->n));
            is_marked[k] = true;
        }
        for (int k = 0; k < N; k++) {
            if (is_marked[k])
                continue;
            assert_int_equal(quasi_points_next(&y, point), 1);
            assert_true(space_points_equal(s, point, plain + (size_t)k * (size_t)s->n));
        }
        quasi_points_fini(&x);
        quasi_points_fini(&y);
    }
    space_free(s);
}

/* Nearly all the mass on one choice: the numbering finds what the sequence does not, and the last comes soon. */
static void a_skewed_space_is_used_up(void **state)
{
    struct space *s = space_new();
    struct quasi_points w;
    double point[4];

    (void)state;
    int gate = spaces_choice(s, "gate", 64, false);
    spaces_int(s, "behind", 1, 500, 0, true);
    spaces_under(s, gate, 1);
    quasi_points_init(&w, s, &sequence_sobol, test_seed());
    for (int k = 0; k < 563; k++) {
        assert_int_equal(quasi_points_next(&w, point), 1);
        assert_int_equal(space_check(s, point, NULL), 0);
    }
    assert_int_equal(quasi_points_next(&w, point), 0);
    quasi_points_fini(&w);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_parameters_that_exclude_each_other_share_a_dimension),
        cmocka_unit_test(families_share_dimensions),
        cmocka_unit_test(branches_are_covered_evenly),
        cmocka_unit_test(a_mark_takes_one_point_and_shifts_nothing),
        cmocka_unit_test(a_skewed_space_is_used_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
