/* test_11_10_quarantine.c - found by a proxy that damaged and tore connections: devices were put into quarantine because of the
 * network, and stayed there until somebody enabled them by hand. Now a quarantine ends by itself, a device on probation
 * gets one trial at a time, one that ends well lifts it, and one that fails makes the next quarantine twice as long. */
#include "tests/rig.h"

#include "base/str.h"
#include "controller/state/quarantine.h"
#include "controller/state/runner.h"

#include <string.h>

#define SPEC                                                                               \
    "{'name':'s','dataset':'d','target':'y','budget':{'trials':60},'seed':7,'parallel':8," \
    "'sampler':'random','scheduler':'none','validation':'holdout','deterministic':false}"

enum { STEP_MS = 500 };

struct scene {
    struct rig r;
    struct fake f;
    int64_t study;
};

static void set(struct scene *s)
{
    rig_open(&s->r);
    rig_dataset(&s->r, "d");
    s->study = rig_study(&s->r, SPEC);
    fake_open(&s->f, &s->r, "a", 3);
}

static void fail_trial(struct fake *f, int i)
{
    struct msg_answer a;
    struct msg_event e;

    fake_event(f, i, &e);
    e.type = MSG_FAILED;
    e.reason = TR_DEVICE;
    e.detail = (char *)"the upload was refused";
    assert_int_equal(fake_report(f, &e, 1, &a), 0);
    msg_answer_fini(&a);
    fake_drop(f, i);
}

/* Three trials in a row. */
static void get_quarantined(struct scene *s)
{
    while (s->f.n_trials < 3)
        fake_ask(&s->f);
    while (s->f.n_trials > 0)
        fail_trial(&s->f, s->f.n_trials - 1);
    assert_string_equal(runner_find(s->r.ctl, s->f.id)->row.state, "quarantined");
}

/* How long nothing is given to the device, in ms. It asks all the time. */
static int64_t pause_of(struct scene *s)
{
    int64_t ms = 0;

    while (fake_ask(&s->f) == 0) {
        rig_pass(&s->r, STEP_MS);
        ms += STEP_MS;
        assert_true(ms < 2 * 3600 * 1000);
    }
    return ms;
}

static void ends_well(struct scene *s)
{
    while (s->f.n_trials > 0)
        fake_step(&s->f, s->f.n_trials - 1);
}

static json_t *devices_of(struct scene *s, json_t **all)
{
    json_t *row = NULL;
    size_t i = 0;

    assert_int_equal(RIG_CALL(&s->r, ctl_runners(s->r.ctl, 0, 100, all, &rig_err)), 0);
    json_array_foreach(json_object_get(*all, "runners"), i, row)
    {
        if (json_integer_value(json_object_get(row, "id")) == s->f.id)
            return row;
    }
    fail();
    return NULL;
}

static void says(struct scene *s, const char *state, const char *reason)
{
    json_t *all = NULL, *row = devices_of(s, &all);
    const char *text = json_string_value(json_object_get(row, "reason"));

    assert_string_equal(json_string_value(json_object_get(row, "state")), state);
    if (reason && (!text || !strstr(text, reason)))
        fail_msg("the reason is \"%s\", without \"%s\"", text ? text : "", reason);
    if (!reason)
        assert_null(text);
    json_decref(all);
}

static void why_is(struct scene *s, const char *part)
{
    json_t *out = NULL;
    const char *text = NULL;

    assert_int_equal(RIG_CALL(&s->r, ctl_study_get(s->r.ctl, "s", &out, &rig_err)), 0);
    text = json_string_value(json_object_get(out, "why"));
    if (!text || !strstr(text, part))
        fail_msg("why is \"%s\", without \"%s\"", text ? text : "", part);
    json_decref(out);
}

static void a_quarantine_ends_by_itself_and_one_good_trial_lifts_it(void **state)
{
    struct scene s;
    int64_t ms = 0;

    (void)state;
    set(&s);
    get_quarantined(&s);
    says(&s, "quarantined",
         "device cpu0 failed 3 different trials in a row; it is tried again in 60");
    why_is(&s,
           "quarantined (device cpu0 failed 3 different trials in a row; it is tried again in 60");
    ms = pause_of(&s);
    assert_in_range(ms, 60000 - STEP_MS, 60000 + STEP_MS);
    says(&s, "enabled", "device cpu0 is on probation");
    assert_int_equal(s.f.n_trials, 1);
    assert_int_equal(fake_ask(&s.f), 0); /* one at a time */
    ends_well(&s);
    says(&s, "enabled", NULL);
    while (s.f.n_trials < 3)
        assert_true(fake_ask(&s.f) > 0);
    rig_close(&s.r);
}

static void each_failure_on_probation_doubles_the_quarantine_up_to_an_hour(void **state)
{
    struct scene s;
    int64_t want = 60000;

    (void)state;
    set(&s);
    get_quarantined(&s);
    for (int i = 0; i < 8; i++) {
        int64_t ms = pause_of(&s);

        assert_in_range(ms, want - STEP_MS, want + STEP_MS);
        fail_trial(&s.f, 0);
        want = MIN(2 * want, INT64_C(3600000));
        says(&s, "quarantined", "and again when it was tried after a pause");
    }
    assert_int_equal(want, 3600000);
    assert_in_range(pause_of(&s), want - STEP_MS, want + STEP_MS);
    ends_well(&s);
    get_quarantined(&s); /* what worked meanwhile begins with a short one */
    assert_in_range(pause_of(&s), 60000 - STEP_MS, 60000 + STEP_MS);
    rig_close(&s.r);
}

static void a_restart_of_the_controller_keeps_quarantine_and_probation(void **state)
{
    struct scene s;
    struct device *d = NULL;

    (void)state;
    set(&s);
    get_quarantined(&s);
    assert_int_equal(pause_of(&s) > 0, 1);
    fail_trial(&s.f, 0); /* 120 s */
    for (int i = 0; i < 80; i++) {
        assert_int_equal(fake_ask(&s.f), 0);
        rig_pass(&s.r, STEP_MS);
    }
    rig_restart(&s.r);
    assert_in_range(pause_of(&s), 80000 - STEP_MS, 80000 + STEP_MS);
    s.f.n_trials = 0; /* its probation's trial is lost with its runner */
    rig_restart(&s.r);
    d = runner_device(runner_find(s.r.ctl, s.f.id), "cpu0");
    assert_true(d->is_on_probation);
    assert_int_equal(d->quarantine_ms, 120000);
    rig_close(&s.r);
}

static void a_user_may_enable_it_before_its_time(void **state)
{
    struct scene s;
    json_t *out = NULL;

    (void)state;
    set(&s);
    get_quarantined(&s);
    assert_int_equal(RIG_CALL(&s.r, ctl_runner_act(s.r.ctl, s.f.id, "enable", &out, &rig_err)), 0);
    json_decref(out);
    says(&s, "enabled", NULL);
    while (s.f.n_trials < 3)
        assert_true(fake_ask(&s.f) > 0);
    rig_close(&s.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quarantine_ends_by_itself_and_one_good_trial_lifts_it),
        cmocka_unit_test(each_failure_on_probation_doubles_the_quarantine_up_to_an_hour),
        cmocka_unit_test(a_restart_of_the_controller_keeps_quarantine_and_probation),
        cmocka_unit_test(a_user_may_enable_it_before_its_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
