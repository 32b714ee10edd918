/* test_11_05_reload_fails.c - found by faults that stay: when a request was undone and the study's rows could not be read
 * either, study_reload freed the study and the caller used and freed it again. task_load_all freed the tasks before it read
 * them, so one read error lost all of them until a restart. A study read again in the middle of a turn was not read again
 * when that turn's commit failed. */
#include "tests/rig.h"

#include "base/fault.h"
#include "base/log.h"

#include <fcntl.h>

#define SPEC                                                                              \
    "{'name':'s','dataset':'d','target':'y','budget':{'trials':6},'seed':3,'parallel':3," \
    "'sampler':'testhash','scheduler':'testhash','validation':'holdout'}"

/* A report whose request and whose reload both fail, at every point where that can begin. */
static void a_study_that_cannot_be_reloaded_is_read_again_later(void **state)
{
    int fired = 1, away = 0;

    (void)state;
    for (int nth = 1; fired; nth++) {
        struct rig r;
        struct fake f;
        struct msg_event e;
        struct msg_answer a;
        int64_t id = 0;

        rig_open(&r);
        rig_dataset(&r, "d");
        id = rig_study(&r, SPEC);
        fake_open(&f, &r, "one", 1);
        assert_int_equal(fake_ask(&f), 1);
        fake_event(&f, 0, &e);
        rig_healed = false;
        fault_arm_from("store.step", nth);
        assert_int_equal(fake_report(&f, &e, 1, &a), 0); /* repeated until the disk is well */
        fired = fault_disarm() || rig_healed;
        assert_int_not_equal(a.replies[0].action, MSG_STALE);
        msg_answer_fini(&a);
        away += r.ctl->stats.reloads > 0;
        assert_int_equal(rig_get(&r, id)->n_trials > 0, 1);
        assert_int_equal(r.ctl->n_damages, 0);
        rig_close(&r);
    }
    assert_true(away > 0);
}

static void tasks_outlive_a_read_error(void **state)
{
    struct rig r;
    struct fake f;
    char sha[SHA256_HEX];
    json_t *body = NULL, *out = NULL, *grant = NULL;
    struct msg_grant g = { 0 };

    (void)state;
    rig_open(&r);
    body = json_pack("{s:s, s:s, s:s}", "name", "t", "blob", rig_blob(&r, "t", sha), "file_name",
                     "t.csv");
    assert_int_equal(RIG_CALL(&r, ctl_dataset_create(r.ctl, body, &out, &rig_err)), 0);
    json_decref(body);
    json_decref(out);
    assert_int_equal(r.ctl->n_tasks, 1);

    /* A request touches the tasks and fails, and they cannot be read again. */
    assert_int_equal(rig_begin(&r), 0);
    ctl_touch_tasks(r.ctl);
    fault_arm_from("store.step", 1);
    assert_int_equal(rig_end(&r, -1), -1);
    assert_int_equal(rig_begin(&r), -1); /* no request works on tasks that may not be */
    assert_int_equal(rig_err.code, ERR_BUSY);
    assert_int_equal(fault_disarm(), 1);

    fake_open(&f, &r, "one", 1);
    grant = fake_ask_raw(&f, 1, 1);
    assert_int_equal(msg_grant_parse(&g, grant, &rig_err), 1);
    assert_int_equal(g.kind, MSG_INGEST);
    msg_grant_fini(&g);
    json_decref(grant);
    rig_close(&r);
}

static void what_was_read_again_in_a_turn_goes_with_its_commit(void **state)
{
    struct rig r;
    int64_t id = 0;
    json_t *out = NULL;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    id = rig_study(&r, SPEC);
    /* One turn: a request stops the study, another one touches it and is undone, the commit fails. */
    assert_int_equal(ctl_request_begin(r.ctl, &rig_err), 0);
    assert_int_equal(ctl_study_act(r.ctl, "s", CTL_STOP, &out, &rig_err), 0);
    json_decref(out);
    assert_int_equal(ctl_request_end(r.ctl, true, &rig_err), 0);
    assert_int_equal(rig_get(&r, id)->row.state, SS_STOPPED);
    assert_int_equal(ctl_request_begin(r.ctl, &rig_err), 0);
    ctl_touch(r.ctl, rig_get(&r, id));
    assert_int_equal(ctl_request_end(r.ctl, false, &rig_err), 0);
    fault_arm_name("ctl.commit", 1, false);
    ctl_turn_end(r.ctl);
    assert_int_equal(fault_disarm(), 1);
    assert_int_equal(rig_get(&r, id)->row.state, SS_QUEUED);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_study_that_cannot_be_reloaded_is_read_again_later),
        cmocka_unit_test(tasks_outlive_a_read_error),
        cmocka_unit_test(what_was_read_again_in_a_turn_goes_with_its_commit),
    };

    log_to_fd(open("/dev/null", O_WRONLY | O_CLOEXEC)); /* the errors are wanted */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
