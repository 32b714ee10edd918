/* test_grid.c - the grid: exactly the combinations it says, each once, then the end; any beginning spread over all values;
 * huge grids at once; a retried or adopted point shifts nothing; readable values. */
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "search/contract/sampler.h"
#include "search/searchers.h"
#include "search/space/hash_set.h"

#include <math.h>

static struct sampler *open_grid(const struct space *s, uint64_t seed, double points,
                                 int64_t budget)
{
    struct search_setup setup = { .seed = seed, .options = &points, .budget_trials = budget };

    return sampler_find("grid")->open(s, &setup, NULL);
}

static int count_all(struct sampler *x, double *point, int most)
{
    int n = 0;

    while (n < most && x->ops->suggest(x, 1 + n, 1, point, NULL) == 1)
        n++;
    return n;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void a_float_is_cut_evenly_with_both_ends(void **state)
{
    static const double want[2][5] = { { -1, -0.5, 0, 0.5, 1 }, { 1e-4, 1e-3, 0.01, 0.1, 1 } };

    (void)state;
    for (int is_log = 0; is_log < 2; is_log++) {
        struct space *s = space_new();
        double got[6];
        spaces_float(s, "x", is_log ? 1e-4 : -1, 1, 0, is_log);
        struct sampler *x = open_grid(s, test_seed(), 5, 0);
        assert_int_equal(x->ops->suggest(x, 1, 6, got, NULL), 5);
        qsort(got, 5, sizeof *got, compare);
        for (int i = 0; i < 5; i++)
            assert_true(got[i] == want[is_log][i]); /* as one would write them */
        sampler_close(x);
        space_free(s);
    }
}

static void every_combination_comes_once(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int round = 0; round < 100; round++) {
        struct space *s = spaces_random(&r, 4, false), *finite = space_new();
        int points = 1 + (int)rng_below(&r, 6);
        for (int i = 0; i < s->n; i++) { /* the same with a choice of `points` for each cut float */
            struct param p = s->params[i];
            char *choices[] = { "0", "1", "2", "3", "4", "5" };
            if (isinf(param_size(&p))) {
                p = (struct param){ .name = p.name,
                                    .kind = PARAM_ORDINAL,
                                    .n_choices = points,
                                    .choices = choices,
                                    .parent = p.parent,
                                    .parent_mask = p.parent_mask };
            }
            assert_int_equal(space_add(finite, &p, NULL), i);
        }
        double size = space_search_size(finite), point[8];
        struct sampler *x = open_grid(s, rng_u64(&r), points, 0);
        struct hash_set seen;
        hash_set_init(&seen);
        for (int k = 0; size <= 3000 && k < size; k++) {
            assert_int_equal(x->ops->suggest(x, 1 + k, 1, point, NULL), 1);
            assert_int_equal(space_check(s, point, NULL), 0);
            assert_true(hash_set_add(&seen, space_hash(s, point)));
        }
        if (size <= 3000)
            assert_int_equal(x->ops->suggest(x, 1, 1, point, NULL), 0);
        hash_set_fini(&seen);
        sampler_close(x);
        space_free(finite);
        space_free(s);
    }
}

/* 10^18 points: the first 100 hold each value of every parameter 10 times, give or take four. */
static void a_huge_grid_begins_evenly(void **state)
{
    enum { D = 18, N = 100 };
    struct space *s = space_new();
    double points[N * D];
    char name[8];

    (void)state;
    for (int i = 0; i < D; i++) {
        (void)snprintf(name, sizeof name, "x%d", i);
        spaces_float(s, name, 0, 9, 0, false);
    }
    struct sampler *x = open_grid(s, test_seed(), 10, 0);
    assert_int_equal(x->ops->suggest(x, 1, N, points, NULL), N);
    for (int i = 0; i < D; i++) {
        int count[10] = { 0 };
        for (int k = 0; k < N; k++)
            count[(int)points[k * D + i]]++;
        for (int v = 0; v < 10; v++)
            assert_true(abs(count[v] - N / 10) <= 4);
    }
    sampler_close(x);
    space_free(s);
}

static void the_number_of_points_follows_the_budget(void **state)
{
    static const struct {
        int64_t budget;
        int want;
    } cases[] = { { 0, 1000 }, { 999, 729 }, { 1000, 1000 }, { 64, 64 }, { 10, 27 }, { 1, 27 } };
    struct space *s = space_new();
    double point[3];

    (void)state;
    spaces_float(s, "x", 0, 1, 0, false);
    spaces_float(s, "y", 1, 2, 0, true);
    spaces_float(s, "z", 0, 1, 0, false);
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        struct sampler *x = open_grid(s, 1, 0, cases[c].budget);
        assert_int_equal(count_all(x, point, 2000), cases[c].want);
        sampler_close(x);
    }
    space_free(s);
}

/* A user's point on the grid is taken out, however it was computed; one beside it is not the grid's. */
static void adopted_points_are_known_by_their_cell(void **state)
{
    struct space *s = space_new();
    double points[40 * 2];

    (void)state;
    spaces_float(s, "rate", 1e-5, 1, 0, true);
    spaces_float(s, "keep", 0, 1, 0, false);
    struct sampler *x = open_grid(s, test_seed(), 6, 0);
    assert_int_equal(x->ops->adopt(x, 1, (double[]){ pow(10, -3), 0.1 + 0.1 }, NULL), 0);
    assert_int_equal(x->ops->adopt(x, 2, (double[]){ 0.001, 0.21 }, NULL), 0);
    assert_int_equal(x->ops->adopt(x, 3, (double[]){ 0.00101, 0.4 }, NULL), 0);
    assert_int_equal(x->ops->suggest(x, 4, 40, points, NULL), 35);
    for (int k = 0; k < 35; k++)
        assert_false(points[2 * k] == 0.001 && points[2 * k + 1] == 0.2);
    sampler_close(x);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_float_is_cut_evenly_with_both_ends),
        cmocka_unit_test(every_combination_comes_once),
        cmocka_unit_test(a_huge_grid_begins_evenly),
        cmocka_unit_test(the_number_of_points_follows_the_budget),
        cmocka_unit_test(adopted_points_are_known_by_their_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
