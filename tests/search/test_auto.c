/* test_auto.c - what `auto` chooses: always a registered searcher with a reason, grid only where every point will be tried,
 * no scheduler where nothing could be promoted. */
#include "tests/unit.h"

#include "base/rng.h"
#include "search/auto.h"
#include "search/contract/sampler.h"
#include "search/contract/scheduler.h"
#include "search/searchers.h"
#include "tests/search/spaces.h"

static struct auto_facts facts_random(struct rng *r, const struct space *s)
{
    return (struct auto_facts){ .space = s,
                                .budget_trials = (int64_t)rng_below(r, 3) * rng_below(r, 500),
                                .parallel = (int)rng_below(r, 80),
                                .n_objectives = (int)rng_below(r, 4),
                                .max_level = 1 + (int)rng_below(r, 5) };
}

static void every_choice_is_a_searcher_users_have_with_a_reason(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int i = 0; i < 500; i++) {
        struct space *s = spaces_random(&r, 6, rng_below(&r, 2));
        struct auto_facts f = facts_random(&r, s);
        struct auto_choice a = auto_sampler(&f), b = auto_scheduler(&f);

        assert_non_null(sampler_find(a.name));
        assert_false(sampler_find(a.name)->is_test_only);
        assert_non_null(scheduler_find(b.name));
        assert_false(scheduler_find(b.name)->is_test_only);
        assert_true(a.why[0] && b.why[0]);
        space_free(s);
    }
}

static void a_grid_is_chosen_only_if_the_budget_covers_the_space(void **state)
{
    struct rng r;
    int grids = 0;

    (void)state;
    rng_init(&r, test_seed(), 2);
    for (int i = 0; i < 500; i++) {
        struct space *s = spaces_random(&r, 4, true);
        struct auto_facts f = facts_random(&r, s);
        bool is_grid = strcmp(auto_sampler(&f).name, "grid") == 0;

        if (f.budget_trials)
            assert_int_equal(is_grid, space_search_size(s) <= (double)f.budget_trials);
        grids += is_grid;
        space_free(s);
    }
    assert_in_range(grids, 1, 499);
}

static void nothing_is_halved_that_cannot_be(void **state)
{
    static const struct {
        int64_t trials;
        int level, objectives;
    } cases[] = { { 0, 1, 1 }, { 1000, 1, 1 }, { AUTO_MIN_TRIALS - 1, 3, 1 }, { 0, 3, 2 } };
    struct space *s = spaces_mixed();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct auto_facts f = { .space = s,
                                .budget_trials = cases[i].trials,
                                .n_objectives = cases[i].objectives,
                                .max_level = cases[i].level };
        assert_string_equal(auto_scheduler(&f).name, "none");
    }
    struct auto_facts f = { .space = s, .budget_trials = 100, .max_level = 3 };
    assert_string_equal(auto_scheduler(&f).name, "asha");
    space_free(s);
}

static void a_process_joins_where_it_pays(void **state)
{
    static const struct {
        int params, objectives, level;
        const char *name;
    } cases[] = { { 1, 1, 1, "duo" },
                  { AUTO_DUO_PARAMS, 0, 0, "duo" },
                  { AUTO_DUO_PARAMS + 1, 1, 1, "tpe" },
                  { 3, 2, 1, "tpe" },
                  { 3, 1, 3, "tpe" } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct space *s = space_new();
        char name[16];
        for (int k = 0; k < cases[i].params; k++) {
            (void)snprintf(name, sizeof name, "x%d", k);
            spaces_float(s, name, 0, 1, 0, false);
        }
        spaces_constant(s, "fixed", 1); /* not searched, so not counted */
        struct auto_facts f = { .space = s,
                                .n_objectives = cases[i].objectives,
                                .max_level = cases[i].level };
        assert_string_equal(auto_sampler(&f).name, cases[i].name);
        space_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_choice_is_a_searcher_users_have_with_a_reason),
        cmocka_unit_test(a_grid_is_chosen_only_if_the_budget_covers_the_space),
        cmocka_unit_test(a_process_joins_where_it_pays),
        cmocka_unit_test(nothing_is_halved_that_cannot_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
