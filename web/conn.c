/* conn.c - see conn.h. evhttp frees a bufferevent without telling its maker. So each one carries a
 * reference of ours, and a sweep finds those that evhttp is done with (bufferevent_free takes the callbacks
 * away). The rule about descriptors: a bufferevent is made with BEV_OPT_CLOSE_ON_FREE, so its descriptor is
 * closed together with its events, when the last reference goes, and never before. Otherwise evhttp would
 * close it while our reference keeps the read event armed, the next accept would get the same number, and
 * the dead connection would read the new client's bytes. The sweep runs every second, in the turn after
 * conn_over, and at once when the set is full. Bytes are counted as they arrive, by a callback of the
 * input buffer, and belong to the request being read until conn_request_whole. */
#include "web/conn.h"

#include "base/log.h"
#include "base/mem.h"
#include "web/refusal.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

enum { SWEEP_MS = 1000 };

struct conn {
    struct conn_set *set;
    struct bufferevent *bev;
    int64_t bytes;    /* of the request being read */
    int64_t since_ms; /* its first byte; 0 = none yet */
    bool is_shed;
    int fd; /* its place in by_fd, -1 before the first byte */
    struct conn *next;
};

struct conn_set {
    struct conn_limits limits;
    struct loop *loop;
    struct loop_timer *timer;
    struct conn *list;
    struct conn **by_fd; /* descriptors are small numbers */
    int n_by_fd;
    int64_t count, inflight;
    bool is_full;
};

static bool is_over(const struct conn *c)
{
    bufferevent_data_cb on_read = NULL, on_write = NULL;
    bufferevent_event_cb on_event = NULL;

    bufferevent_getcb(c->bev, &on_read, &on_write, &on_event, NULL);
    return !on_read && !on_write && !on_event;
}

/* Raw, because evhttp has no request yet that could be answered. */
static void shed(struct conn *c, const char *answer, const char *why)
{
    int fd = (int)bufferevent_getfd(c->bev);

    c->is_shed = true; /* from now on its bytes are nobody's */
    c->set->inflight -= c->bytes;
    log_warn("web.shed why=\"%s\" bytes=%lld", why, (long long)c->bytes);
    c->bytes = 0;
    if (fd < 0)
        return;
    (void)!send(fd, answer, strlen(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(fd, SHUT_RDWR);
}

static void fd_note(struct conn *c)
{
    struct conn_set *set = c->set;

    c->fd = (int)bufferevent_getfd(c->bev);
    if (c->fd >= set->n_by_fd) {
        int n = MAX(c->fd + 1, 2 * set->n_by_fd);

        set->by_fd = mem_resize(set->by_fd, (size_t)n * sizeof(struct conn *));
        while (set->n_by_fd < n)
            set->by_fd[set->n_by_fd++] = NULL;
    }
    if (c->fd >= 0)
        set->by_fd[c->fd] = c;
}

static void on_input(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg);

static void conn_drop(struct conn *c)
{
    struct conn_set *set = c->set;

    set->inflight -= c->bytes;
    set->count--;
    if (c->fd >= 0 && set->by_fd[c->fd] == c)
        set->by_fd[c->fd] = NULL; /* else the descriptor is another's by now */
    evbuffer_remove_cb(bufferevent_get_input(c->bev), on_input, c);
    bufferevent_decref(c->bev);
    mem_free(c);
}

static void sweep(struct conn_set *set)
{
    static const char late[] = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n"
                               "Connection: close\r\n\r\n";
    int64_t now = clk_now_ms(loop_clk(set->loop));

    for (struct conn **link = &set->list, *c = *link; c; c = *link) {
        if (is_over(c)) {
            *link = c->next;
            conn_drop(c);
            continue;
        }
        if (c->since_ms && !c->is_shed && now - c->since_ms > set->limits.request_ms)
            shed(c, late, "request never ended");
        link = &c->next;
    }
}

static void on_input(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
    static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n"
                               "Content-Length: 0\r\nConnection: close\r\n\r\n";
    struct conn *c = arg;

    (void)buf;
    if (info->n_added == 0 || c->is_shed)
        return;
    if (c->fd < 0)
        fd_note(c);
    if (c->since_ms == 0)
        c->since_ms = clk_now_ms(loop_clk(c->set->loop)) + 1;
    c->bytes += (int64_t)info->n_added;
    c->set->inflight += (int64_t)info->n_added;
    if (c->set->inflight > c->set->limits.max_inflight_bytes)
        sweep(c->set); /* some may have gone since the last tick */
    if (c->set->inflight > c->set->limits.max_inflight_bytes)
        shed(c, busy, "bodies in flight");
}

static void full_set(struct conn_set *set)
{
    bool is_full = set->count >= set->limits.max_connections;

    if (is_full == set->is_full)
        return;
    set->is_full = is_full;
    set->limits.on_full(set->limits.arg, is_full);
}

static void on_tick(void *arg)
{
    struct conn_set *set = arg;

    sweep(set);
    full_set(set);
}

struct conn_set *conn_set_new(struct loop *loop, const struct conn_limits *limits)
{
    struct conn_set *set = mem_zalloc(sizeof *set);

    set->limits = *limits;
    set->loop = loop;
    set->timer = loop_timer_new(loop, SWEEP_MS, SWEEP_MS, on_tick, set);
    return set;
}

void conn_set_free(struct conn_set *set)
{
    if (!set)
        return;
    loop_timer_free(set->timer);
    while (set->list) {
        struct conn *c = set->list;

        CHECK(is_over(c));
        set->list = c->next;
        conn_drop(c);
    }
    mem_free(set->by_fd);
    mem_free(set);
}

struct bufferevent *conn_new(struct event_base *base, void *arg)
{
    struct conn_set *set = arg;
    struct conn *c = mem_zalloc(sizeof *c);

    if (set->count + 1 >= set->limits.max_connections)
        sweep(set); /* many may be over since the last tick */
    c->set = set;
    c->fd = -1;
    c->bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    CHECK(c->bev);
    bufferevent_incref(c->bev);
    evbuffer_add_cb(bufferevent_get_input(c->bev), on_input, c);
    refusal_watch(c->bev);
    c->next = set->list;
    set->list = c;
    set->count++;
    full_set(set);
    return c->bev;
}

void conn_request_whole(struct conn_set *set, struct bufferevent *bev)
{
    int fd = (int)bufferevent_getfd(bev);
    struct conn *c = fd >= 0 && fd < set->n_by_fd ? set->by_fd[fd] : NULL;

    if (!c || c->bev != bev)
        return;
    set->inflight -= c->bytes;
    /* Pipelined behind it: the next request has begun. */
    c->bytes = (int64_t)evbuffer_get_length(bufferevent_get_input(bev));
    set->inflight += c->bytes;
    c->since_ms = c->bytes ? clk_now_ms(loop_clk(set->loop)) + 1 : 0;
}

void conn_over(struct conn_set *set)
{
    loop_timer_again(set->timer, 0);
}

void conn_retry(struct conn_set *set)
{
    set->is_full = true;
}

int64_t conn_count(const struct conn_set *set)
{
    return set->count;
}

int64_t conn_inflight(const struct conn_set *set)
{
    return set->inflight;
}
