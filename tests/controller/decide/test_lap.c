/* test_lap.c - when the time is nearly over the best paused trial goes to its top, if it fits into what is left; its
 * scheduler is not told, and a restart knows it all the same. */
#include "tests/rig.h"

#include "base/mem.h"
#include "controller/decide/budget.h"
#include "controller/decide/lap.h"
#include "controller/decide/propose.h"
#include "controller/state/trial.h"

#include <math.h>

#define SPEC(family)                                                                     \
    "{'name':'s','dataset':'d','target':'y','seed':7,'metric':'auc','sampler':'random'," \
    "'scheduler':'asha','deterministic':false,'space':[{'family':'" family "'}],"        \
    "'validation':'kfold','budget':{'time':'30s'}}"

/* The paused trial that is the highest on its ladder, of equal ones the best; 0 = none. */
static int64_t best_paused(const struct study *st)
{
    int64_t best = 0;

    for (int64_t k = 1; k <= st->n_trials; k++) {
        const struct trial_mem *t = &st->trials[k - 1], *b = best ? &st->trials[best - 1] : NULL;
        if (t->state == TS_PAUSED &&
            (!b || t->level > b->level || (t->level == b->level && t->score > b->score)))
            best = k;
    }
    return best;
}

/* A study with some paused trials and no trial in flight, `left` ms before its time is over. */
static int64_t study_with_paused(struct rig *r, struct fake *f, const char *spec, int64_t left)
{
    rig_open(r);
    rig_dataset(r, "d");
    int64_t id = rig_study(r, spec);

    r->ctl->conf.lease_ms = 60000;
    fake_open(f, r, "f", 1);
    while (rig_count(r, id, TS_PAUSED) < 4 || f->n_trials > 0) {
        rig_pass(r, 20);
        if (f->n_trials == 0)
            fake_ask(f);
        if (f->n_trials > 0)
            fake_step(f, 0);
    }
    const struct study *st = rig_get(r, id);
    rig_pass(r, budget_left(st) - budget_reserve(st) - left);
    return id;
}

/* Makes the trial one that needs so many ms to its top. */
static void needs(struct study *st, int64_t number, double ms)
{
    struct trial_mem *t = &st->trials[number - 1];
    struct config c;

    assert_int_equal(trial_config(st, number, &c, &rig_err), 0);
    t->work_us = (int64_t)(ms * 1000 * (double)propose_cost(st, &c, 0, t->level) /
                           (double)propose_cost(st, &c, t->level, t->max_level));
}

static void the_best_paused_trial_goes_on_if_it_fits(void **state)
{
    static const struct {
        int64_t left;
        double need; /* as a part of what is left */
        int wanted;
    } cases[] = { { 5000, 0.5, 1 },  { 5000, 0.75, 1 }, { 5000, 0.9, 0 },
                  { 5000, 0.05, 0 }, { 20000, 0.5, 0 }, { 5000, 0, 0 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r;
        struct fake f;
        int64_t number = 0, id = study_with_paused(&r, &f, SPEC("boost"), cases[i].left);
        struct study *st = rig_get(&r, id);
        int64_t best = best_paused(st);

        assert_true(best > 0);
        needs(st, best, (double)cases[i].left * cases[i].need);
        assert_int_equal(lap_wanted(st, &number, &rig_err), cases[i].wanted);
        if (cases[i].wanted)
            assert_int_equal(number, best);
        rig_close(&r);
    }
}

/* A part of the epochs of one fold says too little of what a network becomes. */
static void a_network_stays_where_it_is(void **state)
{
    struct rig r;
    struct fake f;
    int64_t number = 0, id = study_with_paused(&r, &f, SPEC("mlp"), 5000);
    struct study *st = rig_get(&r, id);

    (void)state;
    needs(st, best_paused(st), 2500);
    assert_int_equal(lap_wanted(st, &number, &rig_err), 0);
    rig_close(&r);
}

static void it_runs_to_its_top_at_once_and_is_completed(void **state)
{
    struct rig r;
    struct fake f;
    int64_t id = study_with_paused(&r, &f, SPEC("boost"), 5000);
    struct study *st = rig_get(&r, id);
    int64_t best = best_paused(st), trial = st->trials[best - 1].id;

    (void)state;
    needs(st, best, 2500);
    assert_int_equal(fake_ask(&f), 1);
    assert_int_equal(f.trials[0].trial, trial);
    assert_int_equal(f.trials[0].to, f.trials[0].max);
    assert_true(f.trials[0].from > 0); /* from its checkpoint */
    /* a restart in between changes nothing: the runner goes on with it */
    assert_int_equal(study_reload(r.ctl, st, &rig_err), 0);
    while (f.n_trials > 0)
        fake_step(&f, 0);
    st = rig_get(&r, id);
    assert_int_equal(st->trials[best - 1].state, TS_COMPLETED);
    assert_int_equal(st->trials[best - 1].level, st->trials[best - 1].max_level);
    assert_int_equal(study_reload(r.ctl, st, &rig_err), 0);
    /* the search goes on to its end as if nothing had been */
    while (rig_get(&r, id)->row.state == SS_RUNNING) {
        rig_pass(&r, 50);
        if (f.n_trials == 0)
            fake_ask(&f);
        if (f.n_trials > 0)
            fake_step(&f, 0);
    }
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_paused_trial_goes_on_if_it_fits),
        cmocka_unit_test(a_network_stays_where_it_is),
        cmocka_unit_test(it_runs_to_its_top_at_once_and_is_completed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
