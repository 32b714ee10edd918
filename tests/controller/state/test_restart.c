/* test_restart.c - a start finds what it left: a study that is loaded again at any moment, from its rows and its journal
 * alone, has searchers that decide the same, and a plan that stands where it stood. */
#include "tests/rig.h"

#include "base/rng.h"
#include "search/searchers.h"

enum { PAIRS = 6 };

#define BASE "'name':'s','dataset':'d','target':'y','seed':7,"

static int64_t start(struct rig *r, const char *searched)
{
    char spec[400];

    snprintf(spec, sizeof spec, "{" BASE "'validation':'kfold',%s}", searched);
    rig_open(r);
    rig_dataset(r, "d");
    return rig_study(r, spec);
}

static void load_again(struct rig *r, int64_t id)
{
    assert_int_equal(study_reload(r->ctl, rig_get(r, id), &rig_err), 0);
    assert_int_equal(RIG_CALL(r, study_settle(rig_get(r, id), &rig_err)), 0);
}

static void load_and_compare(struct rig *r, int64_t id, const char *what)
{
    int next = (int)rig_get(r, id)->search->plan.next_number,
        runs = rig_get(r, id)->search->plan.n_runs;
    uint64_t before = rig_probe(r, id), after = 0;

    load_again(r, id);
    if (!rig_get(r, id)->search) /* it ended: nobody knows anything any more */
        return;
    assert_int_equal(rig_get(r, id)->search->plan.next_number, next);
    assert_int_equal(rig_get(r, id)->search->plan.n_runs, runs);
    after = rig_probe(r, id);
    if (after != before)
        fail_msg("%s: other searchers after a start", what);
    load_again(r, id);
}

static const char *const searched[] = {
    "'budget':{'time':'1h'},'sampler':'testhash','scheduler':'testhash'",
    "'budget':{'trials':200},'sampler':'testhash','scheduler':'testhash'",
    "'budget':{'time':'1h'}",
    "'budget':{'trials':200}",
    "'budget':{'time':'1h'},'objectives':['score','predict_time']",
    "'budget':{'trials':200},'objectives':['model_bytes','score']",
};

static void a_load_at_any_moment_changes_nothing(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(searched); k++) {
        struct rig r;
        struct fake f;
        int64_t id = start(&r, searched[k]);

        fake_open(&f, &r, "f", 4);
        for (int i = 0; i < 90; i++) {
            if (f.n_trials < 4)
                fake_ask(&f);
            if (f.n_trials > 0)
                fake_step(&f, i % f.n_trials);
            load_and_compare(&r, id, searched[k]);
        }
        rig_close(&r);
    }
}

/* Without portfolios, so that the sampler is asked at once; one is soon used up. */
static const char *const spaces[] = {
    "{'family':'boost'},{'family':'forest'}",
    "{'family':'boost'}",
    "{'family':'forest','min_leaf':{'choice':[1,5]},'max_samples':1,'criterion':'gini'}",
};

/* Any sampler with any scheduler, live or planned, other pairs for each seed of the run, with trials lost and taken again,
 * also where the space is used up. */
static void any_pair_of_searchers_is_found_as_it_was(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, test_seed(), 5);
    for (int k = 0; k < PAIRS; k++) {
        const struct sampler_ops *sampler = NULL;
        const struct scheduler_ops *scheduler = NULL;
        char what[240];
        struct rig r;
        struct fake f;
        int sessions = 0;

        while (!(sampler = sampler_at((int)rng_below(&rng, 16))))
            continue;
        while (!(scheduler = scheduler_at((int)rng_below(&rng, 16))))
            continue;
        snprintf(what, sizeof what, "'space':[%s],'budget':{%s},'sampler':'%s','scheduler':'%s'",
                 spaces[rng_below(&rng, ARRAY_LEN(spaces))],
                 rng_below(&rng, 2) ? "'time':'1h'" : "'trials':60", sampler->name,
                 scheduler->name);
        int64_t id = start(&r, what);
        fake_open(&f, &r, "f", 4);
        for (int i = 0; i < 120 && !study_is_final(rig_get(&r, id)->row.state); i++) {
            char session[32];

            snprintf(session, sizeof session, "f%d", ++sessions);
            if (rng_below(&rng, 40) == 0)
                fake_open(&f, &r, session, 4);
            if (f.n_trials < 4)
                fake_ask(&f);
            if (f.n_trials > 0)
                fake_step(&f, (int)rng_below(&rng, (uint32_t)f.n_trials));
            rig_pass(&r, rng_below(&rng, 2000));
            if (rng_below(&rng, 10) == 0 && rig_get(&r, id)->search)
                load_and_compare(&r, id, what);
        }
        rig_close(&r);
    }
}

/* Ids are given across all studies, so those of one study have gaps when trials of two are created in turns. */
static void two_studies_whose_trials_came_in_turns_load(void **state)
{
    static const char *const budgets[] = { "'budget':{'time':'1h'}", "'budget':{'trials':60}" };

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(budgets); k++) {
        struct rig r;
        struct fake f;
        char second[200], session[32];
        int64_t ids[2] = { start(&r, budgets[k]), 0 };
        int n_gaps[2] = { 0 };

        snprintf(second, sizeof second, "{'name':'second','dataset':'d','target':'y','seed':8,%s}",
                 budgets[k]);
        ids[1] = rig_study(&r, second);
        for (int round = 0; round < 4; round++) {
            snprintf(session, sizeof session, "f%d", round);
            fake_open(&f, &r, session, 4);
            for (int i = 0; i < 30; i++) {
                if (f.n_trials < 4)
                    fake_ask(&f);
                if (f.n_trials > 0)
                    fake_step(&f, i % f.n_trials);
            }
            int n_before[2] = { rig_get(&r, ids[0])->n_trials, rig_get(&r, ids[1])->n_trials };
            rig_restart(&r);
            for (int s = 0; s < 2; s++) {
                const struct study *st = rig_get(&r, ids[s]); /* fails when it is damaged */

                assert_int_equal(st->n_trials, n_before[s]);
                for (int i = 1; i < st->n_trials; i++)
                    n_gaps[s] += st->trials[i].id > st->trials[i - 1].id + 1;
                load_and_compare(&r, ids[s], budgets[k]);
            }
        }
        assert_true(n_gaps[0] > 2);
        assert_true(n_gaps[1] > 2);
        rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_studies_whose_trials_came_in_turns_load),
        cmocka_unit_test(a_load_at_any_moment_changes_nothing),
        cmocka_unit_test(any_pair_of_searchers_is_found_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
