/* conn.c - see conn.h. The connection is a state machine (enum conn_state) on a libevent
 * bufferevent.
 *
 * Descriptors. A descriptor belongs to the connection's bufferevent. Only conn_free frees that
 * bufferevent, and nobody keeps a reference to it. libevent removes the events first and closes the
 * descriptor afterwards, so the number of a descriptor is never reused while an event still waits
 * on it. (The order matters: closing first once let a dead connection read the bytes of a later one
 * that had got the same number.)
 *
 * Back-pressure. While a request is handled or answered, nothing is read from its connection. A
 * client that sends faster than it reads answers is therefore held back by TCP. It also means that
 * a client which leaves meanwhile is noticed only where conn_watch asks for it.
 *
 * The end. A plain close() of a socket with unread bytes sends a reset, which can take the answer
 * away from the client. A connection that must end with unread bytes is therefore shut down for
 * writing only, and what still arrives is thrown away for up to LINGER_MS. */
#include "web/http/conn.h"

#include "base/base.h"
#include "base/loop.h"
#include "base/mem.h"
#include "web/http/body.h"
#include "web/http/status.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    READ_NOW = 16 << 10,   /* what libevent reads at once, too */
    WRITE_NOW = 256 << 10, /* one long answer must not hold up the turn of the loop */
    LINGER_MS = 2000,      /* time for the client to read a refusal */
    /* Twice the longest body: a client that was refused may send the rest of it. */
    LINGER_BYTES = 16 << 20,
    /* Without a limit, the kernel buffers megabytes for an event stream that nobody reads. */
    STREAM_SNDBUF = 64 << 10,
};

enum conn_state {
    CONN_HEAD,   /* reading a head, or idle before one */
    CONN_BODY,   /* reading a body */
    CONN_BUSY,   /* the owner handles the request */
    CONN_ANSWER, /* an answer is being written */
    CONN_STREAM, /* an answer without an end is being written */
    CONN_LINGER, /* has answered, and throws away what still arrives */
};

struct conn {
    struct guest guest; /* must be the first member: see conn_of_guest */
    struct conn_group *group;
    struct bufferevent *bev;
    enum conn_state state;
    bool is_closing; /* the connection ends after this answer */
    bool is_read;    /* the whole body of the answered request has arrived */
    char *text;      /* the bytes of the head; `head` points into them. NULL between requests */
    struct head head;
    size_t seen; /* how many input bytes were already searched for the end of the head */
    struct body body;
    struct evbuffer *content; /* the part of the body that has arrived */
    void *request;            /* what the owner attached; NULL before that and after the answer */
    struct event *watch;
    int64_t since_ms; /* when the first byte of this request arrived; 0 = none has arrived */
    int64_t moved_ms; /* when it became idle, or when the kernel last took bytes of the answer */
    int64_t added;    /* bytes of answers that were put into the output */
    int64_t taken;    /* bytes of answers that the kernel took */
    int64_t dropped;  /* bytes thrown away while lingering */
};

static void read_more(struct conn *c);

static struct conn *conn_of_guest(struct guest *guest)
{
    return (struct conn *)guest;
}

struct conn_group *conn_group(const struct conn *c)
{
    return c->group;
}

static const struct conn_hooks *hooks(const struct conn *c)
{
    return &c->group->conf.hooks;
}

static int64_t now_of(const struct conn_group *g)
{
    return clk_now_ms(loop_clk(g->loop));
}

static struct evbuffer *input(const struct conn *c)
{
    return bufferevent_get_input(c->bev);
}

static struct evbuffer *output(const struct conn *c)
{
    return bufferevent_get_output(c->bev);
}

/* ---- the end ---- */

static void watch_end(struct conn *c)
{
    if (c->watch)
        event_free(c->watch);
    c->watch = NULL;
}

static void *detach(struct conn *c)
{
    void *request = c->request;

    watch_end(c);
    c->request = NULL;
    return request;
}

static void conn_free(struct conn *c)
{
    struct conn_group *group = c->group;
    void *request = detach(c);
    size_t held = evbuffer_get_length(output(c)) + evbuffer_get_length(input(c)) +
                  evbuffer_get_length(c->content);

    gate_leave(&c->group->gate, &c->guest);
    group->freed++;
    group->freed_bytes += (int64_t)held;
    if (request)
        group->conf.hooks.on_gone(request);
    bufferevent_free(c->bev);
    evbuffer_free(c->content);
    mem_free(c->text);
    mem_free(c);
    group->on_freed(group);
}

/* Everything was sent. Only what the client still sends is waited for, and thrown away. */
static void linger(struct conn *c)
{
    c->state = CONN_LINGER;
    c->moved_ms = now_of(c->group);
    (void)!shutdown((int)bufferevent_getfd(c->bev), SHUT_WR);
    evbuffer_drain(input(c), evbuffer_get_length(input(c)));
    bufferevent_enable(c->bev, EV_READ);
}

/* ---- answers ---- */

static void top_write(struct conn *c, struct evbuffer *out, int status)
{
    time_t now = (time_t)(clk_wall_ms(loop_clk(c->group->loop)) / 1000);
    struct tm tm;
    char date[40] = "";

    if (gmtime_r(&now, &tm))
        (void)!strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    evbuffer_add_printf(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n", status, http_status_text(status),
                        date);
}

/* True when nothing of the request is still to come, so that the connection can be used again. The
 * part of a refused body that has already arrived is thrown away here. */
static bool body_is_past(struct conn *c)
{
    if (c->state == CONN_BODY)
        (void)body_take(&c->body, input(c), NULL);
    return c->state == CONN_BUSY || (c->state == CONN_BODY && c->body.state == BODY_WHOLE);
}

/* Writes as much as the kernel takes at once. Most answers are complete after that. Waiting until
 * the socket is writable would cost two more system calls, and a turn of the loop in which all
 * other requests come first. */
static void write_now(struct conn *c)
{
    struct evbuffer *out = output(c);

    evbuffer_unfreeze(out, 1);
    (void)evbuffer_write_atmost(out, bufferevent_getfd(c->bev), WRITE_NOW);
    evbuffer_freeze(out, 1);
    if (evbuffer_get_length(out) > 0)
        bufferevent_enable(c->bev, EV_WRITE); /* after an error, too: libevent then calls on_end */
    else
        bufferevent_trigger(c->bev, EV_WRITE, BEV_TRIG_DEFER_CALLBACKS);
}

/* Begins to write the answer that is in the output. Nothing is read until it has been written. */
static void answer_go(struct conn *c, int64_t length_before)
{
    c->added += (int64_t)evbuffer_get_length(output(c)) - length_before;
    c->moved_ms = now_of(c->group);
    bufferevent_disable(c->bev, EV_READ);
    write_now(c);
}

void conn_answer(struct conn *c, int status, struct evbuffer *fields, struct evbuffer *body,
                 int64_t body_len)
{
    struct evbuffer *out = output(c);
    int64_t before = (int64_t)evbuffer_get_length(out);

    (void)detach(c);
    c->is_read = body_is_past(c);
    if (!c->is_read || !c->head.is_kept || c->guest.kind == GUEST_LEAVING)
        c->is_closing = true;
    evbuffer_drain(c->content, evbuffer_get_length(c->content));
    gate_bytes(&c->group->gate, &c->guest, 0);
    top_write(c, out, status);
    evbuffer_add_buffer(out, fields);
    if (body_len >= 0)
        evbuffer_add_printf(out, "Content-Length: %lld\r\n", (long long)body_len);
    if (c->is_closing || c->head.minor == 0)
        evbuffer_add_printf(out, "Connection: %s\r\n", c->is_closing ? "close" : "keep-alive");
    evbuffer_add(out, "\r\n", 2);
    evbuffer_add_buffer(out, body);
    c->state = CONN_ANSWER;
    answer_go(c, before);
}

/* Refuses a request before the owner has heard of it, or while its body is still arriving. */
static void refuse(struct conn *c, int status, const char *why)
{
    struct evbuffer *fields = evbuffer_new(), *body = evbuffer_new();
    void *request = detach(c);

    CHECK(fields && body);
    if (request)
        hooks(c)->on_gone(request);
    evbuffer_add_printf(fields,
                        "Content-Type: application/problem+json\r\n"
                        "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n%s",
                        status == 503 ? "Retry-After: 1\r\n" : "");
    evbuffer_add_printf(
        body, "{\"detail\":\"%s\",\"status\":%d,\"title\":\"%s\",\"type\":\"about:blank\"}", why,
        status, http_status_text(status));
    c->is_closing = true;
    conn_answer(c, status, fields, body, (int64_t)evbuffer_get_length(body));
    evbuffer_free(fields);
    evbuffer_free(body);
}

void conn_stream_start(struct conn *c, struct evbuffer *fields)
{
    struct evbuffer *out = output(c);
    int64_t before = (int64_t)evbuffer_get_length(out);
    int size = STREAM_SNDBUF;

    (void)!setsockopt((int)bufferevent_getfd(c->bev), SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    c->is_read = body_is_past(c);
    c->is_closing = c->is_closing || !c->is_read || !c->head.is_kept || c->head.minor == 0;
    evbuffer_drain(c->content, evbuffer_get_length(c->content));
    top_write(c, out, 200);
    evbuffer_add_buffer(out, fields);
    if (c->head.minor > 0)
        evbuffer_add_printf(out, "Transfer-Encoding: chunked\r\n");
    evbuffer_add_printf(out, "%s\r\n", c->is_closing ? "Connection: close\r\n" : "");
    c->state = CONN_STREAM;
    answer_go(c, before);
}

void conn_stream_add(struct conn *c, const void *p, size_t n)
{
    struct evbuffer *out = output(c);
    int64_t before = (int64_t)evbuffer_get_length(out);

    CHECK(c->state == CONN_STREAM && n > 0);
    if (before == 0)
        c->moved_ms = now_of(c->group); /* the time limit counts from when the first byte waits */
    if (c->head.minor > 0)
        evbuffer_add_printf(out, "%zx\r\n", n);
    evbuffer_add(out, p, n);
    if (c->head.minor > 0)
        evbuffer_add(out, "\r\n", 2);
    c->added += (int64_t)evbuffer_get_length(out) - before;
    bufferevent_enable(c->bev, EV_WRITE); /* not at once, so that several events leave together */
}

size_t conn_stream_pending(const struct conn *c)
{
    return evbuffer_get_length(output(c));
}

void conn_stream_end(struct conn *c)
{
    int64_t before = (int64_t)evbuffer_get_length(output(c));

    (void)detach(c);
    if (c->head.minor > 0)
        evbuffer_add(output(c), "0\r\n\r\n", 5);
    c->state = CONN_ANSWER;
    answer_go(c, before);
}

/* ---- requests ---- */

void conn_attach(struct conn *c, void *request)
{
    CHECK(!c->request);
    c->request = request;
}

void conn_body_max(struct conn *c, int64_t max)
{
    c->body.max = max;
}

const char *conn_header(const struct conn *c, const char *name)
{
    return c->text ? head_find(&c->head, name) : NULL;
}

void conn_know(struct conn *c, bool is_known)
{
    gate_know(&c->group->gate, &c->guest, is_known || c->group->conf.is_local);
}

bool conn_is_known(const struct conn *c)
{
    return c->guest.kind == GUEST_KNOWN;
}

static void body_more(struct conn *c)
{
    char why[120];
    size_t n = 0;
    int rc = body_take(&c->body, input(c), c->content);

    if (rc == 0)
        return;
    if (rc != 1) {
        (void)!snprintf(why, sizeof why,
                        rc == 413   ? "the body is over the limit of %lld bytes"
                        : rc == 431 ? "the fields behind the last chunk of the body are too long"
                                    : "the body is not made of well-formed chunks",
                        (long long)c->body.max);
        refuse(c, rc, why);
        return;
    }
    bufferevent_disable(c->bev, EV_READ);
    gate_bytes(&c->group->gate, &c->guest, 0);
    c->state = CONN_BUSY;
    n = evbuffer_get_length(c->content);
    hooks(c)->on_body(c->request, n ? (const char *)evbuffer_pullup(c->content, -1) : "", n);
}

void conn_body_drop(struct conn *c)
{
    evbuffer_drain(c->content, evbuffer_get_length(c->content));
}

static void body_start(struct conn *c)
{
    char why[80];

    if (body_init(&c->body, &c->head, c->body.max) != 0) {
        (void)!snprintf(why, sizeof why, "the body is over the limit of %lld bytes",
                        (long long)c->body.max);
        refuse(c, 413, why);
        return;
    }
    if (c->head.wants_continue && evbuffer_get_length(input(c)) == 0 && c->body.state != BODY_WHOLE)
        evbuffer_add_printf(output(c), "HTTP/1.1 100 Continue\r\n\r\n");
    if (evbuffer_get_length(output(c)) > 0)
        write_now(c);
    body_more(c);
}

static void head_whole(struct conn *c, size_t n)
{
    const char *why = NULL;
    int rc = 0;

    c->seen = 0;
    c->text = mem_alloc(n + 1);
    CHECK(evbuffer_remove(input(c), c->text, n) == (int)n);
    c->text[n] = '\0';
    rc = head_parse(c->text, n, &c->head, &why);
    if (rc) {
        refuse(c, rc, why);
        return;
    }
    (void)body_init(&c->body, &c->head, INT64_MAX);
    c->state = CONN_BODY;
    hooks(c)->on_head(c, &c->head);
    if (c->request)
        body_start(c);
}

static void head_more(struct conn *c)
{
    struct evbuffer *in = input(c);
    char end[2];
    size_t n = 0;
    int64_t len = 0;

    /* RFC 9112 asks to ignore empty lines in front of a request: some clients send one behind a
     * body. */
    while (evbuffer_copyout(in, end, 2) == 2 && memcmp(end, "\r\n", 2) == 0) {
        evbuffer_drain(in, 2);
        c->seen = 0;
    }
    n = MIN(evbuffer_get_length(in), (size_t)HTTP_HEAD_MAX);
    if (n == 0) {
        c->since_ms = 0; /* an empty line is not the beginning of a request */
        return;
    }
    if (c->since_ms == 0)
        c->since_ms = now_of(c->group) + 1;
    len = head_end((const char *)evbuffer_pullup(in, (ev_ssize_t)n), n, &c->seen);
    if (len > 0) {
        head_whole(c, (size_t)len);
    } else if (len < 0) {
        refuse(c, 400, "every line of a request must end with CR LF");
    } else if (n == HTTP_HEAD_MAX) {
        char why[100];

        (void)!snprintf(why, sizeof why, "the first line and the headers are over %d bytes",
                        (int)HTTP_HEAD_MAX);
        refuse(c, 431, why);
    }
}

static void read_more(struct conn *c)
{
    gate_bytes(&c->group->gate, &c->guest,
               (int64_t)(evbuffer_get_length(input(c)) + evbuffer_get_length(c->content)));
    conn_settle(c->group); /* may refuse this connection itself, which changes its state */
    if (c->state == CONN_HEAD)
        head_more(c);
    else if (c->state == CONN_BODY)
        body_more(c);
}

static void next_request(struct conn *c)
{
    c->state = CONN_HEAD;
    c->since_ms = 0;
    c->moved_ms = now_of(c->group);
    mem_free(c->text);
    c->text = NULL;
    bufferevent_enable(c->bev, EV_READ);
    if (evbuffer_get_length(input(c)) > 0)
        read_more(c);
}

/* ---- what libevent tells ---- */

static void on_readable(struct bufferevent *bev, void *arg)
{
    struct conn *c = arg;

    (void)bev;
    if (c->state == CONN_HEAD || c->state == CONN_BODY) {
        read_more(c);
    } else if (c->state == CONN_LINGER) {
        c->dropped += (int64_t)evbuffer_get_length(input(c));
        evbuffer_drain(input(c), evbuffer_get_length(input(c)));
        if (c->dropped > LINGER_BYTES)
            conn_free(c);
    }
}

static void on_written(struct bufferevent *bev, void *arg)
{
    struct conn *c = arg;

    (void)bev;
    if (evbuffer_get_length(output(c)) > 0)
        return;
    bufferevent_disable(c->bev, EV_WRITE);
    if (c->state == CONN_STREAM) {
        if (c->request)
            hooks(c)->on_drained(c->request);
    } else if (c->state == CONN_ANSWER && !c->is_closing) {
        next_request(c);
    } else if (c->state == CONN_ANSWER) {
        if ((c->is_read && evbuffer_get_length(input(c)) == 0) ||
            !gate_part(&c->group->gate, &c->guest))
            conn_free(c);
        else
            linger(c);
    }
}

static void on_end(struct bufferevent *bev, short what, void *arg)
{
    (void)bev, (void)what;
    conn_free(arg);
}

static void on_peer(evutil_socket_t fd, short what, void *arg);

static void watch_add(struct conn *c, short what)
{
    watch_end(c);
    c->watch = event_new(loop_base(c->group->loop), bufferevent_getfd(c->bev), what, on_peer, c);
    CHECK(c->watch && event_add(c->watch, NULL) == 0);
}

/* The client has left, or has sent something. libevent reports a reset as EV_READ and not as
 * EV_CLOSED; a pipelined request comes as EV_READ as well, and is read later. */
static void on_peer(evutil_socket_t fd, short what, void *arg)
{
    struct conn *c = arg;
    char byte = 0;

    if (!(what & EV_CLOSED)) {
        ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

        if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) {
            watch_add(c, n > 0 ? EV_CLOSED : EV_READ | EV_CLOSED);
            return;
        }
    }
    watch_end(c);
    c->is_closing = true;
    if (c->request)
        hooks(c)->on_left(c->request);
}

void conn_watch(struct conn *c)
{
    CHECK(c->request && !c->watch);
    watch_add(c, EV_READ | EV_CLOSED);
}

/* ---- what the door asks for ---- */

static void shed(struct conn *c)
{
    bool has_room = gate_part(&c->group->gate, &c->guest);
    bool is_reading = c->state == CONN_HEAD || c->state == CONN_BODY;

    if (is_reading && has_room && c->since_ms)
        refuse(c, 503, "the server holds too many unfinished requests: try again in a second");
    else if (is_reading || !has_room)
        (void)!shutdown((int)bufferevent_getfd(c->bev), SHUT_RDWR); /* libevent then calls on_end */
    else
        c->is_closing = true;
}

void conn_settle(struct conn_group *g)
{
    enum gate_reason why = GATE_BYTES;
    struct guest *guest = NULL;

    while ((guest = gate_excess(&g->gate, now_of(g), &why))) {
        g->shed[why]++;
        shed(conn_of_guest(guest));
    }
}

/* Answers 408 if the request takes too long; sets *is_dead if the connection must be freed. */
static void time_check(struct conn *c, int64_t now_ms, bool *is_dead)
{
    const struct conn_conf *conf = &c->group->conf;
    bool is_known = c->guest.kind == GUEST_KNOWN;
    int64_t patience = is_known ? conf->idle_ms : MIN(conf->head_ms, conf->idle_ms);
    int64_t taken = c->added - (int64_t)evbuffer_get_length(output(c));

    switch (c->state) {
    case CONN_HEAD:
        if (c->since_ms && now_ms - c->since_ms > conf->head_ms)
            refuse(c, 408, "the head of the request did not come in time");
        else if (!c->since_ms)
            *is_dead = now_ms - c->moved_ms > patience;
        break;
    case CONN_BODY:
        if (now_ms - c->since_ms > (is_known ? conf->request_ms : conf->head_ms))
            refuse(c, 408, "the request did not come in time");
        break;
    case CONN_BUSY:
        break;
    case CONN_ANSWER:
    case CONN_STREAM:
        if (taken != c->taken)
            c->moved_ms = now_ms;
        c->taken = taken;
        *is_dead = taken != c->added && now_ms - c->moved_ms > patience;
        break;
    case CONN_LINGER:
        *is_dead = now_ms - c->moved_ms > LINGER_MS;
        break;
    }
}

void conn_check_all(struct conn_group *g)
{
    int64_t now = now_of(g);

    for (int k = GUEST_STRANGER; k < GUEST_KINDS; k++) {
        for (struct guest *guest = g->gate.lists[k].first, *next = NULL; guest; guest = next) {
            bool is_dead = false;

            next = guest->next;
            time_check(conn_of_guest(guest), now, &is_dead);
            if (is_dead)
                conn_free(conn_of_guest(guest));
        }
    }
}

void conn_free_all(struct conn_group *g)
{
    for (int k = GUEST_STRANGER; k < GUEST_KINDS; k++) {
        while (g->gate.lists[k].first)
            conn_free(conn_of_guest(g->gate.lists[k].first));
    }
}

struct conn *conn_new(struct conn_group *group, int fd, uint64_t address)
{
    struct conn *c = mem_zalloc(sizeof *c);

    c->group = group;
    c->bev = bufferevent_socket_new(loop_base(group->loop), fd, BEV_OPT_CLOSE_ON_FREE);
    c->content = evbuffer_new();
    CHECK(c->bev && c->content);
    c->moved_ms = now_of(group);
    gate_enter(&group->gate, &c->guest, address, group->conf.is_local, c->moved_ms);
    bufferevent_setcb(c->bev, on_readable, on_written, on_end, c);
    CHECK(bufferevent_disable(c->bev, EV_WRITE) == 0 && bufferevent_enable(c->bev, EV_READ) == 0);
    return c;
}

void conn_read_now(struct conn *c)
{
    int n = 0;

    evbuffer_unfreeze(input(c), 0);
    n = evbuffer_read(input(c), bufferevent_getfd(c->bev), READ_NOW);
    evbuffer_freeze(input(c), 0);
    if (n > 0)
        on_readable(c->bev, c);
    else if (n == 0 || errno != EAGAIN)
        conn_free(c);
}
