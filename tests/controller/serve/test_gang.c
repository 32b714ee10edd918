/* test_gang.c - a trial of two devices in the controller: both get their grants in one request or none does; the ranks find each
 * other through reports; what ends one of them ends the other, costs one attempt, and blames nobody else; a restart of the
 * controller disturbs neither. */
#include "tests/rig.h"

#include "base/fault.h"
#include "base/str.h"
#include "controller/state/lease.h"
#include "controller/state/quarantine.h"
#include "controller/state/runner.h"
#include "controller/state/task.h"

#define SPEC                                                                                    \
    "{'name':'s','dataset':'d','target':'y','budget':{'trials':6},'seed':7,'sampler':'random'," \
    "'scheduler':'none','parallel':3,'space':[{'family':'mlp','devices':2,'epochs':2}],"        \
    "'validation':{'kind':'kfold','folds':3}}"

/* A runner with one device that can meet others. Its calls wait. */
struct node {
    struct rig *rig;
    int64_t id, n;
    char session[33];
    struct ctl_wait *wait;
    json_t *answer;         /* of the last lease call; NULL = it waits */
    struct msg_grant grant; /* what it holds; ranks = 0: nothing */
    int64_t seq;
};

static void node_open(struct node *d, struct rig *r, const char *session)
{
    struct msg_hello m = { .protocol = MSG_PROTOCOL, .n_devices = 1 };
    struct msg_welcome w;
    json_t *out = NULL, *body = NULL;

    *d = (struct node){ .rig = r };
    str_copy(d->session, sizeof d->session, session);
    str_copy(m.name, sizeof m.name, session);
    str_copy(m.session, sizeof m.session, session);
    str_copy(m.numeric_sig, sizeof m.numeric_sig, "assay-1/cpu");
    m.devices[0] =
        (struct msg_device){ .id = "cpu0", .kind = "cpu", .max_trials = 1, .meets = true };
    body = msg_hello_json_new(&m);
    assert_int_equal(RIG_CALL(r, ctl_runner_hello(r->ctl, 0, body, &out, &rig_err)), 0);
    assert_int_equal(msg_welcome_parse(&w, out, &rig_err), 0);
    d->id = w.runner;
    json_decref(body);
    json_decref(out);
}

static void node_forget(struct node *d)
{
    if (d->grant.ranks)
        msg_grant_fini(&d->grant);
    d->grant = (struct msg_grant){ 0 };
    d->seq = 0;
}

static void on_grant(void *arg, json_t *grant, const struct err *err)
{
    struct node *d = arg;

    assert_null(err);
    d->wait = NULL;
    json_decref(d->answer);
    d->answer = grant;
}

/* Call n of the device; 1 = it has a grant now, 0 = it has none, or waits. */
static int node_call(struct node *d, int64_t n)
{
    struct msg_ask ask = { .n = n, .max_trials = 1, .wait_s = 30 };

    str_copy(ask.session, sizeof ask.session, d->session);
    str_copy(ask.device, sizeof ask.device, "cpu0");
    json_t *body = msg_ask_json_new(&ask);
    json_decref(d->answer);
    d->answer = NULL;
    int rc = RIG_CALL(
        d->rig, ctl_runner_lease(d->rig->ctl, 0, d->id, body, on_grant, d, &d->wait, &rig_err));
    json_decref(body);
    return rc < 0 ? -1 : d->answer != NULL;
}

/* Takes what the answer holds. */
static int node_take(struct node *d)
{
    struct msg_grant g = { 0 };

    if (!d->answer || msg_grant_parse(&g, d->answer, &rig_err) != 1)
        return 0;
    if (g.ranks == 0) { /* the baseline, which one device trains */
        msg_grant_fini(&g);
        return 0;
    }
    node_forget(d);
    d->grant = g;
    return 1;
}

static int64_t id_of(const struct node *d)
{
    return d->grant.kind == MSG_FIT ? d->grant.trials[0].trial : d->grant.task;
}

static int64_t fence_of(const struct node *d)
{
    return d->grant.kind == MSG_FIT ? d->grant.trials[0].fence : d->grant.fence;
}

/* Reports this event (type MSG_TYPES: none) and what the node holds; the first reply, or `ok`. */
static struct msg_reply node_say(struct node *d, struct msg_event *e, int *stops)
{
    struct msg_held held = { d->grant.ranks ? id_of(d) : 0, d->grant.ranks ? fence_of(d) : 0 };
    struct msg_asked asked = { .n = d->n };
    struct msg_report m = {
        .n_events = e ? 1 : 0, .events = e, .n_asked = d->n > 0, .asked = &asked
    };
    struct msg_answer a = { 0 };
    struct msg_reply reply = { .action = MSG_OK };
    json_t *out = NULL;

    str_copy(asked.device, sizeof asked.device, "cpu0");
    str_copy(m.session, sizeof m.session, d->session);
    if (d->grant.ranks && d->grant.kind == MSG_FIT) {
        m.held = &held;
        m.n_held = 1;
    } else if (d->grant.ranks) {
        m.tasks = &held;
        m.n_tasks = 1;
    }
    if (e) {
        e->trial = id_of(d);
        e->fence = fence_of(d);
        e->seq = msg_is_passing(e->type) ? 0 : ++d->seq;
    }
    json_t *body = msg_report_json_new(&m);
    assert_int_equal(
        RIG_CALL(d->rig, ctl_runner_report(d->rig->ctl, 0, d->id, body, &out, &rig_err)), 0);
    assert_int_equal(msg_answer_parse(&a, out, &rig_err), 0);
    if (a.n_replies)
        reply = a.replies[0];
    if (stops)
        *stops = a.n_stop + a.n_stop_tasks;
    msg_answer_fini(&a);
    json_decref(body);
    json_decref(out);
    return reply;
}

static struct msg_reply node_event(struct node *d, enum msg_type type, enum trial_reason reason)
{
    struct msg_event e;

    msg_event_init(&e);
    e.type = type;
    e.reason = reason;
    e.detail = reason ? "it was told to" : NULL;
    if (type == MSG_FINAL) {
        e.value = 0.75;
        e.level = d->grant.trials[0].to;
    }
    if (type == MSG_MEET)
        str_copy(e.address, sizeof e.address, "10.0.0.7:4711");
    return node_say(d, &e, NULL);
}

static int stops(struct node *d)
{
    int n = 0;

    (void)node_say(d, NULL, &n);
    return n;
}

struct scene {
    struct rig r;
    struct node a, b;
    struct fake one; /* works off what one device can do: the baseline */
    int64_t study;
};

static const struct trial_mem *gang_trial(struct scene *s, int64_t *number)
{
    struct study *st = rig_get(&s->r, s->study);

    for (int64_t k = 1; k <= st->n_trials; k++) {
        if (st->trials[k - 1].devices == 2) {
            if (number)
                *number = k;
            return &st->trials[k - 1];
        }
    }
    fail_msg("no trial of two devices");
    return NULL;
}

static void set(struct scene *s)
{
    rig_open(&s->r);
    rig_dataset(&s->r, "d");
    s->study = rig_study(&s->r, SPEC);
    fake_open(&s->one, &s->r, "one", 1);
    while (fake_ask(&s->one) > 0) {
        while (s->one.n_trials > 0)
            fake_step(&s->one, 0);
    }
    node_open(&s->a, &s->r, "a");
    node_open(&s->b, &s->r, "b");
}

static void end(struct scene *s)
{
    struct node *nodes[] = { &s->a, &s->b };

    for (int i = 0; i < 2; i++) {
        if (nodes[i]->wait)
            ctl_runner_lease_cancel(s->r.ctl, nodes[i]->wait);
        node_forget(nodes[i]);
        json_decref(nodes[i]->answer);
    }
    rig_close(&s->r);
}

/* b gets the trial, because its call comes last; a its other rank. */
static void grant(struct scene *s)
{
    if (!s->a.wait)
        assert_int_equal(node_call(&s->a, ++s->a.n), 0);
    assert_non_null(s->a.wait);
    assert_int_equal(node_call(&s->b, ++s->b.n), 1);
    assert_null(s->a.wait);
    assert_int_equal(node_take(&s->a), 1);
    assert_int_equal(node_take(&s->b), 1);
}

static int rank_tasks(struct scene *s)
{
    int n = 0;

    for (int i = 0; i < s->r.ctl->n_tasks; i++)
        n += str_eq(s->r.ctl->tasks[i]->row.kind, "rank");
    return n;
}

static void both_devices_get_their_ranks_at_once(void **state)
{
    struct scene s;

    (void)state;
    set(&s);
    assert_int_equal(node_call(&s.a, ++s.a.n), 0);
    assert_int_equal(rig_count(&s.r, s.study, TS_RUNNING), 0); /* nothing is half granted */
    assert_int_equal(rank_tasks(&s), 0);
    grant(&s);
    assert_int_equal(s.b.grant.kind, MSG_FIT);
    assert_int_equal(s.b.grant.rank, 0);
    assert_int_equal(s.a.grant.kind, MSG_RANK);
    assert_int_equal(s.a.grant.rank, 1);
    assert_int_equal(s.a.grant.ranks, 2);
    assert_string_equal(s.a.grant.secret, s.b.grant.secret);
    assert_int_equal(strlen(s.a.grant.secret), 64);
    assert_int_equal(s.a.grant.trials[0].trial, s.b.grant.trials[0].trial);
    assert_string_equal(s.a.grant.trials[0].config, s.b.grant.trials[0].config);
    assert_int_equal(rig_count(&s.r, s.study, TS_RUNNING), 1);
    assert_int_equal(rank_tasks(&s), 1);
    assert_int_equal(stops(&s.a) + stops(&s.b), 0);
    end(&s);
}

static void a_repeated_call_gets_the_same_rank(void **state)
{
    struct scene s;

    (void)state;
    set(&s);
    grant(&s);
    int64_t task = s.a.grant.task, trial = s.b.grant.trials[0].trial;
    assert_int_equal(node_call(&s.a, s.a.n), 1);
    assert_int_equal(node_call(&s.b, s.b.n), 1);
    assert_int_equal(node_take(&s.a), 1);
    assert_int_equal(node_take(&s.b), 1);
    assert_int_equal(s.a.grant.task, task);
    assert_int_equal(s.b.grant.trials[0].trial, trial);
    end(&s);
}

static void ranks_find_each_other_through_reports(void **state)
{
    struct scene s;

    (void)state;
    set(&s);
    grant(&s);
    struct msg_reply r = node_event(&s.a, MSG_TASK_MEET, TR_NONE);
    assert_int_equal(r.action, MSG_OK);
    assert_string_equal(r.address, "");
    assert_int_equal(node_event(&s.b, MSG_MEET, TR_NONE).action, MSG_OK);
    r = node_event(&s.a, MSG_TASK_MEET, TR_NONE);
    assert_string_equal(r.address, "10.0.0.7:4711");
    end(&s);
}

static void the_end_of_the_trial_ends_its_ranks(void **state)
{
    struct scene s;

    (void)state;
    set(&s);
    grant(&s);
    enum msg_action action = node_event(&s.b, MSG_FINAL, TR_NONE).action;
    assert_true(action == MSG_DROP || action == MSG_KEEP);
    if (action == MSG_DROP)
        assert_int_equal(rank_tasks(&s), 0);
    assert_int_equal(node_event(&s.a, MSG_TASK_DONE, TR_NONE).action,
                     action == MSG_DROP ? MSG_STALE : MSG_OK);
    assert_int_equal(rank_tasks(&s), 0);
    node_forget(&s.a);
    assert_int_equal(stops(&s.b), 0);
    end(&s);
}

static void a_rank_that_fails_by_the_machine_costs_an_attempt(void **state)
{
    static const enum trial_reason reasons[] = { TR_DEVICE, TR_DRAINED, TR_RANK_LOST };
    struct scene s;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        set(&s);
        grant(&s);
        int64_t fence = s.b.grant.trials[0].fence;
        assert_int_equal(node_event(&s.a, MSG_TASK_FAILED, reasons[i]).action, MSG_OK);
        assert_int_equal(gang_trial(&s, NULL)->state, TS_QUEUED);
        assert_int_equal(gang_trial(&s, NULL)->reason, reasons[i]);
        assert_int_equal(rank_tasks(&s), 0);
        assert_int_equal(stops(&s.b), 1); /* rank 0 is told */
        assert_int_equal(node_event(&s.b, MSG_FAILED, TR_RANK_LOST).action, MSG_STALE);
        node_forget(&s.a);
        node_forget(&s.b);
        grant(&s);
        assert_int_equal(s.b.grant.trials[0].fence, fence + 1);
        const struct device *d = runner_device(runner_find(s.r.ctl, s.b.id), "cpu0");
        assert_int_equal(d->fails, 0); /* nobody else is blamed */
        end(&s);
    }
}

static void rank_0_that_lost_another_is_not_blamed(void **state)
{
    struct scene s;

    (void)state;
    set(&s);
    grant(&s);
    assert_int_equal(node_event(&s.b, MSG_FAILED, TR_RANK_LOST).action, MSG_OK);
    assert_int_equal(gang_trial(&s, NULL)->state, TS_QUEUED);
    assert_int_equal(runner_device(runner_find(s.r.ctl, s.b.id), "cpu0")->fails, 0);
    node_forget(&s.b);
    assert_int_equal(stops(&s.a), 1);
    end(&s);
}

static void a_trial_that_kills_workers_fails_whichever_rank_it_kills(void **state)
{
    struct scene s;
    int64_t number = 0;

    (void)state;
    set(&s);
    for (int i = 0; i < 2; i++) {
        grant(&s);
        (void)gang_trial(&s, &number);
        assert_int_equal(node_event(&s.a, MSG_TASK_FAILED, TR_WORKER_DIED).action, MSG_OK);
        node_forget(&s.a);
        node_forget(&s.b);
    }
    assert_int_equal(gang_trial(&s, NULL)->state, TS_FAILED);
    assert_int_equal(gang_trial(&s, NULL)->reason, TR_CRASHED_ALONE);
    end(&s);
}

static void a_configuration_that_one_rank_cannot_train_fails(void **state)
{
    struct scene s;

    (void)state;
    set(&s);
    grant(&s);
    assert_int_equal(node_event(&s.a, MSG_TASK_FAILED, TR_MEMORY).action, MSG_OK);
    assert_int_equal(gang_trial(&s, NULL)->state, TS_FAILED);
    assert_int_equal(gang_trial(&s, NULL)->reason, TR_MEMORY);
    end(&s);
}

static void a_silent_rank_is_lost_with_its_lease(void **state)
{
    struct scene s;

    (void)state;
    for (int silent = 0; silent < 2; silent++) {
        set(&s);
        grant(&s);
        struct node *here = silent == 0 ? &s.b : &s.a, *gone = silent == 0 ? &s.a : &s.b;
        rig_pass(&s.r, RIG_LEASE_MS / 2);
        assert_int_equal(stops(here), 0);
        rig_pass(&s.r, RIG_LEASE_MS / 2);
        assert_int_equal(gang_trial(&s, NULL)->state, TS_QUEUED);
        assert_int_equal(gang_trial(&s, NULL)->reason, TR_RUNNER_LOST);
        assert_int_equal(rank_tasks(&s), 0);
        assert_int_equal(stops(here), 1);
        assert_int_equal(stops(gone), 1); /* it comes back, and does not get the trial again */
        assert_int_equal(gang_trial(&s, NULL)->state, TS_QUEUED);
        end(&s);
    }
}

static void a_cancelled_trial_stops_on_both(void **state)
{
    struct scene s;

    (void)state;
    set(&s);
    grant(&s);
    json_t *out = NULL;
    assert_int_equal(
        RIG_CALL(&s.r, ctl_trial_kill(s.r.ctl, s.b.grant.trials[0].trial, &out, &rig_err)), 0);
    json_decref(out);
    assert_int_equal(gang_trial(&s, NULL)->state, TS_CANCELLED);
    assert_int_equal(stops(&s.a), 1);
    assert_int_equal(stops(&s.b), 1);
    end(&s);
}

static void a_restart_of_the_controller_disturbs_nobody(void **state)
{
    struct scene s;

    (void)state;
    set(&s);
    grant(&s);
    assert_int_equal(node_event(&s.b, MSG_MEET, TR_NONE).action, MSG_OK);
    rig_restart(&s.r);
    s.a.rig = s.b.rig = &s.r;
    assert_int_equal(gang_trial(&s, NULL)->state, TS_RUNNING);
    assert_int_equal(rank_tasks(&s), 1);
    assert_int_equal(stops(&s.a) + stops(&s.b), 0);
    /* rank 0 repeats where it is */
    assert_string_equal(node_event(&s.a, MSG_TASK_MEET, TR_NONE).address, "");
    assert_int_equal(node_event(&s.b, MSG_MEET, TR_NONE).action, MSG_OK);
    assert_string_equal(node_event(&s.a, MSG_TASK_MEET, TR_NONE).address, "10.0.0.7:4711");
    enum msg_action action = node_event(&s.b, MSG_FINAL, TR_NONE).action;
    assert_true(action == MSG_DROP || action == MSG_KEEP);
    end(&s);
}

/* Wherever the grant fails, nothing of it is left, and the next call gets all of it. */
static void a_grant_is_whole_or_nothing(void **state)
{
    (void)state;
    for (int nth = 1, fired = 1; fired; nth++) {
        struct scene s;
        set(&s);
        assert_int_equal(node_call(&s.a, ++s.a.n), 0);
        fault_arm(nth);
        int rc = node_call(&s.b, ++s.b.n);
        fired = fault_disarm();
        bool is_granted = rc == 1 && node_take(&s.b) == 1;
        assert_int_equal(rig_count(&s.r, s.study, TS_RUNNING), is_granted ? 1 : 0);
        assert_int_equal(rank_tasks(&s), is_granted ? 1 : 0);
        if (is_granted) {
            assert_int_equal(node_take(&s.a), 1);
        } else {
            rig_pass(&s.r, 2000); /* after a failed commit new work is refused for a while */
            /* here answers leave before the commit, so the first may have one that does not count */
            node_forget(&s.a);
            if (!s.a.wait)
                (void)node_call(&s.a, ++s.a.n);
            if (!s.b.wait)
                (void)node_call(&s.b, ++s.b.n);
            rig_turn(&s.r);
            assert_int_equal(rig_count(&s.r, s.study, TS_RUNNING), 1);
            assert_int_equal(rank_tasks(&s), 1);
        }
        end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_devices_get_their_ranks_at_once),
        cmocka_unit_test(a_repeated_call_gets_the_same_rank),
        cmocka_unit_test(ranks_find_each_other_through_reports),
        cmocka_unit_test(the_end_of_the_trial_ends_its_ranks),
        cmocka_unit_test(a_rank_that_fails_by_the_machine_costs_an_attempt),
        cmocka_unit_test(rank_0_that_lost_another_is_not_blamed),
        cmocka_unit_test(a_trial_that_kills_workers_fails_whichever_rank_it_kills),
        cmocka_unit_test(a_configuration_that_one_rank_cannot_train_fails),
        cmocka_unit_test(a_silent_rank_is_lost_with_its_lease),
        cmocka_unit_test(a_cancelled_trial_stops_on_both),
        cmocka_unit_test(a_restart_of_the_controller_disturbs_nobody),
        cmocka_unit_test(a_grant_is_whole_or_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
