/* server.c - the HTTP side as a whole: it opens the doors (a Unix socket, TCP), and stands between a connection
 * (conn.h), which knows no routes, and a web_req, which knows no sockets. A request is made when its head
 * has arrived; route.c then decides at once whether it may come in, and runs its handler when the body is
 * there. A request belongs to its connection until it is answered. When the client leaves first, on_gone
 * takes the connection away from the request; the request lives on until its last callback has come. */
#include "web/server.h"

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "web/api/feed.h"
#include "web/http/door.h"
#include "web/http/listen.h"
#include "web/request/route.h"

#include <event2/buffer.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { DOORS = 2, DESCRIPTORS_KEPT = 512 };

struct web {
    struct ctl *ctl;
    struct loop *loop;
    struct web_conf conf;
    struct listen_address address; /* empty without TCP */
    struct door *doors[DOORS];     /* the Unix socket, TCP; NULL = not there */
    struct web_req *reqs;
    struct feed *feed;
    int64_t answers[6];
};

struct web_wire {
    struct conn *conn;
    const char *target; /* of the first line, until the answer */
    bool is_handed;     /* the handler has run */
    bool is_stream;
    void (*on_drained)(struct web_req *r);
};

/* ---- leaving clients ---- */

static void wire_free(struct web_req *r)
{
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

/* The connection is gone before the answer. */
static void on_gone(void *request)
{
    struct web_req *r = request;
    bool will_answer = r->wire->is_handed && !r->on_gone && !r->wire->is_stream;

    wire_free(r);
    if (will_answer || r->is_sent)
        return; /* a callback still to come calls web_send, which then only releases */
    r->is_sent = true;
    gone_tell(r);
    web_release(r);
}

/* The client hung up, the connection is still there. */
static void on_left(void *request)
{
    struct web_req *r = request;
    struct err err = { 0 };

    web_hold(r);
    gone_tell(r);
    if (r->wire && r->wire->is_stream) {
        web_stream_end(r);
    } else {
        err_set(&err, ERR_BUSY, "the client left");
        web_problem(r, &err);
        web_send(r);
    }
    web_release(r);
}

void web_watch(struct web_req *r)
{
    CHECK(r->on_gone);
    if (r->wire)
        conn_watch(r->wire->conn);
}

/* ---- answers ---- */

const char *web_header(const struct web_req *r, const char *name)
{
    return r->wire ? conn_header(r->wire->conn, name) : NULL;
}

static void field_add(struct evbuffer *out, const char *name, const char *value)
{
    if (strpbrk(value, "\r\n"))
        log_error("web.field name=%s err=\"it holds a line's end and is left out\"", name);
    else
        evbuffer_add_printf(out, "%s: %s\r\n", name, value);
}

static void fields_write(const struct web_req *r, struct evbuffer *out)
{
    const struct web_answer *a = &r->answer;
    bool has_cache = false;

    for (int i = 0; i < a->n_headers; i++) {
        field_add(out, a->headers[i].key, a->headers[i].value);
        has_cache |= strcmp(a->headers[i].key, "Cache-Control") == 0;
    }
    if (a->type)
        field_add(out, "Content-Type", a->type);
    field_add(out, "X-Content-Type-Options", "nosniff");
    if (!has_cache)
        field_add(out, "Cache-Control", "no-store");
}

static void bytes_free(const void *p, size_t n, void *arg)
{
    (void)p, (void)n;
    mem_free(arg);
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
        struct conn *c = r->wire->conn;
        struct evbuffer *fields = evbuffer_new(), *body = evbuffer_new();
        int status = r->answer.status;

        CHECK(fields && body && status);
        count_answer(r);
        fields_write(r, fields);
        body_write(r, body);
        wire_free(r);
        conn_answer(c, status, fields, body,
                    status == 304 || status == 204 ? -1 : (int64_t)r->answer.len);
        evbuffer_free(fields);
        evbuffer_free(body);
    }
    r->on_gone = NULL;
    web_release(r);
}

/* ---- streams ---- */

int web_stream_start(struct web_req *r, const char *type, void (*on_drained)(struct web_req *r))
{
    struct evbuffer *fields = NULL;

    if (!r->wire)
        return -1;
    r->wire->is_stream = true;
    r->wire->on_drained = on_drained;
    r->answer.status = 200;
    r->answer.type = type;
    count_answer(r);
    fields = evbuffer_new();
    CHECK(fields);
    fields_write(r, fields);
    conn_stream_start(r->wire->conn, fields);
    evbuffer_free(fields);
    web_watch(r);
    return 0;
}

static void on_drained(void *request)
{
    struct web_req *r = request;

    if (r->wire->on_drained)
        r->wire->on_drained(r);
}

void web_stream_add(struct web_req *r, const char *text, size_t n)
{
    CHECK(r->wire && r->wire->is_stream);
    conn_stream_add(r->wire->conn, text, n);
}

size_t web_stream_pending(const struct web_req *r)
{
    return r->wire ? conn_stream_pending(r->wire->conn) : 0;
}

void web_stream_end(struct web_req *r)
{
    if (r->is_sent)
        return;
    r->is_sent = true;
    if (r->wire) {
        struct conn *c = r->wire->conn;

        wire_free(r);
        conn_stream_end(c);
    }
    web_release(r);
}

/* ---- requests ---- */

static enum web_method method_of(const char *name)
{
    int m = 0;

    while (m < WEB_OTHER && strcmp(web_method_name[m], name) != 0)
        m++;
    return (enum web_method)m;
}

static int64_t body_max(const struct web_route *route, bool is_known)
{
    if (route->flags & WEB_OPEN && !is_known)
        return WEB_OPEN_BODY_MAX;
    /* Runners report schemas of wide tables, up to 3 MiB, together with results. */
    return route->flags & WEB_RAW || route->allow == WEB_RUNNERS ? WEB_BODY_MAX : WEB_JSON_MAX;
}

/* Everything that the head decides is decided here, the token first of all: a body is only read for those
 * who may send it. */
static void on_head(struct conn *c, const struct head *head)
{
    struct web *web = door_arg(conn_door(c));
    struct web_req *r = web_req_new(web, web->ctl, &web->reqs);
    bool is_admitted = false;

    r->wire = mem_zalloc(sizeof *r->wire);
    r->wire->conn = c;
    r->wire->target = head->target;
    r->is_local = door_conf_get(conn_door(c))->is_local;
    r->method = method_of(head->method);
    r->method_text = head->method;
    conn_attach(c, r);
    web_hold(r);
    is_admitted = web_admit(r, head->target);
    if (r->who.role != CTL_NOBODY || r->answer.status == 401)
        conn_know(c, r->who.role != CTL_NOBODY);
    if (is_admitted)
        conn_body_max(c, body_max(r->route, conn_is_known(c)));
    web_release(r);
}

static void on_body(void *request, const char *body, size_t n)
{
    struct web_req *r = request;
    struct loop *loop = r->web->loop;

    r->wire->is_handed = true;
    r->body = body;
    r->body_len = n;
    web_run(r, r->wire->target);
    loop_breathe(loop);
}

/* ---- doors ---- */

static struct door *door_open(struct web *web, int fd, bool is_local)
{
    const struct web_conf *conf = &web->conf;
    int64_t strangers = MIN(conf->max_strangers, MAX(conf->max_connections / 4, 1));
    struct door_conf d = {
        .name = is_local ? "unix" : "tcp",
        .limits = { .guests = conf->max_connections,
                    .strangers = strangers,
                    .strangers_per_address = conf->max_strangers_per_address,
                    .bytes = conf->max_inflight_bytes,
                    .leaving = strangers },
        .is_local = is_local,
        .idle_ms = conf->idle_ms,
        .head_ms = MIN(conf->head_ms, conf->request_ms),
        .request_ms = conf->request_ms,
        .hooks = { on_head, on_body, on_gone, on_left, on_drained },
        .arg = web,
    };

    return fd < 0 ? NULL : door_new(web->loop, fd, &d);
}

/* Each connection takes a descriptor, and the database, blobs and pipes need theirs, too. */
static int64_t connections_that_fit(int64_t wanted)
{
    struct rlimit limit = { 0 };
    int64_t need = DOORS * (wanted + wanted / 4) + DESCRIPTORS_KEPT;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return wanted;
    if (limit.rlim_cur < (rlim_t)need) {
        limit.rlim_cur = MIN(limit.rlim_max, (rlim_t)need);
        (void)!setrlimit(RLIMIT_NOFILE, &limit);
        (void)getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= (rlim_t)need)
        return wanted;
    wanted = MAX(((int64_t)limit.rlim_cur - DESCRIPTORS_KEPT) * 2 / 5, 8);
    log_warn("web.descriptors limit=%lld connections=%lld note=\"raise the limit of open files for "
             "more\"",
             (long long)limit.rlim_cur, (long long)wanted);
    return wanted;
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
    to->max_connections = connections_that_fit(to->max_connections);
    if (to->max_strangers <= 0)
        to->max_strangers = 512;
    if (to->max_strangers_per_address <= 0)
        to->max_strangers_per_address = 32;
    if (to->max_inflight_bytes <= 0)
        to->max_inflight_bytes = 64 << 20;
    if (to->head_ms <= 0)
        to->head_ms = 10000;
    if (to->idle_ms <= 0)
        to->idle_ms = 60000;
    if (to->request_ms <= 0)
        to->request_ms = 120000;
    if (to->heartbeat_ms <= 0)
        to->heartbeat_ms = 15000;
}

int web_conf_check(const struct web_conf *conf, struct err *err)
{
    return conf->listen ? listen_check(conf->listen, conf->insecure, err) : 0;
}

struct web *web_new(struct ctl *ctl, struct loop *loop, const struct web_conf *conf,
                    struct err *err)
{
    struct web *web = mem_zalloc(sizeof *web);

    web->ctl = ctl;
    web->loop = loop;
    conf_take(&web->conf, conf);
    if (conf->socket_path) {
        web->doors[0] = door_open(web, listen_unix(conf->socket_path, err), true);
        if (!web->doors[0])
            goto fail;
    }
    if (conf->listen) {
        int fd = listen_tcp(conf->listen, conf->insecure, &web->address, err);

        web->doors[1] = door_open(web, fd, false);
        if (!web->doors[1])
            goto fail;
    }
    log_info("web.ready socket=%s address=%s", conf->socket_path ? conf->socket_path : "-",
             web->address.url[0] ? web->address.url : "-");
    if (web->address.is_beyond)
        log_warn("web.insecure listen=%s note=\"other machines can reach it, without encryption\"",
                 web->address.bound);
    return web;
fail:
    web_free(web);
    return NULL;
}

void web_close_doors(struct web *web)
{
    for (int i = 0; i < DOORS; i++) {
        if (web->doors[i])
            door_close(web->doors[i]);
    }
}

void web_free(struct web *web)
{
    if (!web)
        return;
    if (web->doors[0])
        unlink(web->conf.socket_path);
    for (int i = 0; i < DOORS; i++)
        door_free(web->doors[i]);
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
    return web->address.url;
}

const char *web_beyond(const struct web *web)
{
    return web->address.is_beyond ? web->address.bound : "";
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
    return web->address.port;
}

int64_t web_count(const struct web *web, int status_class)
{
    int64_t n = 0;

    if (status_class > 0)
        return web->answers[status_class];
    for (int i = 0; i < DOORS; i++)
        n += web->doors[i] ? door_count(web->doors[i]) : 0;
    return n;
}
