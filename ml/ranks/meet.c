/* meet.c - how ranks find and check each other (link.h).
 *
 * Whoever dials sends a `greet`; whoever was dialled answers with a `reply`, and the dialler ends
 * with a `proof`. Reply and proof each hold a keyed hash over everything that was said, with the
 * secret as its key (HMAC, RFC 2104), so both sides show that they know the secret and nobody
 * learns it by listening. Greets and proofs of several callers are read side by side; one that is
 * silent or wrong is hung up on, and the wait goes on. */
#include "ml/ranks/link_private.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* CALLERS: connections that are read side by side until they have proved themselves. CALLER_MS: one
 * that takes longer is hung up on. DIAL_MS: between two tries to reach a rank. */
enum { CALLERS = 2 * ML_REDUCE_RANKS, CALLER_MS = 5000, DIAL_MS = 100, NONCE = 16 };
#define ORDER UINT32_C(0x01020304)

static const char magic[8] = "assayrnk";

struct greet {
    char magic[8];
    uint32_t order, version;
    uint32_t rank, ranks;
    int64_t trial, fence;
    uint32_t port, unused; /* on which it listens itself */
    uint8_t start[SHA256_BYTES];
    uint8_t nonce[NONCE];
};
enum reply_code { REPLY_OK, REPLY_VERSION, REPLY_OTHER, REPLY_START, REPLY_CODES };
struct reply {
    char magic[8];
    uint32_t order, version;
    uint32_t code, rank;
    uint8_t nonce[NONCE];
    uint8_t proof[SHA256_BYTES];
};
/* What rank 0 tells the others: where each rank listens. */
struct place {
    char address[RANK_ADDRESS];
};

/* A connection that has not proved itself. */
struct caller {
    int fd;
    int64_t until_ms;
    struct greet greet;
    struct reply reply;
    uint8_t proof[SHA256_BYTES];
    size_t at; /* bytes of the greet and the proof that have come */
};

int64_t rank_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- proofs ---- */

static void hmac(const char *key, const char *label, const struct greet *g, const struct reply *r,
                 uint8_t out[SHA256_BYTES])
{
    uint8_t pad[64] = { 0 };
    struct reply said = *r; /* without the proof in it */
    struct sha256 h;

    memset(said.proof, 0, sizeof said.proof);
    memcpy(pad, key, MIN(strlen(key), sizeof pad));
    for (size_t i = 0; i < sizeof pad; i++)
        pad[i] ^= 0x36;
    sha256_init(&h);
    sha256_add(&h, pad, sizeof pad);
    sha256_add(&h, label, strlen(label));
    sha256_add(&h, g, sizeof *g);
    sha256_add(&h, &said, sizeof said);
    sha256_end(&h, out);
    for (size_t i = 0; i < sizeof pad; i++)
        pad[i] ^= 0x36 ^ 0x5c;
    sha256_init(&h);
    sha256_add(&h, pad, sizeof pad);
    sha256_add(&h, out, SHA256_BYTES);
    sha256_end(&h, out);
}

static bool is_same(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES])
{
    uint8_t off = 0;

    for (int i = 0; i < SHA256_BYTES; i++)
        off |= a[i] ^ b[i];
    return off == 0;
}

static int nonce_make(uint8_t out[NONCE], struct err *err)
{
    return getrandom(out, NONCE, 0) == NONCE
               ? 0
               : err_set(err, ERR_DEVICE, "no random numbers: %s", strerror(errno));
}

static void start_hash(const struct rank_link *l, uint8_t out[SHA256_BYTES])
{
    struct sha256 h;

    sha256_init(&h);
    sha256_add(&h, l->start, strlen(l->start));
    sha256_end(&h, out);
}

/* The address that a socket is bound to, and its port. */
static int bound_to(int fd, struct sockaddr_storage *a, uint32_t *port, struct err *err)
{
    socklen_t n = sizeof *a;

    memset(a, 0, sizeof *a);
    if (getsockname(fd, (struct sockaddr *)a, &n) < 0)
        return err_set(err, ERR_DEVICE, "getsockname: %s", strerror(errno));
    *port = ntohs(a->ss_family == AF_INET6 ? ((struct sockaddr_in6 *)a)->sin6_port
                                           : ((struct sockaddr_in *)a)->sin_port);
    return 0;
}

static int greet_make(const struct rank_link *l, struct greet *g, struct err *err)
{
    struct sockaddr_storage a;

    memset(g, 0, sizeof *g);
    memcpy(g->magic, magic, sizeof magic);
    g->order = ORDER;
    g->version = RANK_VERSION;
    g->rank = (uint32_t)l->conf.rank;
    g->ranks = (uint32_t)l->conf.ranks;
    g->trial = l->conf.trial;
    g->fence = l->conf.fence;
    start_hash(l, g->start);
    if (bound_to(l->listen_fd, &a, &g->port, err) < 0)
        return -1;
    return nonce_make(g->nonce, err);
}

/* ---- addresses ---- */

static void address_write(const struct sockaddr_storage *a, uint32_t port, char out[RANK_ADDRESS])
{
    char host[72] = "?";

    (void)getnameinfo((const struct sockaddr *)a,
                      a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                               : sizeof(struct sockaddr_in),
                      host, sizeof host, NULL, 0, NI_NUMERICHOST);
    (void)snprintf(out, RANK_ADDRESS, a->ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host, port);
}

static int address_read(const char *text, struct sockaddr_storage *out, socklen_t *n,
                        struct err *err)
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC,
                              .ai_socktype = SOCK_STREAM,
                              .ai_flags = AI_NUMERICSERV | AI_NUMERICHOST },
                    *found = NULL;
    const char *colon = strrchr(text, ':');
    char host[RANK_ADDRESS] = "";

    if (colon && (size_t)(colon - text) < sizeof host) {
        bool is_6 = text[0] == '[';
        size_t len = (size_t)(colon - text) - (is_6 ? 2 : 0);
        if (!is_6 || (colon - text > 2 && colon[-1] == ']'))
            memcpy(host, text + (is_6 ? 1 : 0), len);
    }
    if (!host[0] || getaddrinfo(host, colon + 1, &hints, &found) != 0 || !found)
        return err_set(err, ERR_DEVICE, "\"%.80s\" is no address of a rank", text);
    memcpy(out, found->ai_addr, found->ai_addrlen);
    *n = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

/* ---- waiting ---- */

static bool gives_up(const struct rank_link *l)
{
    return l->conf.gives_up && l->conf.gives_up(l->conf.arg);
}

/* Waits a moment for one of the descriptors: -1 when the caller has given up, or it is too late. */
static int look(const struct rank_link *l, struct pollfd *fds, nfds_t n, int64_t until_ms,
                const char *what, struct err *err)
{
    if (gives_up(l))
        return err_set(err, ERR_TIMEOUT, "the trial was stopped while %s", what);
    if (rank_now_ms() >= until_ms)
        return err_set(err, ERR_DEVICE, "the time is over, while %s", what);
    (void)poll(fds, n, RANK_LOOK_MS);
    return 0;
}

static int move_all(const struct rank_link *l, int fd, void *p, size_t n, bool sends,
                    int64_t until_ms, const char *what, struct err *err)
{
    char *at = p;

    while (n > 0) {
        ssize_t got = sends ? send(fd, at, n, MSG_NOSIGNAL) : recv(fd, at, n, 0);
        if (got > 0) {
            at += got;
            n -= (size_t)got;
            continue;
        }
        if (got == 0 || (errno != EAGAIN && errno != EINTR))
            return err_set(err, ERR_DEVICE, "the other end hung up while %s%s%s", what,
                           got == 0 ? "" : ": ", got == 0 ? "" : strerror(errno));
        struct pollfd f = { .fd = fd, .events = sends ? POLLOUT : POLLIN };
        if (look(l, &f, 1, until_ms, what, err) < 0)
            return -1;
    }
    return 0;
}

/* A machine that vanishes is noticed within half a minute, however long its silence is legal. */
static void socket_tune(int fd)
{
    static const int on = 1, idle = 15, every = 5, times = 3;
    static const unsigned unanswered_ms = 30000;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof unanswered_ms);
}

/* ---- listening ---- */

int rank_link_listen(struct rank_link *l, const char *host, char address[RANK_ADDRESS],
                     struct err *err)
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC,
                              .ai_socktype = SOCK_STREAM,
                              .ai_flags = AI_PASSIVE },
                    *found = NULL;
    struct sockaddr_storage a;
    uint32_t port = 0;
    int rc = getaddrinfo(host, "0", &hints, &found), fd = -1;

    CHECK(l->listen_fd < 0);
    if (rc != 0)
        return err_set(err, ERR_DEVICE, "the address \"%.80s\" of this machine: %s", host,
                       gai_strerror(rc));
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) < 0 || listen(fd, CALLERS) < 0 ||
        bound_to(fd, &a, &port, NULL) < 0) {
        err_set(err, ERR_DEVICE, "cannot listen at \"%.80s\": %s", host, strerror(errno));
        freeaddrinfo(found);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    freeaddrinfo(found);
    l->listen_fd = fd;
    address_write(&a, port, address);
    return 0;
}

/* ---- who was dialled ---- */

/* What is to be said of this greet. */
static enum reply_code judge(const struct rank_link *l, const struct greet *g)
{
    uint8_t start[SHA256_BYTES];

    if (g->order != ORDER || g->version != RANK_VERSION)
        return REPLY_VERSION;
    if (g->ranks != (uint32_t)l->conf.ranks || g->trial != l->conf.trial ||
        g->fence != l->conf.fence || g->rank <= (uint32_t)l->conf.rank || g->rank >= g->ranks)
        return REPLY_OTHER;
    start_hash(l, start);
    return is_same(start, g->start) ? REPLY_OK : REPLY_START;
}

/* Bytes of a caller have come: 1 = it has proved itself, 0 = more are needed, -1 = hang up. */
static int caller_read(const struct rank_link *l, struct caller *c)
{
    bool greets = c->at < sizeof c->greet;
    char *to = greets ? (char *)&c->greet + c->at : (char *)c->proof + (c->at - sizeof c->greet);
    size_t left = greets ? sizeof c->greet - c->at : sizeof c->greet + sizeof c->proof - c->at;
    ssize_t got = recv(c->fd, to, left, 0);
    uint8_t want[SHA256_BYTES];
    struct err ignored = { 0 };

    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    c->at += (size_t)got;
    if ((size_t)got < left)
        return 0;
    if (!greets) {
        hmac(l->secret, "dial", &c->greet, &c->reply, want);
        return is_same(want, c->proof) ? 1 : -1;
    }
    if (memcmp(c->greet.magic, magic, sizeof magic) != 0)
        return -1;
    memset(&c->reply, 0, sizeof c->reply);
    memcpy(c->reply.magic, magic, sizeof magic);
    c->reply.order = ORDER;
    c->reply.version = RANK_VERSION;
    c->reply.rank = (uint32_t)l->conf.rank;
    c->reply.code = judge(l, &c->greet);
    if (nonce_make(c->reply.nonce, &ignored) < 0)
        return -1;
    hmac(l->secret, "answer", &c->greet, &c->reply, c->reply.proof);
    /* A new connection takes so few bytes at once. */
    return send(c->fd, &c->reply, sizeof c->reply, MSG_NOSIGNAL) == (ssize_t)sizeof c->reply &&
                   c->reply.code == REPLY_OK
               ? 0
               : -1;
}

static void caller_accept(const struct rank_link *l, struct caller *callers)
{
    int oldest = 0, fd = accept4(l->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    for (int i = 0; i < CALLERS; i++) {
        if (callers[i].fd < 0 || callers[i].until_ms < callers[oldest].until_ms)
            oldest = i;
        if (callers[i].fd < 0)
            break;
    }
    if (callers[oldest].fd >= 0)
        close(callers[oldest].fd);
    callers[oldest] = (struct caller){ .fd = fd, .until_ms = rank_now_ms() + CALLER_MS };
}

/* One caller after a wait: takes it as a peer, leaves it waiting, or hangs up. */
static void caller_turn(struct rank_link *l, struct caller *c, bool has_bytes, struct place *places)
{
    int rc = has_bytes ? caller_read(l, c) : 0;

    if (rc == 1 && l->peer[c->greet.rank].fd < 0) {
        struct sockaddr_storage a;
        socklen_t n = sizeof a;
        memset(&a, 0, sizeof a);
        if (getpeername(c->fd, (struct sockaddr *)&a, &n) == 0) {
            address_write(&a, c->greet.port, places[c->greet.rank].address);
            l->peer[c->greet.rank].fd = c->fd;
            socket_tune(c->fd);
            c->fd = -1;
            return;
        }
    }
    if (rc == 0 && rank_now_ms() < c->until_ms)
        return;
    close(c->fd);
    c->fd = -1;
}

static int first_missing(const struct rank_link *l)
{
    for (int i = l->conf.rank + 1; i < l->conf.ranks; i++) {
        if (l->peer[i].fd < 0)
            return i;
    }
    return 0;
}

/* Waits until all ranks above this one have dialled. */
static int callers_take(struct rank_link *l, struct place *places, int64_t until_ms,
                        struct err *err)
{
    struct caller *callers = mem_array(CALLERS, sizeof *callers);
    struct pollfd fds[CALLERS + 1];
    int rc = 0, missing = 0;

    for (int i = 0; i < CALLERS; i++)
        callers[i].fd = -1;
    while (rc == 0 && (missing = first_missing(l)) > 0) {
        char what[64];
        fds[0] = (struct pollfd){ .fd = l->listen_fd, .events = POLLIN };
        for (int i = 0; i < CALLERS; i++) /* poll ignores those below 0 */
            fds[i + 1] = (struct pollfd){ .fd = callers[i].fd, .events = POLLIN };
        (void)snprintf(what, sizeof what, "rank %d of %d had not come", missing, l->conf.ranks);
        rc = look(l, fds, CALLERS + 1, until_ms, what, err);
        for (int i = 0; i < CALLERS && rc == 0; i++) {
            if (callers[i].fd >= 0)
                caller_turn(l, &callers[i], fds[i + 1].revents != 0, places);
        }
        if (rc == 0 && fds[0].revents)
            caller_accept(l, callers);
    }
    for (int i = 0; i < CALLERS; i++) {
        if (callers[i].fd >= 0)
            close(callers[i].fd);
    }
    mem_free(callers);
    return rc;
}

/* ---- who dials ---- */

static int connected(const struct rank_link *l, const char *address, int64_t until_ms,
                     struct err *err)
{
    struct sockaddr_storage a;
    char what[RANK_ADDRESS + 40];
    socklen_t n = 0, len = sizeof(int);

    if (address_read(address, &a, &n, err) < 0)
        return -1;
    (void)snprintf(what, sizeof what, "reaching the rank at %s", address);
    for (;;) {
        int fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc = 0;
        struct pollfd f = { .fd = fd, .events = POLLOUT };
        if (fd < 0)
            return err_set(err, ERR_DEVICE, "socket: %s", strerror(errno));
        if (connect(fd, (struct sockaddr *)&a, n) < 0)
            rc = errno;
        while (rc == EINPROGRESS) {
            if (look(l, &f, 1, until_ms, what, err) < 0) {
                close(fd);
                return -1;
            }
            if (f.revents && getsockopt(fd, SOL_SOCKET, SO_ERROR, &rc, &len) < 0)
                rc = errno;
        }
        if (rc == 0)
            return fd;
        close(fd);
        /* Each address was told by a rank that listens there already. */
        if (rc != EINTR && rc != EAGAIN)
            return err_set(err, ERR_DEVICE, "%s: %s", what, strerror(rc));
        struct timespec pause = { 0, DIAL_MS * 1000000L };
        nanosleep(&pause, NULL);
    }
}

static int reply_check(const struct rank_link *l, int to, const struct greet *g,
                       const struct reply *r, struct err *err)
{
    uint8_t want[SHA256_BYTES];

    if (memcmp(r->magic, magic, sizeof magic) != 0)
        return err_set(err, ERR_DEVICE, "what answers at the address of rank %d is no rank", to);
    if (r->code == REPLY_VERSION || r->version != RANK_VERSION)
        return err_set(
            err, ERR_DEVICE,
            "rank %d speaks version %u of the protocol between ranks, this one %d, or it "
            "has another byte order: give both runners the same version of Assay",
            to, r->version, RANK_VERSION);
    hmac(l->secret, "answer", g, r, want);
    if (!is_same(want, r->proof))
        return err_set(err, ERR_DEVICE, "rank %d does not know the secret of this attempt", to);
    if (r->code == REPLY_START)
        return err_set(err, ERR_DEVICE, "rank %d does not go on from the same checkpoint", to);
    if (r->code != REPLY_OK || r->rank != (uint32_t)to)
        return err_set(err, ERR_DEVICE,
                       "what answers at the address of rank %d trains another trial", to);
    return 0;
}

static int dial(struct rank_link *l, int to, const char *address, int64_t until_ms, struct err *err)
{
    struct greet g;
    struct reply r = { .code = 0 };
    uint8_t proof[SHA256_BYTES];
    int fd = connected(l, address, until_ms, err);

    if (fd < 0)
        return -1;
    socket_tune(fd);
    if (greet_make(l, &g, err) < 0 ||
        move_all(l, fd, &g, sizeof g, true, until_ms, "greeting a rank", err) < 0 ||
        move_all(l, fd, &r, sizeof r, false, until_ms, "a rank was to answer", err) < 0 ||
        reply_check(l, to, &g, &r, err) < 0)
        goto fail;
    hmac(l->secret, "dial", &g, &r, proof);
    if (move_all(l, fd, proof, sizeof proof, true, until_ms, "proving itself to a rank", err) < 0)
        goto fail;
    l->peer[to].fd = fd;
    return 0;
fail:
    close(fd);
    return err_wrap(err, "rank %d", to);
}

/* ---- all ---- */

static int meet_first(struct rank_link *l, struct place *places, int64_t until_ms, struct err *err)
{
    char ready = 0;

    if (callers_take(l, places, until_ms, err) < 0)
        return -1;
    for (int i = 1; i < l->conf.ranks; i++) {
        if (move_all(l, l->peer[i].fd, places, (size_t)l->conf.ranks * sizeof *places, true,
                     until_ms, "telling the addresses", err) < 0)
            return err_wrap(err, "rank %d", i);
    }
    for (int i = 1; i < l->conf.ranks; i++) {
        if (move_all(l, l->peer[i].fd, &ready, 1, false, until_ms, "the ranks met", err) < 0)
            return err_wrap(err, "rank %d", i);
    }
    return 0;
}

static int meet_other(struct rank_link *l, const char *first, struct place *places,
                      int64_t until_ms, struct err *err)
{
    char ready = 1;

    if (dial(l, 0, first, until_ms, err) < 0 ||
        move_all(l, l->peer[0].fd, places, (size_t)l->conf.ranks * sizeof *places, false, until_ms,
                 "the other ranks came", err) < 0)
        return -1;
    for (int i = 1; i < l->conf.rank; i++) {
        places[i].address[RANK_ADDRESS - 1] = '\0';
        if (dial(l, i, places[i].address, until_ms, err) < 0)
            return -1;
    }
    if (callers_take(l, places, until_ms, err) < 0)
        return -1;
    return move_all(l, l->peer[0].fd, &ready, 1, true, until_ms, "the ranks met", err);
}

int rank_link_meet(struct rank_link *l, const char *first, struct err *err)
{
    struct place *places = mem_array((size_t)l->conf.ranks, sizeof *places);
    int64_t until_ms = rank_now_ms() + l->conf.meet_ms;
    int rc = 0;

    CHECK(l->listen_fd >= 0 && !l->has_thread && (l->conf.rank == 0) == (first == NULL));
    rc = first ? meet_other(l, first, places, until_ms, err) : meet_first(l, places, until_ms, err);
    mem_free(places);
    close(l->listen_fd);
    l->listen_fd = -1;
    if (rc < 0)
        return err_wrap(err, "rank %d of %d", l->conf.rank, l->conf.ranks);
    return rank_link_start(l, err);
}
