/* test_load_start.c - a large unfinished study is read beside the loop at a start: until then it is refused and shown as its row,
 * and then it is what a load on the loop makes of it. */
#include "tests/rig.h"

#include "base/jsonx.h"
#include "base/loop.h"
#include "base/str.h"
#include "controller/settle/load_start.h"

#include <event2/event.h>

struct large {
    struct rig r;
    struct fake f;
    struct loop *loop;
    int64_t id;
};

/* A live study in the middle of its search: one trial of the four that the runner holds has moved on again and again. */
static void large_open(struct large *l, int threads)
{
    *l = (struct large){ 0 };
    rig_open(&l->r);
    rig_dataset(&l->r, "d");
    l->id = rig_study(&l->r, "{'name':'s','dataset':'d','target':'y','budget':{'time':'1h'},"
                             "'seed':7,'validation':'kfold','sampler':'tpe','scheduler':'asha'}");
    fake_open(&l->f, &l->r, "f", 4);
    for (int i = 0; i < 60; i++) {
        if (l->f.n_trials < 2)
            (void)fake_ask(&l->f);
        if (l->f.n_trials > 0)
            (void)fake_step(&l->f, 0);
    }
    (void)fake_ask(&l->f);
    assert_true(rig_count(&l->r, l->id, TS_RUNNING) > 0);
    l->loop = loop_new(&l->r.clk, &rig_err);
    loop_pool_start(l->loop, threads);
    l->r.ctl->loop = l->loop;
}

static void large_close(struct large *l)
{
    l->r.ctl->loop = NULL;
    rig_stop(&l->r);
    loop_free(l->loop); /* a study may still be read: that creates SQLite's files in the folder */
    rig_close(&l->r);
}

/* As at a start: the study is not in memory, nor are the leases of its trials. */
static void begin(struct large *l)
{
    study_drop(l->r.ctl, study_loaded(l->r.ctl, l->id));
    assert_false(load_start_takes(l->r.ctl, l->id, 1000));
    assert_true(load_start_takes(l->r.ctl, l->id, 10));
}

static void wait_for(struct large *l)
{
    for (int i = 0; study_is_unread(l->r.ctl, l->id); i++) {
        assert_true(i < 1000000);
        (void)event_base_loop(loop_base(l->loop), EVLOOP_ONCE);
    }
}

static void a_study_that_is_read_beside_the_loop_is_the_same(void **state)
{
    for (int threads = 0; threads < 2; threads++) {
        struct large l;

        large_open(&l, threads);
        int64_t running = rig_count(&l.r, l.id, TS_RUNNING);
        char *before = rig_board(&l.r, l.id), *after = NULL;
        uint64_t probe = rig_probe(&l.r, l.id);
        begin(&l);
        load_start_begin(l.r.ctl);
        wait_for(&l);
        assert_non_null(study_loaded(l.r.ctl, l.id));
        assert_int_equal(l.r.ctl->n_leases, running);
        assert_int_equal(RIG_CALL(&l.r, study_settle(rig_get(&l.r, l.id), &rig_err)), 0);
        after = rig_board(&l.r, l.id);
        assert_string_equal(before, after);
        assert_true(rig_probe(&l.r, l.id) == probe);
        free(before);
        free(after);
        large_close(&l);
    }
    (void)state;
}

static void until_it_is_read_it_is_shown_and_refused(void **state)
{
    struct large l;
    json_t *out = NULL;

    (void)state;
    large_open(&l, 1);
    begin(&l);
    assert_int_equal(RIG_CALL(&l.r, ctl_study_get(l.r.ctl, "s", &out, &rig_err)), 0);
    assert_string_equal(json_string_value(json_object_get(out, "state")), "running");
    assert_non_null(strstr(json_string_value(json_object_get(out, "reason")), "being read"));
    json_decref(out);
    assert_int_equal(RIG_CALL(&l.r, ctl_study_act(l.r.ctl, "s", CTL_PAUSE, &out, &rig_err)), -1);
    assert_int_equal(rig_err.code, ERR_BUSY);
    assert_int_equal(RIG_CALL(&l.r, ctl_study_delete(l.r.ctl, "s", &rig_err)), -1);
    assert_int_equal(rig_err.code, ERR_BUSY);
    load_start_begin(l.r.ctl);
    wait_for(&l);
    assert_int_equal(RIG_CALL(&l.r, ctl_study_act(l.r.ctl, "s", CTL_PAUSE, &out, &rig_err)), 0);
    json_decref(out);
    large_close(&l);
}

/* The runner's trials are neither stopped nor lost: its report is to be repeated. */
static void reports_about_it_are_to_be_repeated(void **state)
{
    struct large l;
    struct msg_event e;
    struct msg_answer a = { 0 };

    (void)state;
    large_open(&l, 1);
    begin(&l);
    fake_event(&l.f, 0, &e);
    assert_true(fake_report(&l.f, &e, 1, &a) < 0);
    assert_int_equal(rig_err.code, ERR_BUSY);
    load_start_begin(l.r.ctl);
    wait_for(&l);
    assert_int_equal(fake_report(&l.f, &e, 1, &a), 0);
    assert_int_equal(a.n_stop, 0);
    assert_true(a.replies[0].action != MSG_STALE);
    msg_answer_fini(&a);
    large_close(&l);
}

static void a_controller_may_end_meanwhile(void **state)
{
    (void)state;
    for (int is_begun = 0; is_begun < 2; is_begun++) {
        struct large l;

        large_open(&l, 1);
        begin(&l);
        if (is_begun)
            load_start_begin(l.r.ctl);
        load_start_free_all(l.r.ctl);
        for (int i = 0; i < 50; i++)
            (void)event_base_loop(loop_base(l.loop), EVLOOP_NONBLOCK);
        assert_null(study_loaded(l.r.ctl, l.id));
        large_close(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_study_that_is_read_beside_the_loop_is_the_same),
        cmocka_unit_test(until_it_is_read_it_is_shown_and_refused),
        cmocka_unit_test(reports_about_it_are_to_be_repeated),
        cmocka_unit_test(a_controller_may_end_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
