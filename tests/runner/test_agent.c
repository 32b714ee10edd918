/* test_agent.c - the supervisor between a scripted controller and scripted workers. This program is its own worker: a
 * lane's configuration names what the worker does with it ("act"), death and silence included. */
#include "tests/unit.h"

#include "base/io.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/runner/fake.h"
#include "trial-runner/agent.h"
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

/* Waits for an answer to this lane; "stop" and "drain" count. Returns the action's name. */
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

static void fw_lane(struct fw *w, const struct msg_lane *l)
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
    for (int i = 0; i < g.n_lanes; i++)
        fw_lane(w, &g.lanes[i]);
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

NO_RETURN static void fake_worker(void)
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
        if (w.n_later > 0)
            memmove(w.later, w.later + 1, (size_t)--w.n_later * sizeof w.later[0]);
        if (str_eq(json_string_value(json_object_get(msg, "op")), "run"))
            fw_run(&w, msg);
        json_decref(msg);
    }
}

/* ---- the rig ---- */

struct rig {
    struct clk clk;
    struct loop *loop;
    struct fake *fake;
    struct fake_rules rules;
    struct runner_conf conf;
    struct http *http;
    struct cache *cache;
    struct agent *agent;
    struct msg_device devices[2];
    int n_devices;
    char socket[200], dir[200];
    bool (*until)(struct rig *g);
    bool in_time, stop_told, drain_told;
    int64_t stop_trial;
    enum msg_action final_action, rung_action;
    int tear_every, requests; /* every nth request goes unanswered */
    bool no_uploads;
    int seen_before;
};

static struct msg_reply on_event(void *arg, const struct fake_event *ev)
{
    struct rig *g = arg;
    struct msg_reply r = { .action = MSG_OK };

    if (ev->type == MSG_FINAL)
        r.action = g->final_action;
    if (ev->type == MSG_RUNG)
        r.action = g->rung_action;
    r.to = r.action == MSG_RUN_TO ? 3 : 0;
    return r;
}

static bool on_request(void *arg, const struct server_request *r, struct server_answer *a)
{
    struct rig *g = arg;

    if (g->no_uploads && str_starts(r->path, "/api/v1/uploads")) {
        a->status = 503;
        return true;
    }
    if (g->tear_every == 0 || ++g->requests % g->tear_every != 0)
        return false;
    a->close = true;
    return true;
}

static void on_answer(void *arg, const struct msg_report *r, struct msg_answer *m)
{
    struct rig *g = arg;

    m->drain = g->drain_told;
    for (int i = 0; i < r->n_held && !g->stop_told; i++) {
        if (r->held[i].trial != g->stop_trial)
            continue;
        m->stop = mem_dup(&r->held[i], sizeof r->held[i]);
        m->n_stop = 1;
        g->stop_told = true;
    }
}

static int setup(void **state)
{
    static int count;
    struct rig *g = mem_zalloc(sizeof *g);
    char name[60];

    count++;
    log_level_set(LOG_ERROR);
    clk_init_system(&g->clk);
    g->loop = loop_new(&g->clk, NULL);
    snprintf(name, sizeof name, "agent-%ld-%d.sock", (long)getpid(), count);
    test_path(g->socket, sizeof g->socket, name);
    snprintf(name, sizeof name, "agent-%ld-%d", (long)getpid(), count);
    test_path(g->dir, sizeof g->dir, name);
    g->rules = (struct fake_rules){ .lease_ms = 3000,
                                    .empty_ms = 50,
                                    .on_event = on_event,
                                    .on_request = on_request,
                                    .on_answer = on_answer,
                                    .arg = g };
    g->final_action = MSG_DROP;
    g->rung_action = MSG_RUN_TO;
    g->fake = fake_new(g->loop, g->socket, &g->rules);
    g->n_devices = 1;
    *state = g;
    return 0;
}

static void start(struct rig *g)
{
    char url[220], blobs[220];
    const char *argv[] = { "assay-runner", "--lease-wait",  "1s",   "--slice-grace",
                           "300ms",        "--backoff-max", "40ms", "--drain",
                           "5s",           "--log-level",   "error" };
    struct http_conf hc = { .controller = url };
    struct agent_conf ac = { .loop = g->loop, .conf = &g->conf, .name = "test", .seed = 1 };
    bool help = false;

    assert_int_equal(runner_conf_load(&g->conf, ARRAY_LEN(argv), (char **)argv, &help, NULL), 0);
    snprintf(url, sizeof url, "unix:%s", g->socket);
    snprintf(blobs, sizeof blobs, "%s-blobs", g->dir);
    for (int i = 0; i < g->n_devices; i++) {
        g->devices[i] = (struct msg_device){ .kind = "cpu", .name = "test", .max_lanes = 4 };
        snprintf(g->devices[i].id, sizeof g->devices[i].id, "cpu%d", i);
    }
    g->http = http_new(g->loop, &hc, NULL);
    g->cache = cache_open(g->dir, NULL, 1 << 30, NULL);
    ac.http = g->http;
    ac.cache = g->cache;
    ac.devices = g->devices;
    ac.n_devices = g->n_devices;
    g->agent = agent_new(&ac, NULL);
    assert_non_null(g->agent);
}

static int teardown(void **state)
{
    struct rig *g = *state;

    agent_free(g->agent);
    http_free(g->http);
    fake_free(g->fake);
    cache_close(g->cache);
    runner_conf_fini(&g->conf);
    loop_free(g->loop);
    mem_free(g);
    return 0;
}

static void on_look(void *arg)
{
    struct rig *g = arg;

    if (!g->until(g))
        return;
    g->in_time = true;
    loop_stop(g->loop);
}

/* Turns the loop until it is so; 20 s are for ever. */
static void run_until(struct rig *g, bool (*is_so)(struct rig *g))
{
    struct loop_timer *look = loop_timer_new(g->loop, 1, 2, on_look, g);
    struct loop_timer *end =
        loop_timer_new(g->loop, 20000, 0, (void (*)(void *))loop_stop, g->loop);

    g->until = is_so;
    g->in_time = false;
    loop_run(g->loop, NULL);
    loop_timer_free(look);
    loop_timer_free(end);
    if (!g->in_time)
        fail_msg("it does not come about; %d messages so far", fake_n_events(g->fake));
}

static void run_for(struct rig *g, int64_t ms)
{
    struct loop_timer *end = loop_timer_new(g->loop, ms, 0, (void (*)(void *))loop_stop, g->loop);

    loop_run(g->loop, NULL);
    loop_timer_free(end);
}

/* Grants a group of lanes trial, trial + 1, ... with one act each. */
static void grant(struct rig *g, int64_t trial, int64_t fence, int n, const char *const *acts)
{
    struct msg_grant m = { .kind = MSG_FIT, .group = trial, .study = 1, .n_lanes = n };
    char config[8][80];

    sha256_hex("frame", 5, m.data.frame);
    str_copy(m.data.target, sizeof m.data.target, "y");
    str_copy(m.data.task, sizeof m.data.task, "binary");
    str_copy(m.data.metric, sizeof m.data.metric, "auc");
    m.data.folds = 5;
    m.lanes = mem_array((size_t)n, sizeof *m.lanes);
    for (int i = 0; i < n; i++) {
        snprintf(config[i], sizeof config[i], "{\"family\":\"fake\",\"act\":\"%s\"}", acts[i]);
        m.lanes[i] =
            (struct msg_lane){ .trial = trial + i, .fence = fence, .config = config[i], .to = 3 };
    }
    if (!fake_has_blob(g->fake, m.data.frame, NULL, NULL))
        fake_blob(g->fake, "frame", 5, m.data.frame);
    fake_grant(g->fake, &m);
    mem_free(m.lanes);
}

static void grant_one(struct rig *g, int64_t trial, const char *act)
{
    grant(g, trial, 1, 1, &act);
}

static bool has_registered(struct rig *g)
{
    return fake_hellos(g->fake) > 0;
}
static bool is_waiting_1(struct rig *g)
{
    return fake_is_held(g->fake, 1);
}
static bool has_final_2(struct rig *g)
{
    return fake_find(g->fake, MSG_FINAL, 2) != NULL;
}
static bool has_final_1(struct rig *g)
{
    return fake_find(g->fake, MSG_FINAL, 1) != NULL;
}
static bool is_complete_1(struct rig *g)
{
    return fake_find(g->fake, MSG_COMPLETE, 1) != NULL;
}
static bool is_failed_1(struct rig *g)
{
    return fake_find(g->fake, MSG_FAILED, 1) != NULL;
}

/* Something new was said, and then a renewal that holds nothing. */
static bool is_idle(struct rig *g)
{
    return fake_n_events(g->fake) > g->seen_before && fake_n_held(g->fake) == 0;
}

/* ---- the tests ---- */

static void it_registers_with_its_devices(void **state)
{
    struct rig *g = *state;

    g->n_devices = 2;
    start(g);
    run_until(g, has_registered);
    assert_string_equal(fake_hello(g->fake)->name, "test");
    assert_string_equal(fake_hello(g->fake)->numeric_sig, "assay-1/cpu");
    assert_int_equal(fake_hello(g->fake)->n_devices, 2);
    assert_string_equal(fake_hello(g->fake)->devices[1].id, "cpu1");
}

static void a_kept_trial_is_completed_with_its_artifact(void **state)
{
    struct rig *g = *state;

    g->final_action = MSG_KEEP;
    grant_one(g, 1, "final");
    start(g);
    run_until(g, is_complete_1);
    assert_int_equal(fake_event(g->fake, 0)->type, MSG_FINAL);
    assert_true(fake_has_blob(g->fake, fake_find(g->fake, MSG_COMPLETE, 1)->blob, NULL, NULL));
    assert_int_equal(fake_n_events(g->fake), 2);
    run_for(g, 1200);
    assert_false(fake_is_held(g->fake, 1)); /* and is held no more */
}

static void work_goes_on_trial_after_trial(void **state)
{
    struct rig *g = *state;

    g->n_devices = 2;
    for (int i = 1; i <= 10; i++)
        grant_one(g, i == 10 ? 2 : i + 10, "final");
    start(g);
    run_until(g, has_final_2);
    run_for(g, 50);
    assert_int_equal(fake_count(g->fake, MSG_FINAL), 10);
    assert_int_equal(fake_hellos(g->fake), 1);
}

static bool has_task(struct rig *g)
{
    return fake_count(g->fake, MSG_TASK_DONE) > 0;
}

static void an_ingest_task_gets_its_file_and_gives_a_blob(void **state)
{
    struct rig *g = *state;
    struct msg_grant m = { .kind = MSG_INGEST, .task = 1, .fence = 4 };

    fake_blob(g->fake, "a,b\n1,2\n", 8, m.source);
    fake_grant(g->fake, &m);
    start(g);
    run_until(g, has_task);
    assert_int_equal(fake_event(g->fake, 0)->fence, 4);
    assert_string_equal(fake_event(g->fake, 0)->detail, "{\"rows\":3}");
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
    struct rig *g = *state;

    start(g);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int before = fake_n_events(g->fake);

        g->rung_action = cases[i].action;
        grant_one(g, 100 + (int64_t)i, "rung");
        g->seen_before = before;
        run_until(g, is_idle);
        assert_non_null(fake_find(g->fake, cases[i].last, 100 + (int64_t)i));
        assert_null(cases[i].last == MSG_RUNG ? fake_find(g->fake, MSG_FINAL, 100 + (int64_t)i)
                                              : NULL);
        assert_false(fake_is_held(g->fake, 100 + (int64_t)i));
    }
}

static void messages_are_sent_again_until_answered(void **state)
{
    struct rig *g = *state;

    g->final_action = MSG_KEEP;
    g->tear_every = 3; /* before and after registration, uploads too */
    for (int i = 1; i <= 6; i++)
        grant_one(g, i == 6 ? 1 : i + 10, "final");
    start(g);
    run_until(g, is_complete_1);
    for (int i = 0; i < fake_n_events(g->fake); i++)
        assert_true(fake_event(g->fake, i)->seq <= 2);
    assert_int_equal(fake_count(g->fake, MSG_COMPLETE), 6);
}

static bool has_four(struct rig *g)
{
    return fake_count(g->fake, MSG_COMPLETE) >= 4;
}

static void a_controller_that_restarts_hears_everything(void **state)
{
    struct rig *g = *state;

    g->final_action = MSG_KEEP;
    for (int i = 1; i <= 4; i++)
        grant_one(g, i, "final");
    start(g);
    for (int i = 0; i < 12; i++) {
        run_for(g, 15);
        server_away(fake_server(g->fake));
        run_for(g, 15);
        server_back(fake_server(g->fake));
        if (i == 6)
            fake_forget_runners(g->fake); /* not even our number is known */
    }
    run_until(g, has_four);
    assert_int_equal(fake_count(g->fake, MSG_FINAL), 4);
    assert_int_equal(fake_count(g->fake, MSG_FAILED), 0);
}

static void a_stopped_lane_is_dropped(void **state)
{
    struct rig *g = *state;

    grant_one(g, 1, "wait");
    grant_one(g, 2, "final");
    g->stop_trial = 1;
    start(g);
    run_until(g, has_final_2);
    assert_true(g->stop_told);
    assert_null(fake_find(g->fake, MSG_FAILED, 1));
    run_for(g, 1200);
    assert_false(fake_is_held(g->fake, 1));
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
    struct rig *g = *state;

    start(g);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct fake_event *ev = NULL;

        grant(g, 1, (int64_t)i + 1, 1, &cases[i].act);
        for (int turns = 0; turns < 500 && (!ev || ev->fence != (int64_t)i + 1); turns++) {
            run_for(g, 10);
            ev = fake_find(g->fake, MSG_FAILED, 1);
        }
        assert_non_null(ev);
        assert_int_equal(ev->fence, i + 1);
        if (ev->reason != cases[i].reason || !strstr(ev->detail, cases[i].text))
            fail_msg("%s: %s: %s", cases[i].act, trial_reason_name[ev->reason], ev->detail);
    }
    grant_one(g, 2, "final");
    run_until(g, has_final_2);
}

static void lanes_not_begun_go_to_the_next_worker(void **state)
{
    static const char *const acts[] = { "final", "crash", "final" };
    struct rig *g = *state;

    grant(g, 10, 1, 3, acts);
    grant_one(g, 2, "die_early");
    start(g);
    run_until(g, has_final_2);
    assert_non_null(fake_find(g->fake, MSG_FINAL, 10));
    assert_non_null(fake_find(g->fake, MSG_FAILED, 11));
    assert_non_null(fake_find(g->fake, MSG_FINAL, 12));
    assert_int_equal(fake_count(g->fake, MSG_FAILED), 1);
}

static void lanes_stop_when_the_lease_runs_out(void **state)
{
    struct rig *g = *state;

    g->rules.lease_ms = 400;
    fake_free(g->fake);
    g->fake = fake_new(g->loop, g->socket, &g->rules);
    grant_one(g, 1, "wait");
    start(g);
    run_until(g, is_waiting_1);
    server_away(fake_server(g->fake));
    run_for(g, 900);
    server_back(fake_server(g->fake));
    grant_one(g, 2, "final");
    run_until(g, has_final_2);
    assert_false(fake_is_held(g->fake, 1));
    assert_null(fake_find(g->fake, MSG_FAILED, 1));
}

static void a_finished_trial_outlives_its_lease(void **state)
{
    struct rig *g = *state;

    g->rules.lease_ms = 300;
    fake_free(g->fake);
    g->fake = fake_new(g->loop, g->socket, &g->rules);
    g->final_action = MSG_KEEP;
    grant_one(g, 1, "final");
    start(g);
    while (fake_asks_waiting_grants(g->fake) > 0)
        run_for(g, 1);
    run_for(g, 2);
    server_away(fake_server(g->fake));
    run_for(g, 700);
    server_back(fake_server(g->fake));
    run_until(g, fake_is_held(g->fake, 1) || fake_n_events(g->fake) > 0 ? is_complete_1
                                                                        : has_registered);
}

static void draining_hands_back_what_runs(void **state)
{
    static const char *const acts[] = { "wait" };
    struct rig *g = *state;
    int64_t before = 0;

    grant(g, 1, 1, 1, acts);
    start(g);
    run_until(g, is_waiting_1);
    before = clk_now_ms(&g->clk);
    agent_drain(g->agent);
    assert_int_equal(loop_run(g->loop, NULL), 0); /* it ends by itself */
    assert_true(clk_now_ms(&g->clk) - before < 4000);
    assert_non_null(fake_find(g->fake, MSG_CHECKPOINT, 1));
    assert_int_equal(fake_find(g->fake, MSG_FAILED, 1)->reason, TR_DRAINED);
    assert_true(fake_find(g->fake, MSG_FAILED, 1)->seq >
                fake_find(g->fake, MSG_CHECKPOINT, 1)->seq);
}

static void draining_ends_also_without_a_controller(void **state)
{
    struct rig *g = *state;

    start(g);
    agent_drain(g->agent);
    assert_int_equal(loop_run(g->loop, NULL), 0);
    agent_free(g->agent);
    http_free(g->http);
    cache_close(g->cache);
    runner_conf_fini(&g->conf);
    start(g);
    run_until(g, has_registered);
    run_for(g, 100);
    server_away(fake_server(g->fake));
    agent_drain(g->agent);
    assert_int_equal(loop_run(g->loop, NULL), 0);
}

static void a_controller_that_says_drain_gives_no_more_work(void **state)
{
    struct rig *g = *state;

    g->drain_told = true;
    start(g);
    run_until(g, has_registered);
    run_for(g, 150);
    grant_one(g, 2, "final");
    run_for(g, 300);
    assert_int_equal(fake_asks_waiting_grants(g->fake), 1);
    g->drain_told = false;
    run_until(g, has_final_2);
}

static void only_the_last_checkpoint_need_travel(void **state)
{
    struct rig *g = *state;

    g->final_action = MSG_KEEP;
    g->no_uploads = true;
    grant_one(g, 1, "checkpoints");
    start(g);
    run_until(g, has_final_1);
    g->no_uploads = false;
    run_until(g, is_complete_1);
    assert_int_equal(fake_count(g->fake, MSG_CHECKPOINT), 0);
}

static void a_table_that_does_not_exist_fails_its_lanes(void **state)
{
    struct rig *g = *state;
    struct msg_grant m = { .kind = MSG_FIT, .group = 1, .study = 1, .n_lanes = 1 };
    struct msg_lane lane = {
        .trial = 1, .fence = 1, .config = (char *)"{\"act\":\"final\"}", .to = 3
    };

    sha256_hex("missing", 7, m.data.frame);
    str_copy(m.data.target, sizeof m.data.target, "y");
    str_copy(m.data.task, sizeof m.data.task, "binary");
    str_copy(m.data.metric, sizeof m.data.metric, "auc");
    m.data.folds = 5;
    m.lanes = &lane;
    fake_grant(g->fake, &m);
    start(g);
    run_until(g, is_failed_1);
    assert_int_equal(fake_find(g->fake, MSG_FAILED, 1)->reason, TR_DEVICE);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
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
        T(a_stopped_lane_is_dropped),
        T(a_worker_that_dies_is_told_and_replaced),
        T(lanes_not_begun_go_to_the_next_worker),
        T(lanes_stop_when_the_lease_runs_out),
        T(a_finished_trial_outlives_its_lease),
        T(draining_hands_back_what_runs),
        T(draining_ends_also_without_a_controller),
        T(a_controller_that_says_drain_gives_no_more_work),
        T(only_the_last_checkpoint_need_travel),
        T(a_table_that_does_not_exist_fails_its_lanes),
    };

    if (argc > 1 && str_eq(argv[1], "--worker"))
        fake_worker();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
