/* test_variety.c - when half of the time is over, what an ensemble lacks goes to its top: the best paused trial of a family
 * that has no whole one, and one of the leading family with the other kind of trees. */
#include "tests/rig.h"

#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/decide/propose.h"
#include "controller/decide/variety.h"
#include "controller/state/trial.h"

#include <math.h>

#define SPEC(more)                                                    \
    "{'name':'s','dataset':'d','target':'y','seed':7,'metric':'auc'," \
    "'validation':'kfold'," more "'budget':{'time':'1h'}}"

/* So many trials of the script and of the sampler, and `left` ms of the time that may be used. */
static struct study *study_of(struct rig *r, const char *spec, int n, int64_t left)
{
    struct study *st = rig_study_of(r, spec, n);

    rig_pass(r, budget_left(st) - budget_reserve(st) - left);
    return st;
}

static void completed(struct trial_mem *t, double score)
{
    t->state = TS_COMPLETED;
    t->level = t->max_level;
    t->is_part = false;
    t->score = t->first_score = score;
    t->score_se = .001;
}

/* It waits after its first fold, and needs so many ms to its top. */
static void paused(struct study *st, int64_t number, double score, double need_ms)
{
    struct trial_mem *t = &st->trials[number - 1];
    struct config c;

    t->state = TS_PAUSED;
    t->level = t->checkpoint_level = 1;
    t->score = score;
    assert_int_equal(trial_config(st, number, &c, &rig_err), 0);
    assert_true(t->max_level > 1);
    t->work_us = (int64_t)(need_ms * 1000 * (double)propose_cost(st, &c, 0, 1) /
                           (double)propose_cost(st, &c, 1, t->max_level));
    st->count[TS_PAUSED] = 1;
}

/* Boosting has .9 on all folds and on the first, the baseline .5, everything else was pruned. */
static void boosting_leads(struct study *st)
{
    bool has_one = false;

    for (int i = 0; i < st->n_trials; i++) {
        struct trial_mem *t = &st->trials[i];

        t->state = TS_PRUNED;
        t->score = t->first_score = (double)NAN;
        t->work_us = 1000;
        if (i == 0)
            completed(t, .5);
        else if (!has_one && t->family == rig_family(st, "boost")) {
            completed(t, .9);
            has_one = true;
        }
    }
    assert_true(has_one);
}

static int64_t first_of(const struct study *st, int family)
{
    int64_t k = 1;

    while (st->trials[k - 1].family != family)
        k++;
    return k;
}

static void a_family_without_a_whole_trial_gets_one_if_it_is_worth_it(void **state)
{
    static const struct {
        const char *more;
        int64_t left;
        double score, need; /* need: as a part of what is left */
        bool is_whole;      /* the family has a whole trial already */
        int wanted;
    } cases[] = {
        { "", 1000000, .88, .1, false, 1 },
        { "", 1000000, .95, .1, false, 1 },
        { "", 1000000, .85, .1, false, 0 },
        { "", 1000000, .88, .3, false, 0 },
        { "", 2000000, .88, .01, false, 0 },
        { "", 1000000, .88, .1, true, 0 },
        { "'ensemble':'off',", 1000000, .88, .1, false, 0 },
        /* it has the best first fold of all */
        { "", 2000000, .95, .4, false, 1 },
        { "", 2000000, .95, .6, false, 0 },
        { "", 2000000, .95, .4, true, 0 },
        { "'ensemble':'off',", 2000000, .95, .4, false, 1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r = { .has_images = false };
        char spec[300];
        int64_t number = 0;

        (void)snprintf(spec, sizeof spec, SPEC("%s"), cases[i].more);
        struct study *st = study_of(&r, spec, 16, cases[i].left);
        int family = rig_family(st, "extra_trees");
        int64_t first = first_of(st, family);
        boosting_leads(st);
        if (cases[i].is_whole) {
            int64_t other = first + 1;
            while (st->trials[other - 1].family != family)
                other++;
            completed(&st->trials[other - 1], .7);
        }
        paused(st, first, cases[i].score, cases[i].need * (double)cases[i].left);
        assert_int_equal(variety_wanted(st, &number, &rig_err), cases[i].wanted);
        if (cases[i].wanted)
            assert_int_equal(number, first);
        rig_close(&r);
    }
}

/* The trial of the script that grows its trees by random cuts; 0 = none yet. */
static int64_t with_random_cuts(struct study *st, int boost)
{
    int at = family_param_find(st->families[boost], "extra_random");

    for (int64_t k = 1; k <= st->n_trials; k++) {
        struct config c;

        if (st->trials[k - 1].family != boost || st->trials[k - 1].source == SRC_SAMPLER)
            continue;
        assert_int_equal(trial_config(st, k, &c, &rig_err), 0);
        if (c.params[at] == 1)
            return k;
    }
    return 0;
}

static void the_leader_gets_one_with_the_other_kind_of_trees(void **state)
{
    struct rig r = { .has_images = false };
    struct study *st = study_of(&r, SPEC(""), 60, 1000000);
    int64_t number = 0, random = with_random_cuts(st, rig_family(st, "boost"));

    (void)state;
    assert_true(random > 0);
    boosting_leads(st);
    paused(st, random, .89, 1000);
    assert_int_equal(variety_wanted(st, &number, &rig_err), 1);
    assert_int_equal(number, random);
    /* it is whole, so nothing is lacking; nor is it when it was pruned */
    completed(&st->trials[random - 1], .89);
    assert_int_equal(variety_wanted(st, &number, &rig_err), 0);
    st->trials[random - 1].state = TS_PRUNED;
    assert_int_equal(variety_wanted(st, &number, &rig_err), 0);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_family_without_a_whole_trial_gets_one_if_it_is_worth_it),
        cmocka_unit_test(the_leader_gets_one_with_the_other_kind_of_trees),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
