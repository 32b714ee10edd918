/* lease_poll.c - the calls of one device; see lease_poll.h. A controller that lets calls wait
 * answers "nothing" only after a while, and is asked again at once. If it answers "nothing" at
 * once, the next call waits for a pause that grows, so that the controller is not flooded. */
#include "trial-runner/agent/lease_poll.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "trial-runner/agent/backoff.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ASK_MARGIN_MS: how much longer than the long poll a call may take.
 * EMPTY_QUICK_MS: a "nothing" that comes within this time was not waited for. */
enum { FIRST_PAUSE_MS = 20, ASK_MARGIN_MS = 10000, EMPTY_QUICK_MS = 20 };

struct lease_poll {
    struct lease_poll_conf c;
    struct work *work;
    struct http_call *ask;
    int64_t n;        /* number of the last call; it is kept until the call is answered */
    bool is_open;     /* call n has no answer yet */
    int64_t answered; /* number of the last call that was answered; 0 = none */
    int64_t sent_ms;
    struct backoff backoff;
    struct loop_timer *again;
    bool draining;
};

static int64_t now_ms(const struct lease_poll *s)
{
    return clk_now_ms(loop_clk(s->c.loop));
}

static void on_ask_again(void *arg)
{
    struct lease_poll *s = arg;

    loop_timer_free(s->again);
    s->again = NULL;
    s->c.on_change(s->c.arg);
}

static void pause_ask(struct lease_poll *s, int64_t at_least_ms)
{
    if (!s->again)
        s->again = loop_timer_new(s->c.loop, MAX(backoff_next_ms(&s->backoff), at_least_ms), 0,
                                  on_ask_again, s);
}

static void take_grant(struct lease_poll *s, const struct http_reply *r)
{
    struct msg_grant m = { 0 };
    struct err err = { 0 };
    json_t *j = jsonx_load(r->body, r->len, "grant", &err);
    int rc = j ? msg_grant_parse(&m, j, &err) : -1;

    json_decref(j);
    /* A grant that cannot be read counts as answered too: the next report does not list its trials,
     * so the controller puts them back into the queue at once. */
    s->is_open = false;
    s->answered = s->n;
    if (rc == 1) {
        backoff_reset(&s->backoff);
        work_take(s->work, &m);
    } else if (rc == 0 && now_ms(s) - s->sent_ms > EMPTY_QUICK_MS) {
        backoff_reset(&s->backoff);
    } else {
        if (rc < 0)
            log_error("grant.bad device=%s err=\"%s\"", s->c.device->id, err.text);
        pause_ask(s, 0);
    }
}

static void on_grant(void *arg, const struct http_reply *r)
{
    struct lease_poll *s = arg;

    s->ask = NULL;
    if (r->status >= 200 && r->status < 300) {
        take_grant(s, r);
    } else if (r->status == 404) {
        s->c.on_unknown(s->c.arg);
    } else {
        if (r->status != 0)
            log_warn("ask.refused device=%s err=\"%s\"", s->c.device->id, r->err.text);
        if (s->draining)
            s->is_open = false; /* if it granted something, that comes back when its lease ends */
        else
            pause_ask(s, r->retry_after_ms);
    }
    s->c.on_change(s->c.arg);
}

static void send_ask(struct lease_poll *s, int64_t runner)
{
    struct msg_ask *m = mem_zalloc(sizeof *m);
    int64_t wait_ms = s->draining ? 0 : s->c.conf->lease_wait_ms;
    char path[80];

    CHECK(!s->ask);
    if (!s->is_open)
        s->n++;
    s->is_open = true;
    s->sent_ms = now_ms(s);
    str_copy(m->session, sizeof m->session, s->c.session);
    str_copy(m->device, sizeof m->device, s->c.device->id);
    m->n = s->n;
    m->max_trials = s->c.device->max_trials;
    m->host_bytes =
        MAX(s->c.device->memory_bytes - MAX(process_rss_bytes(work_process(s->work)), 0), 0);
    m->n_cached = cache_list(s->c.cache, m->cached, MSG_MAX_CACHED);
    m->wait_s = wait_ms / 1000;
    snprintf(path, sizeof path, "/api/v1/runners/%" PRId64 "/lease", runner);
    s->ask =
        http_post_json(s->c.http, path, msg_ask_json_new(m), wait_ms + ASK_MARGIN_MS, on_grant, s);
    mem_free(m);
}

/* While draining, only a call whose answer may have been lost is sent again: if it granted
 * something, that must be handed back. */
static bool may_ask(const struct lease_poll *s, bool paused)
{
    if (s->ask || s->again)
        return false;
    if (s->draining)
        return s->is_open;
    return !paused && work_wants(s->work);
}

void lease_poll_turn(struct lease_poll *s, int64_t runner, bool paused)
{
    if (runner != 0 && may_ask(s, paused))
        send_ask(s, runner);
}

void lease_poll_drain(struct lease_poll *s)
{
    s->draining = true;
    work_drain(s->work);
    http_cancel(s->ask);
    s->ask = NULL;
    loop_timer_free(s->again);
    s->again = NULL;
}

bool lease_poll_is_open(const struct lease_poll *s)
{
    return s->is_open;
}

bool lease_poll_asked(const struct lease_poll *s, struct msg_asked *out)
{
    if (s->answered == 0)
        return false;
    out->n = s->answered;
    str_copy(out->device, sizeof out->device, s->c.device->id);
    return true;
}

struct lease_poll *lease_poll_new(const struct lease_poll_conf *conf, struct err *err)
{
    struct lease_poll *s = mem_zalloc(sizeof *s);
    struct work_conf wc = { .loop = conf->loop,
                            .conf = conf->conf,
                            .device = conf->device,
                            .number = conf->number,
                            .outbox = conf->outbox,
                            .fetch = conf->fetch,
                            .cache = conf->cache,
                            .on_change = conf->on_change,
                            .arg = conf->arg };

    s->c = *conf;
    backoff_init(&s->backoff, FIRST_PAUSE_MS, conf->conf->backoff_max_ms, conf->seed);
    s->work = work_new(&wc, err);
    if (s->work)
        return s;
    mem_free(s);
    return NULL;
}

void lease_poll_free(struct lease_poll *s)
{
    if (!s)
        return;
    http_cancel(s->ask);
    loop_timer_free(s->again);
    work_free(s->work);
    mem_free(s);
}
