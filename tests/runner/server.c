/* server.c - see server.h. Enough of HTTP/1.1 for curl: keep-alive, Content-Length bodies, no chunks. */
#include "tests/runner/server.h"

#include "base/base.h"
#include "base/mem.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct conn {
    struct conn *next;
    struct server *server;
    struct bufferevent *io;
    struct loop_timer *delay;
    struct server_answer answer;
    char *head; /* of the request being read */
    bool busy, is_head, closing;
};

struct server {
    struct loop *loop;
    char path[108];
    struct evconnlistener *listener;
    struct conn *conns;
    server_handler *handler;
    void *arg;
    int accepted;
};

static void conn_free(struct conn *c)
{
    struct conn **link = &c->server->conns;

    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    loop_timer_free(c->delay);
    bufferevent_free(c->io);
    mem_free(c->answer.body);
    mem_free(c->head);
    mem_free(c);
}

static void conn_read(struct conn *c);

static void answer_send(struct conn *c)
{
    struct server_answer *a = &c->answer;
    char head[512];
    size_t n = a->len;

    loop_timer_free(c->delay);
    c->delay = NULL;
    if (a->close) {
        conn_free(c);
        return;
    }
    snprintf(head, sizeof head, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n%s\r\n", a->status, a->len,
             a->headers ? a->headers : "");
    if (a->tear_after >= 0)
        n = (size_t)MIN(a->tear_after, (int64_t)a->len);
    c->closing = a->tear_after >= 0;
    c->busy = false;
    bufferevent_write(c->io, head, strlen(head));
    if (!c->is_head && n > 0)
        bufferevent_write(c->io, a->body, n);
    mem_free(a->body);
    *a = (struct server_answer){ .tear_after = -1 };
    if (!c->closing)
        conn_read(c);
}

static void on_delay(void *arg)
{
    answer_send(arg);
}

static const char *header(const char *head, const char *name)
{
    const char *p = head;
    size_t n = strlen(name);

    while ((p = strstr(p, "\r\n"))) {
        p += 2;
        if (strncasecmp(p, name, n) == 0 && p[n] == ':')
            return p + n + 1 + strspn(p + n + 1, " ");
    }
    return NULL;
}

static void serve(struct conn *c, const char *head, const char *body, size_t len)
{
    char method[8] = "", path[600] = "", auth[200] = "";
    const char *range = header(head, "range"), *token = header(head, "authorization");
    struct server_request r = {
        .method = method, .path = path, .auth = auth, .body = body, .len = len
    };

    (void)sscanf(head, "%7s %599s", method, path);
    if (token)
        (void)sscanf(token, "%199[^\r]", auth);
    r.range_from = range && strncmp(range, "bytes=", 6) == 0 ? strtoll(range + 6, NULL, 10) : -1;
    c->is_head = strcmp(method, "HEAD") == 0;
    c->busy = true;
    c->answer = (struct server_answer){ .status = 200, .tear_after = -1 };
    c->server->handler(c->server->arg, &r, &c->answer);
    if (c->answer.withhold)
        return;
    if (c->answer.delay_ms > 0)
        c->delay = loop_timer_new(c->server->loop, c->answer.delay_ms, 0, on_delay, c);
    else
        answer_send(c);
}

static void conn_read(struct conn *c)
{
    struct evbuffer *in = bufferevent_get_input(c->io);
    const char *length = NULL;
    char *body = NULL, *head = NULL;
    size_t n = 0;

    if (c->busy)
        return;
    if (!c->head) {
        struct evbuffer_ptr end = evbuffer_search(in, "\r\n\r\n", 4, NULL);

        if (end.pos < 0)
            return;
        c->head = mem_zalloc((size_t)end.pos + 5);
        evbuffer_remove(in, c->head, (size_t)end.pos + 4);
    }
    length = header(c->head, "content-length");
    n = length ? (size_t)strtoull(length, NULL, 10) : 0;
    if (evbuffer_get_length(in) < n)
        return;
    body = mem_zalloc(n + 1);
    evbuffer_remove(in, body, n);
    head = c->head;
    c->head = NULL;
    serve(c, head, body, n); /* may free c */
    mem_free(head);
    mem_free(body);
}

static void on_data(struct bufferevent *io, void *arg)
{
    (void)io;
    conn_read(arg);
}

static void on_written(struct bufferevent *io, void *arg)
{
    struct conn *c = arg;

    (void)io;
    if (c->closing)
        conn_free(c);
}

static void on_end(struct bufferevent *io, short what, void *arg)
{
    (void)io, (void)what;
    conn_free(arg);
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *a, int n,
                      void *arg)
{
    struct server *s = arg;
    struct conn *c = mem_zalloc(sizeof *c);

    (void)l, (void)a, (void)n;
    s->accepted++;
    c->server = s;
    c->answer.tear_after = -1;
    c->next = s->conns;
    s->conns = c;
    c->io = bufferevent_socket_new(loop_base(s->loop), fd, BEV_OPT_CLOSE_ON_FREE);
    bufferevent_setcb(c->io, on_data, on_written, on_end, c);
    bufferevent_enable(c->io, EV_READ | EV_WRITE);
}

void server_back(struct server *s)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };

    CHECK(!s->listener);
    unlink(s->path);
    memcpy(a.sun_path, s->path, sizeof s->path);
    s->listener = evconnlistener_new_bind(loop_base(s->loop), on_accept, s, LEV_OPT_CLOSE_ON_FREE,
                                          64, (struct sockaddr *)&a, sizeof a);
    CHECK(s->listener);
}

void server_away(struct server *s)
{
    if (s->listener)
        evconnlistener_free(s->listener);
    s->listener = NULL;
    while (s->conns)
        conn_free(s->conns);
}

struct server *server_new(struct loop *loop, const char *path, server_handler *handler, void *arg)
{
    struct server *s = mem_zalloc(sizeof *s);

    s->loop = loop;
    s->handler = handler;
    s->arg = arg;
    CHECK(strlen(path) < sizeof s->path);
    snprintf(s->path, sizeof s->path, "%s", path);
    server_back(s);
    return s;
}

void server_free(struct server *s)
{
    server_away(s);
    mem_free(s);
}

int server_connections(const struct server *s)
{
    return s->accepted;
}
