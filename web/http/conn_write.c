/* conn_write.c - what a connection writes: answers, refusals and streams; see conn.h. A connection
 * reads nothing while it writes. When the kernel has taken all bytes, libevent calls on_written in
 * conn.c, which goes on to the next request or ends the connection. */
#include "web/http/conn.h"

#include "web/http/conn_private.h"

#include "base/base.h"
#include "base/loop.h"
#include "web/http/status.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <sys/socket.h>
#include <time.h>

enum {
    WRITE_NOW = 256 << 10, /* one long answer must not hold up the turn of the loop */
    /* Without a limit, the kernel buffers megabytes for an event stream that nobody reads. */
    STREAM_SNDBUF = 64 << 10,
};

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
        (void)body_take(&c->body, conn_input(c), NULL);
    return c->state == CONN_BUSY || (c->state == CONN_BODY && c->body.state == BODY_WHOLE);
}

/* Most answers are complete after this. Waiting until the socket is writable would cost two more
 * system calls, and a turn of the loop in which all other requests come first. */
void conn_write_now(struct conn *c)
{
    struct evbuffer *out = conn_output(c);

    if (c->ssl) {
        bufferevent_enable(c->bev, EV_WRITE); /* encrypts and writes at once */
        return;
    }
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
    c->added += (int64_t)evbuffer_get_length(conn_output(c)) - length_before;
    c->moved_ms = conn_now_ms(c->group);
    bufferevent_disable(c->bev, EV_READ);
    conn_write_now(c);
}

void conn_answer(struct conn *c, int status, struct evbuffer *fields, struct evbuffer *body,
                 int64_t body_len)
{
    struct evbuffer *out = conn_output(c);
    int64_t before = (int64_t)evbuffer_get_length(out);

    CHECK(c->state == CONN_HEAD || c->state == CONN_BODY || c->state == CONN_BUSY);
    (void)conn_detach(c);
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

void conn_refuse(struct conn *c, int status, const char *why)
{
    struct evbuffer *fields = evbuffer_new(), *body = evbuffer_new();
    void *request = conn_detach(c);

    CHECK(fields && body);
    if (request)
        c->group->conf.hooks.on_gone(request);
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
    struct evbuffer *out = conn_output(c);
    int64_t before = (int64_t)evbuffer_get_length(out);
    int size = STREAM_SNDBUF;

    CHECK(c->request && (c->state == CONN_BODY || c->state == CONN_BUSY));
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
    struct evbuffer *out = conn_output(c);
    int64_t before = (int64_t)evbuffer_get_length(out);

    CHECK(c->state == CONN_STREAM && n > 0);
    if (before == 0)
        c->moved_ms =
            conn_now_ms(c->group); /* the time limit counts from when the first byte waits */
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
    return evbuffer_get_length(conn_output(c));
}

void conn_stream_end(struct conn *c)
{
    int64_t before = (int64_t)evbuffer_get_length(conn_output(c));

    CHECK(c->state == CONN_STREAM);
    (void)conn_detach(c);
    if (c->head.minor > 0)
        evbuffer_add(conn_output(c), "0\r\n\r\n", 5);
    c->state = CONN_ANSWER;
    answer_go(c, before);
}
