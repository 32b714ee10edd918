/* swarm.c - see swarm.h. HTTP is spoken as far as the controller's answers need it: one call at a time, answered with a length. */
#include "tests/swarm.h"

#include "base/base.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "ml/family/family.h"
#include "proto/msg.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The pauses of a real runner (trial-runner/agent/backoff.h), and how long it waits for a connection. */
enum { FIRST_PAUSE_MS = 20, MAX_PAUSE_MS = 5000, CONNECT_S = 5, WAIT_S = 30 };

struct held_trial {
    int64_t trial, fence, seq;
    int to, max; /* max: levels of its family */
    enum msg_type next;
};

struct swarm_peer {
    struct swarm *swarm;
    struct bufferevent *bev; /* NULL = not connected, and a pause runs */
    struct event *timer;     /* a pause, or the end of its trials, or a renewal */
    char session[33], *text; /* text: the call that is not answered yet; NULL = none */
    enum swarm_call call;
    int64_t id, n, asked_us, trained_us, renewed_us, lease_ms, pause_ms;
    struct held_trial *trials;
    int n_trials;
    bool is_paused, was_answered;
};

const char *const swarm_call_names[SWARM_CALLS] = { "hello", "lease", "report", "renew" };

int64_t swarm_now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- times ---- */

void swarm_time_add(struct swarm_times *t, int64_t us)
{
    MEM_GROW(t->us, t->n, t->cap);
    t->us[t->n++] = us;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

double swarm_ms(struct swarm_times *t, double percent)
{
    if (t->n == 0)
        return 0;
    qsort(t->us, (size_t)t->n, sizeof *t->us, by_value);
    return (double)t->us[MIN((int)(t->n * percent / 100), t->n - 1)] / 1e3;
}

static void timer_in_us(struct swarm_peer *p, int64_t us)
{
    struct timeval tv = { MAX(us, 0) / 1000000, MAX(us, 0) % 1000000 };

    event_add(p->timer, &tv);
}

/* ---- a call, until it is answered ---- */

static void hang_up(struct swarm_peer *p)
{
    if (p->bev)
        bufferevent_free(p->bev);
    p->bev = NULL;
}

/* Half of the pause is fixed, as a real runner's. */
static void pause_then_send(struct swarm_peer *p)
{
    int64_t half = p->pause_ms * 500;

    p->is_paused = true;
    p->pause_ms = MIN(p->pause_ms * 2, MAX_PAUSE_MS);
    timer_in_us(p, half + (int64_t)((double)half * rand() / RAND_MAX));
}

static void on_read(struct bufferevent *bev, void *arg);

static void on_lost(struct bufferevent *bev, short what, void *arg)
{
    struct swarm_peer *p = arg;

    (void)bev;
    if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT)))
        return;
    p->swarm->n_lost++;
    hang_up(p);
    if (p->text)
        pause_then_send(p);
}

static void dial(struct swarm_peer *p)
{
    struct sockaddr_in in = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)p->swarm->conf.port),
                              .sin_addr = { htonl(INADDR_LOOPBACK) } };

    p->bev =
        bufferevent_socket_new(p->swarm->base, -1, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    bufferevent_setcb(p->bev, on_read, NULL, on_lost, p);
    bufferevent_set_timeouts(p->bev, NULL, &(struct timeval){ CONNECT_S, 0 });
    bufferevent_enable(p->bev, EV_READ | EV_WRITE);
    /* A refusal is told by on_lost. */
    (void)bufferevent_socket_connect(p->bev, (struct sockaddr *)&in, sizeof in);
}

static void send_text(struct swarm_peer *p)
{
    p->asked_us = swarm_now_us();
    if (!p->bev)
        dial(p);
    evbuffer_add(bufferevent_get_output(p->bev), p->text, strlen(p->text));
}

static void send_call(struct swarm_peer *p, enum swarm_call call, const char *path, json_t *body)
{
    char *json = jsonx_dump(body);
    size_t size = strlen(json) + strlen(path) + strlen(p->swarm->conf.token) + 200;

    p->call = call;
    mem_free(p->text);
    p->text = mem_alloc(size);
    (void)!snprintf(p->text, size,
                    "POST /api/v1/runners%s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
                    "Content-Length: %zu\r\n\r\n%s",
                    path, p->swarm->conf.token, strlen(json), json);
    mem_free(json);
    json_decref(body);
    send_text(p);
}

/* A whole answer: its status and its JSON, which may be NULL; 0 = more of it is to come. */
static int answer_take(struct swarm_peer *p, json_t **out)
{
    struct evbuffer *in = bufferevent_get_input(p->bev);
    struct evbuffer_ptr end = evbuffer_search(in, "\r\n\r\n", 4, NULL);
    char head[2000];

    if (end.pos < 0)
        return 0;
    CHECK(end.pos < (ssize_t)sizeof head);
    evbuffer_copyout(in, head, (size_t)end.pos);
    head[end.pos] = '\0';
    const char *length = strcasestr(head, "content-length:");
    size_t n = length ? strtoul(length + 15, NULL, 10) : 0;
    if (evbuffer_get_length(in) < (size_t)end.pos + 4 + n)
        return 0;
    evbuffer_drain(in, (size_t)end.pos + 4);
    *out = n ? jsonx_load((const char *)evbuffer_pullup(in, (ssize_t)n), n, "answer", NULL) : NULL;
    evbuffer_drain(in, n);
    return (int)strtol(head + 9, NULL, 10);
}

/* ---- a runner ---- */

json_t *swarm_hello_json_new(const char *session, int max_trials)
{
    struct msg_hello *m = mem_zalloc(sizeof *m);

    m->protocol = MSG_PROTOCOL;
    m->n_devices = 1;
    str_copy(m->name, sizeof m->name, session);
    str_copy(m->session, sizeof m->session, session);
    str_copy(m->numeric_sig, sizeof m->numeric_sig, "assay-1/cpu");
    str_copy(m->devices[0].id, sizeof m->devices[0].id, "cpu0");
    str_copy(m->devices[0].kind, sizeof m->devices[0].kind, "cpu");
    m->devices[0].max_trials = max_trials;
    json_t *out = msg_hello_json_new(m);
    mem_free(m);
    return out;
}

static void hello(struct swarm_peer *p)
{
    send_call(p, SWARM_HELLO, "", swarm_hello_json_new(p->session, p->swarm->conf.group));
}

static void ask(struct swarm_peer *p)
{
    struct msg_ask m = { .n = ++p->n, .max_trials = p->swarm->conf.group, .wait_s = WAIT_S };
    char path[60];

    str_copy(m.session, sizeof m.session, p->session);
    str_copy(m.device, sizeof m.device, "cpu0");
    (void)!snprintf(path, sizeof path, "/%lld/lease", (long long)p->id);
    send_call(p, SWARM_LEASE, path, msg_ask_json_new(&m));
}

static void event_of(const struct swarm_peer *p, const struct held_trial *t, struct msg_event *e)
{
    msg_event_init(e);
    e->type = t->next;
    e->trial = t->trial;
    e->fence = t->fence;
    e->seq = t->seq;
    e->level = t->to;
    e->value = .5 + .4 * (double)rand() / RAND_MAX;
    e->se = .01;
    e->fit_us = 1000000;
    e->predict_ns_row = 100;
    e->model_bytes = 1000;
    if (e->type == MSG_PAUSED || e->type == MSG_COMPLETE)
        str_copy(e->blob, sizeof e->blob, p->swarm->conf.model);
}

/* call: SWARM_REPORT = all trials have got where they shall, SWARM_RENEW = they still run. */
static void report(struct swarm_peer *p, enum swarm_call call)
{
    struct msg_event events[MSG_MAX_TRIALS];
    struct msg_held held[MSG_MAX_TRIALS];
    struct msg_asked asked = { .n = p->n };
    struct msg_report m = { .events = events, .held = held, .n_asked = 1, .asked = &asked };
    char path[60];

    for (int i = 0; i < p->n_trials; i++) {
        struct held_trial *t = &p->trials[i];

        held[i] = (struct msg_held){ t->trial, t->fence };
        if (call == SWARM_RENEW)
            continue;
        t->seq++;
        event_of(p, t, &events[m.n_events++]);
    }
    m.n_held = p->n_trials;
    p->renewed_us = swarm_now_us();
    str_copy(m.session, sizeof m.session, p->session);
    str_copy(asked.device, sizeof asked.device, "cpu0");
    (void)!snprintf(path, sizeof path, "/%lld/report", (long long)p->id);
    send_call(p, call, path, msg_report_json_new(&m));
}

/* Waits until its trials are trained, or its leases need a renewal. */
static void train(struct swarm_peer *p)
{
    int64_t now = swarm_now_us(), renew = p->renewed_us + p->lease_ms * 1000 / 3;

    timer_in_us(p, MIN(p->trained_us, renew) - now);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct swarm_peer *p = arg;

    (void)fd, (void)what;
    if (p->is_paused) {
        p->is_paused = false;
        send_text(p);
    } else if (p->id == 0) {
        hello(p);
    } else {
        report(p, swarm_now_us() >= p->trained_us ? SWARM_REPORT : SWARM_RENEW);
    }
}

/* The trials run for as long as the rate wants, half as long to half as long again. */
static void train_begin(struct swarm_peer *p)
{
    const struct swarm_conf *c = &p->swarm->conf;
    double s = c->rate > 0 ? (double)p->n_trials * c->runners / c->rate : 0;

    p->renewed_us = swarm_now_us();
    p->trained_us = p->renewed_us + (int64_t)(s * 1e6 * (.5 + (double)rand() / RAND_MAX));
    if (s > 0)
        train(p);
    else
        report(p, SWARM_REPORT);
}

static enum msg_type at_level(const struct held_trial *t)
{
    return t->to < t->max ? MSG_RUNG : MSG_FINAL;
}

static void on_grant(struct swarm_peer *p, const json_t *j)
{
    const struct family *f = family_find("boost");
    struct msg_grant g = { 0 };

    p->n_trials = 0;
    if (msg_grant_parse(&g, j, NULL) == 1 && g.kind == MSG_FIT) {
        CHECK(g.n_trials <= p->swarm->conf.group);
        for (int i = 0; i < g.n_trials; i++) {
            const struct msg_trial *is = &g.trials[i];
            struct held_trial *t = &p->trials[p->n_trials++];

            *t = (struct held_trial){ .trial = is->trial, .fence = is->fence, .to = is->to };
            /* the baseline has one level */
            t->max = strstr(is->config, "\"boost\"") ? MAX(f->levels, 1) : t->to;
            t->next = at_level(t);
        }
    }
    msg_grant_fini(&g);
    p->swarm->n_grants += p->n_trials > 0;
    if (p->n_trials)
        train_begin(p);
    else
        ask(p);
}

static void note_end(struct swarm *s, int64_t trial)
{
    while (trial >= s->cap_ended) {
        int64_t cap = MAX(2 * s->cap_ended, 1 << 20);

        s->ended = mem_resize(s->ended, (size_t)cap);
        memset(s->ended + s->cap_ended, 0, (size_t)(cap - s->cap_ended));
        s->cap_ended = cap;
    }
    s->n_twice += s->ended[trial];
    s->ended[trial] = 1;
    if (++s->n_done >= s->conf.most)
        event_base_loopbreak(s->base);
}

/* What the controller wants of a trial; false: it is over. */
static bool goes_on(struct swarm *s, struct held_trial *t, const struct msg_reply *r)
{
    switch (r->action) {
    case MSG_RUN_TO:
        t->to = r->to;
        t->next = at_level(t);
        return true;
    case MSG_PAUSE:
        t->next = MSG_PAUSED;
        return true;
    case MSG_KEEP:
        t->next = MSG_COMPLETE;
        return true;
    case MSG_STALE:
        s->n_stale++;
        return false;
    case MSG_OK:
    case MSG_STOP:
    case MSG_DROP:
    default:
        if (t->next != MSG_PAUSED)
            note_end(s, t->trial);
        return false;
    }
}

static void stopped_drop(struct swarm_peer *p, const struct msg_answer *a)
{
    for (int i = 0; i < a->n_stop; i++) {
        for (int k = 0; k < p->n_trials; k++) {
            if (p->trials[k].trial != a->stop[i].trial || p->trials[k].fence != a->stop[i].fence)
                continue;
            p->swarm->n_stale++;
            p->trials[k--] = p->trials[--p->n_trials];
        }
    }
}

static void on_replies(struct swarm_peer *p, const json_t *j)
{
    struct msg_answer a = { 0 };
    int kept = 0;

    if (msg_answer_parse(&a, j, NULL) < 0)
        exit(1);
    p->lease_ms = a.lease_ms;
    if (p->call == SWARM_RENEW) {
        stopped_drop(p, &a);
        msg_answer_fini(&a);
        if (p->n_trials)
            train(p);
        else
            ask(p);
        return;
    }
    for (int i = 0; i < p->n_trials && a.n_replies == p->n_trials; i++) {
        if (goes_on(p->swarm, &p->trials[i], &a.replies[i]))
            p->trials[kept++] = p->trials[i];
    }
    p->n_trials = kept;
    msg_answer_fini(&a);
    if (kept)
        report(p, SWARM_REPORT);
    else
        ask(p);
}

static void on_hello(struct swarm_peer *p, const json_t *j)
{
    struct msg_welcome w = { 0 };

    if (msg_welcome_parse(&w, j, NULL) < 0)
        exit(1);
    p->id = w.runner;
    p->lease_ms = w.lease_ms;
    ask(p);
}

static void on_answer(struct swarm_peer *p, const json_t *j)
{
    swarm_time_add(&p->swarm->times[p->call], swarm_now_us() - p->asked_us);
    p->pause_ms = FIRST_PAUSE_MS;
    mem_free(p->text);
    p->text = NULL;
    p->swarm->n_answered += !p->was_answered;
    p->was_answered = true;
    if (p->call == SWARM_HELLO)
        on_hello(p, j);
    else if (p->call == SWARM_LEASE)
        on_grant(p, j);
    else
        on_replies(p, j);
}

static void on_refusal(struct swarm_peer *p, int status, const json_t *j)
{
    if (status == 503 || status == 429) {
        p->swarm->n_busy++;
        pause_then_send(p);
        return;
    }
    if (p->swarm->n_refused++ < 3)
        printf("%s of %s: %d %s\n", swarm_call_names[p->call], p->session, status,
               j ? json_string_value(json_object_get(j, "detail")) : "");
    p->n_trials = 0;
    p->id = 0;
    mem_free(p->text);
    p->text = NULL;
    timer_in_us(p, 1000000); /* then it says hello again */
}

static void on_read(struct bufferevent *bev, void *arg)
{
    struct swarm_peer *p = arg;
    json_t *j = NULL;
    int status = answer_take(p, &j);

    (void)bev;
    if (status >= 200 && status < 300)
        on_answer(p, j);
    else if (status)
        on_refusal(p, status, j);
    json_decref(j);
}

/* ---- all of them ---- */

void swarm_start(struct swarm *s, const struct swarm_conf *conf)
{
    *s = (struct swarm){ .conf = *conf, .base = event_base_new() };
    s->peers = mem_array((size_t)conf->runners, sizeof *s->peers);
    CHECK(s->base && conf->group >= 1 && conf->group <= MSG_MAX_TRIALS);
    for (int i = 0; i < conf->runners; i++) {
        struct swarm_peer *p = &s->peers[i];

        *p = (struct swarm_peer){ .swarm = s, .pause_ms = FIRST_PAUSE_MS };
        p->trials = mem_array((size_t)conf->group, sizeof *p->trials);
        p->timer = evtimer_new(s->base, on_timer, p);
        (void)!snprintf(p->session, sizeof p->session, "%s%d", conf->sessions, i);
        timer_in_us(p, (int64_t)(conf->start_s * 1e6 * rand() / RAND_MAX));
    }
}

void swarm_forget(struct swarm *s)
{
    for (int i = 0; i < SWARM_CALLS; i++)
        s->times[i].n = 0;
    for (int i = 0; i < s->conf.runners; i++)
        s->peers[i].was_answered = false;
    s->n_done = s->n_grants = s->n_lost = s->n_busy = s->n_stale = 0;
    s->n_answered = 0;
}

static void on_time_over(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    event_base_loopbreak(arg);
}

void swarm_run(struct swarm *s, double seconds)
{
    struct timeval tv = { (time_t)seconds,
                          (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6) };
    struct event *end = evtimer_new(s->base, on_time_over, s->base);

    event_add(end, &tv);
    event_base_dispatch(s->base);
    event_free(end);
}

void swarm_free(struct swarm *s)
{
    for (int i = 0; i < s->conf.runners; i++) {
        hang_up(&s->peers[i]);
        event_free(s->peers[i].timer);
        mem_free(s->peers[i].trials);
        mem_free(s->peers[i].text);
    }
    for (int i = 0; i < SWARM_CALLS; i++)
        mem_free(s->times[i].us);
    mem_free(s->peers);
    mem_free(s->ended);
    event_base_free(s->base);
}
