/* door.c - see door.h. When many connections arrive at once, they are accepted over several turns
 * of the loop, so that the connections that are already there keep being served. What cannot be
 * accepted for lack of descriptors waits in the kernel's queue. Connections that are refused are only
 * counted, and one line a second reports how many and why: an attack must not fill the log. */
#include "web/http/door.h"

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "web/http/tls.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SWEEP_MS = 1000, /* the shortest time limit of a connection is 2 s */
    /* A turn of the loop accepts at most this many connections, and for this long. */
    ACCEPTS_A_TURN = 32,
    ACCEPT_MS = 4,
    /* After so many connections, or so many of their bytes, have gone, the allocator is asked to
     * give its free pages back to the system. More often, it would only take them again. */
    GIVE_BACK_CONNS = 256,
    GIVE_BACK_BYTES = 8 << 20,
};

struct door {
    struct conn_group group; /* must be the first member: on_freed gets its address */
    const char *name;
    struct event *accepting;
    struct loop_timer *timer;
    int listen_fd;
    bool is_closed, is_paused;
};

/* ---- accepting ---- */

static void pause_set(struct door *d, bool is_paused)
{
    if (d->is_closed || is_paused == d->is_paused)
        return;
    d->is_paused = is_paused;
    if (is_paused)
        event_del(d->accepting);
    else
        CHECK(event_add(d->accepting, NULL) == 0);
}

static void on_accept(evutil_socket_t listen_fd, short what, void *arg)
{
    struct door *d = arg;
    struct clk *clk = loop_clk(d->group.loop);
    int64_t start = clk_now_ms(clk);

    (void)what;
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
        socklen_t len = sizeof from;
        struct conn *c = NULL;
        int fd = -1;

        fd = accept4(listen_fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
            return;
        if (fd < 0) {
            /* Most likely there are no descriptors left. The listener stays readable, so accepting
             * pauses until the next sweep; otherwise the loop would spin. */
            log_warn("web.accept door=%s err=\"%s\"", d->name, strerror(errno));
            pause_set(d, true);
            return;
        }
        c = conn_new(&d->group, fd, gate_address((struct sockaddr *)&from));
        conn_settle(&d->group);
        conn_read_now(c);
        if (clk_now_ms(clk) - start > ACCEPT_MS)
            return; /* the others are accepted in the next turn */
    }
}

/* ---- once a second ---- */

static void shed_tell(struct door *d)
{
    for (int i = 0; i < GATE_REASONS; i++) {
        if (d->group.shed[i] > 0)
            log_warn("web.shed door=%s refused=%" PRId64 " open=%" PRId64 " why=\"%s\"", d->name,
                     d->group.shed[i], door_count(d), gate_reason_text[i]);
        d->group.shed[i] = 0;
    }
}

static void memory_give_back(struct door *d)
{
    if (d->group.freed < GIVE_BACK_CONNS && d->group.freed_bytes < GIVE_BACK_BYTES)
        return;
    d->group.freed = d->group.freed_bytes = 0;
    mem_give_back();
}

static void on_sweep(void *arg)
{
    struct door *d = arg;

    if (d->group.conf.tls)
        tls_refresh(d->group.conf.tls);
    conn_check_all(&d->group);
    conn_settle(&d->group);
    shed_tell(d);
    memory_give_back(d);
    pause_set(d, false);
}

static void on_freed(struct conn_group *g)
{
    struct door *d = (struct door *)g;

    if (d->is_paused)
        /* At once: a connection may wait for this descriptor in the kernel's queue. */
        loop_timer_again(d->timer, 0);
}

/* ---- life ---- */

struct door *door_new(struct loop *loop, int listen_fd, const char *name,
                      const struct conn_conf *conf)
{
    struct door *d = mem_zalloc(sizeof *d);

    d->group = (struct conn_group){ .conf = *conf, .loop = loop, .on_freed = on_freed };
    gate_init(&d->group.gate, &conf->limits);
    d->name = name;
    d->listen_fd = listen_fd;
    d->accepting = event_new(loop_base(loop), listen_fd, EV_READ | EV_PERSIST, on_accept, d);
    CHECK(d->accepting && event_add(d->accepting, NULL) == 0);
    d->timer = loop_timer_new(loop, SWEEP_MS, SWEEP_MS, on_sweep, d);
    return d;
}

void door_close(struct door *d)
{
    pause_set(d, true);
    d->is_closed = true;
}

void door_free(struct door *d)
{
    if (!d)
        return;
    d->is_closed = true;
    event_free(d->accepting);
    conn_free_all(&d->group);
    loop_timer_free(d->timer);
    close(d->listen_fd);
    mem_free(d);
}

int64_t door_count(const struct door *d)
{
    return gate_count(&d->group.gate) + d->group.gate.lists[GUEST_LEAVING].n;
}

int64_t door_bytes(const struct door *d)
{
    return d->group.gate.bytes;
}
