/* test_rung.c - rungs of many ladders, and the ranking at one under random adds, closes and removals. */
#include "tests/unit.h"

#include "base/rng.h"
#include "search/schedulers/rung.h"

#include <math.h>

static void rungs_of_known_ladders(void **state)
{
    static const struct {
        struct rung_rule rule;
        int max_level, n, level[8];
    } cases[] = {
        { { 3, 1, 6 }, 81, 5, { 1, 3, 9, 27, 81 } },
        { { 3, 1, 6 }, 52, 4, { 2, 6, 17, 52 } },
        { { 4, 1, 6 }, 100, 4, { 2, 6, 25, 100 } },
        { { 3, 5, 6 }, 81, 3, { 9, 27, 81 } },
        { { 3, 1, 6 }, 6, 6, { 1, 2, 3, 4, 5, 6 } },
        { { 3, 1, 6 }, 1, 1, { 1 } },
        { { 3, 2, 6 }, 3, 2, { 2, 3 } },
        { { 2, 1, 0 }, 6, 3, { 2, 3, 6 } },
        { { 3, 1000, 6 }, 50, 1, { 50 } },
        { { 3, 1, 6 }, 7, 2, { 2, 7 } },
        { { 2, 1, 6 }, 2000000000, 31, { 2, 4, 7, 15 } },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rung_ladder l;
        rung_ladder_init(&l, &cases[i].rule, cases[i].max_level);
        assert_int_equal(l.n, cases[i].n);
        for (int k = 0; k < MIN(l.n, 4); k++)
            assert_int_equal(l.level[k], cases[i].level[k]);
    }
}

static void rungs_rise_by_about_eta_to_the_top(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int i = 0; i < 20000; i++) {
        struct rung_rule rule = { 2 + (int)rng_below(&r, RUNG_ETA_MAX - 1), 1,
                                  (int)rng_below(&r, 12) };
        int max_level = 1 + (int)rng_below(&r, i % 2 ? 100 : 2000000);
        struct rung_ladder l;
        rule.min_level = 1 + (int)rng_below(&r, 20);
        rung_ladder_init(&l, &rule, max_level);
        assert_in_range(l.n, 1, RUNG_MAX);
        assert_int_equal(l.level[l.n - 1], max_level);
        assert_true(l.level[0] >= MIN(rule.min_level, max_level));
        for (int k = 1; k < l.n; k++) {
            assert_true(l.level[k] > l.level[k - 1]);
            if (max_level > rule.per_level)
                assert_true(fabs((double)l.level[k] / rule.eta - l.level[k - 1]) < 1.01);
            else
                assert_int_equal(l.level[k], l.level[k - 1] + 1);
        }
    }
}

static void powers_stop_at_their_ceiling(void **state)
{
    (void)state;
    assert_int_equal(rung_power(3, 4), 81);
    assert_int_equal(rung_power(16, 0), 1);
    assert_true(rung_power(16, 31) == (int64_t)1 << 40);
}

static void check(const struct rung *r)
{
    size_t first = r->n;

    for (size_t i = 0; i < r->n; i++) {
        if (i > 0)
            assert_true(rung_before(&r->entries[i - 1], &r->entries[i]));
        if (r->entries[i].is_open && first == r->n)
            first = i;
    }
    assert_int_equal(r->first_open, first);
}

static void the_ranking_holds_under_any_changes(void **state)
{
    static const double special[] = { INFINITY, -INFINITY, NAN, 0, -0.0 };
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 2);
    for (int round = 0; round < 60; round++) {
        struct rung rung = { 0 };
        for (int64_t trial = 1; trial <= 80; trial++) {
            double v = rng_below(&r, 3) ? (double)rng_below(&r, 10) : special[rng_below(&r, 5)];
            size_t at = rung_add(&rung, (struct rung_entry){ v, trial, rng_below(&r, 2) != 0 });
            assert_int_equal(rung_find(&rung, v, trial), at);
            check(&rung);
            at = rng_below(&r, (uint32_t)rung.n);
            if (rung.entries[at].is_open && rng_below(&r, 2))
                rung_close(&rung, at);
            else if (rng_below(&r, 4) == 0)
                rung_remove(&rung, at);
            check(&rung);
        }
        assert_int_equal(rung_find(&rung, 1, 1000), rung.n);
        rung_fini(&rung);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rungs_of_known_ladders),
        cmocka_unit_test(rungs_rise_by_about_eta_to_the_top),
        cmocka_unit_test(powers_stop_at_their_ceiling),
        cmocka_unit_test(the_ranking_holds_under_any_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
