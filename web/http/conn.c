/* conn.c - the life of a connection, its requests and its time limits; see conn.h. The connection
 * is a state machine (enum conn_state) on a libevent bufferevent. conn_write.c writes the answers.
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
 * writing only, and what still arrives is thrown away for up to LINGER_MS.
 *
 * TLS. The bufferevent encrypts and decrypts. Its callbacks are deferred: it would otherwise call
 * them from within bufferevent_enable, where the connection could be freed under its caller. What
 * reads and writes the descriptor directly (conn_read_now, conn_write_now) leaves that to libevent
 * here. */
#include "web/http/conn.h"

#include "web/http/conn_private.h"

#include "base/base.h"
#include "base/loop.h"
#include "base/mem.h"
#include "web/http/tls.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    READ_NOW = 16 << 10, /* what libevent reads at once, too */
    LINGER_MS = 2000,    /* time for the client to read a refusal */
    /* Twice the longest body: a client that was refused may send the rest of it. */
    LINGER_BYTES = 16 << 20,
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

int64_t conn_now_ms(const struct conn_group *g)
{
    return clk_now_ms(loop_clk(g->loop));
}

struct evbuffer *conn_input(const struct conn *c)
{
    return bufferevent_get_input(c->bev);
}

struct evbuffer *conn_output(const struct conn *c)
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

void *conn_detach(struct conn *c)
{
    void *request = c->request;

    watch_end(c);
    c->request = NULL;
    return request;
}

static void conn_free(struct conn *c)
{
    struct conn_group *group = c->group;
    void *request = conn_detach(c);
    size_t held = evbuffer_get_length(conn_output(c)) + evbuffer_get_length(conn_input(c)) +
                  evbuffer_get_length(c->content);

    gate_leave(&c->group->gate, &c->guest);
    group->freed++;
    group->freed_bytes += (int64_t)held;
    if (request)
        group->conf.hooks.on_gone(request);
    if (c->ssl)
        tls_say_goodbye(c->ssl);
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
    c->moved_ms = conn_now_ms(c->group);
    if (c->ssl)
        tls_say_goodbye(c->ssl);
    (void)!shutdown((int)bufferevent_getfd(c->bev), SHUT_WR);
    evbuffer_drain(conn_input(c), evbuffer_get_length(conn_input(c)));
    bufferevent_enable(c->bev, EV_READ);
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

bool conn_know(struct conn *c, bool is_known)
{
    bool is_place = gate_know(&c->group->gate, &c->guest, is_known || c->group->conf.is_local);

    c->group->shed[GATE_FULL] += !is_place;
    return is_place;
}

int64_t conn_places(const struct conn *c)
{
    return c->group->conf.limits.guests;
}

void conn_end_after(struct conn *c)
{
    c->is_closing = true;
}

bool conn_is_known(const struct conn *c)
{
    return c->guest.kind == GUEST_KNOWN;
}

static void body_more(struct conn *c)
{
    char why[120];
    size_t n = 0;
    int rc = body_take(&c->body, conn_input(c), c->content);

    if (rc == 0)
        return;
    if (rc != 1) {
        (void)!snprintf(why, sizeof why,
                        rc == 413   ? "the body is over the limit of %lld bytes"
                        : rc == 431 ? "the fields behind the last chunk of the body are too long"
                                    : "the body is not made of well-formed chunks",
                        (long long)c->body.max);
        conn_refuse(c, rc, why);
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
        conn_refuse(c, 413, why);
        return;
    }
    if (c->head.wants_continue && evbuffer_get_length(conn_input(c)) == 0 &&
        c->body.state != BODY_WHOLE)
        evbuffer_add_printf(conn_output(c), "HTTP/1.1 100 Continue\r\n\r\n");
    if (evbuffer_get_length(conn_output(c)) > 0)
        conn_write_now(c);
    body_more(c);
}

static void head_whole(struct conn *c, size_t n)
{
    const char *why = NULL;
    int rc = 0;

    c->seen = 0;
    c->text = mem_alloc(n + 1);
    CHECK(evbuffer_remove(conn_input(c), c->text, n) == (int)n);
    c->text[n] = '\0';
    rc = head_parse(c->text, n, &c->head, &why);
    if (rc) {
        conn_refuse(c, rc, why);
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
    struct evbuffer *in = conn_input(c);
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
        c->since_ms = conn_now_ms(c->group) + 1;
    len = head_end((const char *)evbuffer_pullup(in, (ev_ssize_t)n), n, &c->seen);
    if (len > 0) {
        head_whole(c, (size_t)len);
    } else if (len < 0) {
        conn_refuse(c, 400, "every line of a request must end with CR LF");
    } else if (n == HTTP_HEAD_MAX) {
        char why[100];

        (void)!snprintf(why, sizeof why, "the first line and the headers are over %d bytes",
                        (int)HTTP_HEAD_MAX);
        conn_refuse(c, 431, why);
    }
}

static void read_more(struct conn *c)
{
    gate_bytes(&c->group->gate, &c->guest,
               (int64_t)(evbuffer_get_length(conn_input(c)) + evbuffer_get_length(c->content)));
    conn_settle(c->group); /* may refuse this connection itself, which changes its state */
    if (c->state == CONN_HEAD)
        head_more(c);
    else if (c->state == CONN_BODY)
        body_more(c);
}

static void next_request(struct conn *c)
{
    CHECK(c->state == CONN_ANSWER && !c->request);
    c->state = CONN_HEAD;
    c->since_ms = 0;
    c->moved_ms = conn_now_ms(c->group);
    mem_free(c->text);
    c->text = NULL;
    bufferevent_enable(c->bev, EV_READ);
    if (evbuffer_get_length(conn_input(c)) > 0)
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
        c->dropped += (int64_t)evbuffer_get_length(conn_input(c));
        evbuffer_drain(conn_input(c), evbuffer_get_length(conn_input(c)));
        if (c->dropped > LINGER_BYTES)
            conn_free(c);
    }
}

static void on_written(struct bufferevent *bev, void *arg)
{
    struct conn *c = arg;

    (void)bev;
    if (evbuffer_get_length(conn_output(c)) > 0)
        return;
    bufferevent_disable(c->bev, EV_WRITE);
    if (c->state == CONN_STREAM) {
        if (c->request)
            hooks(c)->on_drained(c->request);
    } else if (c->state == CONN_ANSWER && !c->is_closing) {
        next_request(c);
    } else if (c->state == CONN_ANSWER) {
        if ((c->is_read && evbuffer_get_length(conn_input(c)) == 0) ||
            !gate_part(&c->group->gate, &c->guest))
            conn_free(c);
        else
            linger(c);
    }
}

/* A client that speaks plain HTTP to this door gets an answer that it can read. */
static void tls_explain(const struct conn *c)
{
    static const char answer[] =
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\n"
        "Connection: close\r\n\r\n{\"detail\":\"this port speaks TLS: use https:// in the "
        "address\",\"status\":400,\"title\":\"Bad Request\",\"type\":\"about:blank\"}";
    int fd = (int)bufferevent_getfd(c->bev);
    bool is_plain = false;

    for (unsigned long code; (code = bufferevent_get_openssl_error(c->bev));)
        is_plain = is_plain || tls_is_plain_http(code);
    if (!is_plain)
        return;
    /* A socket that is closed with unread bytes resets the connection, which loses the answer. */
    for (char rest[1024]; recv(fd, rest, sizeof rest, MSG_DONTWAIT) == (ssize_t)sizeof rest;)
        ;
    (void)!send(fd, answer, sizeof answer - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void on_end(struct bufferevent *bev, short what, void *arg)
{
    struct conn *c = arg;

    (void)bev;
    if (what & BEV_EVENT_CONNECTED)
        return; /* the handshake is over; requests may come */
    if (c->ssl && what & BEV_EVENT_ERROR)
        tls_explain(c);
    conn_free(c);
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
        conn_refuse(c, 503, "the server holds too many unfinished requests: try again in a second");
    else if (is_reading || !has_room)
        (void)!shutdown((int)bufferevent_getfd(c->bev), SHUT_RDWR); /* libevent then calls on_end */
    else
        c->is_closing = true;
}

void conn_settle(struct conn_group *g)
{
    enum gate_reason why = GATE_BYTES;
    struct guest *guest = NULL;

    while ((guest = gate_excess(&g->gate, conn_now_ms(g), &why))) {
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
    int64_t taken = c->added - (int64_t)evbuffer_get_length(conn_output(c));

    switch (c->state) {
    case CONN_HEAD:
        if (c->since_ms && now_ms - c->since_ms > conf->head_ms)
            conn_refuse(c, 408, "the head of the request did not come in time");
        else if (!c->since_ms)
            *is_dead = now_ms - c->moved_ms > patience;
        break;
    case CONN_BODY:
        if (now_ms - c->since_ms > (is_known ? conf->request_ms : conf->head_ms))
            conn_refuse(c, 408, "the request did not come in time");
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
    int64_t now = conn_now_ms(g);

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
    if (group->conf.tls) {
        c->ssl = tls_accept(group->conf.tls);
        CHECK(c->ssl);
        c->bev = bufferevent_openssl_socket_new(loop_base(group->loop), fd, c->ssl,
                                                BUFFEREVENT_SSL_ACCEPTING,
                                                BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    } else {
        c->bev = bufferevent_socket_new(loop_base(group->loop), fd, BEV_OPT_CLOSE_ON_FREE);
    }
    c->content = evbuffer_new();
    CHECK(c->bev && c->content);
    c->moved_ms = conn_now_ms(group);
    gate_enter(&group->gate, &c->guest, address, group->conf.is_local, c->moved_ms);
    bufferevent_setcb(c->bev, on_readable, on_written, on_end, c);
    CHECK(bufferevent_disable(c->bev, EV_WRITE) == 0 && bufferevent_enable(c->bev, EV_READ) == 0);
    return c;
}

void conn_read_now(struct conn *c)
{
    int n = 0;

    if (c->ssl)
        return; /* libevent calls on_readable when the handshake is over and bytes have come */
    evbuffer_unfreeze(conn_input(c), 0);
    n = evbuffer_read(conn_input(c), bufferevent_getfd(c->bev), READ_NOW);
    evbuffer_freeze(conn_input(c), 0);
    if (n > 0)
        on_readable(c->bev, c);
    else if (n == 0 || errno != EAGAIN)
        conn_free(c);
}
