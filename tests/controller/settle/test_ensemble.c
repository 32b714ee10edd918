/* test_ensemble.c - the ensemble that is made while a search goes on: when it is asked for, that it can be downloaded, and
 * that it ships where the last one does not come. */
#include "tests/rig.h"

#include "base/mem.h"
#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/decide/ensemble.h"
#include "controller/state/board.h"
#include "controller/state/progress.h"
#include "controller/state/task.h"

#include <string.h>

#define SPEC(more)                                                               \
    "{'name':'s','dataset':'d','target':'y','seed':7,'metric':'auc','sampler':"  \
    "'random','scheduler':'none','validation':'kfold','space':[{'family':'boost" \
    "'}]," more "}"

/* All are better than the baseline, and worse than .9. */
static double some_score(const char *config, int level)
{
    return strstr(config, "baseline") ? .1 : fake_score(config, level) * .8 + .1;
}

static double best_score(const char *config, int level)
{
    (void)config, (void)level;
    return .99;
}

static int64_t start(struct rig *r, struct fake *f, const char *spec)
{
    rig_open(r);
    rig_dataset(r, "d");
    int64_t id = rig_study(r, spec);
    r->ctl->conf.lease_ms = 1000000;
    fake_open_blending(f, r, "f", 1);
    f->score = some_score;
    return id;
}

/* One trial after the other, so many; ends with none in flight. */
static void work(struct rig *r, struct fake *f, int trials)
{
    for (int i = 0; i < trials && !f->making.task; i++) {
        fake_ask(f);
        while (f->n_trials > 0)
            fake_step(f, 0);
        rig_pass(r, 10);
    }
}

/* Passes the time until so much of the study's time is used. */
static void pass_to(struct rig *r, int64_t id, int64_t used_ms)
{
    rig_pass(r, used_ms - study_used_ms(rig_get(r, id)));
}

static void check_download(struct rig *r, const char *blob, bool is_blob)
{
    char sha256[SHA256_HEX], name[100];

    assert_int_equal(
        RIG_CALL(r, ctl_best_artifact(r->ctl, "s", sha256, name, sizeof name, &rig_err)), 0);
    assert_int_equal(str_eq(sha256, blob), is_blob);
}

static json_t *study_json(struct rig *r)
{
    json_t *out = NULL;

    assert_int_equal(RIG_CALL(r, ctl_study_get(r->ctl, "s", &out, &rig_err)), 0);
    return out;
}

static void check_shown(struct rig *r, bool is_shown)
{
    json_t *st = study_json(r), *board = NULL;
    const json_t *ensemble = json_object_get(st, "ensemble");

    assert_int_equal(json_is_object(ensemble), is_shown);
    assert_int_equal(json_is_string(json_object_get(st, "artifact")), is_shown);
    assert_int_equal(RIG_CALL(r, ctl_leaderboard(r->ctl, "s", 0, 10, &board, &rig_err)), 0);
    assert_int_equal(json_is_object(json_object_get(board, "ensemble")), is_shown);
    if (is_shown)
        assert_int_equal(json_array_size(json_object_get(ensemble, "members")), 1);
    json_decref(board);
    json_decref(st);
}

static void halfway_one_is_made_that_can_be_downloaded(void **state)
{
    struct rig r;
    struct fake f;
    char blob[SHA256_HEX];
    int64_t id = start(&r, &f, SPEC("'budget':{'time':'100s'}"));

    (void)state;
    work(&r, &f, 5);
    assert_int_equal(f.making.task, 0);
    check_shown(&r, false);
    pass_to(&r, id, 49900);
    assert_int_equal(rig_get(&r, id)->early.task, 0);
    pass_to(&r, id, 50010); /* by the clock alone */
    assert_true(rig_get(&r, id)->early.task > 0);
    assert_int_equal(fake_ask(&f), 0);
    assert_true(f.making.task > 0 && f.making.n_models >= 3);
    rig_restart(&r); /* its runner goes on, and says so */
    assert_int_equal(rig_get(&r, id)->early.task, f.making.task);
    rig_pass(&r, 700);
    assert_int_equal(fake_blend(&f, .95, true, blob), MSG_OK);
    assert_int_equal(rig_get(&r, id)->row.state, SS_RUNNING);
    check_download(&r, blob, true);
    check_shown(&r, true);
    rig_restart(&r);
    check_download(&r, blob, true);
    check_shown(&r, true);
    assert_int_equal(rig_get(&r, id)->early.took_ms, 600); /* 400 at work */
    work(&r, &f, 3);
    check_download(&r, blob, true);
    assert_int_equal(rig_get(&r, id)->early.task, 0); /* the next one would be the last one */
    f.score = best_score;
    work(&r, &f, 1);
    check_download(&r, blob, false); /* a single trial is better now */
    check_shown(&r, false);
    rig_close(&r);
}

enum { NEVER_COMES, NOT_BETTER, BETTER, FIRST_IS_LATE, BEST_IS_BETTER };

static void check_end(int way)
{
    struct rig r;
    struct fake f;
    char early[SHA256_HEX], last[SHA256_HEX];
    int64_t id = start(&r, &f, SPEC("'budget':{'time':'60s'}"));

    work(&r, &f, 5);
    pass_to(&r, id, 30010);
    (void)fake_ask(&f);
    assert_true(f.making.task > 0);
    if (way != FIRST_IS_LATE) {
        assert_int_equal(fake_blend(&f, .95, true, early), MSG_OK);
        if (way == BEST_IS_BETTER)
            f.score = best_score;
        work(&r, &f, 2);
    }
    rig_pass(&r, budget_cut_ms(rig_get(&r, id)) - ctl_now(r.ctl) + 20);
    assert_int_equal(rig_get(&r, id)->row.state, SS_FINISHING);
    if (way == FIRST_IS_LATE) {
        assert_int_equal(rig_get(&r, id)->refit, 0); /* there is no second one beside it */
        assert_int_equal(fake_blend(&f, .95, true, early), MSG_OK);
    }
    (void)fake_ask(&f);
    assert_true(f.making.task > 0);
    rig_restart(&r);
    if (way == NOT_BETTER || way == BETTER)
        assert_int_equal(fake_blend(&f, .96, way == BETTER, last), MSG_OK);
    else /* it is given up */
        rig_pass(&r, budget_hard_ms(rig_get(&r, id)) - ctl_now(r.ctl) + 20);

    const struct study *st = rig_get(&r, id);
    assert_int_equal(st->row.state, SS_COMPLETED);
    assert_int_equal(str_eq(st->row.artifact, early), way == NEVER_COMES || way == FIRST_IS_LATE);
    assert_int_equal(way == BETTER && str_eq(st->row.artifact, last), way == BETTER);
    json_t *shown = study_json(&r);
    const json_t *ensemble = json_object_get(json_object_get(shown, "result"), "ensemble");
    assert_int_equal(json_is_true(json_object_get(ensemble, "ships")),
                     way != NOT_BETTER && way != BEST_IS_BETTER);
    assert_null(json_object_get(json_object_get(shown, "result"), "early"));
    json_decref(shown);
    rig_close(&r);
}

static void it_ships_where_the_last_one_does_not_come(void **state)
{
    (void)state;
    for (int way = NEVER_COMES; way <= BEST_IS_BETTER; way++)
        check_end(way);
}

enum refit { COMES, IS_LATE, HAS_NO_TIME };

/* After a holdout, for a gain that a refit of the best trial is worth, too. */
static void check_refit(enum refit way)
{
    struct rig r;
    struct fake f;
    char blob[SHA256_HEX];
    int64_t id = start(&r, &f,
                       "{'name':'s','dataset':'d','target':'y','seed':7,'metric':'auc','sampler':"
                       "'random','scheduler':'none','validation':'holdout','space':[{'family':"
                       "'boost'}],'budget':{'time':'20s'}}");

    f.refit_is_better = true;
    work(&r, &f, 5);
    if (way == HAS_NO_TIME)
        rig_get(&r, id)->trials[board_best(rig_get(&r, id)) - 1].fit_us = 30000000;
    rig_pass(&r, budget_cut_ms(rig_get(&r, id)) - ctl_now(r.ctl) + 20);
    (void)fake_ask(&f);
    assert_true(f.making.task > 0);
    assert_int_equal(fake_blend(&f, .95, true, blob), MSG_OK);
    assert_int_equal(rig_get(&r, id)->row.state, way == HAS_NO_TIME ? SS_COMPLETED : SS_FINISHING);
    if (way == IS_LATE)
        rig_restart(&r);
    if (way == COMES)
        (void)fake_ask(&f);
    else if (way == IS_LATE)
        rig_pass(&r, budget_hard_ms(rig_get(&r, id)) - ctl_now(r.ctl) + 20);

    assert_int_equal(rig_get(&r, id)->row.state, SS_COMPLETED);
    assert_int_equal(str_eq(rig_get(&r, id)->row.artifact, blob), way != COMES);
    json_t *shown = study_json(&r);
    const json_t *result = json_object_get(shown, "result");
    assert_int_equal(json_is_true(json_object_get(result, "refit")), way == COMES);
    assert_int_equal(json_is_true(json_object_get(json_object_get(result, "ensemble"), "ships")),
                     way != COMES);
    assert_null(json_object_get(result, "spare"));
    json_decref(shown);
    rig_close(&r);
}

static void beside_a_refit_it_ships_where_that_does_not_come(void **state)
{
    (void)state;
    check_refit(COMES);
    check_refit(IS_LATE);
    check_refit(HAS_NO_TIME);
}

static void without_time_for_the_last_one_it_ships(void **state)
{
    struct rig r;
    struct fake f;
    char early[SHA256_HEX];
    int64_t id = start(&r, &f, SPEC("'budget':{'time':'60s'}"));

    (void)state;
    work(&r, &f, 5);
    pass_to(&r, id, 30010);
    (void)fake_ask(&f);
    assert_int_equal(fake_blend(&f, .95, true, early), MSG_OK);
    fake_ask(&f); /* a trial that is never told to end */
    rig_pass(&r, budget_hard_ms(rig_get(&r, id)) - ctl_now(r.ctl) + 5);
    assert_int_equal(rig_get(&r, id)->row.state, SS_COMPLETED);
    assert_string_equal(rig_get(&r, id)->row.artifact, early);
    rig_close(&r);
}

static void the_next_one_comes_when_the_time_has_doubled(void **state)
{
    static const int64_t at_ms[] = { 60000, 120000, 240000, 480000 };
    struct rig r;
    struct fake f;
    char blob[SHA256_HEX];
    int64_t id = start(&r, &f, SPEC("'budget':{'time':'1h'}"));

    (void)state;
    work(&r, &f, 5);
    for (size_t i = 0; i < ARRAY_LEN(at_ms); i++) {
        pass_to(&r, id, at_ms[i] - 100);
        (void)fake_ask(&f);
        assert_int_equal(f.making.task, 0);
        while (f.n_trials > 0)
            fake_step(&f, 0);
        pass_to(&r, id, at_ms[i]);
        (void)fake_ask(&f);
        assert_true(f.making.task > 0);
        assert_int_equal(fake_blend(&f, .95, i != 2, blob), MSG_OK);
        check_download(&r, blob, i != 2);
    }
    /* Nothing new, nothing to do. */
    pass_to(&r, id, 960010);
    assert_int_equal(rig_get(&r, id)->early.task, 0);
    work(&r, &f, 1);
    assert_true(rig_get(&r, id)->early.task > 0);
    rig_close(&r);
}

static void where_none_is_due_none_is_made(void **state)
{
    static const char *const specs[] = {
        SPEC("'budget':{'time':'100s'},'ensemble':'off'"),
        SPEC("'budget':{'time':'25s'}"),
        SPEC("'budget':{'trials':1000},'deterministic':true"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        struct rig r;
        struct fake f;
        int64_t id = start(&r, &f, specs[i]);

        work(&r, &f, 5);
        pass_to(&r, id, i == 0 ? 60000 : i == 1 ? 15000 : 100000);
        work(&r, &f, 2);
        assert_int_equal(rig_get(&r, id)->row.state, SS_RUNNING);
        assert_int_equal(f.making.task, 0);
        assert_int_equal(rig_get(&r, id)->early.tried_ms, 0);
        rig_close(&r);
    }
}

static void one_that_is_killed_or_lost_leaves_nothing(void **state)
{
    struct rig r;
    struct fake f;
    json_t *out = NULL;
    char blob[SHA256_HEX];
    int64_t id = start(&r, &f, SPEC("'budget':{'time':'1h'}"));

    (void)state;
    work(&r, &f, 5);
    pass_to(&r, id, 60010);
    r.ctl->conf.lease_ms = 1000;
    r.ctl->here_due = 0;
    (void)fake_ask(&f);
    assert_true(f.making.task > 0);
    rig_pass(&r, 100000); /* its machine is gone */
    assert_true(rig_get(&r, id)->early.task > 0);
    fake_open_blending(&f, &r, "f2", 1);
    (void)fake_ask(&f);
    assert_int_equal(fake_blend(&f, .95, true, blob), MSG_OK);
    check_download(&r, blob, true);
    f.score = some_score;
    work(&r, &f, 1);
    pass_to(&r, id, MAX(study_used_ms(rig_get(&r, id)), 2 * rig_get(&r, id)->early.tried_ms) + 10);
    assert_true(rig_get(&r, id)->early.task > 0);
    if (RIG_CALL(&r, ctl_study_act(r.ctl, "s", CTL_KILL, &out, &rig_err)) < 0)
        fail_msg("%s", rig_err.text);
    json_decref(out);
    assert_int_equal(rig_get(&r, id)->row.artifact[0], 0);
    assert_null(rig_get(&r, id)->row.result);
    assert_int_equal(rig_get(&r, id)->early.task, 0);
    assert_int_equal(r.ctl->n_tasks, 0);
    check_download(&r, blob, false);
    rig_close(&r);
}

/* A search without a limit in time is stopped when the runner that asked for the task is gone. It must not wait for another. */
static void one_that_nobody_has_is_not_waited_for(void **state)
{
    struct rig r;
    struct fake f;
    json_t *out = NULL;
    int64_t id = start(&r, &f, SPEC("'budget':{'trials':1000},'deterministic':false"));

    (void)state;
    work(&r, &f, 5);
    pass_to(&r, id, 60010);
    assert_true(rig_get(&r, id)->early.task > 0);
    r.ctl->conf.lease_ms = 1000;
    r.ctl->here_due = 0;
    rig_pass(&r, 100000); /* its machine is gone */
    assert_int_equal(RIG_CALL(&r, ctl_study_act(r.ctl, "s", CTL_STOP, &out, &rig_err)), 0);
    json_decref(out);
    rig_pass(&r, 10);
    assert_int_equal(rig_get(&r, id)->row.state, SS_STOPPED);
    assert_int_equal(r.ctl->n_tasks, 0);
    rig_close(&r);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(halfway_one_is_made_that_can_be_downloaded),
        cmocka_unit_test(it_ships_where_the_last_one_does_not_come),
        cmocka_unit_test(beside_a_refit_it_ships_where_that_does_not_come),
        cmocka_unit_test(without_time_for_the_last_one_it_ships),
        cmocka_unit_test(the_next_one_comes_when_the_time_has_doubled),
        cmocka_unit_test(where_none_is_due_none_is_made),
        cmocka_unit_test(one_that_is_killed_or_lost_leaves_nothing),
        cmocka_unit_test(one_that_nobody_has_is_not_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
