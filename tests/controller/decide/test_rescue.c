/* test_rescue.c - what lower levels of a ladder are worth: at the end of a search the best paused trial that was scored on
 * all rows completes with what it has; with a holdout the scheduler counts no level twice. */
#include "tests/rig.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/problem/ladder.h"
#include "controller/state/board.h"
#include "controller/state/lease.h"

#include <math.h>
#include <string.h>

#define SPEC(more)                                                                       \
    "{'name':'s','dataset':'d','target':'y','seed':7,'metric':'auc','sampler':'random'," \
    "'scheduler':'asha','deterministic':false,'space':[{'family':'boost'}]," more "}"

/* Better where it is left than at the top: whoever is paused with a score on all rows is better than all who went on. */
static double low_is_better(const char *config, int level)
{
    if (strstr(config, "baseline"))
        return 0.1;
    return fake_score(config, 1) / 10 + (level == 2 ? 0.8 : 0.5);
}

static int64_t start(struct rig *r, struct fake *f, const char *spec)
{
    rig_open(r);
    rig_dataset(r, "d");
    int64_t id = rig_study(r, spec);
    r->ctl->conf.lease_ms = 60000;
    fake_open(f, r, "f", 2);
    f->score = low_is_better;
    return id;
}

static bool is_running(struct rig *r, int64_t id)
{
    enum study_state s = (enum study_state)rig_get(r, id)->row.state;

    return s == SS_RUNNING || s == SS_QUEUED;
}

static int64_t paused(struct rig *r, int64_t id)
{
    return rig_count(r, id, TS_PAUSED);
}

/* Works until the search ends, or so many trials are paused. Ends with no trial in flight. */
static void work(struct rig *r, struct fake *f, int64_t id, int64_t until_paused)
{
    while (is_running(r, id) && paused(r, id) < until_paused) {
        rig_pass(r, 20);
        if (f->n_trials == 0 && fake_ask(f) == 0)
            rig_pass(r, 20);
        if (f->n_trials > 0)
            fake_step(f, f->n_trials - 1);
    }
    while (f->n_trials > 0)
        fake_step(f, f->n_trials - 1);
}

/* The number of the best paused trial at this level or above; 0 = none. */
static int64_t best_paused(struct rig *r, int64_t id, int level)
{
    const struct study *st = rig_get(r, id);
    int64_t best = 0;

    for (int64_t k = 1; k <= st->n_trials; k++) {
        const struct trial_mem *t = &st->trials[k - 1];
        if (t->state == TS_PAUSED && t->level >= level &&
            (!best || t->score > st->trials[best - 1].score))
            best = k;
    }
    return best;
}

/* The trial that came last completes at once, as a worker does that was given no time. */
static void complete_as_it_is(struct fake *f, double score)
{
    struct msg_event e;
    struct msg_answer a;

    assert_int_equal(f->n_trials, 1);
    assert_true(f->trials[0].from > 0);
    f->trials[0].next = MSG_FINAL;
    fake_event(f, 0, &e);
    e.level = f->trials[0].from;
    e.value = score;
    e.cut = true;
    assert_int_equal(fake_report(f, &e, 1, &a), 0);
    assert_int_equal(a.replies[0].action, MSG_KEEP);
    msg_answer_fini(&a);
    f->trials[0].seq++;
    f->trials[0].next = MSG_COMPLETE;
    assert_int_equal(fake_step(f, 0), MSG_OK);
}

static void stop(struct rig *r)
{
    json_t *out = NULL;

    assert_int_equal(RIG_CALL(r, ctl_study_act(r->ctl, "s", CTL_STOP, &out, &rig_err)), 0);
    json_decref(out);
}

/* Works until a trial is paused with all folds fitted: the number of the best such. */
static int64_t work_until_paused(struct rig *r, struct fake *f, int64_t id)
{
    do
        work(r, f, id, paused(r, id) + 1);
    while (best_paused(r, id, 2) == 0);
    return best_paused(r, id, 2);
}

static void the_best_paused_trial_completes_and_ships(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct rig r;
        struct fake f;
        bool by_user = way == 1, is_short = way == 2; /* short: little is left behind the cut */
        int64_t id = start(&r, &f,
                           is_short ? SPEC("'budget':{'time':'2500ms'},'validation':'kfold'")
                                    : SPEC("'budget':{'time':'30s'},'validation':'kfold'"));

        int64_t best = work_until_paused(&r, &f, id);
        double score = rig_get(&r, id)->trials[best - 1].score;
        if (by_user)
            stop(&r);
        else
            rig_pass(&r, budget_cut_ms(rig_get(&r, id)) - ctl_now(r.ctl) + 20);
        assert_int_equal(rig_get(&r, id)->row.state, SS_FINISHING);
        assert_int_equal(fake_ask(&f), 1);
        assert_int_equal(f.trials[0].trial, rig_get(&r, id)->trials[best - 1].id);
        const struct lease *l = lease_find(r.ctl, false, f.trials[0].trial);
        assert_non_null(l);
        assert_true(l->deadline_ms <= ctl_now(r.ctl)); /* no time to train */
        complete_as_it_is(&f, score);
        const struct study *st = rig_get(&r, id);
        assert_int_equal(st->row.state, by_user ? SS_STOPPED : SS_COMPLETED);
        assert_int_equal(st->row.best_trial, st->trials[best - 1].id);
        assert_true(st->row.artifact[0]);
        assert_int_equal(rig_count(&r, id, TS_PAUSED) + rig_count(&r, id, TS_QUEUED), 0);
        rig_close(&r);
    }
}

static int paused_on_all_folds(struct rig *r, int64_t id)
{
    const struct study *st = rig_get(r, id);
    int n = 0;

    for (int64_t k = 1; k <= st->n_trials; k++)
        n += st->trials[k - 1].state == TS_PAUSED && st->trials[k - 1].level >= 2;
    return n;
}

/* They complete one after the other, best first. Without an ensemble only the best does. */
static void members_of_an_ensemble_complete_too(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        struct rig r;
        struct fake f;
        double score = INFINITY;
        int n = 0;
        int64_t id = start(&r, &f,
                           way == 0 ? SPEC("'budget':{'time':'300s'},'validation':'kfold'")
                                    : SPEC("'budget':{'time':'300s'},'validation':'kfold',"
                                           "'ensemble':'off'"));

        while (paused_on_all_folds(&r, id) < 3)
            work(&r, &f, id, paused(&r, id) + 1);
        int waiting = MIN(paused_on_all_folds(&r, id), STUDY_MAX_RESCUE);
        rig_pass(&r, budget_cut_ms(rig_get(&r, id)) - ctl_now(r.ctl) + 20);
        assert_int_equal(rig_count(&r, id, TS_QUEUED), way == 0 ? waiting : 1);
        for (; rig_get(&r, id)->row.state == SS_FINISHING && fake_ask(&f) == 1; n++) {
            const struct trial_mem *t = NULL;
            for (int64_t k = 1; !t || t->id != f.trials[0].trial; k++)
                t = &rig_get(&r, id)->trials[k - 1];
            assert_true(t->score <= score);
            score = t->score;
            complete_as_it_is(&f, score);
        }
        assert_int_equal(n, way == 0 ? waiting : 1);
        assert_int_equal(rig_get(&r, id)->row.state, SS_COMPLETED);
        rig_close(&r);
    }
}

/* Nobody asks for it, or the one who has it says no more: the study ends in its time with what it has. */
static void it_holds_up_no_end(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct rig r;
        struct fake f;
        int64_t id = start(&r, &f, SPEC("'budget':{'time':'30s'},'validation':'kfold'"));

        int64_t best = work_until_paused(&r, &f, id);
        rig_pass(&r, budget_cut_ms(rig_get(&r, id)) - ctl_now(r.ctl));
        if (way == 1)
            assert_int_equal(fake_ask(&f), 1);
        if (way == 2) {
            rig_restart(&r);
            assert_string_equal(trial_state_name[rig_get(&r, id)->trials[best - 1].state],
                                "cancelled");
        }
        for (int i = 0; i < 3000 && !study_is_final(rig_get(&r, id)->row.state); i++)
            rig_pass(&r, 20);
        const struct study *st = rig_get(&r, id);
        assert_int_equal(st->row.state, SS_COMPLETED);
        assert_true(study_used_ms(st) <= 30000);
        assert_int_equal(st->trials[best - 1].state, TS_CANCELLED);
        assert_true(st->row.artifact[0]);
        rig_close(&r);
    }
}

/* Scores of one fold, beside .5 of all folds. */
static double hardly_better(const char *config, int level)
{
    return strstr(config, "baseline") ? 0.1 : level == 1 ? 0.52 : 0.5;
}

static double far_better(const char *config, int level)
{
    return strstr(config, "baseline") ? 0.1 : level == 1 ? 0.54 : 0.5;
}

/* A score of one fold of five says little beside scores of all, unless it is far better: then the
 * trial ships as one would that the end had cut there. */
static void one_fold_is_rescued_only_if_far_better(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct rig r;
        struct fake f;
        bool is_far = way > 0, is_forest = way == 2; /* of whose one fold no model is kept */
        int64_t id =
            start(&r, &f,
                  is_forest ? "{'name':'s','dataset':'d','target':'y','seed':7,'metric':'auc',"
                              "'sampler':'random','scheduler':'asha','deterministic':false,"
                              "'space':[{'family':'forest'}],'budget':{'time':'30s'},"
                              "'validation':'kfold'}"
                            : SPEC("'budget':{'time':'30s'},'validation':'kfold'"));

        f.score = is_far ? far_better : hardly_better; /* errors of .01 each */
        work(&r, &f, id, 1);
        int64_t best = best_paused(&r, id, 1);
        assert_true(best > 0 && rig_get(&r, id)->trials[best - 1].level == 1);
        rig_pass(&r, budget_cut_ms(rig_get(&r, id)) - ctl_now(r.ctl));
        assert_int_equal(fake_ask(&f), is_far && !is_forest);
        if (is_far && !is_forest) {
            assert_int_equal(f.trials[0].trial, rig_get(&r, id)->trials[best - 1].id);
            complete_as_it_is(&f, rig_get(&r, id)->trials[best - 1].score);
            assert_int_equal(rig_get(&r, id)->row.best_trial, rig_get(&r, id)->trials[best - 1].id);
        }
        assert_int_equal(rig_get(&r, id)->row.state, SS_COMPLETED);
        assert_int_equal(rig_count(&r, id, TS_PAUSED), 0);
        rig_close(&r);
    }
}

/* A trial that the end cuts on its first fold: its score is luck of the fold unless it is far better than scores of all. */
static void a_cut_on_one_fold_ships_only_if_far_better(void **state)
{
    static const struct {
        double by; /* in standard errors of the difference: both scores have .01 */
        bool ships;
    } cases[] = { { -1, false }, { 1.9, false }, { 2.1, true } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig r;
        struct fake f;
        struct msg_event e;
        struct msg_answer a;
        int64_t id = start(&r, &f, SPEC("'budget':{'time':'30s'},'validation':'kfold'"));

        do
            work(&r, &f, id, paused(&r, id) + 1);
        while (rig_count(&r, id, TS_COMPLETED) < 2);
        const struct study *st = rig_get(&r, id);
        int64_t best = board_best(st);
        double score = st->trials[best - 1].score;
        rig_pass(&r, 20);
        assert_true(fake_ask(&f) > 0);
        int64_t trial = f.trials[0].trial;
        rig_pass(&r, budget_cut_ms(rig_get(&r, id)) - ctl_now(r.ctl));
        f.trials[0].next = MSG_FINAL;
        fake_event(&f, 0, &e);
        e.level = 1;
        e.value = score + 0.01 * sqrt(2) * cases[i].by;
        e.se = 0.01;
        e.cut = true;
        mem_free(e.detail);
        e.detail = mem_strdup("{\"folds\":1,\"steps\":9}");
        assert_int_equal(fake_report(&f, &e, 1, &a), 0);
        assert_int_equal(a.replies[0].action, cases[i].ships ? MSG_KEEP : MSG_DROP);
        msg_answer_fini(&a);
        mem_free(e.detail);
        st = rig_get(&r, id);
        for (int64_t k = 1; k <= st->n_trials; k++) {
            if (st->trials[k - 1].id == trial)
                assert_int_equal(st->trials[k - 1].state, cases[i].ships ? TS_RUNNING : TS_PRUNED);
        }
        assert_int_equal(board_best(st), best);
        rig_close(&r);
    }
}

static int reports_of(struct rig *r, int64_t trial)
{
    json_t *out = NULL;

    assert_int_equal(RIG_CALL(r, ctl_trial_get(r->ctl, trial, &out, &rig_err)), 0);
    int n = (int)json_array_size(json_object_get(out, "reports"));
    json_decref(out);
    return n;
}

/* Boosting's second level is the first on all folds: with a holdout nobody stops at the first, one in three goes from the
 * second to the top, and restarts change nothing of it. */
static void a_holdout_counts_no_level_twice(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct rig r;
        int64_t top = 0;
        rig_open(&r);
        rig_dataset(&r, "d");
        int64_t id = rig_study(&r, SPEC("'budget':{'trials':42},'validation':'holdout'"));

        rig_run(&r, id, 2, 3, restart ? 20 : 0, 0);
        const struct study *st = rig_get(&r, id);
        assert_int_equal(st->row.state, SS_COMPLETED);
        for (int64_t k = 3; k <= st->n_trials; k++) {
            const struct trial_mem *t = &st->trials[k - 1];
            assert_true(t->level == 2 || t->level == 3);
            top += t->level == 3;
            assert_true(reports_of(&r, t->id) <= 1);
        }
        assert_true(top >= 40 / 3 &&
                    top <= 40 / 2); /* promotions while ranks change make some more */
        rig_close(&r);
    }
}

static void both_numberings_agree(void **state)
{
    struct problem p = { .data.holdout = true, .short_from = 5 };
    const struct family *f = NULL;

    (void)state;
    for (int i = 0; (f = family_at(i)); i++) {
        double params[FAMILY_MAX_PARAMS];

        family_defaults(f, params);
        assert_false(ladder_is_short(&p, 4, f));
        bool is_short = ladder_is_short(&p, 5, f);
        assert_int_equal(is_short, f->adds_folds > 0);
        assert_int_equal(ladder_to_family(f, is_short, ladder_top(&p, f, is_short)), f->levels);
        for (int l = 1; l <= ladder_top(&p, f, is_short); l++) {
            int own = ladder_to_family(f, is_short, l);
            assert_int_equal(ladder_to_scheduler(f, is_short, own), l);
            assert_true(own > (l > 1 ? ladder_to_family(f, is_short, l - 1) : 0));
            assert_true(ladder_is_whole(&p, f, params, own));
        }
        /* What is counted once is the same fit: nothing of it costs more than a unit. */
        struct family_shape shape = {
            .rows = 1000, .columns = 5, .encoded = 5, .outputs = 1, .folds = 1, .task = FT_BINARY
        };
        if (is_short)
            assert_int_equal(f->cost(&shape, params, f->adds_folds - 1, f->adds_folds), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_paused_trial_completes_and_ships),
        cmocka_unit_test(members_of_an_ensemble_complete_too),
        cmocka_unit_test(it_holds_up_no_end),
        cmocka_unit_test(one_fold_is_rescued_only_if_far_better),
        cmocka_unit_test(a_cut_on_one_fold_ships_only_if_far_better),
        cmocka_unit_test(a_holdout_counts_no_level_twice),
        cmocka_unit_test(both_numberings_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
