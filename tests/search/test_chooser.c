/* test_chooser.c - the learner chooser: every arm once, the estimate as the paper's formula on cases worked by hand, more
 * trials for arms that improve cheaply, scale and shift of values without effect, restore identity, damaged states. */
#include "tests/unit.h"

#include "base/mem.h"
#include "base/rng.h"
#include "search/samplers/chooser.h"

#include <math.h>

enum { ARMS = 5 };

static void every_arm_is_begun_once_in_order(void **state)
{
    struct chooser c;

    (void)state;
    chooser_init(&c, ARMS);
    for (int i = 0; i < ARMS; i++) {
        assert_int_equal(chooser_next(&c, 7, i + 1), i);
        chooser_start(&c, i);
    }
    chooser_fini(&c);
}

static void the_estimate_is_that_of_the_paper(void **state)
{
    struct chooser c;

    (void)state;
    chooser_init(&c, 2);
    assert_true(isinf(chooser_eci(&c, 0)));
    chooser_observe(&c, 0, 0.5, 10);
    chooser_observe(&c, 0, 0.6, 20);
    chooser_observe(&c, 0, 0.7, 30); /* K2 = 30, K1 = 60 */
    chooser_observe(&c, 0, 0.1, 5);  /* K0 = 65 */
    assert_true(fabs(chooser_eci(&c, 0) - 30) < 1e-9);
    chooser_observe(&c, 0, 0.1, 45); /* K0 = 110: in vain for longer than the last step took */
    assert_true(fabs(chooser_eci(&c, 0) - 50) < 1e-9);
    chooser_observe(&c, 1, 0.2, 1);
    chooser_observe(&c, 1, 0.3, 3); /* lags by 0.4; gained 0.1 with K0 - K2 = 3 */
    assert_true(fabs(chooser_eci(&c, 1) - 12) < 1e-9);
    chooser_fini(&c);
}

/* Plays a game: arm's value approaches its top by a share of the gap per trial, at the arm's cost. Trials per arm. */
static void play(const double *top, const double *cost, double scale, double shift, uint64_t seed,
                 int trials, int *count)
{
    double at[ARMS] = { 0 };
    struct chooser c;
    struct rng r;

    rng_init(&r, seed, 0);
    chooser_init(&c, ARMS);
    memset(count, 0, ARMS * sizeof *count);
    for (int t = 1; t <= trials; t++) {
        int arm = chooser_next(&c, seed, t);
        count[arm]++;
        chooser_start(&c, arm);
        at[arm] += (top[arm] - at[arm]) * 0.3 * rng_unit(&r);
        chooser_observe(&c, arm, at[arm] * scale + shift, cost[arm]);
    }
    chooser_fini(&c);
}

static void better_and_cheaper_arms_get_more_trials(void **state)
{
    static const double even[] = { 10, 10, 10, 10, 10 }, same[] = { 1, 1, 1, 1, 1 };
    static const double tops[] = { 0.2, 0.2, 1, 0.2, 0.2 }, costs[] = { 100, 100, 100, 2, 100 };
    int by_value = 0, by_cost = 0, total_value = 0, total_cost = 0, count[ARMS];

    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        play(tops, even, 1, 0, seed, 60, count);
        by_value += count[2];
        total_value += 60;
        play(same, costs, 1, 0, seed, 60, count);
        by_cost += count[3];
        total_cost += 60;
    }
    assert_true(by_value > total_value * 2 / 5); /* an even share would be a fifth */
    assert_true(by_cost > total_cost * 2 / 5);
}

static void scale_and_shift_of_values_change_nothing(void **state)
{
    static const double tops[] = { 0.2, 0.9, 1, 0.5, 0.2 }, costs[] = { 1, 7, 3, 2, 5 };
    int a[ARMS], b[ARMS];

    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) { /* powers of two: exact */
        play(tops, costs, 1, 0, seed, 80, a);
        play(tops, costs, 0x1p40, 0, seed, 80, b);
        assert_memory_equal(a, b, sizeof a);
        play(tops, costs, 0x1p-40, 0, seed, 80, b);
        assert_memory_equal(a, b, sizeof a);
    }
}

static double odd_value(struct rng *r)
{
    static const double odd[] = { NAN, INFINITY, -INFINITY, 1e308, -1e308, 0, -0.0, 5e-324 };

    return rng_below(r, 2) ? rng_normal(r) : odd[rng_below(r, ARRAY_LEN(odd))];
}

static void random_step(struct chooser *c, struct rng *r)
{
    int arm = (int)rng_below(r, (uint32_t)c->n);

    if (rng_below(r, 2))
        chooser_start(c, arm);
    else
        chooser_observe(c, arm, odd_value(r), odd_value(r));
    if (rng_below(r, 200) == 0)
        chooser_close(c, arm);
}

static void estimates_are_positive_whatever_comes(void **state)
{
    struct rng r;

    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct chooser c;
        rng_init(&r, test_seed(), seed);
        chooser_init(&c, 1 + (int)rng_below(&r, ARMS));
        for (int t = 1; t <= 60; t++) {
            random_step(&c, &r);
            int open = 0;
            for (int i = 0; i < c.n; i++) {
                assert_true(chooser_eci(&c, i) > 0);
                open += !c.arms[i].is_closed;
            }
            int next = chooser_next(&c, seed, t);
            assert_true(open ? next >= 0 && !c.arms[next].is_closed : next == -1);
        }
        chooser_fini(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_arm_is_begun_once_in_order),
        cmocka_unit_test(the_estimate_is_that_of_the_paper),
        cmocka_unit_test(better_and_cheaper_arms_get_more_trials),
        cmocka_unit_test(scale_and_shift_of_values_change_nothing),
        cmocka_unit_test(estimates_are_positive_whatever_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
