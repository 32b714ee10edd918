/* proxy.c - one poll loop; each direction of a connection is a small buffer with the moment from which it may go on. A cut
 * closes both sides at once, whatever is still in the buffers: those bytes never arrive. */
#include "tests/e2e/proxy.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tests/e2e/service.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LINKS_MAX = 128, PIECE_MAX = 16384, TURN_MS = 2 };

struct way { /* one direction */
    char data[PIECE_MAX];
    size_t n;
    int64_t due_ms;
    bool is_ended; /* the source has said all */
};
struct link {
    int fd[2];         /* client, target */
    struct way way[2]; /* from fd[i] */
    int64_t left;      /* bytes until the cut; -1 = never */
};
struct proxy {
    struct proxy_conf conf;
    struct sockaddr_un target;
    int listener;
    struct link *links[LINKS_MAX];
    int n;
    struct rng rng;
    struct proxy_counts counts;
    pthread_t thread;
    atomic_bool stop;
};

static void address(struct sockaddr_un *a, const char *path)
{
    *a = (struct sockaddr_un){ .sun_family = AF_UNIX };
    CHECK(snprintf(a->sun_path, sizeof a->sun_path, "%s", path) < (int)sizeof a->sun_path);
}

static void link_new(struct proxy *p, int client)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct link *l = NULL;

    p->counts.connections++;
    if (p->n == LINKS_MAX || connect(fd, (struct sockaddr *)&p->target, sizeof p->target) < 0) {
        close(fd); /* the target is down: so are we */
        close(client);
        return;
    }
    l = mem_zalloc(sizeof *l);
    l->fd[0] = client;
    l->fd[1] = fd;
    fcntl(client, F_SETFL, O_NONBLOCK);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    bool is_short = (int)rng_below(&p->rng, 100) < p->conf.short_percent;
    int64_t within = is_short ? p->conf.short_bytes : p->conf.long_bytes;
    l->left = within > 0 ? (int64_t)rng_below(&p->rng, (uint32_t)within) : -1;
    p->links[p->n++] = l;
}

static void link_free(struct proxy *p, int at)
{
    close(p->links[at]->fd[0]);
    close(p->links[at]->fd[1]);
    mem_free(p->links[at]);
    p->links[at] = p->links[--p->n];
}

/* -1: the connection is over. */
static int take_in(struct proxy *p, struct link *l, int i)
{
    struct way *w = &l->way[i];
    size_t max = 1 + rng_below(&p->rng, PIECE_MAX);
    ssize_t n = 0;

    if (w->n > 0 || w->is_ended)
        return 0;
    n = recv(l->fd[i], w->data, max, 0);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (n == 0) {
        w->is_ended = true;
        shutdown(l->fd[1 - i], SHUT_WR);
        return l->way[1 - i].is_ended ? -1 : 0;
    }
    w->n = (size_t)n;
    w->due_ms =
        now_ms() +
        (p->conf.delay_ms > 0 ? (int64_t)rng_below(&p->rng, (uint32_t)p->conf.delay_ms + 1) : 0);
    return 0;
}

static int hand_on(struct proxy *p, struct link *l, int i)
{
    struct way *w = &l->way[i];
    size_t n = w->n;
    ssize_t sent = 0;

    if (w->n == 0 || now_ms() < w->due_ms)
        return 0;
    if (l->left >= 0 && (int64_t)n > l->left)
        n = (size_t)l->left;
    sent = n > 0 ? send(l->fd[1 - i], w->data, n, MSG_NOSIGNAL) : 0;
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    memmove(w->data, w->data + sent, w->n - (size_t)sent);
    w->n -= (size_t)sent;
    p->counts.bytes += sent;
    if (l->left >= 0)
        l->left -= sent;
    if (l->left == 0) {
        p->counts.cuts++;
        return -1;
    }
    return 0;
}

static void serve_links(struct proxy *p)
{
    for (int k = p->n - 1; k >= 0; k--) {
        struct link *l = p->links[k];
        bool is_over = false;

        for (int i = 0; i < 2; i++)
            is_over = is_over || take_in(p, l, i) < 0 || hand_on(p, l, i) < 0;
        if (is_over)
            link_free(p, k);
    }
}

static void await(struct proxy *p)
{
    struct pollfd fds[1 + 2 * LINKS_MAX] = { { p->listener, POLLIN, 0 } };
    int n = 1, wait = 50;

    for (int k = 0; k < p->n; k++) {
        for (int i = 0; i < 2; i++) {
            struct way *w = &p->links[k]->way[i];

            if (w->n > 0)
                wait = TURN_MS;
            else if (!w->is_ended)
                fds[n++] = (struct pollfd){ p->links[k]->fd[i], POLLIN, 0 };
        }
    }
    poll(fds, (nfds_t)n, wait);
}

static void *run(void *arg)
{
    struct proxy *p = arg;

    while (!atomic_load(&p->stop)) {
        int fd = -1;

        await(p);
        while ((fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
            link_new(p, fd);
        serve_links(p);
    }
    while (p->n > 0)
        link_free(p, p->n - 1);
    return NULL;
}

struct proxy *proxy_start(const char *path, const char *target, const struct proxy_conf *conf,
                          struct err *err)
{
    struct proxy *p = mem_zalloc(sizeof *p);
    struct sockaddr_un a;

    p->conf = *conf;
    rng_init(&p->rng, conf->seed, 3);
    address(&a, path);
    address(&p->target, target);
    p->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind(p->listener, (struct sockaddr *)&a, sizeof a) < 0 || listen(p->listener, 64) < 0) {
        err_errno(err, "%s", path);
        close(p->listener);
        mem_free(p);
        return NULL;
    }
    CHECK(pthread_create(&p->thread, NULL, run, p) == 0);
    return p;
}

struct proxy_counts proxy_stop(struct proxy *p)
{
    struct proxy_counts counts = { 0, 0, 0 };

    if (!p)
        return counts;
    atomic_store(&p->stop, true);
    pthread_join(p->thread, NULL);
    close(p->listener);
    counts = p->counts;
    mem_free(p);
    return counts;
}
