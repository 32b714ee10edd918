/* test_tpe.c - that TPE learns: on functions of every kind of space it finds better points than random search with the
 * same number of trials, in a row and with many in flight, on trees, with rungs, failures and several objectives; its
 * start is stratified; a trial in flight is no bad mark. What every sampler promises is test_sampler.c. */
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "search/contract/sampler.h"
#include "search/insight/pareto.h"
#include "search/samplers/tpe/tpe.h"
#include "search/searchers.h"
#include "search/space/latin.h"

#include <math.h>

enum { SEEDS = 12, TRIALS = 80, MAX_P = 16 };

typedef double (*function)(const struct space *s, const double *point);

static double unit_of(const struct space *s, const double *point, int i)
{
    return param_to_unit(&s->params[i], point[i]);
}

/* ---- functions; larger is better, 0 the best ---- */

static struct space *bowl_space(void)
{
    struct space *s = space_new();

    spaces_float(s, "lr", 1e-5, 1, 0, true);
    spaces_float(s, "x", -3, 7, 0, false);
    spaces_int(s, "width", 8, 2048, 0, true);
    spaces_int(s, "depth", 1, 9, 0, false);
    spaces_float(s, "share", 0, 1, 0.1, false);
    return s;
}

/* A narrow valley: two of the parameters only matter together. */
static double bowl(const struct space *s, const double *point)
{
    double sum = 0, u[5];

    for (int i = 0; i < 5; i++)
        u[i] = unit_of(s, point, i) - 0.3 - 0.1 * i;
    for (int i = 2; i < 5; i++)
        sum += u[i] * u[i];
    return -(sum + 4 * (u[0] + u[1]) * (u[0] + u[1]) + (u[0] - u[1]) * (u[0] - u[1]));
}

static struct space *cell_space(void)
{
    struct space *s = space_new();
    const char *names[] = { "a", "b", "c", "d", "e", "f" };

    for (int i = 0; i < 6; i++)
        spaces_choice(s, names[i], 5, false);
    return s;
}

/* Each choice's worth hangs on the next one's: categories with epistasis. */
static double cell(const struct space *s, const double *point)
{
    double sum = 0;

    for (int i = 0; i < s->n; i++) {
        int a = (int)point[i], b = (int)point[(i + 1) % s->n];
        sum += a == (i * 2) % 5 ? (b == ((i + 1) % s->n * 2) % 5 ? 1 : 0.4) : 0.05 * a;
    }
    return sum - 6;
}

/* Which family matters most, then what is under it. */
static double tree(const struct space *s, const double *point)
{
    static const double base[] = { -0.3, 0, -1 };
    double sum = base[(int)point[0]];

    for (int i = 1; i < s->n; i++) {
        double u = isnan(point[i]) || s->params[i].axis == AXIS_FREE ? 0.6 : unit_of(s, point, i);
        sum -= (u - 0.6) * (u - 0.6);
    }
    return sum;
}

/* ---- studies ---- */

struct study {
    const struct space *space;
    function f;
    int in_flight;
    int fails_below; /* points worse than this many tenths fail, 0 = none */
};

/* Best value of a study: `in_flight` first, then one for the oldest told. */
static double best_of(const struct study *study, const char *sampler, uint64_t seed)
{
    struct search_setup setup = { .seed = seed, .parallel = study->in_flight };
    struct sampler *s = sampler_find(sampler)->open(study->space, &setup, NULL);
    double point[MAX_P], values[TRIALS + 1], best = -INFINITY;
    int asked = 0;

    for (int told = 1; told <= TRIALS; told++) {
        for (; asked < TRIALS && asked < told - 1 + study->in_flight; asked++) {
            assert_int_equal(s->ops->suggest(s, asked + 1, 1, point, NULL), 1);
            values[asked + 1] = study->f(study->space, point);
        }
        bool fails = study->fails_below && values[told] < -0.1 * study->fails_below;
        struct observation o = { .trial = told, .state = fails ? OBS_FAILED : OBS_COMPLETED };
        o.level = o.max_level = 1;
        o.value = fails ? NAN : values[told];
        assert_int_equal(s->ops->observe(s, &o, NULL), 0);
        if (!fails)
            best = MAX(best, values[told]);
    }
    sampler_close(s);
    return best;
}

/* Mean shortfall of TPE as a share of random search's; of fixed seeds, since a mean of few searches may lose by chance. */
static double share_of_random(const struct study *study)
{
    double tpe = 0, random = 0;

    for (int i = 0; i < SEEDS; i++) {
        uint64_t seed = 100 + (uint64_t)i;
        tpe -= best_of(study, "tpe", seed);
        random -= best_of(study, "random", seed);
    }
    return tpe / random;
}

static void learns_numbers(void **state)
{
    struct space *s = bowl_space();
    struct study one = { s, bowl, 1, 0 }, many = { s, bowl, 16, 0 };

    (void)state;
    assert_true(share_of_random(&one) < 0.4);
    assert_true(share_of_random(&many) < 0.75);
    space_free(s);
}

static void learns_categories_that_depend_on_each_other(void **state)
{
    struct space *s = cell_space();
    struct study one = { s, cell, 1, 0 }, many = { s, cell, 16, 0 };

    (void)state;
    assert_true(share_of_random(&one) < 0.4);
    assert_true(share_of_random(&many) < 0.75);
    space_free(s);
}

static void learns_trees(void **state)
{
    struct space *s = spaces_mixed();
    struct study one = { s, tree, 1, 0 }, many = { s, tree, 16, 0 };

    (void)state;
    assert_true(share_of_random(&one) < 0.85);
    assert_true(share_of_random(&many) < 0.9);
    space_free(s);
}

static void failures_are_avoided_and_do_no_harm(void **state)
{
    struct space *s = bowl_space();
    struct study failing = { s, bowl, 1, 4 };

    (void)state;
    assert_true(share_of_random(&failing) < 0.4);
    space_free(s);
}

/* ---- levels ---- */

/* At low levels the value misleads; the top decides as soon as it has enough results. */
static void the_highest_level_with_results_is_what_is_modelled(void **state)
{
    struct space *s = space_new();
    double point[1], high = 0;

    (void)state;
    spaces_float(s, "x", 0, 1, 0, false);
    for (int seed = 0; seed < SEEDS; seed++) {
        struct search_setup setup = { .seed = TEST_FIXED_SEED + (uint64_t)seed };
        struct sampler *t = sampler_find("tpe")->open(s, &setup, NULL);
        for (int trial = 1; trial <= 120; trial++) {
            assert_int_equal(t->ops->suggest(t, trial, 1, point, NULL), 1);
            if (trial > 80)
                high += point[0] > 0.5;
            for (int level = 1; level <= (trial % 3 ? 1 : 2); level++) {
                struct observation o = { .trial = trial, .level = level, .max_level = 2 };
                o.state = level == 2 ? OBS_COMPLETED : OBS_RUNNING;
                o.value = level == 2 ? point[0] : -point[0];
                assert_int_equal(t->ops->observe(t, &o, NULL), 0);
            }
        }
        sampler_close(t);
    }
    assert_true(high > 0.9 * 40 * SEEDS);
    space_free(s);
}

/* ---- several objectives ---- */

static double volume_of(const char *sampler, const struct space *s, uint64_t seed)
{
    struct search_setup setup = { .seed = seed, .n_objectives = 2 };
    struct sampler *t = sampler_find(sampler)->open(s, &setup, NULL);
    double points[MAX_P], values[2 * TRIALS];
    const double reference[] = { -2, -2 };

    for (int trial = 1; trial <= TRIALS; trial++) {
        double *v = values + (size_t)2 * (size_t)(trial - 1), far = 0;
        assert_int_equal(t->ops->suggest(t, trial, 1, points, NULL), 1);
        double x = unit_of(s, points, 0);
        for (int i = 1; i < s->n; i++)
            far += fabs(unit_of(s, points, i) - 0.4);
        v[0] = -x - far;
        v[1] = -(1 - x) - far;
        struct observation o = { trial, OBS_COMPLETED, 1, 1, v[0], { v[1] }, 1, 0 };
        assert_int_equal(t->ops->observe(t, &o, NULL), 0);
    }
    sampler_close(t);
    return pareto_hypervolume(values, TRIALS, 2, reference);
}

/* Three good trials around the middle and 27 failures at three quarters: how far from the failures 100 searches go on,
 * in the mean. */
static double distance_kept(const struct space *s, double noise)
{
    double sum = 0;

    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct sampler *tpe = search_tpe.open(s, &(struct search_setup){ .seed = seed }, NULL);
        double x = 0;
        for (int t = 1; t <= 30; t++) {
            struct observation o = { t, t <= 3 ? OBS_COMPLETED : OBS_FAILED, 1, 1, 1, { 0 }, 1, 0 };
            x = t <= 3 ? 0.3 + 0.1 * t : 0.735 + 1e-3 * t;
            assert_int_equal(tpe->ops->adopt(tpe, t, &x, NULL), 0);
            assert_int_equal(tpe->ops->observe(tpe, &o, NULL), 0);
        }
        tpe_heed_noise(tpe, noise);
        assert_int_equal(tpe->ops->suggest(tpe, 31, 1, &x, NULL), 1);
        sum += fabs(x - 0.75);
        sampler_close(tpe);
    }
    return sum / 100;
}

/* The good trials are the same in both, the only three with a value. */
static void with_noise_a_bad_trial_says_little_of_its_neighbours(void **state)
{
    struct space *s = space_new();

    (void)state;
    spaces_float(s, "x", 0, 1, 0, false);
    double exact = distance_kept(s, 0), noisy = distance_kept(s, 0.5);
    assert_true(noisy < 0.9 * exact);
    space_free(s);
}

/* How many of 20 suggestions differ between a TPE with a partner and one without, after 60 trials of which
 * one in `each` failed. */
static int partner_changes(int each)
{
    struct space *s = bowl_space();
    struct search_setup setup = { .seed = 7, .parallel = 1, .n_objectives = 1 };
    struct sampler *with = search_tpe.open(s, &setup, NULL);
    struct sampler *without = search_tpe.open(s, &setup, NULL);
    double point[5], other[5];
    struct rng r;
    int changes = 0;

    rng_init(&r, TEST_FIXED_SEED, 8);
    tpe_heed_partner(with, true);
    for (int t = 1; t <= 80; t++) {
        if (t <= 60) {
            spaces_point(s, &r, point);
            struct observation o = { .trial = t,
                                     .state = t % each ? OBS_COMPLETED : OBS_FAILED,
                                     .level = 1,
                                     .max_level = 1,
                                     .value = bowl(s, point) };
            assert_int_equal(with->ops->adopt(with, t, point, NULL), 0);
            assert_int_equal(without->ops->adopt(without, t, point, NULL), 0);
            assert_int_equal(with->ops->observe(with, &o, NULL), 0);
            assert_int_equal(without->ops->observe(without, &o, NULL), 0);
        } else {
            assert_int_equal(with->ops->suggest(with, t, 1, point, NULL), 1);
            assert_int_equal(without->ops->suggest(without, t, 1, other, NULL), 1);
            changes += !space_points_equal(s, point, other);
        }
    }
    sampler_close(with);
    sampler_close(without);
    space_free(s);
    return changes;
}

static void a_partner_matters_only_where_many_trials_fail(void **state)
{
    (void)state;
    assert_int_equal(partner_changes(100), 0);
    assert_int_equal(partner_changes(6), 0);
    assert_true(partner_changes(2) > 0);
}

static void several_objectives_are_searched_together(void **state)
{
    struct space *s = bowl_space();
    double tpe = 0, random = 0;

    (void)state;
    for (int i = 0; i < SEEDS; i++) {
        tpe += volume_of("tpe", s, 100 + (uint64_t)i);
        random += volume_of("random", s, 100 + (uint64_t)i);
    }
    assert_true(tpe > 1.2 * random);
    space_free(s);
}

/* ---- the start ---- */

static void the_start_is_stratified_in_every_parameter(void **state)
{
    enum { BLOCK = 32 };
    struct space *s = bowl_space();
    double point[5];

    (void)state;
    for (uint64_t seed = test_seed(); seed < test_seed() + 10; seed++) {
        for (int64_t first = -BLOCK + 1; first <= BLOCK + 1; first += BLOCK) {
            int count[2][BLOCK] = { { 0 } };
            for (int k = 0; k < BLOCK; k++) {
                latin_point(s, seed, first + k, BLOCK, 1, point);
                assert_int_equal(space_check(s, point, NULL), 0);
                for (int i = 0; i < 2; i++)
                    count[i][(int)(unit_of(s, point, i) * BLOCK * (1 - 1e-9) + 1e-9)]++;
            }
            for (int k = 0; k < BLOCK; k++)
                assert_true(count[0][k] == 1 && count[1][k] == 1);
        }
    }
    space_free(s);
}

static void fused_trials_start_with_one_shape(void **state)
{
    enum { FUSE = 8, BLOCK = 64 };
    struct space *s = space_new();
    int count[4] = { 0 };
    double point[2], last = 0;

    (void)state;
    spaces_int(s, "layers", 1, 4, 0, false);
    spaces_axis(s, AXIS_SHAPE);
    spaces_float(s, "lr", 0, 1, 0, false);
    for (int64_t trial = 1; trial <= 32 * FUSE; trial++) {
        latin_point(s, test_seed(), trial, BLOCK, FUSE, point);
        if (trial % FUSE != 1)
            assert_true(point[0] == last);
        last = point[0];
        count[(int)point[0] - 1]++;
    }
    for (int i = 0; i < 4; i++) /* half a block of groups: about even */
        assert_in_range(count[i], 2 * FUSE, 15 * FUSE);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learns_numbers),
        cmocka_unit_test(learns_categories_that_depend_on_each_other),
        cmocka_unit_test(learns_trees),
        cmocka_unit_test(failures_are_avoided_and_do_no_harm),
        cmocka_unit_test(the_highest_level_with_results_is_what_is_modelled),
        cmocka_unit_test(with_noise_a_bad_trial_says_little_of_its_neighbours),
        cmocka_unit_test(a_partner_matters_only_where_many_trials_fail),
        cmocka_unit_test(several_objectives_are_searched_together),
        cmocka_unit_test(the_start_is_stratified_in_every_parameter),
        cmocka_unit_test(fused_trials_start_with_one_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
