/* test_local.c - the low-cost-first search: each family starts at its defaults, stays cheap while cheap is as good, climbs
 * to the optimum of its family, leaves for another family when that pays, gets out of local optima; many in flight; and
 * its result at a higher level counts for more. Its contract is test_sampler.c's. */
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "search/contract/sampler.h"
#include "search/searchers.h"

#include <math.h>

enum { MAX_TRIALS = 300, MAX_D = 8, SEEDS = 20 };

/* Two families with two numbers each, and a cost that grows with the first of them: defaults are where spaces_float and
 * spaces_int put them, so the test sets its own. */
static struct space *families(void)
{
    struct space *s = space_new();
    int family = spaces_choice(s, "family", 3, false);
    char name[16];

    for (int f = 0; f < 3; f++) {
        (void)snprintf(name, sizeof name, "size%d", f);
        int i = spaces_float(s, name, 1, 1024, 0, true);
        spaces_under(s, family, (uint64_t)1 << f);
        s->params[i].def = 2;
        (void)snprintf(name, sizeof name, "rate%d", f);
        i = spaces_float(s, name, 0, 1, 0, false);
        spaces_under(s, family, (uint64_t)1 << f);
        s->params[i].def = 0.5;
    }
    return s;
}

static double cost_of(const double *x)
{
    return x[1 + 2 * (int)x[0]] * ((int)x[0] == 2 ? 20 : 1);
}

/* Family 1 is best, at size 32 and rate 0.2. */
static double value_of(const double *x)
{
    static const double top[] = { 0.6, 1, 0.8 };
    int f = (int)x[0];
    double size = log2(x[1 + 2 * f]), rate = x[2 + 2 * f];

    return top[f] - 0.01 * (size - 5) * (size - 5) - (rate - 0.2) * (rate - 0.2);
}

struct run {
    double points[MAX_TRIALS * MAX_D];
    double best, cost, early_cost; /* early: of the first 20 */
    int per_family[3];
};

static void go(struct run *r, const char *sampler, const struct space *s, uint64_t seed, int n,
               int in_flight, double (*value)(const double *), double (*cost)(const double *))
{
    struct search_setup setup = { .seed = seed };
    struct sampler *x = sampler_find(sampler)->open(s, &setup, NULL);

    *r = (struct run){ .best = -INFINITY };
    for (int asked = 0, ended = 0; ended < n; ended++) {
        for (; asked < n && asked - ended < in_flight; asked++)
            assert_int_equal(x->ops->suggest(x, asked + 1, 1, r->points + asked * s->n, NULL), 1);
        const double *point = r->points + ended * s->n;
        double v = value(point), c = cost(point);
        struct observation o = { ended + 1, OBS_COMPLETED, 1, 1, v, { 0 }, c, 0 };
        assert_int_equal(x->ops->observe(x, &o, NULL), 0);
        r->best = fmax(r->best, v);
        r->cost += c;
        r->early_cost += ended < 20 ? c : 0;
        if (s->params[0].kind == PARAM_CATEGORICAL)
            r->per_family[(int)point[0]]++;
    }
    sampler_close(x);
}

static void every_family_starts_at_its_defaults(void **state)
{
    struct space *s = families();
    struct run r;

    (void)state;
    go(&r, "local", s, test_seed(), 3, 1, value_of, cost_of);
    for (int f = 0; f < 3; f++) {
        assert_true(r.points[f * s->n] == f);
        assert_true(fabs(r.points[f * s->n + 1 + 2 * f] - 2) < 1e-9);
        assert_true(fabs(r.points[f * s->n + 2 + 2 * f] - 0.5) < 1e-9);
    }
    space_free(s);
}

/* Sums over a few searches are taken of fixed seeds, here and below: by chance they may lose. */
static void it_is_cheap_first_and_better_than_chance_at_the_same_cost(void **state)
{
    static struct run local, random;
    double early[2] = { 0 }, cost[2] = { 0 }, best[2] = { 0 };
    struct space *s = families();

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        go(&local, "local", s, 1000 + seed, 100, 1, value_of, cost_of);
        go(&random, "random", s, 1000 + seed, 100, 1, value_of, cost_of);
        early[0] += local.early_cost;
        early[1] += random.early_cost;
        cost[0] += local.cost;
        cost[1] += random.cost;
        best[0] += local.best / SEEDS;
        best[1] += random.best / SEEDS;
    }
    assert_true(early[0] < early[1] / 10);
    assert_true(cost[0] < cost[1] / 3);
    assert_true(best[0] > best[1] && best[0] > 0.97);
    space_free(s);
}

static void the_family_that_pays_gets_most_trials(void **state)
{
    struct space *s = families();
    int count[3] = { 0 };
    static struct run r;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        go(&r, "local", s, 1000 + seed, 90, 1, value_of, cost_of);
        for (int f = 0; f < 3; f++)
            count[f] += r.per_family[f];
    }
    assert_true(count[1] > 90 * SEEDS / 2); /* the best family: an even share is a third */
    assert_true(count[2] < 90 * SEEDS / 6); /* dear, and not the best */
    space_free(s);
}

static double one(const double *x)
{
    (void)x;
    return 1;
}

/* A bowl in five dimensions, its bottom far from the defaults. */
static double bowl(const double *x)
{
    double sum = 0;

    for (int i = 0; i < 5; i++)
        sum -= (x[i] - 0.8) * (x[i] - 0.8);
    return sum;
}

/* Two hills on a line of its own: the low one near the default, the high one far off. */
static double hills(const double *x)
{
    double low = fabs(x[0] - 0.4), high = fabs(x[0] - 0.9) + 0.1 * fabs(x[1] - 0.5);

    return fmax(0.5 - low, 1 - 12 * high);
}

static struct space *cube(int d)
{
    struct space *s = space_new();
    char name[] = "x0";

    for (int i = 0; i < d; i++) {
        name[1] = (char)('0' + i);
        int k = spaces_float(s, name, 0, 1, 0, false);
        s->params[k].def = 0.5;
    }
    return s;
}

static void it_climbs_in_sequence_and_with_many_in_flight(void **state)
{
    static struct run r, random;
    struct space *s = cube(5);

    (void)state;
    for (int in_flight = 1; in_flight <= 32; in_flight *= 32) {
        double sum = 0, by_chance = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            go(&r, "local", s, seed, 200, in_flight, bowl, one);
            go(&random, "random", s, seed, 200, in_flight, bowl, one);
            sum += r.best / SEEDS;
            by_chance += random.best / SEEDS;
        }
        assert_true(sum > (in_flight == 1 ? -0.01 : -0.06));
        assert_true(sum > by_chance);
    }
    space_free(s);
}

static void a_restart_leaves_a_local_optimum(void **state)
{
    struct space *s = cube(2);
    static struct run r;
    int found = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        go(&r, "local", s, 1000 + seed, 300, 1, hills, one);
        found += r.best > 0.6;
    }
    assert_true(found > SEEDS / 4);
    space_free(s);
}

/* A trial that got to a higher level is better than one that only looked good below, where its own rank was worse. */
static void levels_are_compared_like_with_like(void **state)
{
    struct search_setup setup = { .seed = test_seed() };
    struct space *s = cube(2);
    struct sampler *x = sampler_find("local")->open(s, &setup, NULL);
    static const struct observation told[] = {
        { 1, OBS_RUNNING, 1, 3, 0.9, { 0 }, 1, 0 }, { 2, OBS_RUNNING, 1, 3, 0.5, { 0 }, 1, 0 },
        { 2, OBS_RUNNING, 3, 3, 0.6, { 0 }, 9, 0 }, /* at the top: the centre from now on */
        { 3, OBS_RUNNING, 1, 3, 0.4, { 0 }, 1, 0 }, { 4, OBS_RUNNING, 1, 3, 0.3, { 0 }, 1, 0 },
    };
    double points[2 * 20], centre[2] = { 0 };

    (void)state;
    assert_int_equal(x->ops->suggest(x, 1, 4, points, NULL), 4);
    for (size_t i = 0; i < ARRAY_LEN(told); i++)
        assert_int_equal(x->ops->observe(x, &told[i], NULL), 0);
    assert_int_equal(x->ops->suggest(x, 5, 2, points + 8, NULL), 2);
    for (int k = 0; k < 2; k++) /* there and back: opposite steps from the centre */
        centre[k] = 0.5 * (points[8 + k] + points[10 + k]);
    assert_true(hypot(centre[0] - points[2], centre[1] - points[3]) < 1e-9);
    sampler_close(x);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family_starts_at_its_defaults),
        cmocka_unit_test(it_is_cheap_first_and_better_than_chance_at_the_same_cost),
        cmocka_unit_test(the_family_that_pays_gets_most_trials),
        cmocka_unit_test(it_climbs_in_sequence_and_with_many_in_flight),
        cmocka_unit_test(a_restart_leaves_a_local_optimum),
        cmocka_unit_test(levels_are_compared_like_with_like),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
