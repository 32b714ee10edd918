/* test_pareto.c - fronts, ranks and hypervolumes against their definitions, over many random sets. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "search/insight/pareto.h"

#include <math.h>

enum { MOST = 60, SETS = 300 };

/* Small integers, so that ties and repeats are frequent; now and then a NaN or an infinity. */
static int random_set(struct rng *r, int m, bool is_wild, double *values)
{
    int n = (int)rng_below(r, MOST);

    for (int i = 0; i < n * m; i++) {
        values[i] = rng_below(r, 12);
        if (is_wild && rng_below(r, 40) == 0)
            values[i] = rng_below(r, 2) ? NAN : rng_below(r, 2) ? INFINITY : -INFINITY;
    }
    return n;
}

static bool is_broken(const double *v, int m)
{
    for (int k = 0; k < m; k++) {
        if (isnan(v[k]))
            return true;
    }
    return false;
}

static void ranks_are_what_is_left_when_fronts_are_taken_away(void **state)
{
    (void)state;
    for (int s = 0; s < SETS; s++) {
        struct rng r;
        double v[MOST * PARETO_MAX_OBJECTIVES] = { 0 };
        int ranks[MOST], want[MOST], m = 1 + s % PARETO_MAX_OBJECTIVES, left = 0, rank = 0;

        rng_init(&r, test_seed(), (uint64_t)s);
        int n = random_set(&r, m, true, v);
        for (int i = 0; i < n; i++) {
            want[i] = is_broken(v + i * m, m) ? -2 : -1;
            left += want[i] == -1;
        }
        for (; left > 0; rank++) {
            bool out[MOST] = { false };
            for (int i = 0; i < n; i++) {
                bool is_beaten = false;
                for (int k = 0; k < n; k++)
                    is_beaten =
                        is_beaten || (want[k] == -1 && pareto_dominates(v + k * m, v + i * m, m));
                out[i] = want[i] == -1 && !is_beaten;
            }
            for (int i = 0; i < n; i++) {
                want[i] = out[i] ? rank : want[i];
                left -= out[i];
            }
        }
        int n_ranks = pareto_ranks(v, n, m, ranks);
        bool any_broken = false;
        for (int i = 0; i < n; i++) {
            any_broken = any_broken || want[i] == -2;
            assert_int_equal(ranks[i], want[i] == -2 ? rank : want[i]);
        }
        assert_int_equal(n_ranks, rank + any_broken);
    }
}

static void the_front_is_rank_zero_in_order_of_the_first_objective(void **state)
{
    (void)state;
    for (int s = 0; s < SETS; s++) {
        struct rng r;
        double v[MOST * PARETO_MAX_OBJECTIVES] = { 0 };
        int ranks[MOST], front[MOST], m = 1 + s % PARETO_MAX_OBJECTIVES, zeros = 0;

        rng_init(&r, test_seed(), 1000 + (uint64_t)s);
        int n = random_set(&r, m, true, v), found = pareto_front(v, n, m, front);
        (void)pareto_ranks(v, n, m, ranks);
        for (int i = 0; i < n; i++)
            zeros += ranks[i] == 0 && !is_broken(v + i * m, m);
        assert_int_equal(found, zeros);
        for (int i = 0; i < found; i++) {
            assert_int_equal(ranks[front[i]], 0);
            assert_true(i == 0 || v[front[i - 1] * m] >= v[front[i] * m]);
        }
    }
}

/* Inclusion and exclusion: the sum over all subsets of +-(volume of what all of them cover). */
static double by_inclusion(const double *v, int n, int m, const double *ref)
{
    double sum = 0;

    for (unsigned set = 1; set < 1u << n; set++) {
        double volume = 1;
        int members = 0;
        for (int k = 0; k < m; k++) {
            double least = INFINITY;
            for (int i = 0; i < n; i++)
                least = set >> i & 1 ? fmin(least, v[i * m + k]) : least;
            volume *= fmax(least - ref[k], 0);
        }
        for (int i = 0; i < n; i++)
            members += set >> i & 1;
        sum += members % 2 ? volume : -volume;
    }
    return sum;
}

static void hypervolume_is_that_of_inclusion_and_exclusion(void **state)
{
    (void)state;
    for (int s = 0; s < SETS; s++) {
        struct rng r;
        double v[10 * PARETO_MAX_OBJECTIVES], ref[PARETO_MAX_OBJECTIVES];
        int m = 1 + s % PARETO_MAX_OBJECTIVES, n = s % 11;

        rng_init(&r, test_seed(), 2000 + (uint64_t)s);
        for (int i = 0; i < n * m; i++)
            v[i] = s % 3 == 0 ? rng_below(&r, 5) : 10 * rng_unit(&r) - 2;
        for (int k = 0; k < m; k++)
            ref[k] = rng_unit(&r) - 1;
        double want = by_inclusion(v, n, m, ref);
        assert_true(fabs(pareto_hypervolume(v, n, m, ref) - want) <= 1e-9 * fmax(1, want));
    }
}

/* How many cells of a lattice a point covers, counted one by one. */
static int covered_cells(const double *v, int n, int m, int side)
{
    int cells = 1, covered = 0;

    for (int k = 0; k < m; k++)
        cells *= side;
    for (int cell = 0; cell < cells; cell++) {
        double corner[PARETO_MAX_OBJECTIVES];
        bool is_covered = false;
        for (int k = 0, rest = cell; k < m; k++, rest /= side)
            corner[k] = 1 + rest % side;
        for (int i = 0; i < n && !is_covered; i++) {
            is_covered = true;
            for (int k = 0; k < m; k++)
                is_covered = is_covered && v[i * m + k] >= corner[k];
        }
        covered += is_covered;
    }
    return covered;
}

/* Many ties and repeats, and sums that are exact. */
static void hypervolume_of_whole_numbers_is_the_number_of_cells(void **state)
{
    enum { SIDE = 7 };
    static const double ref[PARETO_MAX_OBJECTIVES];

    (void)state;
    for (int s = 0; s < SETS; s++) {
        struct rng r;
        double v[MOST * PARETO_MAX_OBJECTIVES];
        int m = 1 + s % PARETO_MAX_OBJECTIVES, n = s % MOST;

        rng_init(&r, test_seed(), 6000 + (uint64_t)s);
        for (int i = 0; i < n * m; i++)
            v[i] = rng_below(&r, SIDE + 1);
        assert_true(pareto_hypervolume(v, n, m, ref) == covered_cells(v, n, m, SIDE));
    }
}

/* All points of whole numbers above 0 whose sum is `sum`, in any order. None dominates another. */
static double *plane_new(int m, int sum, struct rng *r, int *n)
{
    int all = 1, side = sum - m + 1;
    double *v = NULL;

    for (int k = 1; k < m; k++)
        all *= side;
    v = calloc((size_t)all * (size_t)m, sizeof *v);
    assert_non_null(v);
    *n = 0;
    for (int i = 0; i < all; i++) {
        double *point = v + *n * m;
        point[m - 1] = sum;
        for (int k = 0, rest = i; k < m - 1; k++, rest /= side) {
            point[k] = 1 + rest % side;
            point[m - 1] -= point[k];
        }
        *n += point[m - 1] >= 1;
    }
    for (int i = *n - 1; i > 0; i--) {
        int other = (int)rng_below(r, (uint32_t)i + 1);
        for (int k = 0; k < m; k++) {
            double kept = v[i * m + k];
            v[i * m + k] = v[other * m + k];
            v[other * m + k] = kept;
        }
    }
    return v;
}

/* The plane covers the cells whose corners add up to at most its sum: sum over m of them. */
static void large_fronts_cover_what_is_below_their_plane(void **state)
{
    static const struct {
        int m, sum, n;
        double want;
    } cases[] = { { 3, 150, 11026, 551300 }, { 4, 20, 969, 4845 } };
    static const double ref[PARETO_MAX_OBJECTIVES];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 7000);
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        int n = 0;
        double *v = plane_new(cases[c].m, cases[c].sum, &r, &n);
        assert_int_equal(n, cases[c].n);
        assert_true(pareto_hypervolume(v, n, cases[c].m, ref) == cases[c].want);
        free(v);
    }
}

/* None of them dominates another: an algorithm that leaves out only what is dominated takes twice as
 * long for each further one. */
static void many_equal_points_cover_what_one_does(void **state)
{
    enum { N = 200 };
    static const double ref[PARETO_MAX_OBJECTIVES];
    double v[N * PARETO_MAX_OBJECTIVES];

    (void)state;
    for (int m = 1; m <= PARETO_MAX_OBJECTIVES; m++) {
        for (int i = 0; i < N * m; i++)
            v[i] = 0.5 + i % m;
        double want = 1;
        for (int k = 0; k < m; k++)
            want *= v[k];
        assert_true(pareto_hypervolume(v, N, m, ref) == want);
    }
}

static void hypervolume_is_what_chance_hits(void **state)
{
    enum { N = 40, DARTS = 40000 };
    static const double ref[PARETO_MAX_OBJECTIVES];

    (void)state;
    for (int m = 2; m <= PARETO_MAX_OBJECTIVES; m++) {
        struct rng r;
        double v[N * PARETO_MAX_OBJECTIVES];
        int hits = 0;

        rng_init(&r, TEST_FIXED_SEED, 3000 + (uint64_t)m);
        for (int i = 0; i < N * m; i++)
            v[i] = rng_unit(&r);
        for (int t = 0; t < DARTS; t++) {
            double dart[PARETO_MAX_OBJECTIVES];
            bool is_hit = false;
            for (int k = 0; k < m; k++)
                dart[k] = rng_unit(&r);
            for (int i = 0; i < N && !is_hit; i++)
                is_hit = pareto_dominates(v + i * m, dart, m);
            hits += is_hit;
        }
        double got = pareto_hypervolume(v, N, m, ref), se = sqrt(got * (1 - got) / DARTS);
        assert_true(fabs(got - (double)hits / DARTS) < 5 * se);
    }
}

static void order_repeats_and_the_dominated_change_no_volume(void **state)
{
    enum { N = 12 };
    static const double ref[PARETO_MAX_OBJECTIVES];

    (void)state;
    for (int s = 0; s < 100; s++) {
        struct rng r;
        double v[3 * N * PARETO_MAX_OBJECTIVES];
        int m = 2 + s % 3;

        rng_init(&r, test_seed(), 4000 + (uint64_t)s);
        for (int i = 0; i < N * m; i++)
            v[i] = rng_unit(&r);
        double want = pareto_hypervolume(v, N, m, ref);
        for (int i = 0; i < N; i++) {
            for (int k = 0; k < m; k++) {
                v[(2 * N - 1 - i) * m + k] = v[i * m + k];
                v[(2 * N + i) * m + k] = v[i * m + k] * rng_unit(&r);
            }
        }
        assert_true(fabs(pareto_hypervolume(v, 3 * N, m, ref) - want) < 1e-12);
        assert_true(fabs(pareto_hypervolume(v + N * m, 2 * N, m, ref) - want) < 1e-12);
    }
}

static void a_hundred_thousand_points_of_two_objectives_are_sorted_at_once(void **state)
{
    enum { N = 100000 };
    struct rng r;
    double *v = calloc(2 * (size_t)N, sizeof *v);
    int *ranks = calloc(N, sizeof *ranks);

    (void)state;
    assert_non_null(v);
    assert_non_null(ranks);
    rng_init(&r, test_seed(), 5000);
    for (int i = 0; i < 2 * N; i++)
        v[i] = rng_unit(&r);
    int n_ranks = pareto_ranks(v, N, 2, ranks);
    /* About 2 sqrt(N) fronts; a quadratic sort would not end within the test's time. */
    assert_true(n_ranks > 400 && n_ranks < 900);
    free(v);
    free(ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_what_is_left_when_fronts_are_taken_away),
        cmocka_unit_test(the_front_is_rank_zero_in_order_of_the_first_objective),
        cmocka_unit_test(hypervolume_is_that_of_inclusion_and_exclusion),
        cmocka_unit_test(hypervolume_of_whole_numbers_is_the_number_of_cells),
        cmocka_unit_test(large_fronts_cover_what_is_below_their_plane),
        cmocka_unit_test(many_equal_points_cover_what_one_does),
        cmocka_unit_test(hypervolume_is_what_chance_hits),
        cmocka_unit_test(order_repeats_and_the_dominated_change_no_volume),
        cmocka_unit_test(a_hundred_thousand_points_of_two_objectives_are_sorted_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
