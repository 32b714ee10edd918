/* test_runner.c - a runner that registers in the place of one that has ended. */
#include "tests/rig.h"

#include "base/str.h"
#include "controller/state/runner.h"

#define SPEC "{'name':'s','dataset':'d','target':'y','budget':{'trials':30},'seed':7,'parallel':12}"

struct scene {
    struct rig r;
    struct fake a, b;
    int64_t study;
};

static void set(struct scene *s)
{
    rig_open(&s->r);
    rig_dataset(&s->r, "d");
    s->study = rig_study(&s->r, SPEC);
    fake_open(&s->a, &s->r, "a", 2);
    fake_open(&s->b, &s->r, "b", 2);
    assert_true(fake_ask(&s->a) > 0);
    assert_true(fake_ask(&s->b) > 0);
}

static void registers(struct scene *s, int64_t token, const char *session, const char *follows)
{
    struct msg_hello m = { .protocol = MSG_PROTOCOL,
                           .name = "n",
                           .numeric_sig = "assay-1/cpu",
                           .n_devices = 1,
                           .devices = { { .id = "cpu0", .kind = "cpu", .max_trials = 1 } } };
    json_t *out = NULL, *body = NULL;

    str_copy(m.session, sizeof m.session, session);
    str_copy(m.follows, sizeof m.follows, follows);
    body = msg_hello_json_new(&m);
    if (RIG_CALL(&s->r, ctl_runner_hello(s->r.ctl, token, body, &out, &rig_err)) < 0)
        fail_msg("hello: %s", rig_err.text);
    json_decref(body);
    json_decref(out);
}

/* What becomes of a report of its first trial: 0, or the error's code. */
static int reports(struct fake *f)
{
    struct msg_answer a;
    struct msg_event e;

    fake_event(f, 0, &e);
    if (fake_report(f, &e, 1, &a) < 0)
        return (int)rig_err.code;
    assert_int_equal(a.n_stop, 0);
    msg_answer_fini(&a);
    return 0;
}

static int running(struct scene *s)
{
    return rig_count(&s->r, s->study, TS_RUNNING);
}

static void its_trials_are_queued_again_at_once(void **state)
{
    struct scene s;

    (void)state;
    set(&s);
    assert_int_equal(running(&s), s.a.n_trials + s.b.n_trials);
    registers(&s, 0, "c", "a");
    assert_int_equal(running(&s), s.b.n_trials);
    assert_null(runner_find(s.r.ctl, s.a.id));
    /* A last message of it, which was on its way, does not take the trial back. */
    assert_int_equal(reports(&s.a), ERR_NOTFOUND);
    assert_int_equal(running(&s), s.b.n_trials);
    assert_int_equal(reports(&s.b), 0);
    rig_close(&s.r);
}

static void so_they_are_after_a_restart_of_the_controller(void **state)
{
    struct scene s;

    (void)state;
    set(&s);
    rig_restart(&s.r);
    registers(&s, 0, "c", "a");
    assert_int_equal(running(&s), s.b.n_trials);
    assert_int_equal(reports(&s.b), 0);
    rig_close(&s.r);
}

static void nobody_speaks_for_the_runner_of_another_token_nor_for_itself(void **state)
{
    struct scene s;
    int n = 0;

    (void)state;
    set(&s);
    n = running(&s);
    registers(&s, 7, "c", "a");
    registers(&s, 0, "d", "nobody");
    registers(&s, 0, "a", "a");
    assert_int_equal(running(&s), n);
    assert_int_equal(reports(&s.a), 0);
    rig_close(&s.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_trials_are_queued_again_at_once),
        cmocka_unit_test(so_they_are_after_a_restart_of_the_controller),
        cmocka_unit_test(nobody_speaks_for_the_runner_of_another_token_nor_for_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
