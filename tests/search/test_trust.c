/* test_trust.c - tau of orders known by hand, a verdict that chance seldom reaches, the window, its bytes. */
#include "tests/unit.h"

#include "base/rng.h"
#include "search/schedulers/trust.h"

#include <math.h>

static struct trust of(int n, const double *here, const double *there)
{
    struct trust t = { 0 };

    for (int i = 0; i < n; i++)
        trust_add(&t, here[i], there[i], 0.5);
    return t;
}

static void tau_of_known_orders(void **state)
{
    static const double up[] = { 1, 2, 3, 4 }, down[] = { 4, 3, 2, 1 }, one_off[] = { 1, 2, 4, 3 },
                        ties[] = { 1, 1, 1, 1 }, special[] = { NAN, -INFINITY, 0, INFINITY };
    struct trust t = of(4, up, up);

    (void)state;
    assert_float_equal(trust_tau(&t), 1, 0);
    assert_false(t.holds); /* four pairs prove nothing */
    t = of(4, up, down);
    assert_float_equal(trust_tau(&t), -1, 0);
    t = of(4, up, one_off);
    assert_float_equal(trust_tau(&t), 4.0 / 6, 1e-15);
    t = of(4, up, ties);
    assert_float_equal(trust_tau(&t), 0, 0);
    t = of(4, up, special);
    assert_float_equal(trust_tau(&t), 1, 0);
    t = of(1, up, up);
    assert_float_equal(trust_tau(&t), 0, 0);
}

static void chance_seldom_proves_anything_and_order_always_does(void **state)
{
    struct rng r;
    int n_chance = 0;

    (void)state;
    rng_init(&r, TEST_FIXED_SEED, 1);
    for (int round = 0; round < 2000; round++) {
        struct trust chance = { 0 }, order = { 0 };
        int n = TRUST_MIN_PAIRS + (int)rng_below(&r, 40);
        for (int i = 0; i < n; i++) {
            double v = rng_unit(&r);
            trust_add(&chance, v, rng_unit(&r), 0.5);
            trust_add(&order, v, v * v, 0.5);
        }
        assert_true(order.holds);
        n_chance += chance.holds;
    }
    assert_true(n_chance < 40);
}

static void old_pairs_leave_the_window(void **state)
{
    struct trust t = { 0 };

    (void)state;
    for (int i = 0; i < 100; i++)
        trust_add(&t, i, -i, 0.5);
    assert_false(t.holds);
    for (int i = 0; i < TRUST_WINDOW; i++)
        trust_add(&t, i, i, 0.5);
    assert_float_equal(trust_tau(&t), 1, 0);
    assert_true(t.holds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tau_of_known_orders),
        cmocka_unit_test(chance_seldom_proves_anything_and_order_always_does),
        cmocka_unit_test(old_pairs_leave_the_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
