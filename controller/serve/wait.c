/* wait.c - lease calls and their long polls (wait.h).
 *
 * A call is known by its session, its device and its number n. If the answer was lost on its way,
 * the runner calls again with the same n and gets the same grant; a smaller n is stale. If a device
 * calls while another call of it waits, the former call is answered "no work", because the client
 * has given it up.
 *
 * Waiting calls are tried at the end of a turn in which something changed (ctl.has_news), oldest
 * first. Each try is a request of its own, so that its rows are committed with that turn and its
 * answer leaves after the commit. With ten thousand waiting devices that would take long, so devices
 * of a kind that just found nothing are not tried, the walk ends when only such are left, and a turn
 * tries calls for SERVE_US at most. */
#include "controller/serve/wait.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/serve/dispatch.h"
#include "controller/serve/gang.h"
#include "controller/serve/serve.h"
#include "controller/settle/settle.h"
#include "controller/state/quarantine.h"
#include "controller/state/runner.h"

#include <inttypes.h>

enum {
    SERVE_US = 4000, /* waiting calls are tried for so long in one turn */
    /* Where many calls wait, they end up to this late, so that one tick ends several of them. */
    MANY_WAITS = 100,
    LATE_MS = 50
};

/* A lease call that waits. */
struct ctl_wait {
    struct ctl_wait *next, *prev;
    struct ctl_wait *older, *newer; /* of the same runner */
    int64_t runner, until_ms;       /* monotonic */
    int class_at;                   /* its place in serve.classes; -1 = it is of none */
    struct msg_ask ask;
    void (*on_grant)(void *arg, json_t *grant_new, const struct err *err); /* called once */
    void *arg;
};

static json_t *none_json(void)
{
    return msg_grant_json_new(NULL);
}

static void unlink_wait(struct ctl *ctl, struct ctl_wait *w)
{
    struct runner *r = runner_find(ctl, w->runner);

    *(w->prev ? &w->prev->next : &ctl->serve->waits) = w->next;
    *(w->next ? &w->next->prev : &ctl->serve->waits_last) = w->prev;
    if (ctl->serve->wait_next == w)
        ctl->serve->wait_next = w->next;
    CHECK(ctl->serve->n_waits > 0);
    ctl->serve->n_waits--;
    if (w->class_at >= 0)
        ctl->serve->classes[w->class_at].n_waits--;
    if (w->older)
        w->older->newer = w->newer;
    if (w->newer)
        w->newer->older = w->older;
    else if (r && r->waits == w)
        r->waits = w->older;
    if (r && r->n_waits > 0) /* 0: the runner was forgotten meanwhile and has registered again */
        runner_waits(ctl, r, -1);
}

/* Answers a call and frees it. Its connection was open until now, so its runner counts as heard
 * of. */
static void answer(struct ctl *ctl, struct ctl_wait *w, json_t *grant, const struct err *err)
{
    struct runner *r = runner_find(ctl, w->runner);

    if (r)
        runner_heard(ctl, r);
    unlink_wait(ctl, w);
    w->on_grant(w->arg, grant, err);
    mem_free(w);
}

/* The devices whose calls wait, for a trial that needs several. */
static void seats_fill(struct gang_seats *s)
{
    for (struct ctl_wait *w = s->ctl->serve->waits; w; w = w->next) {
        struct runner *r = runner_find(s->ctl, w->runner);
        struct device *d = r ? runner_device(r, w->ask.device) : NULL;

        if (d)
            gang_seat_add(s, r, d, &w->ask);
    }
}

static struct ctl_wait *wait_of(struct ctl *ctl, const struct msg_ask *ask)
{
    struct ctl_wait *w = ctl->serve->waits;

    while (w && &w->ask != ask)
        w = w->next;
    return w;
}

/* The device remembers its answer, for a repeat. */
static void remember(struct ctl *ctl, const struct gang_seat *seat)
{
    struct device *d = seat->device;

    d->last_n = seat->ask->n;
    json_decref(d->last_grant);
    d->last_grant = seat->grant ? json_incref(seat->grant) : NULL;
    d->grant_turn = ctl->turn_no;
    d->grant_request = ctl->request_no;
}

/* Tries to find work for this call: 1 and the grant, 0, -1. Others whose calls wait may get work by
 * that, too: they are in *seats, which the caller gives to others_answer, or to gang_seats_fini. */
static int try_grant(struct ctl *ctl, struct runner *r, const struct msg_ask *ask,
                     struct gang_seats *seats, json_t **out, struct err *err)
{
    struct device *d = runner_device(r, ask->device);
    int rc = 0;

    *seats = (struct gang_seats){ .ctl = ctl, .fill = seats_fill };
    if (!d)
        return err_at(err, "device", "runner %" PRId64 " has no device \"%s\"", r->row.id,
                      ask->device);
    gang_seat_add(seats, r, d, ask);
    rc = dispatch_grant(ctl, seats, err);
    if (rc < 0)
        return -1;
    for (int i = 0; i < seats->n; i++) {
        if (i == 0 || seats->seat[i].grant)
            remember(ctl, &seats->seat[i]);
    }
    *out = seats->seat[0].grant;
    seats->seat[0].grant = NULL; /* moved */
    return rc;
}

/* Answers the waiting calls that got work with another one. */
static void others_answer(struct ctl *ctl, struct gang_seats *seats)
{
    for (int i = 1; i < seats->n; i++) {
        struct gang_seat *seat = &seats->seat[i];
        struct ctl_wait *w = seat->grant ? wait_of(ctl, seat->ask) : NULL;

        if (!w)
            continue;
        ctl->stats.waits_served++;
        answer(ctl, w, seat->grant, NULL);
        seat->grant = NULL; /* moved */
    }
    gang_seats_fini(seats);
}

/* ---- waiting calls ---- */

static int serve_one(struct ctl *ctl, struct ctl_wait *w, json_t **out, struct err *err)
{
    struct runner *r = runner_find(ctl, w->runner);
    struct gang_seats seats = { 0 };
    int rc = 0;

    if (!r)
        return err_set(err, ERR_NOTFOUND, "no runner %" PRId64 ": register again", w->runner);
    if (ctl_request_begin(ctl, err) < 0)
        return -1;
    rc = try_grant(ctl, r, &w->ask, &seats, out, err);
    if (rc == 1 && study_settle_all(ctl, err) < 0)
        rc = -1;
    if (ctl_request_end(ctl, rc >= 0, err) < 0)
        rc = -1;
    if (rc == 1)
        others_answer(ctl, &seats);
    gang_seats_fini(&seats);
    if (rc < 0) {
        json_decref(*out);
        *out = NULL;
    }
    return rc;
}

static bool is_of(const struct wait_class *c, const struct runner *r, const struct device *d)
{
    return str_eq(c->kind, d->is.kind) && c->n_devices == r->n_devices &&
           c->commands == d->is.commands && c->meets == d->is.meets && c->blends == d->is.blends &&
           str_eq(c->sig, r->row.numeric_sig);
}

/* The place of its class; -1 = all places are taken by others. */
static int class_of(struct serve *s, const struct runner *r, const struct device *d)
{
    int at = -1;

    for (int i = 0; i < s->n_classes; i++) {
        if (is_of(&s->classes[i], r, d))
            return i;
        if (s->classes[i].n_waits == 0)
            at = i;
    }
    if (at < 0 && s->n_classes == SERVE_CLASSES)
        return -1;
    if (at < 0)
        at = s->n_classes++;
    s->classes[at] = (struct wait_class){ .n_devices = r->n_devices,
                                          .commands = d->is.commands,
                                          .meets = d->is.meets,
                                          .blends = d->is.blends };
    str_copy(s->classes[at].kind, sizeof s->classes[at].kind, d->is.kind);
    str_copy(s->classes[at].sig, sizeof s->classes[at].sig, r->row.numeric_sig);
    return at;
}

static bool is_poor(const struct serve *s, const struct ctl_wait *w)
{
    return w->class_at >= 0 && s->classes[w->class_at].is_poor;
}

/* Calls of devices that have found nothing in this turn. */
static int poor_count(const struct serve *s)
{
    int n = 0;

    for (int i = 0; i < s->n_classes; i++)
        n += s->classes[i].is_poor ? s->classes[i].n_waits : 0;
    return n;
}

static void poor_clear(struct serve *s)
{
    for (int i = 0; i < s->n_classes; i++)
        s->classes[i].is_poor = false;
}

/* Whether this call could get work, as far as that can be said without reading rows. */
static bool may_have(struct ctl *ctl, const struct ctl_wait *w)
{
    struct runner *r = NULL;
    struct device *d = NULL;

    if (is_poor(ctl->serve, w))
        return false;
    r = runner_find(ctl, w->runner);
    d = r ? runner_device(r, w->ask.device) : NULL;
    if (!d)
        return true; /* the try fails, and the client is told why */
    if (!quarantine_allows(d) || !runner_is_enabled(r))
        return false;
    return dispatch_may(ctl, r);
}

/* Tries one waiting call, and answers it if it got work or an error. */
static void serve(struct ctl *ctl, struct ctl_wait *w)
{
    struct err err = { 0 };
    json_t *grant = NULL;
    int rc = serve_one(ctl, w, &grant, &err);

    if (rc == 0 && w->class_at >= 0)
        ctl->serve->classes[w->class_at].is_poor = true;
    if (rc == 1)
        ctl->stats.waits_served++;
    if (rc != 0)
        answer(ctl, w, grant, rc < 0 ? &err : NULL);
}

void wait_serve(struct ctl *ctl)
{
    int64_t from_us = clk_now_us(ctl->clk);

    if (ctl->is_stopping)
        return;
    poor_clear(ctl->serve);
    if (ctl->has_news) {
        if (ctl->serve->waits_left == 0)
            ctl->serve->wait_next = NULL; /* begin with the oldest */
        ctl->serve->waits_left = ctl->serve->n_waits;
    }
    while (ctl->serve->waits_left > 0 && !ctl->is_deferred && ctl->serve->waits &&
           clk_now_us(ctl->clk) - from_us < SERVE_US) {
        struct ctl_wait *w = ctl->serve->wait_next ? ctl->serve->wait_next : ctl->serve->waits;

        ctl->serve->wait_next = w->next;
        ctl->serve->waits_left--;
        if (may_have(ctl, w))
            serve(ctl, w);
        if (poor_count(ctl->serve) == ctl->serve->n_waits)
            ctl->serve->waits_left = 0;
    }
    CHECK(ctl->serve->waits_left >= 0);
    ctl->serve->waits_left = MIN(ctl->serve->waits_left, ctl->serve->n_waits);
    ctl->has_news = ctl->is_deferred;
}

bool wait_goes_on(const struct ctl *ctl)
{
    return ctl->serve->waits_left > 0 && !ctl->is_stopping && !ctl->is_deferred;
}

void wait_tick(struct ctl *ctl)
{
    struct ctl_wait *w = ctl->serve->waits, *next = NULL;
    int64_t now = ctl_now(ctl), due = INT64_MAX;

    if (now < ctl->serve->waits_due)
        return;
    for (; w; w = next) {
        next = w->next;
        if (w->until_ms > now) {
            due = MIN(due, w->until_ms);
            continue;
        }
        ctl->stats.waits_timed_out++;
        answer(ctl, w, none_json(), NULL);
    }
    ctl->serve->waits_due = due;
}

void wait_end_all(struct ctl *ctl)
{
    while (ctl->serve->waits)
        answer(ctl, ctl->serve->waits, none_json(), NULL);
}

void wait_free_all(struct ctl *ctl)
{
    while (ctl->serve->waits) {
        struct ctl_wait *w = ctl->serve->waits;

        ctl->serve->waits = w->next;
        mem_free(w);
    }
}

int64_t wait_due(const struct ctl *ctl)
{
    if (ctl->serve->n_waits == 0)
        return INT64_MAX;
    return ctl->serve->waits_due + (ctl->serve->n_waits >= MANY_WAITS ? LATE_MS : 0);
}

/* ---- the call ---- */

/* Answers a call of this device that still waits. */
static void end_former(struct ctl *ctl, int64_t runner, const char *device)
{
    const struct runner *r = runner_find(ctl, runner);
    struct ctl_wait *w = r ? r->waits : NULL, *older = NULL;

    for (; w; w = older) {
        older = w->older;
        if (str_eq(w->ask.device, device))
            answer(ctl, w, none_json(), NULL);
    }
}

static struct ctl_wait *wait_add(struct ctl *ctl, int64_t runner, const struct msg_ask *ask,
                                 void (*on_grant)(void *arg, json_t *grant_new,
                                                  const struct err *err),
                                 void *arg)
{
    struct ctl_wait *w = mem_zalloc(sizeof *w);
    struct runner *r = runner_find(ctl, runner);
    const struct device *d = runner_device(r, ask->device);

    w->runner = runner;
    w->ask = *ask;
    w->until_ms = ctl_now(ctl) + MIN(ask->wait_s * 1000, ctl->conf.max_wait_ms);
    w->on_grant = on_grant;
    w->arg = arg;
    w->prev = ctl->serve->waits_last;
    *(w->prev ? &w->prev->next : &ctl->serve->waits) = w;
    ctl->serve->waits_last = w;
    ctl->serve->waits_due =
        ctl->serve->n_waits++ ? MIN(ctl->serve->waits_due, w->until_ms) : w->until_ms;
    w->class_at = class_of(ctl->serve, r, d);
    if (w->class_at >= 0)
        ctl->serve->classes[w->class_at].n_waits++;
    w->older = r->waits;
    if (w->older)
        w->older->newer = w;
    r->waits = w;
    runner_waits(ctl, r, 1);
    return w;
}

int ctl_runner_lease(struct ctl *ctl, int64_t token, int64_t runner, const json_t *body,
                     void (*on_grant)(void *arg, json_t *grant_new, const struct err *err),
                     void *arg, struct ctl_wait **wait, struct err *err)
{
    struct msg_ask ask = { 0 };
    struct runner *r = NULL;
    struct device *d = NULL;
    struct gang_seats seats = { 0 };
    json_t *grant = NULL;
    int rc = 0;

    if (wait)
        *wait = NULL;
    if (msg_ask_parse(&ask, body, err) < 0)
        return -1;
    r = runner_of(ctl, token, runner, ask.session, err);
    if (!r)
        return -1;
    d = runner_device(r, ask.device);
    if (d && ask.n < d->last_n)
        return err_set(err, ERR_STALE,
                       "lease call %" PRId64 " of device %s is old: call %" PRId64
                       " was already answered",
                       ask.n, ask.device, d->last_n);
    end_former(ctl, runner, ask.device);
    if (d && ask.n == d->last_n && d->last_grant) {
        on_grant(arg, json_incref(d->last_grant), NULL);
        return 0;
    }
    rc = try_grant(ctl, r, &ask, &seats, &grant, err);
    if (rc == 1)
        rc = study_settle_all(ctl, err) < 0 ? -1 : 1;
    if (rc == 1)
        others_answer(ctl, &seats);
    gang_seats_fini(&seats);
    if (rc < 0) {
        json_decref(grant);
        return -1;
    }
    if (rc == 0 && ask.wait_s > 0 && wait && !ctl->is_stopping)
        *wait = wait_add(ctl, runner, &ask, on_grant, arg);
    else
        on_grant(arg, rc == 1 ? grant : none_json(), NULL);
    return 0;
}

void ctl_runner_lease_cancel(struct ctl *ctl, struct ctl_wait *wait)
{
    if (!wait)
        return;
    unlink_wait(ctl, wait);
    mem_free(wait);
}
