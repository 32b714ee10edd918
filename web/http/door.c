/* door.c - see door.h. A burst of connections is accepted over several turns of the loop, so that those
 * inside keep their turns; what cannot be accepted for want of room waits in the kernel's queue. Whoever is
 * shown out is only counted, and one line a second says how many and why: an attack must not fill the log. */
#include "web/http/door.h"

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SWEEP_MS = 1000,
    ACCEPTS_A_TURN = 32,
    ACCEPT_MS = 4,
    GIVE_BACK_CONNS =
        256, /* so many gone, or so many bytes, and the allocator is asked to give ... */
    GIVE_BACK_BYTES = 8 << 20, /* ... its free pages back to the system */
};

struct door {
    struct door_conf conf;
    struct loop *loop;
    struct gate gate;
    struct event *accepting;
    struct loop_timer *timer;
    int listen_fd;
    bool is_closed, is_paused;
    int64_t shed[GATE_REASONS]; /* since the last sweep */
    int64_t gone, gone_bytes;   /* since memory was last given back */
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
    int64_t start = door_now(d);

    (void)what;
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
        socklen_t len = sizeof from;
        struct conn *c = NULL;
        int fd = -1;

        if (gate_is_full(&d->gate)) {
            log_warn("web.full door=%s connections=%" PRId64, d->conf.name, door_count(d));
            pause_set(d, true);
            return;
        }
        fd = accept4(listen_fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
            return;
        if (fd < 0) {
            /* Out of descriptors, most likely: wait for the next sweep, because the listener stays readable. */
            log_warn("web.accept door=%s err=\"%s\"", d->conf.name, strerror(errno));
            pause_set(d, true);
            return;
        }
        c = conn_new(d, fd, gate_address((struct sockaddr *)&from), d->conf.is_local);
        door_settle(d);
        conn_read_now(c);
        if (door_now(d) - start > ACCEPT_MS)
            return; /* the rest in the next turn */
    }
}

/* ---- showing out ---- */

void door_settle(struct door *d)
{
    enum gate_reason why = GATE_BYTES;
    struct guest *guest = NULL;

    while ((guest = gate_excess(&d->gate, door_now(d), &why))) {
        d->shed[why]++;
        conn_shed(conn_of_guest(guest));
    }
}

static void shed_tell(struct door *d)
{
    for (int i = 0; i < GATE_REASONS; i++) {
        if (d->shed[i] > 0)
            log_warn("web.shed door=%s connections=%" PRId64 " why=\"%s\"", d->conf.name,
                     d->shed[i], gate_reason_text[i]);
        d->shed[i] = 0;
    }
}

static void list_check(const struct guest_list *list, int64_t now)
{
    for (struct guest *g = list->first, *next = NULL; g; g = next) {
        bool is_dead = false;

        next = g->next;
        conn_check(conn_of_guest(g), now, &is_dead);
        if (is_dead)
            conn_free(conn_of_guest(g));
    }
}

static void memory_give_back(struct door *d)
{
    if (d->gone < GIVE_BACK_CONNS && d->gone_bytes < GIVE_BACK_BYTES)
        return;
    d->gone = d->gone_bytes = 0;
    mem_give_back();
}

static void on_sweep(void *arg)
{
    struct door *d = arg;
    int64_t now = door_now(d);

    for (int k = GUEST_STRANGER; k < GUEST_KINDS; k++)
        list_check(&d->gate.lists[k], now);
    door_settle(d);
    shed_tell(d);
    memory_give_back(d);
    if (!gate_is_full(&d->gate))
        pause_set(d, false);
}

void door_left(struct door *d, size_t bytes)
{
    d->gone++;
    d->gone_bytes += (int64_t)bytes;
    if (!gate_is_full(&d->gate) && d->is_paused)
        loop_timer_again(d->timer, 0); /* somebody waits for this place */
}

/* ---- life ---- */

struct door *door_new(struct loop *loop, int listen_fd, const struct door_conf *conf)
{
    struct door *d = mem_zalloc(sizeof *d);

    d->conf = *conf;
    d->loop = loop;
    d->listen_fd = listen_fd;
    gate_init(&d->gate, &conf->limits);
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
    for (int k = GUEST_STRANGER; k < GUEST_KINDS; k++) {
        while (d->gate.lists[k].first)
            conn_free(conn_of_guest(d->gate.lists[k].first));
    }
    loop_timer_free(d->timer);
    close(d->listen_fd);
    mem_free(d);
}

void *door_arg(const struct door *d)
{
    return d->conf.arg;
}

int64_t door_count(const struct door *d)
{
    return gate_count(&d->gate) + d->gate.lists[GUEST_LEAVING].n;
}

int64_t door_bytes(const struct door *d)
{
    return d->gate.bytes;
}

struct loop *door_loop(const struct door *d)
{
    return d->loop;
}

const struct door_conf *door_conf_get(const struct door *d)
{
    return &d->conf;
}

struct gate *door_gate(struct door *d)
{
    return &d->gate;
}

int64_t door_now(const struct door *d)
{
    return clk_now_ms(loop_clk(d->loop));
}
