/* fleet_http.c - HTTP over a Unix socket, as little of it as the controller's answers need: one call at a time, with a length. */
#include "tests/e2e/fleet_priv.h"

#include "base/jsonx.h"
#include "base/str.h"

#include <event2/buffer.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { HEAD_MAX = 4000 };

void fleet_hang_up(struct peer *p)
{
    if (p->bev)
        bufferevent_free(p->bev);
    p->bev = NULL;
    p->is_waiting = false;
}

static void lost(struct peer *p)
{
    bool was_waiting = p->is_waiting;

    fleet_hang_up(p);
    if (was_waiting)
        fleet_on_lost(p);
}

/* A whole answer, once it is there: 1, 0 = not yet, -1 = it is none. */
static int answer_take(struct evbuffer *in, int *status, json_t **out)
{
    struct evbuffer_ptr end = evbuffer_search(in, "\r\n\r\n", 4, NULL);
    char head[HEAD_MAX] = "";
    size_t n = 0;

    if (end.pos < 0)
        return evbuffer_get_length(in) >= HEAD_MAX ? -1 : 0;
    if (end.pos >= HEAD_MAX)
        return -1;
    evbuffer_copyout(in, head, (size_t)end.pos);
    head[end.pos] = '\0';
    const char *length = strcasestr(head, "content-length:");
    if (strncmp(head, "HTTP/1.1 ", 9) != 0)
        return -1;
    *status = (int)strtol(head + 9, NULL, 10);
    n = length ? strtoul(length + 15, NULL, 10) : 0;
    if (evbuffer_get_length(in) < (size_t)end.pos + 4 + n)
        return 0;
    evbuffer_drain(in, (size_t)end.pos + 4);
    *out = n ? jsonx_load((const char *)evbuffer_pullup(in, (ssize_t)n), n, "answer", NULL) : NULL;
    evbuffer_drain(in, n);
    if (!*out)
        *out = json_object();
    return 1;
}

static void on_read(struct bufferevent *bev, void *arg)
{
    struct peer *p = arg;
    json_t *j = NULL;
    int status = 0, rc = answer_take(bufferevent_get_input(bev), &status, &j);

    if (rc < 0 || (rc > 0 && !p->is_waiting)) {
        json_decref(j);
        lost(p);
    } else if (rc > 0) {
        p->is_waiting = false;
        fleet_on_answer(p, status, j);
        json_decref(j);
    }
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
    (void)bev;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT))
        lost(arg);
}

/* A call that is not answered for so long is a lost one: a lease call waits at most 5 s for work. */
static void dial(struct peer *p)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    const struct timeval patience = { 15, 0 };

    str_copy(a.sun_path, sizeof a.sun_path, p->door);
    p->bev =
        bufferevent_socket_new(p->fleet->base, -1, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    bufferevent_setcb(p->bev, on_read, NULL, on_event, p);
    bufferevent_set_timeouts(p->bev, &patience, &patience);
    bufferevent_enable(p->bev, EV_READ | EV_WRITE);
    /* A refusal is told by on_event. */
    (void)bufferevent_socket_connect(p->bev, (struct sockaddr *)&a, sizeof a);
}

void fleet_send(struct peer *p, enum fleet_call call, const char *method, const char *path,
                const void *body, size_t n, const char *type)
{
    p->call = call;
    p->is_waiting = true;
    if (!p->bev)
        dial(p);
    struct evbuffer *out = bufferevent_get_output(p->bev);
    evbuffer_add_printf(
        out,
        "%s /api/v1/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n",
        method, path, type, n);
    evbuffer_add(out, body, n);
}
