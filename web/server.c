/* server.c - the only file that knows evhttp: two doors (Unix socket, TCP), limits, and the passage between
 * an evhttp request and a web_req. An evhttp request belongs to us from its callback until it is answered;
 * when the client leaves first, evhttp tells by the connection's close callback, after which we must not
 * touch it. While an answer is deferred evhttp does not read, so a leaving client is seen by an EV_CLOSED
 * event of ours where that matters (long polls, streams). Everything runs on the loop's thread. */
#include "web/server.h"

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "web/conn.h"
#include "web/feed.h"
#include "web/listen.h"
#include "web/route.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DOORS = 2, METHODS = 0xffff };

struct door {
    struct web *web;
    struct evhttp *http;
    struct evconnlistener *listener;
    bool is_local;
};

struct web {
    struct ctl *ctl;
    struct loop *loop;
    struct web_conf conf;
    char address[80];
    int port;
    bool is_closing;
    struct door doors[DOORS];
    struct conn_set *conns;
    struct web_req *reqs;
    struct feed *feed;
    int64_t answers[6];
};

struct web_wire {
    struct evhttp_request *http;
    struct evhttp_connection *conn;
    struct event *closed;
    bool is_stream;
    void (*on_drained)(struct web_req *r);
};

/* ---- leaving clients ---- */

static void wire_free(struct web_req *r)
{
    if (r->wire->closed)
        event_free(r->wire->closed);
    mem_free(r->wire);
    r->wire = NULL;
}

static void gone_tell(struct web_req *r)
{
    void (*on_gone)(struct web_req *) = r->on_gone;

    r->on_gone = NULL;
    if (on_gone)
        on_gone(r);
}

/* The answer was sent before; only the descriptor is left to be given back. */
static void on_idle_conn_closed(struct evhttp_connection *conn, void *arg)
{
    struct web *web = arg;

    (void)conn;
    conn_over(web->conns);
}

/* evhttp is taking the connection down. The request goes with it unless evhttp has let go of it. */
static void on_conn_closed(struct evhttp_connection *conn, void *arg)
{
    struct web_req *r = arg;
    struct evhttp_request *http = r->wire->http;
    bool will_answer = !r->on_gone && !r->wire->is_stream;

    (void)conn;
    if (r->web)
        conn_over(r->web->conns);
    if (!evhttp_request_get_connection(http))
        evhttp_request_free(http);
    wire_free(r);
    if (will_answer || r->is_sent)
        return; /* a callback still to come calls web_send, which then only releases */
    r->is_sent = true;
    gone_tell(r);
    web_release(r);
}

static void on_peer_closed(evutil_socket_t fd, short what, void *arg);

static void watch_add(struct web_req *r, short what)
{
    struct bufferevent *bev = evhttp_connection_get_bufferevent(r->wire->conn);

    if (r->wire->closed)
        event_free(r->wire->closed);
    r->wire->closed =
        event_new(loop_base(r->web->loop), bufferevent_getfd(bev), what, on_peer_closed, r);
    CHECK(r->wire->closed && event_add(r->wire->closed, NULL) == 0);
}

/* A reset comes as EV_READ, not as EV_CLOSED; so may a pipelined request, which evhttp reads later. */
static void on_peer_closed(evutil_socket_t fd, short what, void *arg)
{
    struct web_req *r = arg;
    struct err err = { 0 };
    char byte = 0;

    if (!(what & EV_CLOSED) && recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
        watch_add(r, EV_CLOSED);
        return;
    }
    web_hold(r);
    gone_tell(r);
    if (r->wire && r->wire->is_stream) {
        web_stream_end(r);
    } else {
        err_set(&err, ERR_BUSY, "the client left");
        web_problem(r, &err);
        web_header_add(r, "Connection", "close");
        web_send(r);
    }
    web_release(r);
}

void web_watch(struct web_req *r)
{
    CHECK(r->on_gone && !r->wire->closed);
    watch_add(r, EV_READ | EV_CLOSED);
}

/* ---- answers ---- */

const char *web_header(const struct web_req *r, const char *name)
{
    return r->wire ? evhttp_find_header(evhttp_request_get_input_headers(r->wire->http), name)
                   : NULL;
}

static void bytes_free(const void *p, size_t n, void *arg)
{
    (void)p, (void)n;
    mem_free(arg);
}

static void headers_write(struct web_req *r)
{
    struct evkeyvalq *out = evhttp_request_get_output_headers(r->wire->http);
    const struct web_answer *a = &r->answer;
    bool has_cache = false;
    char text[24];

    for (int i = 0; i < a->n_headers; i++) {
        evhttp_add_header(out, a->headers[i].key, a->headers[i].value);
        has_cache |= strcmp(a->headers[i].key, "Cache-Control") == 0;
    }
    if (a->type)
        evhttp_add_header(out, "Content-Type", a->type);
    evhttp_add_header(out, "X-Content-Type-Options", "nosniff");
    if (!has_cache)
        evhttp_add_header(out, "Cache-Control", "no-store");
    if (r->wire->is_stream || a->status == 304 || a->status == 204)
        return;
    (void)!snprintf(text, sizeof text, "%zu", a->len);
    evhttp_add_header(out, "Content-Length", text);
}

static void body_write(struct web_req *r, struct evbuffer *buf)
{
    struct web_answer *a = &r->answer;

    if (r->method == WEB_HEAD || a->len == 0 || a->status == 304 || a->status == 204)
        return;
    if (a->fd >= 0) {
        CHECK(evbuffer_add_file(buf, a->fd, a->offset, (ev_off_t)a->len) == 0);
        a->fd = -1;
    } else if (a->is_owned) {
        CHECK(evbuffer_add_reference(buf, a->bytes, a->len, bytes_free, a->bytes) == 0);
        a->bytes = NULL;
        a->is_owned = false;
    } else {
        CHECK(evbuffer_add_reference(buf, a->bytes, a->len, NULL, NULL) == 0);
    }
}

static void count_answer(const struct web_req *r)
{
    int status_class = r->answer.status / 100;

    if (r->web && status_class >= 1 && status_class <= 5)
        r->web->answers[status_class]++;
    log_debug("web.answered method=%s route=%s status=%d who=%s", web_method_name[r->method],
              r->route ? r->route->pattern : "-", r->answer.status,
              r->who.name[0] ? r->who.name : "-");
}

void web_send(struct web_req *r)
{
    if (r->is_sent)
        return;
    r->is_sent = true;
    if (r->wire) {
        struct evhttp_request *http = r->wire->http;
        struct evbuffer *buf = evbuffer_new();

        CHECK(buf && r->answer.status);
        count_answer(r);
        headers_write(r);
        body_write(r, buf);
        evhttp_connection_set_closecb(r->wire->conn, on_idle_conn_closed, r->web);
        wire_free(r);
        evhttp_send_reply(http, r->answer.status, NULL, buf);
        evbuffer_free(buf);
    }
    r->on_gone = NULL;
    web_release(r);
}

/* ---- streams ---- */

int web_stream_start(struct web_req *r, const char *type, void (*on_drained)(struct web_req *r))
{
    if (!r->wire)
        return -1;
    r->wire->is_stream = true;
    r->wire->on_drained = on_drained;
    r->answer.status = 200;
    r->answer.type = type;
    count_answer(r);
    headers_write(r);
    evhttp_send_reply_start(r->wire->http, 200, NULL);
    web_watch(r);
    return 0;
}

static void on_chunk_written(struct evhttp_connection *conn, void *arg)
{
    struct web_req *r = arg;

    (void)conn;
    if (r->wire && r->wire->on_drained)
        r->wire->on_drained(r);
}

void web_stream_add(struct web_req *r, const char *text, size_t n)
{
    struct evbuffer *buf = evbuffer_new();

    CHECK(r->wire && r->wire->is_stream && buf);
    evbuffer_add(buf, text, n);
    evhttp_send_reply_chunk_with_cb(r->wire->http, buf, on_chunk_written, r);
    evbuffer_free(buf);
}

size_t web_stream_pending(const struct web_req *r)
{
    struct bufferevent *bev = evhttp_connection_get_bufferevent(r->wire->conn);

    return evbuffer_get_length(bufferevent_get_output(bev));
}

void web_stream_end(struct web_req *r)
{
    if (r->is_sent)
        return;
    r->is_sent = true;
    if (r->wire) {
        struct evhttp_request *http = r->wire->http;

        evhttp_connection_set_closecb(r->wire->conn, on_idle_conn_closed, r->web);
        wire_free(r);
        evhttp_send_reply_end(http);
    }
    web_release(r);
}

/* ---- requests ---- */

static enum web_method method_of(const struct evhttp_request *http)
{
    switch (evhttp_request_get_command(http)) {
    case EVHTTP_REQ_GET:
        return WEB_GET;
    case EVHTTP_REQ_HEAD:
        return WEB_HEAD;
    case EVHTTP_REQ_POST:
        return WEB_POST;
    case EVHTTP_REQ_PUT:
        return WEB_PUT;
    case EVHTTP_REQ_PATCH:
        return WEB_PATCH;
    case EVHTTP_REQ_DELETE:
        return WEB_DELETE;
    default:
        return WEB_OTHER;
    }
}

static void on_request(struct evhttp_request *http, void *arg)
{
    struct door *door = arg;
    struct web *web = door->web;
    struct evbuffer *body = evhttp_request_get_input_buffer(http);
    struct web_req *r = web_req_new(web, web->ctl, &web->reqs);

    r->wire = mem_zalloc(sizeof *r->wire);
    r->wire->http = http;
    r->wire->conn = evhttp_request_get_connection(http);
    r->is_local = door->is_local;
    r->method = method_of(http);
    r->body_len = evbuffer_get_length(body);
    r->body = r->body_len ? (const char *)evbuffer_pullup(body, -1) : "";
    evhttp_connection_set_closecb(r->wire->conn, on_conn_closed, r);
    conn_request_whole(web->conns, evhttp_connection_get_bufferevent(r->wire->conn));
    web_dispatch(r, evhttp_request_get_uri(http));
}

/* ---- doors ---- */

static void on_full(void *arg, bool is_full)
{
    struct web *web = arg;

    if (is_full)
        log_warn("web.full connections=%" PRId64, conn_count(web->conns));
    for (int i = 0; i < DOORS; i++) {
        if (!web->doors[i].listener || web->is_closing)
            continue;
        if (is_full)
            evconnlistener_disable(web->doors[i].listener);
        else
            evconnlistener_enable(web->doors[i].listener);
    }
}

/* Out of descriptors, most likely: breathe, or the loop spins on a listener that stays readable. */
static void on_accept_failed(struct evconnlistener *listener, void *arg)
{
    struct web *web = arg;

    (void)web;
    log_warn("web.accept err=\"%s\"", evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR()));
    evconnlistener_disable(listener);
    conn_retry(web->conns);
}

static int door_open(struct web *web, struct door *door, int fd, bool is_local)
{
    struct event_base *base = loop_base(web->loop);
    struct timeval idle = { .tv_sec = web->conf.idle_ms / 1000,
                            .tv_usec = web->conf.idle_ms % 1000 * 1000 };

    if (fd < 0)
        return -1;
    door->web = web;
    door->is_local = is_local;
    door->http = evhttp_new(base);
    door->listener =
        evconnlistener_new(base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    CHECK(door->http && door->listener);
    evhttp_set_max_headers_size(door->http, WEB_HEADER_MAX);
    evhttp_set_max_body_size(door->http, WEB_BODY_MAX);
    evhttp_set_timeout_tv(door->http, &idle);
    evhttp_set_allowed_methods(door->http, METHODS);
    evhttp_set_bevcb(door->http, conn_new, web->conns);
    evhttp_set_gencb(door->http, on_request, door);
    CHECK(evhttp_bind_listener(door->http, door->listener));
    evconnlistener_set_error_cb(door->listener, on_accept_failed);
    return 0;
}

/* The machine's own name is served too: nobody else's DNS can give it to a browser here. */
static char *names_new(const char *given)
{
    char host[256] = "", all[1200];

    if (gethostname(host, sizeof host - 1) < 0)
        host[0] = '\0';
    if (snprintf(all, sizeof all, "%s,%s", host, given ? given : "") >= (int)sizeof all)
        return mem_strdup(given);
    return mem_strdup(all);
}

static void conf_take(struct web_conf *to, const struct web_conf *from)
{
    *to = *from;
    to->socket_path = mem_strdup(from->socket_path);
    to->listen = mem_strdup(from->listen);
    to->host_names = names_new(from->host_names);
    if (to->max_connections <= 0)
        to->max_connections = 4096;
    if (to->max_inflight_bytes <= 0)
        to->max_inflight_bytes = 64 << 20;
    if (to->idle_ms <= 0)
        to->idle_ms = 60000;
    if (to->request_ms <= 0)
        to->request_ms = 120000;
    if (to->heartbeat_ms <= 0)
        to->heartbeat_ms = 15000;
}

struct web *web_new(struct ctl *ctl, struct loop *loop, const struct web_conf *conf,
                    struct err *err)
{
    struct web *web = mem_zalloc(sizeof *web);
    struct conn_limits limits = { .on_full = on_full, .arg = web };

    web->ctl = ctl;
    web->loop = loop;
    conf_take(&web->conf, conf);
    limits.max_connections = web->conf.max_connections;
    limits.max_inflight_bytes = web->conf.max_inflight_bytes;
    limits.request_ms = web->conf.request_ms;
    web->conns = conn_set_new(loop, &limits);
    if (conf->socket_path &&
        door_open(web, &web->doors[0], listen_unix(conf->socket_path, err), true) < 0)
        goto fail;
    if (conf->listen &&
        door_open(web, &web->doors[1],
                  listen_tcp(conf->listen, web->address, sizeof web->address, &web->port, err),
                  false) < 0)
        goto fail;
    log_info("web.ready socket=%s address=%s", conf->socket_path ? conf->socket_path : "-",
             web->address[0] ? web->address : "-");
    return web;
fail:
    web_free(web);
    return NULL;
}

void web_close_doors(struct web *web)
{
    web->is_closing = true;
    for (int i = 0; i < DOORS; i++) {
        if (web->doors[i].listener)
            evconnlistener_disable(web->doors[i].listener);
    }
}

void web_free(struct web *web)
{
    if (!web)
        return;
    web->is_closing = true;
    if (web->doors[0].listener)
        unlink(web->conf.socket_path);
    for (int i = 0; i < DOORS; i++) {
        if (web->doors[i].http)
            evhttp_free(web->doors[i].http); /* frees the listener and every connection */
    }
    conn_set_free(web->conns);
    feed_free(web->feed);
    /* Those left wait for a callback of the controller, and will only be freed by it. */
    for (struct web_req *r = web->reqs; r; r = r->next) {
        r->web = NULL;
        *r->link = NULL;
        r->link = NULL;
    }
    mem_free((void *)(uintptr_t)web->conf.socket_path);
    mem_free((void *)(uintptr_t)web->conf.listen);
    mem_free((void *)(uintptr_t)web->conf.host_names);
    mem_free(web);
}

const char *web_address(const struct web *web)
{
    return web->address;
}

struct loop *web_loop(const struct web *web)
{
    return web->loop;
}

struct feed **web_feed(struct web *web)
{
    return &web->feed;
}

const struct web_conf *web_conf_get(const struct web *web)
{
    return &web->conf;
}

int web_port(const struct web *web)
{
    return web->port;
}

int64_t web_count(const struct web *web, int status_class)
{
    return status_class == 0 ? conn_count(web->conns) : web->answers[status_class];
}
