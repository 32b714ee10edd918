/* link.c - what ranks that have met send each other: parts and wholes of sums, words, and goodbyes
 * (link.h). One sum is made at a time: first every rank gets its share of the numbers of all others
 * (FRAME_PART) and adds them up in the order of the ranks, then it sends its share of the sum to
 * all (FRAME_WHOLE). Frames of a later sum stay in the kernel's buffers until this rank asks for
 * that sum, too.
 *
 * Bytes are moved by `pump`, under the lock: by the thread while a large sum is under way and this
 * rank computes on, and by whoever waits. Small sums are put together and made as one when
 * somebody waits for them, because the way there and back takes longer than the bytes. All ranks
 * ask for the same sums, so they put the same ones together. */
#include "ml/ranks/link_private.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* WAIT_MS: of the thread, at most for bytes. BYE_MS: how long a goodbye may take. */
enum { WAIT_MS = 500, BYE_MS = 1000 };

static struct rank_link *link_of(struct ml_reduce *r)
{
    return (struct rank_link *)r;
}

/* ---- what is broken stays broken (all under the lock) ---- */

static void broken(struct rank_link *l, int rank, const char *why)
{
    if (l->is_broken)
        return;
    l->is_broken = true;
    /* what another rank says of a third one is told as it is */
    if (str_starts(why, "rank "))
        (void)snprintf(l->why, sizeof l->why, "%.180s", why);
    else
        (void)snprintf(l->why, sizeof l->why, "rank %d of %d was lost: %.140s", rank, l->conf.ranks,
                       why);
    pthread_cond_signal(&l->work); /* the thread says so to the others */
}

/* ---- shares ---- */

static int64_t share_at(const struct rank_link *l, int64_t n, int rank)
{
    return n * rank / l->conf.ranks;
}

static int64_t share_bytes(const struct rank_link *l, int64_t n, int rank)
{
    return (share_at(l, n, rank + 1) - share_at(l, n, rank)) * (int64_t)sizeof(float);
}

/* This rank's share of the sum, in the order of the ranks. */
static void add_up(struct rank_link *l, const struct sum *s)
{
    int me = l->conf.rank;
    int64_t n = share_bytes(l, s->n, me) / (int64_t)sizeof(float);
    float *x = s->x + share_at(l, s->n, me);

    for (int64_t i = 0; i < n; i++) {
        float sum = me == 0 ? x[i] : l->peer[0].part[i];
        for (int k = 1; k < l->conf.ranks; k++)
            sum += k == me ? x[i] : l->peer[k].part[i];
        x[i] = sum;
    }
    l->is_added = true;
}

static bool parts_are_here(const struct rank_link *l)
{
    for (int i = 0; i < l->conf.ranks; i++) {
        if (i != l->conf.rank && !l->peer[i].has_part)
            return false;
    }
    return true;
}

static bool is_made(const struct rank_link *l)
{
    for (int i = 0; i < l->conf.ranks; i++) {
        const struct peer *p = &l->peer[i];
        if (i != l->conf.rank && (!p->has_whole || p->sent < 2 || p->out_body))
            return false;
    }
    return l->is_added;
}

/* Looks whether the sum under way is one step further. Under the lock. */
static void sum_turn(struct rank_link *l)
{
    if (l->n_sums > 0 && !l->is_added && parts_are_here(l))
        add_up(l, &l->sums[0]);
    if (l->n_sums == 0 || !is_made(l))
        return;
    for (int i = 0; i < l->conf.ranks; i++) {
        struct peer *p = &l->peer[i];
        p->has_part = p->has_whole = false;
        p->sent = 0;
    }
    l->is_added = false;
    l->made++;
    l->n_sums--;
    l->is_busy = l->is_busy && l->n_sums > 0;
    memmove(l->sums, l->sums + 1, (size_t)l->n_sums * sizeof *l->sums);
}

/* ---- out ---- */

static void out_begin(struct peer *p, enum frame_kind kind, uint64_t number, const void *body,
                      int64_t bytes)
{
    static const char nothing[1];

    p->out = (struct frame_head){ kind, 0, number, (uint64_t)bytes };
    p->out_at = 0;
    p->out_body = bytes > 0 ? body : nothing;
}

/* The next frame for this peer, if there is one. Under the lock. */
static void out_next(struct rank_link *l, int i)
{
    struct peer *p = &l->peer[i];
    const struct sum *s = l->n_sums > 0 ? &l->sums[0] : NULL;

    if (l->n_says > 0 && p->told < l->n_says) {
        out_begin(p, FRAME_WORD, (uint64_t)l->says[p->told++], NULL, 0);
    } else if (s && p->sent == 0) {
        out_begin(p, FRAME_PART, l->made + 1, s->x + share_at(l, s->n, i), share_bytes(l, s->n, i));
        p->sent = 1;
    } else if (s && p->sent == 1 && l->is_added) {
        out_begin(p, FRAME_WHOLE, l->made + 1, s->x + share_at(l, s->n, l->conf.rank),
                  share_bytes(l, s->n, l->conf.rank));
        p->sent = 2;
    }
}

/* Sends what the connection takes: -1 = it is lost. */
static int out_move(struct peer *p)
{
    while (p->out_body) {
        size_t head = sizeof p->out, all = head + p->out.bytes;
        bool in_head = p->out_at < head;
        const char *from =
            in_head ? (const char *)&p->out + p->out_at : p->out_body + (p->out_at - head);
        size_t left = in_head ? head - p->out_at : all - p->out_at;
        ssize_t n = left > 0 ? send(p->fd, from, left,
                                    MSG_NOSIGNAL | (in_head && all > head ? MSG_MORE : 0))
                             : 0;

        if (n < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -1;
        p->out_at += (size_t)n;
        if (p->out_at == all)
            p->out_body = NULL;
    }
    return 0;
}

/* ---- in ---- */

/* Where the body of the frame that comes in goes; NULL with *waits: not before this rank asks for
 * that sum; NULL without: no such frame may come now. Under the lock. */
static char *in_place(struct rank_link *l, int i, bool *waits)
{
    struct peer *p = &l->peer[i];
    const struct sum *s = l->n_sums > 0 ? &l->sums[0] : NULL;
    int64_t bytes = 0;

    *waits = false;
    if (p->in.kind == FRAME_LEAVE)
        return p->in.bytes < sizeof p->text ? p->text : NULL;
    if (p->in.kind == FRAME_BYE || p->in.kind == FRAME_WORD)
        return p->in.bytes == 0 ? p->text : NULL;
    if (p->in.kind != FRAME_PART && p->in.kind != FRAME_WHOLE)
        return NULL;
    *waits = p->in.number == l->made + 1 ? !s : p->in.number == l->made + 2;
    if (*waits || p->in.number != l->made + 1)
        return NULL;
    bytes = share_bytes(l, s->n, p->in.kind == FRAME_PART ? l->conf.rank : i);
    if (p->in.bytes != (uint64_t)bytes || (p->in.kind == FRAME_PART ? p->has_part : p->has_whole))
        return NULL;
    if (p->in.kind == FRAME_WHOLE)
        return (char *)(s->x + share_at(l, s->n, i));
    if (p->part_cap < bytes || !p->part) {
        p->part = mem_resize(p->part, (size_t)bytes + sizeof(float));
        p->part_cap = bytes;
    }
    return (char *)p->part;
}

/* A frame is complete. Under the lock. */
static void in_done(struct rank_link *l, int i)
{
    struct peer *p = &l->peer[i];

    p->in_at = 0;
    switch (p->in.kind) {
    case FRAME_PART:
        p->has_part = true;
        break;
    case FRAME_WHOLE:
        p->has_whole = true;
        break;
    case FRAME_WORD:
        if (i != 0 || l->n_words == RANK_WORDS)
            broken(l, i, "it said a word that nobody waits for");
        else
            l->words[l->n_words++] = (int64_t)p->in.number;
        break;
    case FRAME_BYE:
        p->is_gone = true;
        l->is_over = l->is_over || i == 0;
        break;
    default:
        p->text[p->in.bytes] = '\0';
        broken(l, i, p->text);
    }
}

/* Whether the sum under way needs more of this peer. One that has ended in good order has given all
 * that its last sum needs of it, while others may still be on their way. Under the lock. */
static bool owes(const struct rank_link *l, int i)
{
    return l->n_sums > 0 && !(l->peer[i].has_part && l->peer[i].has_whole);
}

static void in_lost(struct rank_link *l, int i, ssize_t got)
{
    struct peer *p = &l->peer[i];

    close(p->fd);
    p->fd = -1;
    if (!p->is_gone)
        broken(l, i, got == 0 ? "its connection was closed" : strerror(errno));
    else if (owes(l, i))
        broken(l, i, "it has ended already");
}

/* Reads what has come from one peer, until nothing is left or it must wait. */
static void in_move(struct rank_link *l, int i)
{
    struct peer *p = &l->peer[i];
    const size_t head = sizeof p->in;

    while (p->fd >= 0 && !l->is_broken) {
        bool waits = false;
        char *to = p->in_at < head ? (char *)&p->in : in_place(l, i, &waits);
        size_t all = p->in_at < head ? head : head + p->in.bytes;

        if (waits)
            return;
        if (!to) {
            broken(l, i, "it sent what does not fit: another version of the program?");
            return;
        }
        if (p->in_at < all) {
            char *at = p->in_at < head ? to + p->in_at : to + (p->in_at - head);
            ssize_t got = recv(p->fd, at, all - p->in_at, 0);
            if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return;
            if (got <= 0) {
                in_lost(l, i, got);
                return;
            }
            p->in_at += (size_t)got;
        }
        if (p->in_at >= head && p->in_at == head + p->in.bytes) {
            bool takes = in_place(l, i, &waits) != NULL;
            if (waits)
                return;
            if (!takes)
                broken(l, i, "it sent what does not fit: another version of the program?");
            else
                in_done(l, i);
            sum_turn(l);
        }
    }
}

/* ---- the thread ---- */

static bool waits_for_sum(const struct rank_link *l, int i)
{
    struct peer now = l->peer[i];
    bool waits = false;

    if (now.in_at < sizeof now.in)
        return false;
    if (now.in.kind != FRAME_PART && now.in.kind != FRAME_WHOLE)
        return false;
    waits = now.in.number == l->made + 1 ? l->n_sums == 0 : now.in.number == l->made + 2;
    return waits;
}

/* Under the lock. Returns how many descriptors there are; the first is the one that wakes. */
static int fds_fill(struct rank_link *l, struct pollfd *fds, int *who)
{
    int n = 1;

    fds[0] = (struct pollfd){ .fd = l->wake[0], .events = POLLIN };
    for (int i = 0; i < l->conf.ranks; i++) {
        struct peer *p = &l->peer[i];
        if (i == l->conf.rank)
            continue;
        if (p->fd < 0) {
            if (owes(l, i))
                broken(l, i, "it has ended already");
            continue;
        }
        if (!p->out_body)
            out_next(l, i);
        fds[n] = (struct pollfd){ .fd = p->fd };
        fds[n].events = (short)((waits_for_sum(l, i) ? 0 : POLLIN) | (p->out_body ? POLLOUT : 0));
        who[n++] = i;
    }
    return n;
}

static void peer_turn(struct rank_link *l, int i, short events)
{
    struct peer *p = &l->peer[i];

    if (!p->out_body)
        out_next(l, i);
    while (p->fd >= 0 && p->out_body && !l->is_broken) {
        if (out_move(p) < 0) {
            /* It may have said why before it went. */
            in_move(l, i);
            if (p->fd >= 0)
                in_lost(l, i, -1);
            return;
        }
        if (p->out_body)
            break;
        sum_turn(l);
        out_next(l, i);
    }
    if (p->fd >= 0 && waits_for_sum(l, i) && (events & (POLLHUP | POLLERR)))
        in_lost(l, i, 0);
    else if (p->fd >= 0 && (events & (POLLIN | POLLHUP | POLLERR)))
        in_move(l, i);
}

static void words_forget(struct rank_link *l)
{
    for (int i = 1; i < l->conf.ranks; i++) {
        if (l->peer[i].told < l->n_says || l->peer[i].out_body)
            return;
    }
    l->n_says = 0;
    for (int i = 1; i < l->conf.ranks; i++)
        l->peer[i].told = 0;
}

/* The last frame to one peer, behind a frame that was begun and words that were said. */
static void goodbye(struct rank_link *l, struct peer *p, const char *why, int64_t until_ms)
{
    bool is_last = false;

    while (p->fd >= 0 && !(is_last && !p->out_body) && rank_now_ms() < until_ms) {
        struct pollfd f = { .fd = p->fd, .events = POLLOUT };
        if (!p->out_body && p->told < l->n_says) {
            out_begin(p, FRAME_WORD, (uint64_t)l->says[p->told++], NULL, 0);
        } else if (!p->out_body) {
            out_begin(p, why ? FRAME_LEAVE : FRAME_BYE, 0, why, why ? (int64_t)strlen(why) : 0);
            is_last = true;
        }
        if (poll(&f, 1, RANK_LOOK_MS) < 0 || (f.revents && out_move(p) < 0))
            return;
    }
}

/* Called once, when the thread touches nothing any more, or by the thread itself. */
static void goodbyes(struct rank_link *l, const char *why)
{
    for (int i = 0; i < l->conf.ranks; i++) {
        /* the numbers of a frame that was begun may be gone */
        if (!(why && l->peer[i].out_body))
            goodbye(l, &l->peer[i], why, rank_now_ms() + BYE_MS);
    }
}

/* Moves what can be moved, and waits up to wait_ms for something to move. Called under the lock,
 * which it gives back while it waits. fds[0] is the caller's: -1, or what wakes it. */
static void pump(struct rank_link *l, int wakes, int64_t wait_ms)
{
    struct pollfd fds[ML_REDUCE_RANKS + 1];
    int who[ML_REDUCE_RANKS + 1], n = 0;

    sum_turn(l);
    n = fds_fill(l, fds, who);
    fds[0].fd = wakes;
    pthread_mutex_unlock(&l->lock);
    (void)poll(fds, (nfds_t)n, (int)wait_ms);
    pthread_mutex_lock(&l->lock);
    for (int k = 1; k < n && !l->is_broken; k++)
        peer_turn(l, who[k], fds[k].revents);
    words_forget(l);
}

static void *thread_run(void *arg)
{
    struct rank_link *l = arg;
    char bytes[64];

    pthread_mutex_lock(&l->lock);
    while (!l->is_ending && !l->is_broken) {
        if (!l->is_busy) {
            pthread_cond_wait(&l->work, &l->lock);
            continue;
        }
        pump(l, l->wake[0], WAIT_MS);
        while (read(l->wake[0], bytes, sizeof bytes) > 0)
            ;
    }
    pthread_mutex_unlock(&l->lock);
    if (l->is_broken) /* the others need not wait until this rank is closed */
        goodbyes(l, l->why);
    return NULL;
}

/* Under the lock. */
static void wake(struct rank_link *l)
{
    pthread_cond_signal(&l->work);
    (void)!write(l->wake[1], "", 1);
}

int rank_link_start(struct rank_link *l, struct err *err)
{
    if (pipe2(l->wake, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_set(err, ERR_DEVICE, "pipe: %s", strerror(errno));
    if (pthread_create(&l->thread, NULL, thread_run, l) != 0)
        return err_set(err, ERR_DEVICE, "no thread for the sums");
    l->has_thread = true;
    return 0;
}

/* ---- sums ---- */

/* Waits, under the lock, until *is_there of it or the link is broken: -1 = broken, or given up. */
static int wait_for(struct rank_link *l, bool (*is_there)(const struct rank_link *),
                    int64_t limit_ms, struct err *err)
{
    int64_t now_ms = rank_now_ms(), until_ms = now_ms + limit_ms, look_ms = now_ms + RANK_LOOK_MS;

    while (!is_there(l) && !l->is_broken) {
        pump(l, -1, RANK_LOOK_MS);
        now_ms = rank_now_ms();
        if (now_ms < look_ms)
            continue;
        look_ms = now_ms + RANK_LOOK_MS;
        pthread_mutex_unlock(&l->lock);
        bool gives_up = l->conf.gives_up && l->conf.gives_up(l->conf.arg);
        pthread_mutex_lock(&l->lock);
        if (gives_up) {
            /* so that the thread does not touch the numbers any more */
            broken(l, l->conf.rank, "the trial was stopped there");
            return err_set(err, ERR_TIMEOUT, "the trial was stopped while it waited for a rank");
        }
        if (limit_ms > 0 && now_ms >= until_ms)
            broken(l, l->conf.rank, "it waited too long for a sum with the others");
    }
    return is_there(l) ? 0 : err_set(err, ERR_DEVICE, "%s", l->why);
}

static void sum_begin(struct rank_link *l, float *x, int64_t n)
{
    MEM_GROW(l->sums, l->n_sums, l->cap_sums);
    l->sums[l->n_sums++] = (struct sum){ x, n };
    l->asked++;
}

static int link_sum(struct ml_reduce *r, float *x, int64_t n, struct err *err)
{
    struct rank_link *l = link_of(r);
    int rc = 0;

    pthread_mutex_lock(&l->lock);
    if (!l->has_thread || l->is_broken) {
        rc = err_set(err, ERR_DEVICE, "%s", l->is_broken ? l->why : "the ranks have not met");
    } else if (n < RANK_LARGE) {
        MEM_GROW(l->small, l->n_small, l->cap_small);
        l->small[l->n_small++] = (struct sum){ x, n };
    } else {
        sum_begin(l, x, n);
        if (!l->is_busy)
            wake(l);
        l->is_busy = true;
    }
    pthread_mutex_unlock(&l->lock);
    return rc;
}

static bool all_are_made(const struct rank_link *l)
{
    return l->made == l->asked;
}

/* The small sums into the bundle, or out of it. */
static int64_t bundle_copy(struct rank_link *l, bool is_out)
{
    int64_t at = 0;

    for (int i = 0; i < l->n_small; i++) {
        const struct sum *s = &l->small[i];
        size_t bytes = (size_t)s->n * sizeof *s->x;
        if (bytes > 0)
            memcpy(is_out ? s->x : l->bundle + at, is_out ? l->bundle + at : s->x, bytes);
        at += s->n;
    }
    return at;
}

static int link_wait(struct ml_reduce *r, struct err *err)
{
    struct rank_link *l = link_of(r);
    int64_t n = 0;

    pthread_mutex_lock(&l->lock);
    for (int i = 0; i < l->n_small; i++)
        n += l->small[i].n;
    if (n > l->cap_bundle) {
        l->bundle = mem_resize(l->bundle, (size_t)n * sizeof *l->bundle);
        l->cap_bundle = n;
    }
    if (n > 0)
        sum_begin(l, l->bundle, bundle_copy(l, false));
    int rc = wait_for(l, all_are_made, l->conf.sum_ms, err);
    if (rc == 0 && n > 0)
        (void)bundle_copy(l, true);
    l->n_small = 0;
    pthread_mutex_unlock(&l->lock);
    return rc;
}

static void link_leave(struct ml_reduce *r, const char *why)
{
    struct rank_link *l = link_of(r);

    pthread_mutex_lock(&l->lock);
    broken(l, r->rank, why);
    wake(l);
    pthread_mutex_unlock(&l->lock);
}

static int link_look(struct ml_reduce *r, struct err *err)
{
    struct rank_link *l = link_of(r);

    if (l->conf.gives_up && l->conf.gives_up(l->conf.arg)) {
        link_leave(r, "the trial was stopped there");
        return err_set(err, ERR_TIMEOUT, "the trial was stopped while it waited for a rank");
    }
    pthread_mutex_lock(&l->lock);
    if (l->has_thread && !l->is_broken)
        pump(l, -1, 0);
    int rc = l->is_broken ? err_set(err, ERR_DEVICE, "%s", l->why) : 0;
    pthread_mutex_unlock(&l->lock);
    return rc;
}

static const struct ml_reduce_ops over_tcp = {
    .backend = "tcp", .sum = link_sum, .wait = link_wait, .leave = link_leave, .look = link_look
};

/* ---- words ---- */

static bool is_said(const struct rank_link *l)
{
    return l->n_says == 0;
}

int rank_link_tell(struct rank_link *l, int64_t word, struct err *err)
{
    int rc = 0;

    CHECK(l->conf.rank == 0);
    pthread_mutex_lock(&l->lock);
    if (!l->has_thread)
        rc = err_set(err, ERR_DEVICE, "the ranks have not met");
    else if (l->n_says == RANK_WORDS)
        rc = wait_for(l, is_said, l->conf.sum_ms, err);
    if (rc == 0 && l->is_broken)
        rc = err_set(err, ERR_DEVICE, "%s", l->why);
    if (rc == 0) {
        l->says[l->n_says++] = word;
        pump(l, -1, 0);
    }
    pthread_mutex_unlock(&l->lock);
    return rc;
}

static bool is_heard(const struct rank_link *l)
{
    return l->n_words > 0 || l->is_over;
}

int rank_link_hear(struct rank_link *l, int64_t *word, struct err *err)
{
    CHECK(l->conf.rank > 0);
    pthread_mutex_lock(&l->lock);
    int rc = wait_for(l, is_heard, 0, err);
    if (rc == 0 && l->n_words > 0) {
        *word = l->words[0];
        memmove(l->words, l->words + 1, (size_t)--l->n_words * sizeof *l->words);
        rc = 1;
    }
    pthread_mutex_unlock(&l->lock);
    return rc;
}

static bool read_flag(struct rank_link *l, const bool *flag)
{
    pthread_mutex_lock(&l->lock);
    bool is = *flag;
    pthread_mutex_unlock(&l->lock);
    return is;
}

bool rank_link_is_lost(struct rank_link *l)
{
    return read_flag(l, &l->is_broken);
}

bool rank_link_is_over(struct rank_link *l)
{
    return read_flag(l, &l->is_over);
}

/* ---- life ---- */

struct ml_reduce *rank_link_reduce(struct rank_link *l)
{
    return &l->reduce;
}

struct rank_link *rank_link_new(const struct rank_conf *conf)
{
    struct rank_link *l = mem_zalloc(sizeof *l);

    CHECK(conf->ranks >= 2 && conf->ranks <= ML_REDUCE_RANKS && conf->rank >= 0 &&
          conf->rank < conf->ranks);
    l->conf = *conf;
    l->reduce = (struct ml_reduce){ &over_tcp, conf->rank, conf->ranks };
    str_copy(l->secret, sizeof l->secret, conf->secret);
    str_copy(l->start, sizeof l->start, conf->start ? conf->start : "");
    l->conf.secret = l->secret;
    l->conf.start = l->start;
    l->listen_fd = l->wake[0] = l->wake[1] = -1;
    for (int i = 0; i < ML_REDUCE_RANKS; i++)
        l->peer[i].fd = -1;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    return l;
}

void rank_link_close(struct rank_link *l, const char *why)
{
    if (!l)
        return;
    if (l->has_thread) {
        pthread_mutex_lock(&l->lock);
        l->is_ending = true;
        wake(l);
        pthread_mutex_unlock(&l->lock);
        pthread_join(l->thread, NULL);
        if (!l->is_broken)
            goodbyes(l, why);
    }
    for (int i = 0; i < ML_REDUCE_RANKS; i++) {
        if (l->peer[i].fd >= 0)
            close(l->peer[i].fd);
        mem_free(l->peer[i].part);
    }
    for (int i = 0; i < 2; i++) {
        if (l->wake[i] >= 0)
            close(l->wake[i]);
    }
    if (l->listen_fd >= 0)
        close(l->listen_fd);
    pthread_cond_destroy(&l->work);
    pthread_mutex_destroy(&l->lock);
    mem_free(l->sums);
    mem_free(l->small);
    mem_free(l->bundle);
    mem_free(l);
}
