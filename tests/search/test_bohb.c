/* test_bohb.c - BOHB's sampler: its density is the formula (checked against a plain double sum) and integrates to one; the
 * model comes from the highest level that has enough; it learns, stands what observations may hold, and proposes
 * nothing twice. What every sampler promises is test_sampler.c. */
#include "tests/search/marginals.h"
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "search/contract/sampler.h"
#include "search/samplers/tpe/kde.h"
#include "search/searchers.h"
#include "search/space/hash_set.h"

#include <math.h>

static void fill(struct kde *k, struct rng *r)
{
    for (int i = 0; i < k->n; i++) {
        for (int j = 0; j < k->d; j++)
            k->data[i * k->d + j] =
                k->choices[j] ? rng_below(r, (uint32_t)k->choices[j]) : rng_unit(r);
    }
    kde_fit(k, 1e-3);
}

static double plain_density(const struct kde *k, const double *x)
{
    double sum = 0;

    for (int i = 0; i < k->n; i++) {
        double product = 1;
        for (int j = 0; j < k->d; j++) {
            double at = k->data[i * k->d + j], h = k->bandwidth[j];
            if (k->choices[j])
                product *= at == x[j] ? 1 - h : h / (k->choices[j] - 1);
            else
                product *= exp(-(at - x[j]) * (at - x[j]) / (2 * h * h)) / (h * sqrt(2 * M_PI));
        }
        sum += product;
    }
    return sum / k->n;
}

static void densities_are_the_formula(void **state)
{
    static const int choices[] = { 0, 3, 0, 7, 2 };
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int round = 0; round < 200; round++) {
        struct kde k;
        double x[5];
        kde_init(&k, 1 + (int)rng_below(&r, 30), 1 + (int)rng_below(&r, 5), choices);
        fill(&k, &r);
        for (int t = 0; t < 10; t++) {
            kde_sample(&k, 3, &r, x);
            double want = log(plain_density(&k, x));
            if (isfinite(want)) /* the plain sum vanishes where the logarithm does not */
                assert_true(fabs(kde_log_density(&k, x) - want) < 1e-9 * (1 + fabs(want)));
        }
        for (int j = 0; j < k.d; j++)
            assert_true(k.bandwidth[j] >= 1e-3 &&
                        (!choices[j] || k.bandwidth[j] <= (choices[j] - 1.0) / choices[j]));
        kde_fini(&k);
    }
}

/* 1.06 sd n^(-1/(4+d)): by hand for 16 points at 0.25 and 0.75 in one dimension. */
static void the_bandwidth_is_the_normal_reference_rule(void **state)
{
    static const int numeric[] = { 0 };
    struct kde k;

    (void)state;
    kde_init(&k, 16, 1, numeric);
    for (int i = 0; i < 16; i++)
        k.data[i] = i % 2 ? 0.25 : 0.75;
    kde_fit(&k, 1e-3);
    assert_true(fabs(k.bandwidth[0] - 1.06 * 0.25 * pow(16, -0.2)) < 1e-12);
    kde_fini(&k);
}

static void draws_have_the_distribution_of_the_kernels(void **state)
{
    enum { N = 20000, BINS = 20 };
    static const int choices[] = { 0, 4 };
    double count[BINS] = { 0 }, share[BINS], kept[4] = { 0 }, kept_share[4], x[2];
    struct kde k;
    struct rng r;

    (void)state;
    rng_init(&r, TEST_FIXED_SEED, 2);
    kde_init(&k, 2, 2, choices);
    k.data[0] = k.data[2] = 0.3; /* one place, so that the law is known */
    k.data[1] = k.data[3] = 2;
    kde_fit(&k, 0.1);
    for (int i = 0; i < N; i++) {
        kde_sample(&k, 3, &r, x);
        count[(int)(x[0] * BINS)]++;
        kept[(int)x[1]]++;
    }
    double s = 0.3 * sqrt(2), all = erf(0.7 / s) + erf(0.3 / s);
    for (int b = 0; b < BINS; b++)
        share[b] = (erf(((b + 1.0) / BINS - 0.3) / s) - erf(((double)b / BINS - 0.3) / s)) / all;
    for (int c = 0; c < 4; c++)
        kept_share[c] = c == 2 ? 0.925 : 0.025;
    assert_true(marginals_chi(count, share, BINS) < 5);
    assert_true(marginals_chi(kept, kept_share, 4) < 5);
    kde_fini(&k);
}

/* ---- the sampler ---- */

static struct sampler *open_bohb(const struct space *s, uint64_t seed, double random_fraction)
{
    const struct sampler_ops *ops = sampler_find("bohb");
    double options[SEARCH_MAX_OPTIONS];

    search_options_default(ops->options, ops->n_options, options);
    assert_int_equal(search_option_set(ops->options, ops->n_options, "random_fraction",
                                       random_fraction, options, NULL),
                     0);
    return ops->open(s, &(struct search_setup){ .seed = seed, .options = options }, NULL);
}

static void tell(struct sampler *x, int64_t trial, enum obs_state state, int level, double value)
{
    struct observation o = {
        .trial = trial, .state = state, .level = level, .max_level = 9, .value = value
    };

    assert_int_equal(x->ops->observe(x, &o, NULL), 0);
}

/* The mean of the next proposals' first parameter after 40 trials at level 3 that say "large is good", and n_top at the
 * top that say "small is good". */
static double taught_mean(const struct space *s, int n_top, uint64_t seed)
{
    enum { TAUGHT = 40, NEXT = 40 };
    struct sampler *x = open_bohb(s, seed, 0);
    double points[NEXT * 2], mean = 0;

    assert_int_equal(x->ops->suggest(x, 1, TAUGHT, points, NULL), TAUGHT); /* no model yet */
    for (int k = 0; k < TAUGHT; k++) {
        tell(x, 1 + k, OBS_RUNNING, 3, points[2 * k]);
        if (k < n_top)
            tell(x, 1 + k, OBS_COMPLETED, 9, -points[2 * k]);
    }
    assert_int_equal(x->ops->suggest(x, 1000, NEXT, points, NULL), NEXT);
    for (int k = 0; k < NEXT; k++)
        mean += points[2 * k] / NEXT;
    sampler_close(x);
    return mean;
}

static void the_highest_level_with_enough_results_is_modelled(void **state)
{
    struct space *s = space_new();

    (void)state;
    spaces_float(s, "x", 0, 1, 0, false);
    spaces_float(s, "y", 0, 1, 0, false);
    for (uint64_t seed = 0; seed < 5; seed++) {
        double low = taught_mean(s, 0, TEST_FIXED_SEED + seed);
        double few = taught_mean(s, 5, TEST_FIXED_SEED + seed); /* 3 + 3 needed: one is missing */
        double many = taught_mean(s, 40, TEST_FIXED_SEED + seed);
        assert_true(low > 0.8 && few > 0.8);
        assert_true(many < 0.2);
    }
    space_free(s);
}

/* The loss of the best of n trials on a bowl. */
static double loss_after(const char *name, const struct space *s, int n, uint64_t seed)
{
    struct search_setup setup = { .seed = seed };
    struct sampler *x = sampler_find(name)->open(s, &setup, NULL);
    double best = INFINITY, point[16];

    for (int64_t trial = 1; trial <= n; trial++) {
        double loss = 0;
        assert_int_equal(x->ops->suggest(x, trial, 1, point, NULL), 1);
        for (int i = 0; i < s->n; i++)
            loss += (point[i] - 0.15 * (i + 1)) * (point[i] - 0.15 * (i + 1));
        tell(x, trial, OBS_COMPLETED, 9, -loss);
        best = fmin(best, loss);
    }
    sampler_close(x);
    return best;
}

/* Fixed seeds: a mean of eight searches may by chance lose to random search. */
static void it_learns_what_random_search_does_not(void **state)
{
    struct space *s = space_new();
    double ours = 0, random = 0;

    (void)state;
    spaces_float(s, "a", 0, 1, 0, false);
    spaces_float(s, "b", 0, 1, 0, false);
    spaces_float(s, "c", 0, 1, 0, false);
    spaces_float(s, "d", 0, 1, 0, false);
    spaces_float(s, "e", 0, 1, 0, false);
    for (uint64_t seed = 0; seed < 8; seed++) {
        ours += loss_after("bohb", s, 80, 100 + seed) / 8;
        random += loss_after("random", s, 80, 100 + seed) / 8;
    }
    if (!(ours < 0.7 * random))
        fail_msg("loss %g, random search %g", ours, random);
    space_free(s);
}

/* Failures are bad news about their place: proposals leave it. */
static void failed_trials_count_as_bad(void **state)
{
    struct space *s = space_new();
    double points[60 * 2];

    (void)state;
    spaces_float(s, "x", 0, 1, 0, false);
    spaces_float(s, "y", 0, 1, 0, false);
    struct sampler *x = open_bohb(s, TEST_FIXED_SEED, 0);
    assert_int_equal(x->ops->suggest(x, 1, 60, points, NULL), 60); /* no model yet: random */
    for (int k = 0; k < 60; k++) {
        if (points[2 * k] > 0.5)
            tell(x, 1 + k, OBS_FAILED, 4, NAN);
        else
            tell(x, 1 + k, OBS_COMPLETED, 9, 1);
    }
    assert_int_equal(x->ops->suggest(x, 100, 60, points, NULL), 60);
    for (int k = 0; k < 60; k++)
        assert_true(points[2 * k] < 0.65);
    sampler_close(x);
    space_free(s);
}

static void nothing_is_proposed_twice_with_many_in_flight(void **state)
{
    struct space *s = space_new();
    double points[32 * 3];
    struct hash_set seen;

    (void)state;
    spaces_int(s, "a", 0, 7, 0, false);
    spaces_choice(s, "b", 8, false);
    spaces_int(s, "c", 0, 7, 0, false);
    struct sampler *x = open_bohb(s, test_seed(), 0);
    hash_set_init(&seen);
    for (int64_t first = 1; first <= 512; first += 32) {
        assert_int_equal(x->ops->suggest(x, first, 32, points, NULL), 32);
        for (int k = 0; k < 32; k++) {
            assert_true(hash_set_add(&seen, space_hash(s, points + (size_t)3 * (size_t)k)));
            tell(x, first + k, OBS_COMPLETED, 9, points[3 * k]);
        }
    }
    assert_int_equal(x->ops->suggest(x, 513, 1, points, NULL), 0);
    hash_set_fini(&seen);
    sampler_close(x);
    space_free(s);
}

static void odd_values_and_deep_trees_are_stood(void **state)
{
    static const double odd[] = { NAN, INFINITY, -INFINITY, 1e308, -1e308, 0 };
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 3);
    for (int round = 0; round < 40; round++) {
        struct space *s = round % 4 ? spaces_random(&r, 8, false) : spaces_chain(10);
        struct sampler *x = open_bohb(s, rng_u64(&r), 0);
        double point[16];
        for (int64_t trial = 1; trial <= 60; trial++) {
            if (x->ops->suggest(x, trial, 1, point, NULL) == 0)
                break;
            assert_int_equal(space_check(s, point, NULL), 0);
            tell(x, trial, (enum obs_state)rng_below(&r, OBS_STATES), (int)rng_below(&r, 10),
                 rng_below(&r, 2) ? rng_normal(&r) : odd[rng_below(&r, ARRAY_LEN(odd))]);
        }
        sampler_close(x);
        space_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(densities_are_the_formula),
        cmocka_unit_test(the_bandwidth_is_the_normal_reference_rule),
        cmocka_unit_test(draws_have_the_distribution_of_the_kernels),
        cmocka_unit_test(the_highest_level_with_enough_results_is_modelled),
        cmocka_unit_test(it_learns_what_random_search_does_not),
        cmocka_unit_test(failed_trials_count_as_bad),
        cmocka_unit_test(nothing_is_proposed_twice_with_many_in_flight),
        cmocka_unit_test(odd_values_and_deep_trees_are_stood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
