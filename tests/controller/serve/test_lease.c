/* test_lease.c - leases, fences, sequences: what a runner may say, and what becomes of it. */
#include "tests/rig.h"

#include "base/fault.h"
#include "base/rng.h"
#include "base/str.h"
#include "controller/state/lease.h"
#include "controller/state/quarantine.h"
#include "controller/state/runner.h"

#include <math.h>

#define SPEC "{'name':'s','dataset':'d','target':'y','budget':{'trials':30},'seed':7,'parallel':12}"

struct scene {
    struct rig r;
    struct fake a, b;
    int64_t study;
};

static void set(struct scene *s, const char *spec, int max_trials)
{
    rig_open(&s->r);
    rig_dataset(&s->r, "d");
    s->study = rig_study(&s->r, spec);
    fake_open(&s->a, &s->r, "a", max_trials);
    fake_open(&s->b, &s->r, "b", max_trials);
}

static const struct trial_mem *mem(struct scene *s, int64_t number)
{
    struct study *st = rig_get(&s->r, s->study);

    assert_true(number <= st->n_trials);
    return &st->trials[number - 1];
}

static enum msg_action send(struct fake *f, const struct msg_event *e)
{
    struct msg_answer a;
    enum msg_action action = MSG_STALE;

    if (fake_report(f, e, 1, &a) < 0)
        fail_msg("report: %s", rig_err.text);
    action = a.replies[0].action;
    msg_answer_fini(&a);
    return action;
}

/* An empty report; how many trials it was told to stop. */
static int renew(struct fake *f)
{
    struct msg_answer a;
    int n = 0;

    assert_int_equal(fake_report(f, NULL, 0, &a), 0);
    n = a.n_stop;
    msg_answer_fini(&a);
    return n;
}

static void finish_all(struct fake *f)
{
    while (f->n_trials > 0)
        (void)fake_step(f, 0);
}

/* A sampler that ignores results can make as many as are wanted, so the first device that asks gets a full group; what is
 * left of the budget at last is divided between the devices. */
static void groups_are_full_while_more_trials_can_be_made(void **state)
{
    struct scene s;

    (void)state;
    set(&s,
        "{'name':'s','dataset':'d','target':'y','budget':{'time':'1h','trials':41},'seed':7,"
        "'space':[{'family':'boost','prep_pairs':['auto'],'prep_codes':['auto'],'bins':['255']}],'sampler':'random','scheduler':'none',"
        "'validation':'kfold','stop':{'no_gain_trials':1000}}",
        16);
    assert_int_equal(fake_ask(&s.a), 1); /* the baseline is of another family */
    assert_int_equal(fake_ask(&s.b), 16);
    finish_all(&s.a);
    assert_int_equal(fake_ask(&s.a), 16);
    finish_all(&s.a);
    finish_all(&s.b);
    assert_int_equal(fake_ask(&s.a), 4);
    assert_int_equal(fake_ask(&s.b), 4);
    finish_all(&s.a);
    finish_all(&s.b);
    rig_close(&s.r);
}

static void a_repeated_lease_call_gets_the_same_grant(void **state)
{
    struct scene s;
    json_t *first = NULL, *again = NULL, *next = NULL;

    (void)state;
    set(&s, SPEC, 2);
    first = fake_ask_raw(&s.a, 1, 1);
    again = fake_ask_raw(&s.a, 1, 1);
    next = fake_ask_raw(&s.a, 2, 1);
    assert_true(json_equal(first, again));
    assert_false(json_equal(first, next));
    assert_int_equal(rig_count(&s.r, s.study, TS_RUNNING), 2);
    json_decref(first);
    json_decref(again);
    json_decref(next);
    rig_close(&s.r);
}

static void on_none(void *arg, json_t *grant, const struct err *err)
{
    (void)err;
    (*(int *)arg)++;
    json_decref(grant);
}

static void an_older_lease_call_is_stale(void **state)
{
    struct scene s;
    json_t *body = rig_json("{'session':'a','n':1,'device':'cpu0','max_lanes':1}");
    int calls = 0;

    (void)state;
    set(&s, SPEC, 2);
    json_decref(fake_ask_raw(&s.a, 2, 1));
    assert_int_equal(
        RIG_CALL(&s.r, ctl_runner_lease(s.r.ctl, 0, s.a.id, body, on_none, &calls, NULL, &rig_err)),
        -1);
    assert_int_equal(rig_err.code, ERR_STALE);
    assert_int_equal(calls, 0);
    json_decref(body);
    rig_close(&s.r);
}

static void a_silent_runner_loses_its_trials_and_its_fence_is_stale(void **state)
{
    struct scene s;
    struct msg_event e;

    (void)state;
    set(&s, SPEC, 1);
    assert_int_equal(fake_ask(&s.a), 1);
    fake_event(&s.a, 0, &e);
    rig_pass(&s.r, RIG_LEASE_MS - 1);
    assert_int_equal(mem(&s, 1)->state, TS_RUNNING);
    rig_pass(&s.r, 1);
    assert_int_equal(mem(&s, 1)->state, TS_QUEUED);
    assert_int_equal(fake_ask(&s.b), 1);
    assert_int_equal(s.b.trials[0].trial, s.a.trials[0].trial);
    assert_int_equal(s.b.trials[0].fence, 2);
    assert_int_equal(send(&s.a, &e), MSG_STALE);
    assert_int_equal(renew(&s.a), 1);
    assert_int_equal(mem(&s, 1)->state, TS_RUNNING);
    rig_close(&s.r);
}

static void an_expired_trial_rejoins_while_nobody_has_it(void **state)
{
    static const bool by_message[] = { true, false };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(by_message); i++) {
        struct scene s;

        set(&s, SPEC, 1);
        fake_ask(&s.a);
        rig_pass(&s.r, RIG_LEASE_MS);
        assert_int_equal(mem(&s, 1)->state, TS_QUEUED);
        if (by_message[i])
            assert_int_equal(fake_step(&s.a, 0), MSG_KEEP);
        else
            assert_int_equal(renew(&s.a), 0);
        assert_int_equal(mem(&s, 1)->state, TS_RUNNING);
        assert_int_equal(s.r.ctl->stats.rejoined, 1);
        rig_close(&s.r);
    }
}

static void another_session_may_not_speak_for_a_trial(void **state)
{
    struct scene s;
    struct msg_event e;

    (void)state;
    set(&s, SPEC, 1);
    fake_ask(&s.a);
    fake_event(&s.a, 0, &e);
    assert_int_equal(send(&s.b, &e), MSG_STALE);
    rig_pass(&s.r, RIG_LEASE_MS);
    assert_int_equal(send(&s.b, &e), MSG_STALE); /* nor take it back */
    assert_int_equal(mem(&s, 1)->state, TS_QUEUED);
    rig_close(&s.r);
}

static void a_repeated_message_gets_its_answer_again_without_effect(void **state)
{
    struct scene s;
    struct msg_event e;

    (void)state;
    set(&s, SPEC, 1);
    fake_ask(&s.a);
    fake_event(&s.a, 0, &e);
    assert_int_equal(send(&s.a, &e), MSG_KEEP);
    e.value = 0.1; /* a repeat is known by its sequence, not by its content */
    assert_int_equal(send(&s.a, &e), MSG_KEEP);
    rig_restart(&s.r);
    assert_int_equal(send(&s.a, &e), MSG_KEEP);
    assert_int_equal(mem(&s, 1)->state, TS_RUNNING);
    s.a.trials[0].seq = 1;
    s.a.trials[0].next = MSG_COMPLETE;
    fake_event(&s.a, 0, &e);
    assert_int_equal(send(&s.a, &e), MSG_OK);
    assert_int_equal(send(&s.a, &e), MSG_OK);
    assert_int_equal(mem(&s, 1)->state, TS_COMPLETED);
    assert_true(mem(&s, 1)->score > 0.5);
    rig_close(&s.r);
}

static void a_gap_in_the_sequence_is_stale(void **state)
{
    struct scene s;
    struct msg_event e;

    (void)state;
    set(&s, SPEC, 1);
    fake_ask(&s.a);
    fake_event(&s.a, 0, &e);
    e.seq = 3;
    assert_int_equal(send(&s.a, &e), MSG_STALE);
    e.seq = 1;
    assert_int_equal(send(&s.a, &e), MSG_KEEP);
    rig_close(&s.r);
}

static void a_message_without_a_number_is_stale(void **state)
{
    struct scene s;
    struct msg_event e;

    (void)state;
    set(&s, SPEC, 1);
    fake_ask(&s.a);
    fake_event(&s.a, 0, &e);
    e.seq = 0;
    assert_int_equal(send(&s.a, &e), MSG_STALE);
    assert_int_equal(mem(&s, 1)->state, TS_RUNNING);
    e.type = MSG_PROGRESS; /* progress has none */
    assert_int_equal(send(&s.a, &e), MSG_OK);
    e.seq = 1;
    assert_int_equal(send(&s.a, &e), MSG_OK);
    fake_event(&s.a, 0, &e);
    assert_int_equal(send(&s.a, &e), MSG_KEEP);
    rig_close(&s.r);
}

static void a_trial_not_listed_is_requeued_once_its_grant_has_arrived(void **state)
{
    struct scene s;

    (void)state;
    set(&s, SPEC, 2);
    assert_int_equal(fake_ask(&s.a), 1);
    assert_int_equal(renew(&s.a), 0);
    /* The next grant crosses a report that was on its way. */
    json_decref(fake_ask_raw(&s.a, 2, 1));
    renew(&s.a);
    assert_int_equal(rig_count(&s.r, s.study, TS_RUNNING), 2);
    /* Its answer has arrived, but the trial is not held: it was lost on the way. */
    s.a.asked = 2;
    renew(&s.a);
    assert_int_equal(rig_count(&s.r, s.study, TS_RUNNING), 1);
    /* A trial that was listed and is not any more needs no further proof. */
    s.a.asked = 0;
    fake_drop(&s.a, 0);
    renew(&s.a);
    assert_int_equal(rig_count(&s.r, s.study, TS_RUNNING), 0);
    rig_close(&s.r);
}

static void a_restart_gives_every_lease_a_full_period(void **state)
{
    struct scene s;

    (void)state;
    set(&s, SPEC, 1);
    fake_ask(&s.a);
    rig_pass(&s.r, RIG_LEASE_MS - 1);
    rig_restart(&s.r);
    rig_pass(&s.r, RIG_LEASE_MS - 1);
    assert_int_equal(mem(&s, 1)->state, TS_RUNNING);
    assert_int_equal(renew(&s.a), 0);
    rig_pass(&s.r, RIG_LEASE_MS);
    assert_int_equal(mem(&s, 1)->state, TS_QUEUED);
    rig_close(&s.r);
}

static void a_renewal_keeps_a_trial_for_ever_and_writes_nothing(void **state)
{
    struct scene s;
    int64_t commits = 0;

    (void)state;
    set(&s, SPEC, 1);
    fake_ask(&s.a);
    commits = s.r.ctl->events_sent;
    for (int i = 0; i < 10; i++) {
        rig_pass(&s.r, RIG_LEASE_MS / 2);
        assert_int_equal(renew(&s.a), 0);
    }
    assert_int_equal(mem(&s, 1)->state, TS_RUNNING);
    assert_int_equal(s.r.ctl->events_sent, commits);
    rig_close(&s.r);
}

static void crash(struct scene *s)
{
    struct msg_event e;

    fake_event(&s->a, 0, &e);
    e.type = MSG_FAILED;
    e.reason = TR_WORKER_DIED;
    assert_int_equal(send(&s->a, &e), MSG_OK);
    fake_drop(&s->a, 0);
}

static void a_trial_that_crashes_alone_twice_has_failed_by_its_configuration(void **state)
{
    struct scene s;

    (void)state;
    set(&s, SPEC, 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fake_ask(&s.a), 1);
        assert_int_equal(s.a.trials[0].trial, mem(&s, 1)->id);
        crash(&s);
    }
    assert_int_equal(mem(&s, 1)->state, TS_FAILED);
    assert_int_equal(mem(&s, 1)->reason, TR_CRASHED_ALONE);
    rig_close(&s.r);
}

/* Whoever kills at random meets a long trial more than once; a new level shows that it is not the cause. */
static void a_trial_that_reached_a_new_level_between_two_crashes_goes_on(void **state)
{
    struct scene s;
    struct msg_event e;

    (void)state;
    set(&s,
        "{'name':'s','dataset':'d','target':'y','budget':{'trials':3},'seed':7,'parallel':1,"
        "'scheduler':'asha','space':[{'family':'boost'}]}",
        1);
    assert_int_equal(fake_ask(&s.a), 1); /* the baseline has one level */
    finish_all(&s.a);
    assert_int_equal(fake_ask(&s.a), 1);
    crash(&s);
    assert_int_equal(fake_ask(&s.a), 1);
    fake_event(&s.a, 0, &e);
    e.type = MSG_RUNG;
    e.level = 1;
    e.value = .5;
    assert_int_equal(send(&s.a, &e), MSG_RUN_TO);
    s.a.trials[0].seq = e.seq;
    crash(&s);
    assert_int_equal(mem(&s, 2)->state, TS_QUEUED);
    assert_int_equal(fake_ask(&s.a), 1);
    crash(&s);
    assert_int_equal(mem(&s, 2)->state, TS_FAILED);
    assert_int_equal(mem(&s, 2)->reason, TR_CRASHED_ALONE);
    rig_close(&s.r);
}

static void a_group_that_crashed_goes_out_in_halves(void **state)
{
    struct scene s;
    int size = 8, n = 0;

    (void)state;
    set(&s,
        "{'name':'s','dataset':'d','target':'y','budget':{'trials':30},'seed':7,'parallel':20,"
        "'space':[{'family':'boost'}]}",
        8);
    assert_int_equal(fake_ask(&s.b), 1); /* the baseline does not fuse with the others */
    while ((n = fake_ask(&s.a)) > 1 || size == 8) {
        assert_true(n <= size);
        size = (n + 1) / 2;
        for (int i = n - 1; i >= 0; i--) {
            struct msg_event e;

            fake_event(&s.a, i, &e);
            e.type = MSG_FAILED;
            e.reason = TR_WORKER_DIED;
            assert_int_equal(send(&s.a, &e), MSG_OK);
            fake_drop(&s.a, i);
            /* The test is about groups, not about quarantine. */
            assert_int_equal(RIG_CALL(&s.r, quarantine_worked(s.r.ctl, s.a.id, "cpu0", &rig_err)),
                             0);
        }
    }
    assert_int_equal(n, 1);
    assert_int_equal(rig_count(&s.r, s.study, TS_FAILED), 0);
    rig_close(&s.r);
}

static void a_device_that_fails_three_trials_in_a_row_is_quarantined(void **state)
{
    struct scene s;
    json_t *out = NULL;

    (void)state;
    set(&s, SPEC, 3);
    while (s.a.n_trials < 3)
        fake_ask(&s.a);
    for (int i = 2; i >= 0; i--) {
        struct msg_event e;

        fake_event(&s.a, i, &e);
        e.type = MSG_FAILED;
        e.reason = TR_DEVICE;
        assert_int_equal(send(&s.a, &e), MSG_OK);
        fake_drop(&s.a, i);
    }
    assert_string_equal(runner_find(s.r.ctl, s.a.id)->row.state, "quarantined");
    assert_int_equal(fake_ask(&s.a), 0);
    assert_int_equal(rig_count(&s.r, s.study, TS_FAILED), 0);
    rig_restart(&s.r);
    assert_int_equal(fake_ask(&s.a), 0);
    assert_int_equal(RIG_CALL(&s.r, ctl_runner_act(s.r.ctl, s.a.id, "enable", &out, &rig_err)), 0);
    assert_true(fake_ask(&s.a) > 0);
    json_decref(out);
    rig_close(&s.r);
}

static void a_draining_runner_gets_no_more_but_finishes(void **state)
{
    struct scene s;
    struct msg_answer a;
    json_t *out = NULL;

    (void)state;
    set(&s, SPEC, 2);
    fake_ask(&s.a);
    assert_int_equal(RIG_CALL(&s.r, ctl_runner_act(s.r.ctl, s.a.id, "drain", &out, &rig_err)), 0);
    assert_int_equal(fake_ask(&s.a), 0);
    assert_int_equal(fake_report(&s.a, NULL, 0, &a), 0);
    assert_true(a.drain);
    msg_answer_fini(&a);
    assert_int_equal(fake_step(&s.a, 0), MSG_KEEP);
    assert_int_equal(fake_step(&s.a, 0), MSG_OK);
    assert_int_equal(mem(&s, 1)->state, TS_COMPLETED);
    json_decref(out);
    rig_close(&s.r);
}

static void a_killed_trial_is_stopped_at_its_runner(void **state)
{
    struct scene s;
    json_t *out = NULL;

    (void)state;
    set(&s, SPEC, 1);
    fake_ask(&s.a);
    assert_int_equal(RIG_CALL(&s.r, ctl_trial_kill(s.r.ctl, mem(&s, 1)->id, &out, &rig_err)), 0);
    assert_int_equal(mem(&s, 1)->state, TS_CANCELLED);
    assert_int_equal(renew(&s.a), 1);
    assert_int_equal(fake_step(&s.a, 0), MSG_STOP);
    json_decref(out);
    assert_int_equal(RIG_CALL(&s.r, ctl_trial_kill(s.r.ctl, mem(&s, 1)->id, &out, &rig_err)), -1);
    assert_int_equal(rig_err.code, ERR_CONFLICT);
    rig_close(&s.r);
}

/* ---- long polls ---- */

struct waiting {
    int calls;
    bool granted;
};

static void on_grant(void *arg, json_t *grant, const struct err *err)
{
    struct waiting *w = arg;

    w->calls++;
    w->granted = !err && json_is_object(json_object_get(grant, "grant"));
    json_decref(grant);
}

static struct ctl_wait *wait_for(struct scene *s, struct fake *f, int64_t n, struct waiting *w)
{
    struct msg_ask ask = { .n = n, .max_trials = 1, .wait_s = 30 };
    struct ctl_wait *wait = NULL;
    json_t *body = NULL;

    str_copy(ask.session, sizeof ask.session, f->session);
    str_copy(ask.device, sizeof ask.device, "cpu0");
    body = msg_ask_json_new(&ask);
    *w = (struct waiting){ 0 };
    assert_int_equal(
        RIG_CALL(&s->r, ctl_runner_lease(s->r.ctl, 0, f->id, body, on_grant, w, &wait, &rig_err)),
        0);
    json_decref(body);
    return wait;
}

static void a_waiting_call_is_woken_by_work(void **state)
{
    struct scene s;
    struct waiting a, b;

    (void)state;
    rig_open(&s.r);
    rig_dataset(&s.r, "d");
    fake_open(&s.a, &s.r, "a", 1);
    fake_open(&s.b, &s.r, "b", 1);
    assert_non_null(wait_for(&s, &s.a, 1, &a));
    assert_non_null(wait_for(&s, &s.b, 1, &b));
    rig_pass(&s.r, 10);
    assert_int_equal(a.calls + b.calls, 0);
    s.study = rig_study(&s.r, SPEC);
    assert_true(a.calls == 1 && a.granted);
    assert_true(b.calls == 1 && b.granted);
    assert_int_equal(rig_count(&s.r, s.study, TS_RUNNING), 2);
    rig_close(&s.r);
}

static void a_waiting_call_is_answered_none_when_its_time_is_over(void **state)
{
    struct scene s;
    struct waiting a, b;
    struct ctl_wait *wait = NULL;

    (void)state;
    rig_open(&s.r);
    fake_open(&s.a, &s.r, "a", 1);
    fake_open(&s.b, &s.r, "b", 1);
    wait_for(&s, &s.a, 1, &a);
    wait = wait_for(&s, &s.b, 1, &b);
    ctl_runner_lease_cancel(s.r.ctl, wait);
    rig_pass(&s.r, 29999);
    assert_int_equal(a.calls, 0);
    rig_pass(&s.r, 1);
    assert_int_equal(a.calls, 1);
    assert_false(a.granted);
    assert_int_equal(b.calls, 0);
    wait_for(&s, &s.a, 2, &a);
    wait_for(&s, &s.a, 2, &b); /* the client asks again: the first call is given up */
    assert_int_equal(a.calls, 1);
    assert_int_equal(b.calls, 0);
    ctl_stop(s.r.ctl);
    assert_int_equal(b.calls, 1);
    rig_close(&s.r);
}

/* Work is made for those who will take it: one that renews, one that waits; not for one that was killed. */
static void a_killed_runner_is_no_capacity_after_a_lease(void **state)
{
    struct scene s;
    struct waiting w;
    int devices = 0, idle = 0;

    (void)state;
    rig_open(&s.r);
    fake_open(&s.a, &s.r, "a", 4);
    fake_open(&s.b, &s.r, "b", 2);
    assert_int_equal(runner_capacity(s.r.ctl, NULL, &devices, &idle), 6);
    struct ctl_wait *wait = wait_for(&s, &s.a, 1, &w);
    rig_pass(&s.r, RIG_LEASE_MS + 1); /* b is silent */
    assert_int_equal(runner_capacity(s.r.ctl, NULL, &devices, &idle), 4);
    assert_true(devices == 1 && idle == 1);
    ctl_runner_lease_cancel(s.r.ctl, wait); /* its connection broke */
    assert_int_equal(runner_capacity(s.r.ctl, NULL, &devices, &idle), 0);
    assert_int_equal(renew(&s.b), 0); /* it was only slow */
    assert_int_equal(runner_capacity(s.r.ctl, NULL, &devices, &idle), 2);
    rig_close(&s.r);
}

/* Whoever comes, asks, waits, works, falls silent, is drained, loses its call or says hello anew with
 * other devices, and whatever fails meanwhile: rig_counts_check after each step. */
static void counts_follow_whatever_happens(void **state)
{
    enum { RUNNERS = 6 };
    struct fake f[RUNNERS];
    struct ctl_wait *waits[RUNNERS] = { 0 };
    struct waiting w[RUNNERS];
    int64_t n[RUNNERS] = { 0 };
    struct rng rng;
    struct scene s;
    json_t *out = NULL;

    (void)state;
    set(&s, "{'name':'s','dataset':'d','target':'y','budget':{'trials':400},'seed':7}", 3);
    rng_init(&rng, 5, 1);
    for (int i = 0; i < RUNNERS; i++)
        fake_open(&f[i], &s.r, (char[]){ 'r', (char)('0' + i), 0 }, 1 + i % 3);
    for (int step = 0; step < 1500; step++) {
        int i = (int)rng_below(&rng, RUNNERS);
        struct fake *a = &f[i];

        if (waits[i] && w[i].calls > 0) /* answered; if trials came with it, they are forgotten */
            waits[i] = NULL;
        switch (rng_below(&rng, 10)) {
        case 0:
            rig_pass(&s.r, rng_below(&rng, 2 * RIG_LEASE_MS));
            break;
        case 1:
            RIG_CALL(&s.r,
                     ctl_runner_act(s.r.ctl, a->id, step % 2 ? "drain" : "enable", &out, &rig_err));
            json_decref(out);
            out = NULL;
            break;
        case 2:
            if (waits[i] && w[i].calls == 0)
                ctl_runner_lease_cancel(s.r.ctl, waits[i]);
            waits[i] = NULL;
            rig_turn(&s.r);
            break;
        case 3:
            a->n = n[i] = MAX(a->n, n[i]) + 1;
            if (!waits[i])
                waits[i] = wait_for(&s, a, n[i], &w[i]);
            break;
        case 4:
            (void)RIG_CALL(&s.r, quarantine_failed(s.r.ctl, a->id, "cpu0", step, &rig_err));
            break;
        case 5:
            fake_open(a, &s.r, (char[]){ 'r', (char)('0' + i), 0 }, 1 + (int)rng_below(&rng, 4));
            a->n = n[i];
            break;
        case 6:
            fault_arm(1 + (int)rng_below(&rng, 6));
            (void)RIG_CALL(&s.r, ctl_runner_act(s.r.ctl, a->id, "enable", &out, &rig_err));
            fault_disarm();
            json_decref(out);
            out = NULL;
            break;
        default:
            if (a->n_trials > 0)
                (void)fake_step(a, (int)rng_below(&rng, (uint32_t)a->n_trials));
            else if (!waits[i])
                fake_ask(a), n[i] = a->n;
        }
    }
    for (int i = 0; i < RUNNERS; i++) {
        if (waits[i] && w[i].calls == 0)
            ctl_runner_lease_cancel(s.r.ctl, waits[i]);
    }
    rig_close(&s.r);
}

/* A grant whose arrival was reported is not kept; one that may be lost is given again. */
static void a_grant_is_kept_until_its_arrival_is_reported(void **state)
{
    struct scene s;
    struct device *d = NULL;
    json_t *first = NULL, *again = NULL;

    (void)state;
    set(&s, SPEC, 2);
    first = fake_ask_raw(&s.a, 1, 2);
    again = fake_ask_raw(&s.a, 1, 2);
    assert_true(json_equal(first, again));
    json_decref(first);
    json_decref(again);
    d = &runner_find(s.r.ctl, s.a.id)->devices[0];
    assert_non_null(d->last_grant);
    s.a.asked = 1;
    (void)renew(&s.a);
    assert_null(d->last_grant);
    rig_close(&s.r);
}

/* ---- hostile bodies ---- */

static void hostile_reports_change_nothing(void **state)
{
    static const char *const bodies[] = {
        "[]",
        "{}",
        "{'session':'a','events':1}",
        "{'session':'nobody'}",
        "{'session':'a','events':[{}]}",
        "{'session':'a','events':[{'type':'fnial','trial':1,'fence':1,'seq':1}]}",
        "{'session':'a','events':[{'type':'final','trial':-1,'fence':1,'seq':1}]}",
        "{'session':'a','events':[{'type':'final','trial':1,'fence':1,'seq':1,'value':'high'}]}",
        "{'session':'a','events':[{'type':'complete','trial':1,'fence':1,'seq':1,'blob':'../x'}]}",
        "{'session':'a','held':[{'trial':1}]}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct scene s;
        json_t *body = rig_json(bodies[i]), *out = NULL;
        int64_t events = 0;

        set(&s, SPEC, 1);
        fake_ask(&s.a);
        events = s.r.ctl->events_sent;
        if (RIG_CALL(&s.r, ctl_runner_report(s.r.ctl, 0, s.a.id, body, &out, &rig_err)) == 0)
            fail_msg("%s was taken", bodies[i]);
        assert_true(rig_err.text[0] != '\0');
        assert_int_equal(s.r.ctl->events_sent, events);
        assert_int_equal(mem(&s, 1)->state, TS_RUNNING);
        json_decref(body);
        rig_close(&s.r);
    }
}

/* Well-formed, but not what this trial may say: stale, and the trial is tried elsewhere. */
static void messages_that_contradict_the_trial_are_refused(void **state)
{
    static const struct {
        const char *what;
        enum msg_type type;
        int level;
        bool blob;
    } cases[] = {
        { "complete before final", MSG_COMPLETE, 1, true },
        { "paused without a rung", MSG_PAUSED, 1, true },
        { "paused without a blob", MSG_PAUSED, 0, false },
        { "checkpoint without a blob", MSG_CHECKPOINT, 0, false },
        { "checkpoint beyond the ladder", MSG_CHECKPOINT, 1000, true },
        { "rung at level 0", MSG_RUNG, 0, false },
        { "rung beyond the ladder", MSG_RUNG, 1000, false },
        { "final beyond the ladder", MSG_FINAL, 1000, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scene s;
        struct msg_event e;

        set(&s, SPEC, 1);
        fake_ask(&s.a);
        fake_event(&s.a, 0, &e);
        e.type = cases[i].type;
        e.level = cases[i].level;
        e.blob[0] = '\0';
        if (cases[i].blob)
            rig_blob(&s.r, "some blob", e.blob);
        if (send(&s.a, &e) != MSG_STALE || mem(&s, 1)->state != TS_QUEUED)
            fail_msg("%s was taken", cases[i].what);
        assert_int_equal(send(&s.a, &e), MSG_STALE);
        rig_close(&s.r);
    }
}

static void a_final_without_a_score_fails_the_trial(void **state)
{
    struct scene s;
    struct msg_event e;

    (void)state;
    set(&s, SPEC, 1);
    fake_ask(&s.a);
    fake_event(&s.a, 0, &e);
    e.value = NAN;
    e.detail = (char *)"the loss is not finite";
    assert_int_equal(send(&s.a, &e), MSG_DROP);
    assert_int_equal(mem(&s, 1)->state, TS_FAILED);
    assert_int_equal(rig_get(&s.r, s.study)->n_board, 0);
    rig_close(&s.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_full_while_more_trials_can_be_made),
        cmocka_unit_test(a_repeated_lease_call_gets_the_same_grant),
        cmocka_unit_test(an_older_lease_call_is_stale),
        cmocka_unit_test(a_silent_runner_loses_its_trials_and_its_fence_is_stale),
        cmocka_unit_test(an_expired_trial_rejoins_while_nobody_has_it),
        cmocka_unit_test(another_session_may_not_speak_for_a_trial),
        cmocka_unit_test(a_repeated_message_gets_its_answer_again_without_effect),
        cmocka_unit_test(a_gap_in_the_sequence_is_stale),
        cmocka_unit_test(a_message_without_a_number_is_stale),
        cmocka_unit_test(a_trial_not_listed_is_requeued_once_its_grant_has_arrived),
        cmocka_unit_test(a_restart_gives_every_lease_a_full_period),
        cmocka_unit_test(a_renewal_keeps_a_trial_for_ever_and_writes_nothing),
        cmocka_unit_test(a_trial_that_crashes_alone_twice_has_failed_by_its_configuration),
        cmocka_unit_test(a_trial_that_reached_a_new_level_between_two_crashes_goes_on),
        cmocka_unit_test(a_group_that_crashed_goes_out_in_halves),
        cmocka_unit_test(a_device_that_fails_three_trials_in_a_row_is_quarantined),
        cmocka_unit_test(a_draining_runner_gets_no_more_but_finishes),
        cmocka_unit_test(a_killed_trial_is_stopped_at_its_runner),
        cmocka_unit_test(a_waiting_call_is_woken_by_work),
        cmocka_unit_test(a_waiting_call_is_answered_none_when_its_time_is_over),
        cmocka_unit_test(a_killed_runner_is_no_capacity_after_a_lease),
        cmocka_unit_test(counts_follow_whatever_happens),
        cmocka_unit_test(a_grant_is_kept_until_its_arrival_is_reported),
        cmocka_unit_test(hostile_reports_change_nothing),
        cmocka_unit_test(messages_that_contradict_the_trial_are_refused),
        cmocka_unit_test(a_final_without_a_score_fails_the_trial),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
