/* stage.c - see stage.h. */
#include "tests/runner/stage.h"

#include "tests/unit.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <unistd.h>

static struct msg_reply on_event(void *arg, const struct mock_event *ev)
{
    struct stage *g = arg;
    struct msg_reply r = { .action = MSG_OK };

    if (ev->type == MSG_FINAL)
        r.action = g->final_action;
    if (ev->type == MSG_RUNG)
        r.action = g->rung_action;
    r.to = r.action == MSG_RUN_TO ? g->run_to : 0;
    return r;
}

static bool on_request(void *arg, const struct server_request *r, struct server_answer *a)
{
    struct stage *g = arg;

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
    struct stage *g = arg;

    m->drain = g->drain_told;
    for (int i = 0; i < r->n_held && !g->stop_told; i++) {
        if (r->held[i].trial != g->stop_trial)
            continue;
        m->stop = mem_dup(&r->held[i], sizeof r->held[i]);
        m->n_stop = 1;
        g->stop_told = true;
    }
}

int stage_setup(void **state)
{
    static int count;
    struct stage *g = mem_zalloc(sizeof *g);
    char name[60];

    count++;
    log_level_set(getenv("DBG") ? LOG_DEBUG : LOG_ERROR);
    clk_init_system(&g->clk);
    g->loop = loop_new(&g->clk, NULL);
    snprintf(name, sizeof name, "agent-%ld-%d.sock", (long)getpid(), count);
    test_path(g->socket, sizeof g->socket, name);
    snprintf(name, sizeof name, "agent-%ld-%d", (long)getpid(), count);
    test_path(g->dir, sizeof g->dir, name);
    g->rules = (struct mock_rules){ .lease_ms = 3000,
                                    .empty_ms = 50,
                                    .on_event = on_event,
                                    .on_request = on_request,
                                    .on_answer = on_answer,
                                    .arg = g };
    g->final_action = MSG_DROP;
    g->rung_action = MSG_RUN_TO;
    g->run_to = 3;
    g->mock = mock_new(g->loop, g->socket, &g->rules);
    g->n_devices = 1;
    *state = g;
    return 0;
}

void stage_start(struct stage *g)
{
    char url[220];
    const char *argv[] = { "assay-runner",
                           "--lease-wait",
                           "1s",
                           "--slice-grace",
                           "300ms",
                           "--backoff-max",
                           "40ms",
                           "--drain",
                           "5s",
                           "--log-level",
                           getenv("DBG") ? "debug" : "error" };
    struct http_conf hc = { .controller = url };
    struct agent_conf ac = { .loop = g->loop, .conf = &g->conf, .name = "test", .seed = 1 };
    bool help = false;

    assert_int_equal(runner_conf_load(&g->conf, ARRAY_LEN(argv), (char **)argv, &help, NULL), 0);
    if (g->checkpoint_ms > 0)
        g->conf.checkpoint_ms = g->checkpoint_ms;
    if (g->drain_ms > 0)
        g->conf.drain_ms = g->drain_ms;
    snprintf(url, sizeof url, "unix:%s", g->socket);
    for (int i = 0; i < g->n_devices; i++) {
        g->devices[i] = (struct msg_device){
            .kind = "cpu", .name = "test", .max_trials = 4, .memory_bytes = g->device_bytes
        };
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

void stage_stop(struct stage *g)
{
    if (!g->agent)
        return;
    agent_free(g->agent);
    http_free(g->http);
    cache_close(g->cache);
    runner_conf_fini(&g->conf);
    g->agent = NULL;
}

int stage_teardown(void **state)
{
    struct stage *g = *state;

    stage_stop(g);
    mock_free(g->mock);
    loop_free(g->loop);
    mem_free(g);
    return 0;
}

static void on_enough(void *arg)
{
    loop_stop(arg);
}

static void on_look(void *arg)
{
    struct stage *g = arg;

    if (!g->until(g))
        return;
    g->in_time = true;
    loop_stop(g->loop);
}

/* Turns the loop until it is so; a minute is for ever. */
void stage_run_until(struct stage *g, bool (*is_so)(struct stage *g))
{
    struct loop_timer *look = loop_timer_new(g->loop, 1, 2, on_look, g);
    struct loop_timer *end = loop_timer_new(g->loop, 60000, 0, on_enough, g->loop);

    g->until = is_so;
    g->in_time = false;
    loop_run(g->loop, NULL);
    loop_timer_free(look);
    loop_timer_free(end);
    for (int i = 0; !g->in_time && i < mock_n_events(g->mock); i++)
        print_message("%s trial %" PRId64 " %s %s\n", msg_type_name[mock_event(g->mock, i)->type],
                      mock_event(g->mock, i)->trial,
                      trial_reason_name[mock_event(g->mock, i)->reason],
                      mock_event(g->mock, i)->detail);
    if (!g->in_time)
        fail_msg("it does not come about");
}

void stage_run_for(struct stage *g, int64_t ms)
{
    struct loop_timer *end = loop_timer_new(g->loop, ms, 0, on_enough, g->loop);

    loop_run(g->loop, NULL);
    loop_timer_free(end);
}
