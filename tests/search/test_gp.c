/* test_gp.c - the Gaussian process sampler finds optima in few evaluations (Branin, Hartmann-6, a function of choices),
 * whatever is done to the scale and the tails of the values, with many trials in flight too; says no to what it cannot
 * do; and stands failures. Its contract is test_sampler.c's. */
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/base.h"
#include "search/contract/sampler.h"
#include "search/samplers/gp/gp_model.h"
#include "search/searchers.h"

#include <math.h>

enum { N_PROBLEMS = 3, MAX_TRIALS = 64, MAX_D = 8, SEEDS = 3 };

struct problem {
    struct space *(*space)(void);
    double (*value)(const double *x); /* larger is better, 0 is the optimum */
};

static struct space *branin_space(void)
{
    struct space *s = space_new();

    spaces_float(s, "x", -5, 10, 0, false);
    spaces_float(s, "y", 0, 15, 0, false);
    return s;
}

static double branin(const double *x)
{
    const double pi = acos(-1);
    double t = x[1] - 5.1 / (4 * pi * pi) * x[0] * x[0] + 5 / pi * x[0] - 6;

    return 0.39788735772973816 - (t * t + 10 * (1 - 1 / (8 * pi)) * cos(x[0]) + 10);
}

static struct space *hartmann_space(void)
{
    struct space *s = space_new();
    char name[] = "x0";

    for (int i = 0; i < 6; i++) {
        name[1] = (char)('0' + i);
        spaces_float(s, name, 0, 1, 0, false);
    }
    return s;
}

static double hartmann(const double *x)
{
    static const double alpha[] = { 1, 1.2, 3, 3.2 };
    static const double a[4][6] = { { 10, 3, 17, 3.5, 1.7, 8 },
                                    { 0.05, 10, 17, 0.1, 8, 14 },
                                    { 3, 3.5, 1.7, 10, 17, 8 },
                                    { 17, 8, 0.05, 10, 0.1, 14 } };
    static const double p[4][6] = { { 1312, 1696, 5569, 124, 8283, 5886 },
                                    { 2329, 4135, 8307, 3736, 1004, 9991 },
                                    { 2348, 1451, 3522, 2883, 3047, 6650 },
                                    { 4047, 8828, 8732, 5743, 1091, 381 } };
    double sum = 0;

    for (int i = 0; i < 4; i++) {
        double inner = 0;
        for (int j = 0; j < 6; j++)
            inner += a[i][j] * (x[j] - 1e-4 * p[i][j]) * (x[j] - 1e-4 * p[i][j]);
        sum += alpha[i] * exp(-inner);
    }
    return sum - 3.32237;
}

/* Choices that help one another, and a number whose best place depends on a choice. */
static struct space *mixed_space(void)
{
    struct space *s = space_new();

    spaces_choice(s, "a", 6, false);
    spaces_choice(s, "b", 6, false);
    spaces_float(s, "rate", 1e-5, 1, 0, true);
    spaces_int(s, "width", 1, 64, 0, false);
    return s;
}

static double mixed(const double *x)
{
    double place = log10(x[2]) + 1 + (x[0] == 4 ? 2 : 0);

    return -(x[0] != 4) - 0.7 * (x[1] != 1) - 0.3 * (x[0] == 4 && x[1] != 1) - 0.2 * place * place -
           fabs(x[3] - 40) / 50;
}

static const struct problem problems[N_PROBLEMS] = { { branin_space, branin },
                                                     { hartmann_space, hartmann },
                                                     { mixed_space, mixed } };

/* What the caller does to values before it tells them. */
static double as_is(double v)
{
    return v;
}

static double scaled(double v) /* exact, so nothing may change */
{
    return v * 0x1p300;
}

static double long_tail(double v) /* the worst are astronomically bad */
{
    return v < -20 ? -exp(-v) : v;
}

/* The best value after n trials, `in_flight` of them at a time, the oldest told first. */
static double search(const char *sampler, const struct problem *p, uint64_t seed, int n,
                     int in_flight, double (*told)(double))
{
    struct search_setup setup = { .seed = seed };
    struct space *s = p->space();
    struct sampler *x = sampler_find(sampler)->open(s, &setup, NULL);
    double points[MAX_TRIALS * MAX_D], best = -INFINITY;

    assert_true(n <= MAX_TRIALS && s->n <= MAX_D);
    for (int asked = 0, ended = 0; ended < n; ended++) {
        while (asked < n && asked - ended < in_flight) {
            assert_int_equal(x->ops->suggest(x, asked + 1, 1, points + asked * s->n, NULL), 1);
            asked++;
        }
        double value = p->value(points + ended * s->n);
        struct observation o = { ended + 1, OBS_COMPLETED, 1, 1, told(value), { 0 }, 1, 0 };
        assert_int_equal(x->ops->observe(x, &o, NULL), 0);
        best = fmax(best, value);
    }
    sampler_close(x);
    space_free(s);
    return best;
}

/* Fixed seeds: of single searches about one in fourteen stays in a lesser valley, which a mean of three cannot average out. */
static double mean_best(const char *sampler, const struct problem *p, int n, int in_flight,
                        double (*told)(double))
{
    double sum = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        sum += search(sampler, p, 100 + seed, n, in_flight, told);
    return sum / SEEDS;
}

static void optima_are_found_in_few_evaluations(void **state)
{
    static const int trials[] = { 30, 50, 50 };
    static const double at_least[] = { -0.5, -0.8, -0.8 };
    double sum = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(problems); i++) {
        double gp = mean_best("gp", &problems[i], trials[i], 1, as_is);
        double random = mean_best("random", &problems[i], trials[i], 1, as_is);
        if (getenv("ASSAY_TEST_VERBOSE"))
            print_message("%zu: gp %g random %g\n", i, gp, random);
        assert_true(gp > at_least[i]);
        sum += gp / random; /* shares of what chance leaves */
    }
    assert_true(sum / N_PROBLEMS < 0.6);
}

static void neither_scale_nor_tails_matter(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        double plain = search("gp", &problems[0], seed, 25, 1, as_is);
        assert_true(plain == search("gp", &problems[0], seed, 25, 1, scaled));
    }
    double tailed = mean_best("gp", &problems[0], 40, 1, long_tail);
    if (getenv("ASSAY_TEST_VERBOSE"))
        print_message("long tail: gp %g\n", tailed);
    assert_true(tailed > -0.8); /* chance leaves 1.2 */
}

static void many_in_flight_still_find_more_than_chance(void **state)
{
    double sum = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(problems); i++) {
        double gp = mean_best("gp", &problems[i], 60, 16, as_is);
        double random = mean_best("random", &problems[i], 60, 16, as_is);
        if (getenv("ASSAY_TEST_VERBOSE"))
            print_message("%zu: 16 in flight: gp %g random %g\n", i, gp, random);
        sum += gp / random; /* shares of what chance leaves */
    }
    assert_true(sum / N_PROBLEMS < 0.85);
}

/* A batch asked for at once must not crowd: each point is believed before the next. */
static void a_batch_spreads(void **state)
{
    struct search_setup setup = { .seed = TEST_FIXED_SEED };
    struct space *s = branin_space();
    struct sampler *x = sampler_find("gp")->open(s, &setup, NULL);
    double points[20 * 2], batch[16 * 2];

    (void)state;
    assert_int_equal(x->ops->suggest(x, 1, 20, points, NULL), 20);
    for (int i = 0; i < 20; i++) {
        struct observation o = { i + 1, OBS_COMPLETED, 1, 1, branin(points + 2 * i), { 0 }, 1, 0 };
        assert_int_equal(x->ops->observe(x, &o, NULL), 0);
    }
    assert_int_equal(x->ops->suggest(x, 21, 16, batch, NULL), 16);
    int close = 0;
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < i; k++)
            close += hypot(batch[2 * i] - batch[2 * k], batch[2 * i + 1] - batch[2 * k + 1]) < 0.15;
    assert_true(close <= 12); /* of 120 pairs */
    sampler_close(x);
    space_free(s);
}

static void regions_that_fail_are_left_alone(void **state)
{
    struct space *s = branin_space();
    double point[2];
    int failed = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct search_setup setup = { .seed = seed };
        struct sampler *x = sampler_find("gp")->open(s, &setup, NULL);
        for (int t = 1; t <= 50; t++) { /* the left half crashes */
            assert_int_equal(x->ops->suggest(x, t, 1, point, NULL), 1);
            bool is_bad = point[0] < 2.5;
            struct observation o = { t,
                                     is_bad ? OBS_FAILED : OBS_COMPLETED,
                                     1,
                                     1,
                                     is_bad ? NAN : branin(point),
                                     { 0 },
                                     1,
                                     0 };
            assert_int_equal(x->ops->observe(x, &o, NULL), 0);
            failed += is_bad && t > 20;
        }
        sampler_close(x);
    }
    assert_true(failed <= 12 * 9); /* 12 * 15 by chance; one seed has 6 to 10 */
    space_free(s);
}

/* Nine of ten fail, often the whole start: the search goes on until it meets some that do not, and
 * then stays with them. */
static void a_start_of_failures_is_no_end(void **state)
{
    struct space *s = branin_space();

    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct search_setup setup = { .seed = seed };
        struct sampler *x = sampler_find("gp")->open(s, &setup, NULL);
        double point[2];
        int good = 0;
        for (int t = 1; t <= 80; t++) {
            struct observation o = { t, OBS_FAILED, 1, 1, NAN, { 0 }, 1, 0 };
            assert_int_equal(x->ops->suggest(x, t, 1, point, NULL), 1);
            if (point[0] > 5 && point[1] > 10.5) {
                o.state = OBS_COMPLETED;
                o.value = branin(point);
                good++;
            }
            assert_int_equal(x->ops->observe(x, &o, NULL), 0);
        }
        assert_true(good >= 20);
        sampler_close(x);
    }
    space_free(s);
}

static void what_it_cannot_do_is_refused_at_open(void **state)
{
    struct search_setup setup = { .seed = 1, .n_objectives = 2 };
    struct space *s = space_new();
    struct err err = { 0 };
    char name[8];

    (void)state;
    for (int i = 0; i < GP_MAX_DIMS; i++) {
        (void)snprintf(name, sizeof name, "x%d", i);
        spaces_float(s, name, 0, 1, 0, false);
    }
    spaces_constant(s, "constant", 3); /* not searched: does not count */
    assert_null(sampler_find("gp")->open(s, &setup, &err));
    assert_int_equal(err.code, ERR_ARG);
    setup.n_objectives = 1;
    struct sampler *x = sampler_find("gp")->open(s, &setup, &err);
    assert_non_null(x);
    sampler_close(x);
    spaces_float(s, "more", 0, 1, 0, false);
    assert_null(sampler_find("gp")->open(s, &setup, &err));
    assert_int_equal(err.code, ERR_ARG);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optima_are_found_in_few_evaluations),
        cmocka_unit_test(neither_scale_nor_tails_matter),
        cmocka_unit_test(many_in_flight_still_find_more_than_chance),
        cmocka_unit_test(a_batch_spreads),
        cmocka_unit_test(regions_that_fail_are_left_alone),
        cmocka_unit_test(a_start_of_failures_is_no_end),
        cmocka_unit_test(what_it_cannot_do_is_refused_at_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
