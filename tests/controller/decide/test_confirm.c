/* test_confirm.c - a trial that was cut on its first fold and is the best is tried on all folds before
 * it may ship: with the trees that it had, once, and only if there is time. */
#include "tests/rig.h"

#include "base/mem.h"
#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/state/board.h"
#include "controller/state/trial.h"

#define SPEC(time)                                                                       \
    "{'name':'s','dataset':'d','target':'y','seed':7,'metric':'auc','sampler':'random'," \
    "'scheduler':'none','space':[{'family':'forest'}],'validation':'kfold',"             \
    "'budget':{'time':'" time "'}}"

/* Trial i says its final with this score, of all folds or cut on the first one, after so long. */
static void finish(struct fake *f, int i, double score, bool is_cut, int64_t fit_ms)
{
    struct msg_event e;
    struct msg_answer a;

    f->trials[i].next = MSG_FINAL;
    f->trials[i].to = f->trials[i].max;
    fake_event(f, i, &e);
    e.value = score;
    e.se = 0.01;
    e.fit_us = fit_ms * 1000;
    e.cut = is_cut;
    e.detail = mem_strdup(is_cut ? "{\"folds\":1,\"first\":0.95,\"free\":{\"trees\":37}}"
                                 : "{\"folds\":5,\"first\":0.9}");
    assert_int_equal(fake_report(f, &e, 1, &a), 0);
    bool is_kept = a.replies[0].action == MSG_KEEP;
    f->trials[i].seq = e.seq;
    f->trials[i].next = MSG_COMPLETE;
    msg_answer_fini(&a);
    mem_free(e.detail);
    assert_true(is_kept);
    fake_step(f, i);
}

/* A study with its baseline, a whole forest of .8 and one that was cut with .95, at so many seconds. */
static int64_t study_with_a_cut_best(struct rig *r, struct fake *f, const char *spec, int64_t at_s)
{
    rig_open(r);
    rig_dataset(r, "d");
    int64_t id = rig_study(r, spec);

    r->ctl->conf.lease_ms = 600000;
    fake_open(f, r, "f", 1);
    for (int k = 0; k < 3; k++) {
        static const double score[] = { 0.5, 0.8, 0.95 };
        assert_int_equal(fake_ask(f), 1);
        finish(f, 0, score[k], k == 2, 2000);
    }
    rig_pass(r, at_s * 1000);
    return id;
}

static void a_cut_best_is_tried_on_all_folds_with_its_trees(void **state)
{
    struct rig r;
    struct fake f;
    struct config c;
    int64_t id = study_with_a_cut_best(&r, &f, SPEC("100s"), 40);

    (void)state;
    assert_int_equal(board_best(rig_get(&r, id)), 3);
    assert_int_equal(fake_ask(&f), 1);
    struct study *st = rig_get(&r, id);
    const struct trial_mem *t = trial_mem(st, 4);
    assert_int_equal(t->source, SRC_CONFIRM);
    assert_int_equal(t->run_to, t->max_level);
    assert_int_equal(budget_trial_ms(st, t), 0); /* what cut the other does not cut it */
    assert_int_equal(trial_config(st, 4, &c, &rig_err), 0);
    assert_true(c.params[family_param_find(c.family, "trees")] == 37);
    /* On all folds it is worse than the whole one: that ships, whatever the first fold said. */
    finish(&f, 0, 0.78, false, 2000);
    assert_int_equal(board_best(rig_get(&r, id)), 2);
    assert_int_equal(board_best_artifact(rig_get(&r, id)), 2);
    /* The same after a restart, and it is not asked for again. */
    assert_int_equal(study_reload(r.ctl, rig_get(&r, id), &rig_err), 0);
    assert_int_equal(board_best(rig_get(&r, id)), 2);
    assert_int_equal(fake_ask(&f), 1);
    assert_true(trial_mem(rig_get(&r, id), 5)->source != SRC_CONFIRM);
    rig_close(&r);
}

static void it_is_not_tried_too_early_nor_without_time(void **state)
{
    static const int64_t at_s[] = { 5, 92 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(at_s); i++) {
        struct rig r;
        struct fake f;
        int64_t id = study_with_a_cut_best(&r, &f, SPEC("100s"), at_s[i]);

        if (fake_ask(&f) == 1)
            assert_true(trial_mem(rig_get(&r, id), 4)->source != SRC_CONFIRM);
        rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_best_is_tried_on_all_folds_with_its_trees),
        cmocka_unit_test(it_is_not_tried_too_early_nor_without_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
