/* agent.c - registration, reports and the lease clock; see agent.h.
 *
 * Whatever happens calls pump_soon(), and then on_pump() runs once after the callbacks of that
 * turn: it registers, sends a report or lets the polls ask for work, whichever is due. So messages
 * that come up together travel in one report.
 *
 * A report renews every lease. The lease counts from the moment at which the last answered report
 * was SENT, because the controller may have counted from then on. Nothing waits without need: each
 * device has its own long poll, reports have a connection of their own, and blobs use others. */
#include "trial-runner/agent/agent.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "trial-runner/agent/backoff.h"
#include "trial-runner/agent/lease_poll.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define NUMERIC_SIG "assay-1/cpu"
/* FIRST_PAUSE_MS: a controller that restarts is back within milliseconds. CALL_MIN_MS: the shortest
 * limit for a call, for slow machines. EVENTS_MAX: messages in one report. NEED_LOOK_MS: how often a
 * runner that may end by itself looks whether it is still needed. */
enum { FIRST_PAUSE_MS = 20, CALL_MIN_MS = 2000, EVENTS_MAX = 512, NEED_LOOK_MS = 250 };

struct agent {
    struct agent_conf c;
    char session[33];
    char follows[33]; /* session of the runner that had our cache folder before */
    struct fetch *fetch;
    struct outbox *outbox;
    struct lease_poll *polls[MSG_MAX_DEVICES];
    int64_t runner;               /* our id; 0 = not registered */
    int64_t lease_ms, renewed_ms; /* the lease runs out lease_ms after renewed_ms */
    struct http_call *hello, *report;
    struct backoff backoff;
    struct loop_timer *again, *pump, *renew, *expire, *drain_end, *need;
    int64_t started_ms, busy_ms; /* busy_ms: when it last held work, or started */
    int max_events; /* of a report; 1 while looking for the message that the controller refuses */
    bool renew_due;
    bool draining;      /* agent_drain was called */
    bool paused;        /* the controller said drain: no new work until it says otherwise */
    bool is_away;       /* the controller does not answer; logged only when this changes */
    struct err refusal; /* why the controller refuses this runner */
};

static void pump_soon(void *arg);

static int64_t now_ms(const struct agent *a)
{
    return clk_now_ms(loop_clk(a->c.loop));
}

/* ---- whether the controller answers ---- */

static void heard(struct agent *a, int64_t sent_ms, int64_t lease_ms)
{
    if (a->is_away)
        log_info("controller.back runner=%" PRId64, a->runner);
    a->is_away = false;
    a->lease_ms = lease_ms;
    a->renewed_ms = MAX(a->renewed_ms, sent_ms);
    backoff_reset(&a->backoff);
    loop_timer_again(a->expire, a->renewed_ms + a->lease_ms - now_ms(a));
}

static void on_again(void *arg)
{
    struct agent *a = arg;

    loop_timer_free(a->again);
    a->again = NULL;
    pump_soon(a);
}

/* Registration and reports share one pause: if one of them fails, the other would fail too. */
static void pause_talk(struct agent *a, const struct http_reply *r, const char *what)
{
    int64_t ms = MAX(backoff_next_ms(&a->backoff), r->retry_after_ms);

    if (!a->is_away || r->status != 0)
        log_warn("controller.%s in_ms=%" PRId64 " err=\"%s\"", what, ms, r->err.text);
    a->is_away |= r->status == 0;
    if (!a->again)
        a->again = loop_timer_new(a->c.loop, ms, 0, on_again, a);
}

/* True for an answer that will not change until somebody gives this runner another token. Then the
 * runner ends and says what to do, instead of asking for ever. A 403 counts only for registration;
 * later it concerns a single request. */
static bool is_refused(struct agent *a, const struct http_reply *r, bool registers)
{
    static const char make[] = "'assay token add NAME runner' makes a token for runners";
    const char *server = a->c.conf->controller;

    if (r->status != 401 && !(r->status == 403 && registers))
        return false;
    if (r->status == 403)
        err_set(&a->refusal, ERR_DENIED, "%.120s refuses this runner: %.120s; %s", server,
                r->err.text, make);
    else if (a->c.has_token)
        err_set(
            &a->refusal, ERR_AUTH,
            "%.120s does not know this token: it was revoked, or belongs to another controller; "
            "%s",
            server, make);
    else
        err_set(&a->refusal, ERR_AUTH,
                "%.120s needs a token: set ASSAY_TOKEN, or use --token-file; %s", server, make);
    loop_stop(a->c.loop);
    return true;
}

int agent_refusal(const struct agent *a, struct err *err)
{
    if (a->refusal.code == ERR_NONE)
        return 0;
    if (err)
        *err = a->refusal;
    return -1;
}

static void forget_runner(void *arg)
{
    struct agent *a = arg;

    log_warn("runner.unknown runner=%" PRId64, a->runner);
    a->runner = 0;
    pump_soon(a);
}

/* The lease may have run out. Then all trials that are computed or wait for it are dropped, because
 * another runner may have them by now. A trial that only waits for an answer, or has messages left,
 * stays: its fence tells the controller whether they still count. */
static void on_expire(void *arg)
{
    struct agent *a = arg;
    int64_t left = a->renewed_ms + a->lease_ms - now_ms(a);
    struct held *h = NULL, *next = NULL;

    if (a->lease_ms == 0)
        return;
    if (left > 0) {
        loop_timer_again(a->expire, left);
        return;
    }
    for (h = outbox_first(a->outbox); h; h = next) {
        next = h->next;
        if (h->state == HELD_PARKED || h->state == HELD_OUT)
            continue;
        log_warn("lane.expired trial=%" PRId64 " fence=%" PRId64, h->trial, h->fence);
        work_drop(h);
    }
}

/* ---- registration ---- */

static void on_welcome(void *arg, const struct http_reply *r)
{
    struct agent *a = arg;
    struct msg_welcome m = { 0 };
    struct http_reply bad = *r;
    json_t *j = NULL;

    a->hello = NULL;
    if (r->status >= 200 && r->status < 300) {
        j = jsonx_load(r->body, r->len, "welcome", &bad.err);
        if (j && msg_welcome_parse(&m, j, &bad.err) == 0) {
            a->runner = m.runner;
            cache_session(a->c.cache, a->session);
            a->renew_due = true; /* at once: this may be another controller than before */
            log_info("runner.registered runner=%" PRId64 " lease_ms=%" PRId64, m.runner,
                     m.lease_ms);
            heard(a, r->sent_ms, m.lease_ms);
            pump_soon(a);
            json_decref(j);
            return;
        }
        json_decref(j);
    }
    if (!is_refused(a, &bad, true))
        pause_talk(a, &bad, "refused");
}

static void send_hello(struct agent *a)
{
    struct msg_hello *m = mem_zalloc(sizeof *m);

    m->protocol = MSG_PROTOCOL;
    str_copy(m->name, sizeof m->name, a->c.name);
    str_copy(m->session, sizeof m->session, a->session);
    str_copy(m->follows, sizeof m->follows, a->follows);
    str_copy(m->numeric_sig, sizeof m->numeric_sig, NUMERIC_SIG);
    str_copy(m->labels, sizeof m->labels, a->c.conf->labels);
    m->n_devices = a->c.n_devices;
    memcpy(m->devices, a->c.devices, (size_t)a->c.n_devices * sizeof *m->devices);
    a->hello = http_post_json(a->c.http, "/api/v1/runners", msg_hello_json_new(m), CALL_MIN_MS * 5,
                              on_welcome, a);
    mem_free(m);
}

/* ---- reports ---- */

/* The controller refused a report. If it held one message, that message would be refused for ever,
 * so its trial is dropped. If it held more, the next reports hold one message each, to find it. */
static void drop_refused(struct agent *a, const struct err *why)
{
    struct held *h = outbox_report_events(a->outbox) == 1 ? outbox_report_held(a->outbox, 0) : NULL;

    if (outbox_report_events(a->outbox) > 1) {
        a->max_events = 1;
    } else if (h) {
        log_error("message.refused trial=%" PRId64 " err=\"%s\"", h->trial, why->text);
        work_drop(h);
        a->max_events = EVENTS_MAX;
    }
}

static void drop_listed(struct agent *a, const struct msg_held *list, int n, bool is_task)
{
    for (int i = 0; i < n; i++) {
        struct held *h = outbox_find(a->outbox, list[i].trial, list[i].fence, is_task);

        if (h)
            work_drop(h);
    }
}

static int apply_answer(struct agent *a, const struct msg_answer *m, struct err *err)
{
    enum msg_type type = MSG_PROGRESS;
    struct held *h = NULL;

    if (m->n_replies != outbox_report_events(a->outbox))
        return err_set(err, ERR_IO, "the controller sent %d replies to %d messages", m->n_replies,
                       outbox_report_events(a->outbox));
    for (int i = 0; i < m->n_replies; i++) {
        if (!outbox_answer(a->outbox, i, &m->replies[i], &h, &type))
            return err_set(err, ERR_IO, "reply %d of the controller fits another message", i);
        if (h)
            work_reply(h, type, &m->replies[i]);
    }
    drop_listed(a, m->stop, m->n_stop, false);
    drop_listed(a, m->stop_tasks, m->n_stop_tasks, true);
    return 0;
}

static void take_answer(struct agent *a, const struct http_reply *r)
{
    struct msg_answer m = { 0 };
    struct http_reply bad = *r;
    json_t *j = jsonx_load(r->body, r->len, "answer", &bad.err);
    int rc = j ? msg_answer_parse(&m, j, &bad.err) : -1;

    if (rc == 0) {
        a->max_events = EVENTS_MAX;
        a->paused = m.drain;
        heard(a, r->sent_ms, m.lease_ms);
        rc = apply_answer(a, &m, &bad.err);
        msg_answer_fini(&m);
    }
    if (rc < 0)
        pause_talk(a, &bad, "answer");
    json_decref(j);
}

static void on_reported(void *arg, const struct http_reply *r)
{
    struct agent *a = arg;

    a->report = NULL;
    if (r->status >= 200 && r->status < 300) {
        take_answer(a, r);
    } else if (r->status == 404) {
        forget_runner(a);
    } else if (!is_refused(a, r, false)) {
        if (r->status == 400 || r->status == 413 || r->status == 409)
            drop_refused(a, &r->err);
        pause_talk(a, r, "refused");
    }
    outbox_report_lost(a->outbox);
    pump_soon(a);
}

static void send_report(struct agent *a)
{
    struct msg_asked asked[MSG_MAX_DEVICES];
    char path[80];
    int n = 0;

    CHECK(!a->report && a->runner != 0);
    for (int i = 0; i < a->c.n_devices; i++) {
        if (lease_poll_asked(a->polls[i], &asked[n]))
            n++;
    }
    a->renew_due = false;
    snprintf(path, sizeof path, "/api/v1/runners/%" PRId64 "/report", a->runner);
    a->report = http_post_json(a->c.http, path,
                               outbox_report_new(a->outbox, a->session, asked, n, a->max_events),
                               MAX(a->lease_ms / 3, CALL_MIN_MS), on_reported, a);
    loop_timer_again(a->renew, a->lease_ms / 3);
}

/* ---- the turn ---- */

/* Draining is over when no call for work is unanswered, which might bring a grant, and the outbox
 * is empty. */
static bool is_over(const struct agent *a)
{
    for (int i = 0; i < a->c.n_devices; i++) {
        if (lease_poll_is_open(a->polls[i]))
            return false;
    }
    return a->draining && !outbox_first(a->outbox);
}

static void on_pump(void *arg)
{
    struct agent *a = arg;

    loop_timer_free(a->pump);
    a->pump = NULL;
    if (is_over(a)) {
        loop_stop(a->c.loop);
        return;
    }
    if (a->runner == 0) {
        if (!a->hello && !a->again)
            send_hello(a);
        return;
    }
    if (!a->report && !a->again && (a->renew_due || outbox_has_sendable(a->outbox)))
        send_report(a);
    for (int i = 0; i < a->c.n_devices; i++)
        lease_poll_turn(a->polls[i], a->runner, a->paused);
}

static void pump_soon(void *arg)
{
    struct agent *a = arg;

    if (!a->pump)
        a->pump = loop_timer_new(a->c.loop, 0, 0, on_pump, a);
}

static void on_renew(void *arg)
{
    struct agent *a = arg;

    a->renew_due = true;
    pump_soon(a);
}

static void on_drain_end(void *arg)
{
    struct agent *a = arg;

    log_warn("drain.cut after_ms=%" PRId64, a->c.conf->drain_ms);
    loop_stop(a->c.loop);
}

void agent_drain(struct agent *a)
{
    if (a->draining)
        return;
    log_info("runner.drain");
    a->draining = true;
    for (int i = 0; i < a->c.n_devices; i++)
        lease_poll_drain(a->polls[i]);
    a->drain_end = loop_timer_new(a->c.loop, a->c.conf->drain_ms, 0, on_drain_end, a);
    pump_soon(a);
}

/* ---- whether it is still needed ---- */

/* A runner that a cluster's scheduler started ends when nobody needs it, because its place costs
 * others theirs. Nobody needs to tell it, so that it also ends after the controller is gone. */
static void on_need(void *arg)
{
    struct agent *a = arg;
    const struct runner_conf *conf = a->c.conf;
    int64_t now = now_ms(a), away = now - MAX(a->renewed_ms, a->started_ms);

    if (outbox_first(a->outbox))
        a->busy_ms = now;
    if (a->draining)
        return;
    if (conf->idle_exit_ms > 0 && now - a->busy_ms > conf->idle_exit_ms)
        log_info("runner.idle for_ms=%" PRId64, now - a->busy_ms);
    else if (conf->away_exit_ms > 0 && away > conf->away_exit_ms)
        log_warn("runner.forsaken for_ms=%" PRId64 " note=\"the controller does not answer\"",
                 away);
    else
        return;
    agent_drain(a);
}

/* ---- life ---- */

static void session_make(struct agent *a)
{
    uint8_t bytes[16];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        struct rng r;

        rng_init(&r, a->c.seed ^ (uint64_t)clk_wall_ms(loop_clk(a->c.loop)), 11);
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)rng_below(&r, 256);
    }
    str_hex(bytes, sizeof bytes, a->session);
}

static struct lease_poll *lease_poll_of(struct agent *a, int i, struct err *err)
{
    struct lease_poll_conf sc = { .loop = a->c.loop,
                                  .conf = a->c.conf,
                                  .http = a->c.http,
                                  .cache = a->c.cache,
                                  .fetch = a->fetch,
                                  .outbox = a->outbox,
                                  .device = &a->c.devices[i],
                                  .number = i,
                                  .session = a->session,
                                  .seed = rng_mix(a->c.seed, (uint64_t)i + 1),
                                  .on_change = pump_soon,
                                  .on_unknown = forget_runner,
                                  .arg = a };

    return lease_poll_new(&sc, err);
}

struct agent *agent_new(const struct agent_conf *conf, struct err *err)
{
    struct agent *a = mem_zalloc(sizeof *a);
    struct loop *l = conf->loop;

    a->c = *conf;
    a->max_events = EVENTS_MAX;
    session_make(a);
    cache_before(conf->cache, a->follows, sizeof a->follows);
    backoff_init(&a->backoff, FIRST_PAUSE_MS, conf->conf->backoff_max_ms, conf->seed);
    a->fetch = fetch_new(l, conf->http, conf->cache, conf->conf->backoff_max_ms);
    a->outbox = outbox_new(&(struct outbox_conf){ .loop = l,
                                                  .http = conf->http,
                                                  .cache = conf->cache,
                                                  .keeps_blobs = !conf->conf->blob_dir,
                                                  .backoff_max_ms = conf->conf->backoff_max_ms,
                                                  .on_sendable = pump_soon,
                                                  .arg = a });
    a->renew = loop_timer_new(l, INT32_MAX, 0, on_renew, a);
    a->expire = loop_timer_new(l, INT32_MAX, 0, on_expire, a);
    a->started_ms = a->busy_ms = clk_now_ms(loop_clk(l));
    if (conf->conf->idle_exit_ms > 0 || conf->conf->away_exit_ms > 0)
        a->need = loop_timer_new(l, NEED_LOOK_MS, NEED_LOOK_MS, on_need, a);
    for (int i = 0; i < conf->n_devices; i++) {
        a->polls[i] = lease_poll_of(a, i, err);
        if (!a->polls[i]) {
            agent_free(a);
            return NULL;
        }
    }
    pump_soon(a);
    return a;
}

void agent_free(struct agent *a)
{
    if (!a)
        return;
    http_cancel(a->hello);
    http_cancel(a->report);
    for (int i = 0; i < a->c.n_devices; i++)
        lease_poll_free(a->polls[i]);
    outbox_free(a->outbox);
    fetch_free(a->fetch);
    loop_timer_free(a->again);
    loop_timer_free(a->pump);
    loop_timer_free(a->renew);
    loop_timer_free(a->expire);
    loop_timer_free(a->drain_end);
    loop_timer_free(a->need);
    mem_free(a);
}
