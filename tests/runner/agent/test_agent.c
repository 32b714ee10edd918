/* test_agent.c - the supervisor between a scripted controller and scripted workers. This program is its own worker: a
 * trial's configuration names what the worker does with it ("act"), death and silence included. */
#include "tests/unit.h"

#include "base/io.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/runner/stage.h"
#include "trial-runner/agent/agent.h"
#include "trial-runner/wire.h"

#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

/* ---- the worker ---- */

struct fw {
    struct wire wire;
    char scratch[3000];
    bool draining;
    int files, n_later;
    json_t *later[16]; /* runs that came while it waited for an answer */
};

static void fw_say(struct fw *w, json_t *msg)
{
    if (wire_send(&w->wire, msg, NULL) < 0)
        _exit(0);
}

static json_t *fw_hear(struct fw *w)
{
    json_t *msg = NULL;

    if (wire_recv(&w->wire, -1, &msg, NULL) != 1)
        _exit(0);
    return msg;
}

static void fw_event(struct fw *w, int64_t trial, int64_t fence, struct msg_event ev,
                     bool with_file)
{
    struct msg_report r = { .session = "worker", .n_events = 1, .events = &ev };
    json_t *msg = NULL;
    char path[3100];

    ev.trial = trial;
    ev.fence = fence;
    ev.seq = 1;
    if (with_file) {
        snprintf(path, sizeof path, "%s/file-%ld-%d", w->scratch, (long)getpid(), ++w->files);
        io_replace(path, path, strlen(path), 0600, NULL);
        sha256_hex(path, strlen(path), ev.blob);
    }
    msg = json_pack("{s:s, s:o}", "op", "event", "report", msg_report_json_new(&r));
    if (with_file)
        json_object_set_new(msg, "file", json_string(path));
    fw_say(w, msg);
}

static struct msg_event of_type(enum msg_type type)
{
    struct msg_event ev;

    msg_event_init(&ev);
    ev.type = type;
    if (type == MSG_FINAL || type == MSG_RUNG)
        ev.value = 0.5;
    return ev;
}

/* Waits for an answer to this trial; "stop" and "drain" count. Returns the action's name. */
static void fw_answer(struct fw *w, int64_t trial, char *out, size_t size)
{
    json_t *msg = NULL;

    for (;;) {
        const char *op = NULL;

        msg = fw_hear(w);
        op = json_string_value(json_object_get(msg, "op"));
        if (str_eq(op, "drain")) {
            w->draining = true;
            str_copy(out, size, "drain");
            break;
        }
        if ((str_eq(op, "answer") || str_eq(op, "stop")) &&
            json_integer_value(json_object_get(msg, "trial")) == trial) {
            str_copy(out, size,
                     str_eq(op, "stop") ? "stop"
                                        : json_string_value(json_object_get(msg, "action")));
            break;
        }
        if (str_eq(op, "run"))
            w->later[w->n_later++] = json_incref(msg);
        json_decref(msg);
    }
    json_decref(msg);
}

static void fw_final(struct fw *w, int64_t trial, int64_t fence)
{
    char action[32];

    fw_say(w, json_pack("{s:s}", "op", "soon"));
    fw_event(w, trial, fence, of_type(MSG_FINAL), false);
    fw_answer(w, trial, action, sizeof action);
    if (str_eq(action, "keep"))
        fw_event(w, trial, fence, of_type(MSG_COMPLETE), true);
}

static void fw_once(struct fw *w, int64_t trial)
{
    char path[3100];

    snprintf(path, sizeof path, "%s/../mark-%" PRId64, w->scratch, trial);
    if (access(path, F_OK) == 0)
        return;
    io_replace(path, "", 0, 0600, NULL);
    raise(SIGKILL);
}

static void fw_trial(struct fw *w, const struct msg_trial *l)
{
    json_t *config = jsonx_load(l->config, strlen(l->config), "config", NULL);
    const char *act = json_string_value(json_object_get(config, "act"));
    struct msg_event ev = of_type(MSG_FAILED);
    char action[32] = "";

    if (str_eq(act, "die_early"))
        fw_once(w, l->trial);
    fw_say(w, json_pack("{s:s, s:I, s:I}", "op", "lane", "trial", (json_int_t)l->trial, "fence",
                        (json_int_t)l->fence));
    if (str_eq(act, "crash")) {
        raise(SIGKILL);
    } else if (str_eq(act, "babble")) {
        (void)!write(w->wire.fd, "what is this?", 13);
        pause();
    } else if (str_eq(act, "hang")) {
        fw_say(w, json_pack("{s:s, s:i}", "op", "beat", "within_ms", 10));
        pause();
    } else if (str_eq(act, "eat")) {
        volatile char *much = malloc(200 << 20);

        fw_say(w, json_pack("{s:s, s:i, s:i}", "op", "beat", "within_ms", 60000, "rss_limit",
                            100 << 20));
        for (size_t i = 0; i < 200 << 20; i += 4096)
            much[i] = 1;
        pause();
    } else if (str_eq(act, "wait")) {
        fw_answer(w, l->trial, action, sizeof action);
        if (str_eq(action, "drain")) {
            fw_event(w, l->trial, l->fence, of_type(MSG_CHECKPOINT), true);
            ev.reason = TR_DRAINED;
            fw_event(w, l->trial, l->fence, ev, false);
        }
    } else if (str_eq(act, "rung")) {
        fw_event(w, l->trial, l->fence, of_type(MSG_RUNG), false);
        fw_answer(w, l->trial, action, sizeof action);
        if (str_eq(action, "run_to"))
            fw_final(w, l->trial, l->fence);
        else if (str_eq(action, "pause"))
            fw_event(w, l->trial, l->fence, of_type(MSG_PAUSED), true);
    } else if (str_eq(act, "checkpoints")) {
        for (int i = 0; i < 3; i++)
            fw_event(w, l->trial, l->fence, of_type(MSG_CHECKPOINT), true);
        fw_final(w, l->trial, l->fence);
    } else {
        fw_final(w, l->trial, l->fence);
    }
    json_decref(config);
}

static void fw_run(struct fw *w, const json_t *msg)
{
    struct msg_grant g = { 0 };

    if (msg_grant_parse(&g, json_object_get(msg, "grant"), NULL) != 1)
        _exit(3);
    for (int i = 0; i < g.n_trials; i++)
        fw_trial(w, &g.trials[i]);
    if (g.kind == MSG_INGEST) {
        struct msg_event ev = of_type(MSG_TASK_DONE);

        if (!json_object_get(msg, "source"))
            _exit(4);
        fw_say(w, json_pack("{s:s, s:I, s:I, s:b}", "op", "lane", "trial", (json_int_t)g.task,
                            "fence", (json_int_t)g.fence, "task", 1));
        ev.detail = mem_strdup("{\"rows\":3}");
        fw_event(w, g.task, g.fence, ev, true);
    }
    fw_say(w,
           json_pack("{s:s, s:o}", "op", "end", "run", json_incref(json_object_get(msg, "run"))));
    msg_grant_fini(&g);
}

NO_RETURN static void scripted_worker(void)
{
    static struct fw w;
    json_t *msg = NULL;

    wire_init(&w.wire, 3);
    msg = fw_hear(&w);
    str_copy(w.scratch, sizeof w.scratch, json_string_value(json_object_get(msg, "scratch")));
    json_decref(msg);
    fw_say(&w, json_pack("{s:s}", "op", "ready"));
    for (;;) {
        msg = w.n_later > 0 ? w.later[0] : fw_hear(&w);
        for (int i = 1; i < w.n_later; i++)
            w.later[i - 1] = w.later[i];
        w.n_later -= w.n_later > 0;
        if (str_eq(json_string_value(json_object_get(msg, "op")), "run"))
            fw_run(&w, msg);
        json_decref(msg);
    }
}

/* ---- grants ---- */

/* Grants a group of trials trial, trial + 1, ... with one act each. */
static void grant(struct stage *g, int64_t trial, int64_t fence, int n, const char *const *acts)
{
    struct msg_grant m = { .kind = MSG_FIT, .group = trial, .study = 1, .n_trials = n };
    char config[8][80];

    sha256_hex("frame", 5, m.data.frame);
    str_copy(m.data.target, sizeof m.data.target, "y");
    str_copy(m.data.task, sizeof m.data.task, "binary");
    str_copy(m.data.metric, sizeof m.data.metric, "auc");
    m.data.folds = 5;
    m.trials = mem_array((size_t)n, sizeof *m.trials);
    for (int i = 0; i < n; i++) {
        snprintf(config[i], sizeof config[i], "{\"family\":\"fake\",\"act\":\"%s\"}", acts[i]);
        m.trials[i] =
            (struct msg_trial){ .trial = trial + i, .fence = fence, .config = config[i], .to = 3 };
    }
    if (!mock_has_blob(g->mock, m.data.frame, NULL, NULL))
        mock_blob(g->mock, "frame", 5, m.data.frame);
    mock_grant(g->mock, &m);
    mem_free(m.trials);
}

static void grant_one(struct stage *g, int64_t trial, const char *act)
{
    grant(g, trial, 1, 1, &act);
}

static bool has_registered(struct stage *g)
{
    return mock_hellos(g->mock) > 0;
}
static bool is_waiting_1(struct stage *g)
{
    return mock_is_held(g->mock, 1);
}
static bool has_final_2(struct stage *g)
{
    return mock_find(g->mock, MSG_FINAL, 2) != NULL;
}
static bool has_final_1(struct stage *g)
{
    return mock_find(g->mock, MSG_FINAL, 1) != NULL;
}
static bool is_complete_1(struct stage *g)
{
    return mock_find(g->mock, MSG_COMPLETE, 1) != NULL;
}
static bool is_failed_1(struct stage *g)
{
    return mock_find(g->mock, MSG_FAILED, 1) != NULL;
}

/* Something new was said, and then a renewal that holds nothing. */
static bool is_idle(struct stage *g)
{
    return mock_n_events(g->mock) > g->seen_before && mock_n_held(g->mock) == 0;
}

/* ---- the tests ---- */

static void it_registers_with_its_devices(void **state)
{
    struct stage *g = *state;

    g->n_devices = 2;
    stage_start(g);
    stage_run_until(g, has_registered);
    assert_string_equal(mock_hello(g->mock)->name, "test");
    assert_string_equal(mock_hello(g->mock)->numeric_sig, "assay-1/cpu");
    assert_int_equal(mock_hello(g->mock)->n_devices, 2);
    assert_string_equal(mock_hello(g->mock)->devices[1].id, "cpu1");
}

static void a_kept_trial_is_completed_with_its_artifact(void **state)
{
    struct stage *g = *state;

    g->final_action = MSG_KEEP;
    grant_one(g, 1, "final");
    stage_start(g);
    stage_run_until(g, is_complete_1);
    assert_int_equal(mock_event(g->mock, 0)->type, MSG_FINAL);
    assert_true(mock_has_blob(g->mock, mock_find(g->mock, MSG_COMPLETE, 1)->blob, NULL, NULL));
    assert_int_equal(mock_n_events(g->mock), 2);
    stage_run_for(g, 1200);
    assert_false(mock_is_held(g->mock, 1)); /* and is held no more */
}

static void work_goes_on_trial_after_trial(void **state)
{
    struct stage *g = *state;

    g->n_devices = 2;
    for (int i = 1; i <= 10; i++)
        grant_one(g, i == 10 ? 2 : i + 10, "final");
    stage_start(g);
    stage_run_until(g, has_final_2);
    stage_run_for(g, 50);
    assert_int_equal(mock_count(g->mock, MSG_FINAL), 10);
    assert_int_equal(mock_hellos(g->mock), 1);
}

static bool has_task(struct stage *g)
{
    return mock_count(g->mock, MSG_TASK_DONE) > 0;
}

static void an_ingest_task_gets_its_file_and_gives_a_blob(void **state)
{
    struct stage *g = *state;
    struct msg_grant m = { .kind = MSG_INGEST, .task = 1, .fence = 4 };

    mock_blob(g->mock, "a,b\n1,2\n", 8, m.source);
    mock_grant(g->mock, &m);
    stage_start(g);
    stage_run_until(g, has_task);
    assert_int_equal(mock_event(g->mock, 0)->fence, 4);
    assert_string_equal(mock_event(g->mock, 0)->detail, "{\"rows\":3}");
}

static void a_rung_obeys_the_answer(void **state)
{
    static const struct {
        enum msg_action action;
        enum msg_type last;
    } cases[] = { { MSG_RUN_TO, MSG_FINAL },
                  { MSG_PAUSE, MSG_PAUSED },
                  { MSG_STOP, MSG_RUNG },
                  { MSG_STALE, MSG_RUNG } };
    struct stage *g = *state;

    stage_start(g);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int before = mock_n_events(g->mock);

        g->rung_action = cases[i].action;
        grant_one(g, 100 + (int64_t)i, "rung");
        g->seen_before = before;
        stage_run_until(g, is_idle);
        assert_non_null(mock_find(g->mock, cases[i].last, 100 + (int64_t)i));
        assert_null(cases[i].last == MSG_RUNG ? mock_find(g->mock, MSG_FINAL, 100 + (int64_t)i)
                                              : NULL);
        assert_false(mock_is_held(g->mock, 100 + (int64_t)i));
    }
}

static bool has_four(struct stage *g)
{
    return mock_count(g->mock, MSG_COMPLETE) >= 4;
}
static bool has_six(struct stage *g)
{
    return mock_count(g->mock, MSG_COMPLETE) >= 6;
}

static void messages_are_sent_again_until_answered(void **state)
{
    struct stage *g = *state;

    g->final_action = MSG_KEEP;
    g->tear_every = 3; /* before and after registration, uploads too */
    for (int i = 1; i <= 6; i++)
        grant_one(g, i == 6 ? 1 : i + 10, "final");
    stage_start(g);
    stage_run_until(g, has_six);
    for (int i = 0; i < mock_n_events(g->mock); i++)
        assert_true(mock_event(g->mock, i)->seq <= 2);
    assert_int_equal(mock_count(g->mock, MSG_COMPLETE), 6);
}

static void a_controller_that_restarts_hears_everything(void **state)
{
    struct stage *g = *state;

    g->final_action = MSG_KEEP;
    for (int i = 1; i <= 4; i++)
        grant_one(g, i, "final");
    stage_start(g);
    for (int i = 0; i < 12; i++) {
        stage_run_for(g, 15);
        server_away(mock_server(g->mock));
        stage_run_for(g, 15);
        server_back(mock_server(g->mock));
        if (i == 6)
            mock_forget_runners(g->mock); /* not even our number is known */
    }
    stage_run_until(g, has_four);
    assert_int_equal(mock_count(g->mock, MSG_FINAL), 4);
    assert_int_equal(mock_count(g->mock, MSG_FAILED), 0);
}

static void a_stopped_trial_is_dropped(void **state)
{
    struct stage *g = *state;

    grant_one(g, 1, "wait");
    grant_one(g, 2, "final");
    g->stop_trial = 1;
    stage_start(g);
    stage_run_until(g, has_final_2);
    assert_true(g->stop_told);
    assert_null(mock_find(g->mock, MSG_FAILED, 1));
    stage_run_for(g, 1200);
    assert_false(mock_is_held(g->mock, 1));
}

static void a_worker_that_dies_is_told_and_replaced(void **state)
{
    static const struct {
        const char *act, *text;
        enum trial_reason reason;
    } cases[] = {
        { "crash", "worker killed by signal 9 (Killed) while it ran alone", TR_WORKER_DIED },
        { "hang", "killed while it ran alone", TR_WORKER_DIED },
        { "babble", "broken pipe frame", TR_WORKER_DIED },
        { "eat", "of memory, limit", TR_MEMORY },
    };
    struct stage *g = *state;

    stage_start(g);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct mock_event *ev = NULL;

        grant(g, 1, (int64_t)i + 1, 1, &cases[i].act);
        for (int turns = 0; turns < 500 && (!ev || ev->fence != (int64_t)i + 1); turns++) {
            stage_run_for(g, 10);
            ev = mock_find(g->mock, MSG_FAILED, 1);
        }
        assert_non_null(ev);
        assert_int_equal(ev->fence, i + 1);
        if (ev->reason != cases[i].reason || !strstr(ev->detail, cases[i].text))
            fail_msg("%s: %s: %s", cases[i].act, trial_reason_name[ev->reason], ev->detail);
    }
    grant_one(g, 2, "final");
    stage_run_until(g, has_final_2);
}

static void trials_not_begun_go_to_the_next_worker(void **state)
{
    static const char *const acts[] = { "final", "crash", "final" };
    struct stage *g = *state;

    grant(g, 10, 1, 3, acts);
    grant_one(g, 2, "die_early");
    stage_start(g);
    stage_run_until(g, has_final_2);
    assert_non_null(mock_find(g->mock, MSG_FINAL, 10));
    assert_non_null(mock_find(g->mock, MSG_FAILED, 11));
    assert_non_null(mock_find(g->mock, MSG_FINAL, 12));
    assert_int_equal(mock_count(g->mock, MSG_FAILED), 1);
}

static void trials_stop_when_the_lease_runs_out(void **state)
{
    struct stage *g = *state;

    g->rules.lease_ms = 400;
    mock_free(g->mock);
    g->mock = mock_new(g->loop, g->socket, &g->rules);
    grant_one(g, 1, "wait");
    stage_start(g);
    stage_run_until(g, is_waiting_1);
    server_away(mock_server(g->mock));
    stage_run_for(g, 900);
    server_back(mock_server(g->mock));
    grant_one(g, 2, "final");
    stage_run_until(g, has_final_2);
    assert_false(mock_is_held(g->mock, 1));
    assert_null(mock_find(g->mock, MSG_FAILED, 1));
}

static void a_finished_trial_outlives_its_lease(void **state)
{
    struct stage *g = *state;

    g->rules.lease_ms = 300;
    mock_free(g->mock);
    g->mock = mock_new(g->loop, g->socket, &g->rules);
    g->final_action = MSG_KEEP;
    grant_one(g, 1, "final");
    stage_start(g);
    while (mock_asks_waiting_grants(g->mock) > 0)
        stage_run_for(g, 1);
    stage_run_for(g, 2);
    server_away(mock_server(g->mock));
    stage_run_for(g, 700);
    server_back(mock_server(g->mock));
    stage_run_until(g, mock_is_held(g->mock, 1) || mock_n_events(g->mock) > 0 ? is_complete_1
                                                                              : has_registered);
}

static void draining_hands_back_what_runs(void **state)
{
    static const char *const acts[] = { "wait" };
    struct stage *g = *state;
    int64_t before = 0;

    grant(g, 1, 1, 1, acts);
    stage_start(g);
    stage_run_until(g, is_waiting_1);
    before = clk_now_ms(&g->clk);
    agent_drain(g->agent);
    assert_int_equal(loop_run(g->loop, NULL), 0); /* it ends by itself */
    assert_true(clk_now_ms(&g->clk) - before < 4000);
    assert_non_null(mock_find(g->mock, MSG_CHECKPOINT, 1));
    assert_int_equal(mock_find(g->mock, MSG_FAILED, 1)->reason, TR_DRAINED);
    assert_true(mock_find(g->mock, MSG_FAILED, 1)->seq >
                mock_find(g->mock, MSG_CHECKPOINT, 1)->seq);
}

static void draining_ends_also_without_a_controller(void **state)
{
    struct stage *g = *state;

    stage_start(g);
    agent_drain(g->agent);
    assert_int_equal(loop_run(g->loop, NULL), 0);
    stage_stop(g);
    stage_start(g);
    stage_run_until(g, has_registered);
    stage_run_for(g, 100);
    server_away(mock_server(g->mock));
    agent_drain(g->agent);
    assert_int_equal(loop_run(g->loop, NULL), 0);
}

static void a_controller_that_says_drain_gives_no_more_work(void **state)
{
    struct stage *g = *state;

    g->drain_told = true;
    stage_start(g);
    stage_run_until(g, has_registered);
    stage_run_for(g, 150);
    grant_one(g, 2, "final");
    stage_run_for(g, 300);
    assert_int_equal(mock_asks_waiting_grants(g->mock), 1);
    g->drain_told = false;
    stage_run_until(g, has_final_2);
}

static void only_the_last_checkpoint_need_travel(void **state)
{
    struct stage *g = *state;

    g->final_action = MSG_KEEP;
    g->no_uploads = true;
    grant_one(g, 1, "checkpoints");
    stage_start(g);
    stage_run_until(g, has_final_1);
    g->no_uploads = false;
    stage_run_until(g, is_complete_1);
    assert_int_equal(mock_count(g->mock, MSG_CHECKPOINT), 0);
}

static void a_table_that_does_not_exist_fails_its_trials(void **state)
{
    struct stage *g = *state;
    struct msg_grant m = { .kind = MSG_FIT, .group = 1, .study = 1, .n_trials = 1 };
    struct msg_trial granted = {
        .trial = 1, .fence = 1, .config = (char *)"{\"act\":\"final\"}", .to = 3
    };

    sha256_hex("missing", 7, m.data.frame);
    str_copy(m.data.target, sizeof m.data.target, "y");
    str_copy(m.data.task, sizeof m.data.task, "binary");
    str_copy(m.data.metric, sizeof m.data.metric, "auc");
    m.data.folds = 5;
    m.trials = &granted;
    mock_grant(g->mock, &m);
    stage_start(g);
    stage_run_until(g, is_failed_1);
    assert_int_equal(mock_find(g->mock, MSG_FAILED, 1)->reason, TR_DATA);
}

#define T(f) cmocka_unit_test_setup_teardown(f, stage_setup, stage_teardown)
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        T(it_registers_with_its_devices),
        T(a_kept_trial_is_completed_with_its_artifact),
        T(work_goes_on_trial_after_trial),
        T(an_ingest_task_gets_its_file_and_gives_a_blob),
        T(a_rung_obeys_the_answer),
        T(messages_are_sent_again_until_answered),
        T(a_controller_that_restarts_hears_everything),
        T(a_stopped_trial_is_dropped),
        T(a_worker_that_dies_is_told_and_replaced),
        T(trials_not_begun_go_to_the_next_worker),
        T(trials_stop_when_the_lease_runs_out),
        T(a_finished_trial_outlives_its_lease),
        T(draining_hands_back_what_runs),
        T(draining_ends_also_without_a_controller),
        T(a_controller_that_says_drain_gives_no_more_work),
        T(only_the_last_checkpoint_need_travel),
        T(a_table_that_does_not_exist_fails_its_trials),
    };

    if (argc > 1 && str_eq(argv[1], "--worker"))
        scripted_worker();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
