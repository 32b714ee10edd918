/* test_11_24_ended.c - a study that had ended still showed "running 1, waiting 13" in its brackets, a runner that was killed
 * stayed enabled for 120 s, and a waiting study did not say what had become of the runners. */
#include "tests/rig.h"

#include "base/str.h"
#include "controller/state/quarantine.h"
#include "controller/state/runner.h"

#define SPEC                                                                                \
    "{'name':'s','dataset':'d','target':'y','budget':{'trials':40},'seed':7,'parallel':12," \
    "'sampler':'random','scheduler':'asha','space':[{'family':'boost'}]}"

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

static json_t *show(struct rig *r)
{
    json_t *out = NULL;

    assert_int_equal(RIG_CALL(r, ctl_study_get(r->ctl, "s", &out, &rig_err)), 0);
    return out;
}

static json_int_t sum(const json_t *study, const char *key)
{
    json_t *bracket = NULL, *rung = NULL;
    json_int_t n = 0;
    size_t i = 0, k = 0;

    json_array_foreach(json_object_get(study, "brackets"), i, bracket)
    {
        json_array_foreach(json_object_get(bracket, "rungs"), k, rung)
        {
            n += json_integer_value(json_object_get(rung, key));
        }
    }
    return n;
}

static void assert_nothing_is_open(struct rig *r, int64_t trials)
{
    static const char *const open[] = { "queued", "running", "paused" };
    json_t *study = show(r), *counts = json_object_get(study, "trials");

    for (size_t i = 0; i < ARRAY_LEN(open); i++)
        assert_int_equal(json_integer_value(json_object_get(counts, open[i])), 0);
    assert_int_equal(sum(study, "running"), 0);
    assert_int_equal(sum(study, "waiting"), 0);
    assert_int_equal(sum(study, "done"), trials);
    json_decref(study);
}

static void make(struct rig *r, struct fake *f, int max_trials)
{
    rig_open(r);
    rig_dataset(r, "d");
    rig_study(r, SPEC);
    fake_open(f, r, "a", max_trials);
}

/* Works until something runs and something waits at a rung. */
static json_t *work(struct rig *r, struct fake *f)
{
    for (int i = 0; i < 500; i++) {
        json_t *study = NULL;

        if (f->n_trials < f->max_trials)
            fake_ask(f);
        study = show(r);
        if (sum(study, "running") > 0 && sum(study, "waiting") > 3)
            return study;
        json_decref(study);
        fake_step(f, 0);
        rig_pass(r, 1);
    }
    fail_msg("no trial waits at a rung");
    return NULL;
}

static void end_by(enum ctl_study_verb verb)
{
    struct rig r;
    struct fake f;
    json_t *study = NULL, *out = NULL;
    int64_t n = 0;

    make(&r, &f, 4);
    study = work(&r, &f);
    n = sum(study, "running") + sum(study, "waiting") + sum(study, "done");
    json_decref(study);
    assert_int_equal(RIG_CALL(&r, ctl_study_act(r.ctl, "s", verb, &out, &rig_err)), 0);
    json_decref(out);
    for (int i = 0; i < 100 && !study_is_final(rig_get(&r, 1)->row.state); i++) {
        if (f.n_trials > 0)
            fake_step(&f, 0);
        else
            fake_ask(&f);
        rig_pass(&r, 100);
    }
    assert_true(study_is_final(rig_get(&r, 1)->row.state));
    assert_nothing_is_open(&r, n);
    rig_restart(&r);
    assert_nothing_is_open(&r, n);
    rig_close(&r);
}

static void a_study_that_was_stopped_shows_nothing_that_runs_or_waits(void **state)
{
    (void)state;
    end_by(CTL_STOP);
}

static void a_study_that_was_killed_shows_nothing_that_runs_or_waits(void **state)
{
    (void)state;
    end_by(CTL_KILL);
}

/* ---- runners ---- */

/* Runner `id` is listed so; its reason and the study's `why` hold these words. */
static void runner_is(struct rig *r, int64_t id, const char *state, const char *reason,
                      const char *why)
{
    json_t *out = NULL, *row = NULL, *study = show(r);
    size_t i = 0;

    assert_int_equal(RIG_CALL(r, ctl_runners(r->ctl, 0, 100, &out, &rig_err)), 0);
    json_array_foreach(json_object_get(out, "runners"), i, row)
    {
        if (json_integer_value(json_object_get(row, "id")) != id)
            continue;
        assert_string_equal(text(row, "state"), state);
        assert_int_equal(json_is_true(json_object_get(row, "alive")), !str_eq(state, "lost"));
        assert_non_null(strstr(text(row, "reason"), reason));
    }
    if (!strstr(text(study, "why"), why))
        fail_msg("why is \"%s\", not \"%s\"", text(study, "why"), why);
    json_decref(out);
    json_decref(study);
}

static void a_runner_that_was_not_heard_of_for_a_lease_is_lost(void **state)
{
    struct rig r;
    struct fake f;

    (void)state;
    make(&r, &f, 1);
    runner_is(&r, f.id, "enabled", "", "its turn comes");
    rig_pass(&r, RIG_LEASE_MS);
    runner_is(&r, f.id, "enabled", "", "its turn comes");
    rig_pass(&r, 2 * RIG_LEASE_MS);
    runner_is(&r, f.id, "lost", "nothing was heard of it for 3 s", "not heard of for 3 s");
    assert_int_equal(fake_ask(&f), 1); /* it comes back as it was */
    runner_is(&r, f.id, "enabled", "", "");
    rig_close(&r);
}

static void on_grant(void *arg, json_t *grant, const struct err *err)
{
    (void)err;
    ++*(int *)arg;
    json_decref(grant);
}

/* A call that waits is as good as a word, until it is answered or its connection ends. */
static void a_runner_whose_call_waits_is_there(void **state)
{
    struct rig r;
    struct fake f;
    struct msg_ask ask = { .n = 1, .max_trials = 1, .wait_s = 60 };
    struct ctl_wait *wait = NULL;
    json_t *out = NULL, *body = NULL;
    int calls = 0;

    (void)state;
    make(&r, &f, 1);
    assert_int_equal(RIG_CALL(&r, ctl_study_act(r.ctl, "s", CTL_PAUSE, &out, &rig_err)), 0);
    json_decref(out);
    str_copy(ask.session, sizeof ask.session, "a");
    str_copy(ask.device, sizeof ask.device, "cpu0");
    body = msg_ask_json_new(&ask);
    assert_int_equal(
        RIG_CALL(&r, ctl_runner_lease(r.ctl, 0, f.id, body, on_grant, &calls, &wait, &rig_err)), 0);
    assert_non_null(wait);
    json_decref(body);
    rig_pass(&r, 8 * RIG_LEASE_MS);
    runner_is(&r, f.id, "enabled", "", "");
    ctl_runner_lease_cancel(r.ctl, wait); /* its connection was closed */
    runner_is(&r, f.id, "lost", "for 8 s", "");
    assert_int_equal(calls, 0);
    rig_close(&r);
}

static void a_waiting_study_names_what_became_of_the_runners(void **state)
{
    struct rig r;
    struct fake f;
    struct runner *runner = NULL;
    json_t *out = NULL;

    (void)state;
    make(&r, &f, 1);
    assert_int_equal(RIG_CALL(&r, ctl_runner_act(r.ctl, f.id, "drain", &out, &rig_err)), 0);
    json_decref(out);
    runner_is(&r, f.id, "draining", "drained by a user", "2 are draining"); /* rig_dataset's, too */
    assert_int_equal(RIG_CALL(&r, ctl_runner_act(r.ctl, f.id, "enable", &out, &rig_err)), 0);
    json_decref(out);
    for (int64_t trial = 1; trial <= RUNNER_FAILS_MAX; trial++)
        assert_int_equal(RIG_CALL(&r, quarantine_failed(r.ctl, f.id, "cpu0", trial, &rig_err)),
                         trial == RUNNER_FAILS_MAX); /* the last one puts it into quarantine */
    runner = runner_find(r.ctl, f.id);
    assert_string_equal(runner->row.state, "quarantined");
    runner_is(&r, f.id, "quarantined", "cpu0", "1 is quarantined (device cpu0");
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_study_that_was_stopped_shows_nothing_that_runs_or_waits),
        cmocka_unit_test(a_study_that_was_killed_shows_nothing_that_runs_or_waits),
        cmocka_unit_test(a_runner_that_was_not_heard_of_for_a_lease_is_lost),
        cmocka_unit_test(a_runner_whose_call_waits_is_there),
        cmocka_unit_test(a_waiting_study_names_what_became_of_the_runners),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
