/* agent.c - registration, asks, reports and the lease clock. All that can be done now is done by pump(), which runs once
 * after the callbacks of a turn, so that what happened together is reported together. A report is the renewal too: the
 * lease is counted from when the last answered one was SENT. Nothing waits for anything it need not wait for: each
 * device has its own long poll, reports have a connection of their own, and blobs go past both. */
#include "trial-runner/agent.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "trial-runner/backoff.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define NUMERIC_SIG "assay-1/cpu"
enum {
    FIRST_PAUSE_MS = 20,
    ASK_MARGIN_MS = 10000,
    CALL_MIN_MS = 2000,
    EVENTS_MAX = 512,
    EMPTY_QUICK_MS = 20
};

/* One device's asking. */
struct seat {
    struct agent *agent;
    const struct msg_device *device;
    struct work *work;
    struct http_call *ask;
    int64_t n;        /* of the last call sent; the same again until answered */
    bool is_open;     /* n has no answer yet */
    int64_t answered; /* the last answered n */
    int64_t sent_ms;
    struct backoff backoff;
    struct loop_timer *again;
};

struct agent {
    struct agent_conf c;
    char session[33];
    struct fetch *fetch;
    struct book *book;
    struct seat *seats;
    int64_t runner; /* 0 = not registered */
    int64_t lease_ms, renewed_ms;
    struct http_call *hello, *report;
    struct backoff backoff;
    struct loop_timer *again, *pump, *renew, *expire, *drain_end;
    int max_events; /* 1 while looking for the message that the controller refuses */
    bool renew_due;
    bool draining, paused; /* paused: the controller said drain */
    bool is_away;          /* for one log line at each change */
};

static void pump_soon(void *arg);

static int64_t now_ms(const struct agent *a)
{
    return clk_now_ms(loop_clk(a->c.loop));
}

static void send_json(struct agent *a, struct http_call **call, const char *path,
                      json_t *body_steal, int64_t limit_ms,
                      void (*on_done)(void *arg, const struct http_reply *r), void *arg)
{
    char *text = jsonx_dump(body_steal);

    json_decref(body_steal);
    *call = http_send(a->c.http, &(struct http_request){ .method = HTTP_POST,
                                                         .path = path,
                                                         .body = text,
                                                         .body_len = strlen(text),
                                                         .is_json = true,
                                                         .limit_ms = limit_ms,
                                                         .on_done = on_done,
                                                         .arg = arg });
}

/* ---- being heard, and not ---- */

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

/* Registration and reports share one pause: neither can do what the other cannot. */
static void pause_talk(struct agent *a, const struct http_reply *r, const char *what)
{
    int64_t ms = MAX(backoff_next_ms(&a->backoff), r->retry_after_ms);

    if (!a->is_away || r->status != 0)
        log_warn("controller.%s in_ms=%" PRId64 " err=\"%s\"", what, ms, r->err.text);
    a->is_away |= r->status == 0;
    if (!a->again)
        a->again = loop_timer_new(a->c.loop, ms, 0, on_again, a);
}

static void forget_runner(struct agent *a)
{
    log_warn("runner.unknown runner=%" PRId64, a->runner);
    a->runner = 0;
    pump_soon(a);
}

/* The lease has run out: what is being computed stops, since another may have it. What only waits for an answer keeps
 * asking: its fence decides. */
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
    for (h = book_first(a->book); h; h = next) {
        next = h->next;
        if (h->state != HELD_WAITING && h->state != HELD_RUNNING)
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
            a->renew_due = true; /* at once: it may be another controller than the one we knew */
            log_info("runner.registered runner=%" PRId64 " lease_ms=%" PRId64, m.runner,
                     m.lease_ms);
            heard(a, r->sent_ms, m.lease_ms);
            pump_soon(a);
            json_decref(j);
            return;
        }
        json_decref(j);
    }
    pause_talk(a, &bad, "refused");
}

static void send_hello(struct agent *a)
{
    struct msg_hello *m = mem_zalloc(sizeof *m);

    m->protocol = MSG_PROTOCOL;
    str_copy(m->name, sizeof m->name, a->c.name);
    str_copy(m->session, sizeof m->session, a->session);
    str_copy(m->numeric_sig, sizeof m->numeric_sig, NUMERIC_SIG);
    str_copy(m->labels, sizeof m->labels, a->c.conf->labels);
    m->n_devices = a->c.n_devices;
    memcpy(m->devices, a->c.devices, (size_t)a->c.n_devices * sizeof *m->devices);
    send_json(a, &a->hello, "/api/v1/runners", msg_hello_json_new(m), CALL_MIN_MS * 5, on_welcome,
              a);
    mem_free(m);
}

/* ---- reports ---- */

/* A report with one message was refused as malformed: that message would be refused for ever. */
static void drop_refused(struct agent *a, const struct err *why)
{
    struct held *h = book_report_events(a->book) == 1 ? book_report_held(a->book, 0) : NULL;

    if (book_report_events(a->book) > 1) {
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
        struct held *h = book_find(a->book, list[i].trial, list[i].fence, is_task);

        if (h)
            work_drop(h);
    }
}

static int apply_answer(struct agent *a, const struct msg_answer *m, struct err *err)
{
    enum msg_type type = MSG_PROGRESS;
    struct held *h = NULL;

    if (m->n_replies != book_report_events(a->book))
        return err_set(err, ERR_IO, "%d replies to %d messages", m->n_replies,
                       book_report_events(a->book));
    for (int i = 0; i < m->n_replies; i++) {
        if (!book_answer(a->book, i, &m->replies[i], &h, &type))
            return err_set(err, ERR_IO, "reply %d is to another message", i);
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
    } else {
        if (r->status == 400 || r->status == 413 || r->status == 409)
            drop_refused(a, &r->err);
        pause_talk(a, r, "refused");
    }
    book_report_lost(a->book);
    pump_soon(a);
}

static void send_report(struct agent *a)
{
    struct msg_asked asked[MSG_MAX_DEVICES];
    char path[80];
    int n = 0;

    for (int i = 0; i < a->c.n_devices; i++) {
        if (a->seats[i].answered == 0)
            continue;
        asked[n].n = a->seats[i].answered;
        str_copy(asked[n++].device, sizeof asked[0].device, a->seats[i].device->id);
    }
    a->renew_due = false;
    snprintf(path, sizeof path, "/api/v1/runners/%" PRId64 "/report", a->runner);
    send_json(a, &a->report, path, book_report_new(a->book, a->session, asked, n, a->max_events),
              MAX(a->lease_ms / 3, CALL_MIN_MS), on_reported, a);
    loop_timer_again(a->renew, a->lease_ms / 3);
}

/* ---- asking for work ---- */

static void on_ask_again(void *arg)
{
    struct seat *s = arg;

    loop_timer_free(s->again);
    s->again = NULL;
    pump_soon(s->agent);
}

static void pause_ask(struct seat *s, int64_t at_least_ms)
{
    if (!s->again)
        s->again = loop_timer_new(s->agent->c.loop, MAX(backoff_next_ms(&s->backoff), at_least_ms),
                                  0, on_ask_again, s);
}

static void take_grant(struct seat *s, const struct http_reply *r)
{
    struct msg_grant m = { 0 };
    struct err err = { 0 };
    json_t *j = jsonx_load(r->body, r->len, "grant", &err);
    int rc = j ? msg_grant_parse(&m, j, &err) : -1;

    json_decref(j);
    /* Even one that cannot be read is answered: not being listed, its lanes go back to the queue at once. */
    s->is_open = false;
    s->answered = s->n;
    if (rc == 1) {
        backoff_reset(&s->backoff);
        work_take(s->work, &m);
    } else if (rc == 0 && now_ms(s->agent) - s->sent_ms > EMPTY_QUICK_MS) {
        backoff_reset(&s->backoff);
    } else {
        if (rc < 0)
            log_error("grant.bad device=%s err=\"%s\"", s->device->id, err.text);
        pause_ask(s, 0);
    }
}

static void on_grant(void *arg, const struct http_reply *r)
{
    struct seat *s = arg;
    struct agent *a = s->agent;

    s->ask = NULL;
    if (r->status >= 200 && r->status < 300) {
        take_grant(s, r);
    } else if (r->status == 404) {
        forget_runner(a);
    } else {
        if (r->status != 0)
            log_warn("ask.refused device=%s err=\"%s\"", s->device->id, r->err.text);
        if (a->draining)
            s->is_open = false; /* whatever it granted comes back when its lease ends */
        else
            pause_ask(s, r->retry_after_ms);
    }
    pump_soon(a);
}

static void send_ask(struct seat *s)
{
    struct agent *a = s->agent;
    struct msg_ask *m = mem_zalloc(sizeof *m);
    int64_t wait_ms = a->draining ? 0 : a->c.conf->lease_wait_ms;
    char path[80];

    if (!s->is_open)
        s->n++;
    s->is_open = true;
    s->sent_ms = now_ms(a);
    str_copy(m->session, sizeof m->session, a->session);
    str_copy(m->device, sizeof m->device, s->device->id);
    m->n = s->n;
    m->max_lanes = s->device->max_lanes;
    m->host_bytes = MAX(s->device->memory_bytes - MAX(slot_rss_bytes(work_slot(s->work)), 0), 0);
    m->n_cached = cache_list(a->c.cache, m->cached, MSG_MAX_CACHED);
    m->wait_s = wait_ms / 1000;
    snprintf(path, sizeof path, "/api/v1/runners/%" PRId64 "/lease", a->runner);
    send_json(a, &s->ask, path, msg_ask_json_new(m), wait_ms + ASK_MARGIN_MS, on_grant, s);
    mem_free(m);
}

/* While draining, only a call whose answer we might have missed is repeated, so that what it granted can be given back. */
static bool may_ask(const struct seat *s)
{
    const struct agent *a = s->agent;

    if (s->ask || s->again || a->runner == 0)
        return false;
    if (a->draining)
        return s->is_open;
    return !a->paused && work_wants(s->work);
}

/* ---- the turn ---- */

static bool is_over(const struct agent *a)
{
    for (int i = 0; i < a->c.n_devices; i++) {
        if (a->seats[i].is_open)
            return false;
    }
    return a->draining && !book_first(a->book);
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
    if (!a->report && !a->again && (a->renew_due || book_has_sendable(a->book)))
        send_report(a);
    for (int i = 0; i < a->c.n_devices; i++) {
        if (may_ask(&a->seats[i]))
            send_ask(&a->seats[i]);
    }
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
    for (int i = 0; i < a->c.n_devices; i++) {
        struct seat *s = &a->seats[i];

        work_drain(s->work);
        http_cancel(s->ask);
        s->ask = NULL;
        loop_timer_free(s->again);
        s->again = NULL;
    }
    a->drain_end = loop_timer_new(a->c.loop, a->c.conf->drain_ms, 0, on_drain_end, a);
    pump_soon(a);
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

static int seat_init(struct agent *a, int i, struct err *err)
{
    struct seat *s = &a->seats[i];
    struct work_conf wc = { .loop = a->c.loop,
                            .conf = a->c.conf,
                            .device = &a->c.devices[i],
                            .book = a->book,
                            .fetch = a->fetch,
                            .cache = a->c.cache,
                            .on_change = pump_soon,
                            .arg = a };

    s->agent = a;
    s->device = &a->c.devices[i];
    backoff_init(&s->backoff, FIRST_PAUSE_MS, a->c.conf->backoff_max_ms,
                 rng_mix(a->c.seed, (uint64_t)i + 1));
    s->work = work_new(&wc, err);
    return s->work ? 0 : -1;
}

struct agent *agent_new(const struct agent_conf *conf, struct err *err)
{
    struct agent *a = mem_zalloc(sizeof *a);
    struct loop *l = conf->loop;

    a->c = *conf;
    a->max_events = EVENTS_MAX;
    session_make(a);
    backoff_init(&a->backoff, FIRST_PAUSE_MS, conf->conf->backoff_max_ms, conf->seed);
    a->fetch = fetch_new(l, conf->http, conf->cache, conf->conf->backoff_max_ms);
    a->book = book_new(&(struct book_conf){ .loop = l,
                                            .http = conf->http,
                                            .cache = conf->cache,
                                            .keeps_blobs = !conf->conf->blob_dir,
                                            .backoff_max_ms = conf->conf->backoff_max_ms,
                                            .on_sendable = pump_soon,
                                            .arg = a });
    a->renew = loop_timer_new(l, INT32_MAX, 0, on_renew, a);
    a->expire = loop_timer_new(l, INT32_MAX, 0, on_expire, a);
    a->seats = mem_array((size_t)conf->n_devices, sizeof *a->seats);
    for (int i = 0; i < conf->n_devices; i++) {
        if (seat_init(a, i, err) < 0) {
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
    for (int i = 0; a->seats && i < a->c.n_devices; i++) {
        http_cancel(a->seats[i].ask);
        loop_timer_free(a->seats[i].again);
        work_free(a->seats[i].work);
    }
    book_free(a->book);
    fetch_free(a->fetch);
    loop_timer_free(a->again);
    loop_timer_free(a->pump);
    loop_timer_free(a->renew);
    loop_timer_free(a->expire);
    loop_timer_free(a->drain_end);
    mem_free(a->seats);
    mem_free(a);
}
