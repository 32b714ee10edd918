/* test_preview.c - what a preview says is what the schedule does: Hyperband's table to the trial, bounds that hold for every
 * scheduler and many ladders, and clear errors. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "search/preview.h"
#include "search/searchers.h"

static const struct preview_line *line_at(const struct preview *p, int ladder, int level)
{
    for (int i = 0; i < p->n_lines; i++) {
        if (p->lines[i].ladder == ladder && p->lines[i].level == level)
            return &p->lines[i];
    }
    return NULL;
}

static void hyperband_of_81_ends_trials_as_its_table_says(void **state)
{
    /* s=4: 81@1 27@3 9@9 3@27 1@81 | s=3: 34@3 11@9 3@27 1@81 | s=2: 15@9 5@27 1@81 | s=1: 8@27 2@81 | s=0: 5@81 */
    static const int level[] = { 1, 3, 9, 27, 81 };
    static const int64_t ends[] = { 54, 18 + 23, 6 + 8 + 10, 2 + 2 + 4 + 6, 1 + 1 + 1 + 2 + 5 };
    static const double cost = 54 * 1 + 41 * 3 + 24 * 9 + 14 * 27 + 10 * 81;
    struct search_setup setup = { .seed = 5, .parallel = 7 };
    struct preview_ladder ladder = { .max_level = 81 };
    struct preview p;

    (void)state;
    assert_int_equal(preview_make(scheduler_find("hyperband"), &setup, &ladder, 1, &p, NULL), 0);
    assert_int_equal(p.trials, 81 + 34 + 15 + 8 + 5);
    assert_true(p.is_open && !p.is_scaled);
    assert_int_equal(p.n_lines, 5);
    for (size_t i = 0; i < ARRAY_LEN(level); i++) {
        assert_int_equal(p.lines[i].level, level[i]);
        assert_int_equal(p.lines[i].typical, ends[i]);
        assert_int_equal(p.lines[i].most, ends[i]);
    }
    assert_float_equal(p.typical, cost / 81, 1e-9);
    assert_float_equal(p.most, cost / 81, 1e-9);
    assert_float_equal(p.full, 143, 1e-9);
    preview_fini(&p);
}

static void none_costs_every_trial_in_full(void **state)
{
    static const double cost[] = { 5, 7, 20 };
    struct search_setup setup = { .budget_trials = 30 };
    struct preview_ladder ladders[2] = { { 0, 3, cost }, { 1, 1, NULL } };
    struct preview p;

    (void)state;
    assert_int_equal(preview_make(scheduler_find("none"), &setup, ladders, 2, &p, NULL), 0);
    assert_int_equal(p.n_lines, 2);
    assert_int_equal(line_at(&p, 0, 3)->typical, 15);
    assert_int_equal(line_at(&p, 1, 1)->most, 15);
    assert_float_equal(p.most, 15 * 20 + 15, 1e-9);
    assert_float_equal(p.full, p.most, 1e-9);
    preview_fini(&p);
}

static void counts_add_up_and_costs_are_bounded(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int i = 0; scheduler_at(i); i++) {
        for (int round = 0; round < 12; round++) {
            struct search_setup setup = { .seed = rng_u64(&r),
                                          .budget_trials = 1 + rng_below(&r, 200),
                                          .parallel = (int)rng_below(&r, 40) };
            struct preview_ladder ladders[3];
            int n = 1 + (int)rng_below(&r, 3);
            int64_t typical = 0, most = 0;
            struct preview p;
            for (int k = 0; k < n; k++)
                ladders[k] = (struct preview_ladder){ k, 1 + (int)rng_below(&r, 40), NULL };
            assert_int_equal(preview_make(scheduler_at(i), &setup, ladders, n, &p, NULL), 0);
            for (int k = 0; k < p.n_lines; k++) {
                typical += p.lines[k].typical;
                most += p.lines[k].most;
                assert_true(p.lines[k].level >= 1 &&
                            p.lines[k].level <= ladders[p.lines[k].ladder].max_level);
            }
            assert_int_equal(typical, setup.budget_trials);
            assert_int_equal(most, setup.budget_trials);
            assert_true(p.typical > 0 && p.most <= p.full + 1e-9 && p.typical <= p.full + 1e-9);
            preview_fini(&p);
        }
    }
}

static void the_worst_case_of_asha_is_worse_than_the_typical(void **state)
{
    struct search_setup setup = { .seed = 5, .budget_trials = 200, .parallel = 4 };
    struct preview_ladder ladder = { .max_level = 27 };
    struct preview p;

    (void)state;
    assert_int_equal(preview_make(scheduler_find("asha"), &setup, &ladder, 1, &p, NULL), 0);
    assert_true(p.most > 1.5 * p.typical);
    assert_true(p.typical < p.full / 2);
    preview_fini(&p);
}

static void long_budgets_are_scaled(void **state)
{
    struct search_setup setup = { .seed = 5, .budget_trials = 1000000 };
    struct preview_ladder ladder = { .max_level = 9 };
    int64_t n = 0;
    struct preview p;

    (void)state;
    assert_int_equal(preview_make(scheduler_find("hyperband"), &setup, &ladder, 1, &p, NULL), 0);
    assert_true(p.is_scaled);
    assert_int_equal(p.trials, 1000000);
    for (int i = 0; i < p.n_lines; i++)
        n += p.lines[i].typical;
    assert_in_range(n, 999990, 1000010);
    preview_fini(&p);
}

static void senseless_questions_are_refused(void **state)
{
    static const double falling[] = { 3, 2 };
    struct search_setup setup = { .budget_trials = 3 }, negative = { .budget_trials = -1 };
    struct preview_ladder good = { .max_level = 2 }, none = { .max_level = 0 },
                          bad = { 0, 2, falling };
    const struct scheduler_ops *ops = scheduler_find("none");
    struct preview p;

    (void)state;
    assert_int_equal(preview_make(ops, &setup, &good, 0, &p, NULL), -1);
    assert_int_equal(preview_make(ops, &setup, &none, 1, &p, NULL), -1);
    assert_int_equal(preview_make(ops, &setup, &bad, 1, &p, NULL), -1);
    assert_int_equal(preview_make(ops, &negative, &good, 1, &p, NULL), -1);
    assert_null(p.lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hyperband_of_81_ends_trials_as_its_table_says),
        cmocka_unit_test(none_costs_every_trial_in_full),
        cmocka_unit_test(counts_add_up_and_costs_are_bounded),
        cmocka_unit_test(the_worst_case_of_asha_is_worse_than_the_typical),
        cmocka_unit_test(long_budgets_are_scaled),
        cmocka_unit_test(senseless_questions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
