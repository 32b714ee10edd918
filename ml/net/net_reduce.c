/* net_reduce.c - see net_reduce.h. A sum takes two meetings of all ranks: after the first, every rank knows where the others'
 * numbers are and adds up its own share of the places, for all; after the second, the sums are complete. */
#include "ml/net/net_reduce.h"

#include "base/base.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

struct end {
    struct ml_reduce reduce; /* the first member: an end is found from it */
    struct net_reduce *all;
};

struct net_reduce {
    pthread_mutex_t lock;
    pthread_cond_t met;
    int ranks;
    int64_t limit_ms;
    int here; /* ranks that wait at the present meeting */
    bool came[ML_REDUCE_RANKS];
    uint64_t meeting; /* number of meetings that were held */
    bool is_broken;
    char why[200];
    float *x[ML_REDUCE_RANKS];
    int64_t n[ML_REDUCE_RANKS];
    struct end end[ML_REDUCE_RANKS];
};

static void broken(struct net_reduce *a, int rank, const char *why)
{
    if (!a->is_broken)
        snprintf(a->why, sizeof a->why, "rank %d of %d was lost: %.120s", rank, a->ranks, why);
    a->is_broken = true;
    pthread_cond_broadcast(&a->met);
}

static struct timespec after_ms(int64_t ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(ms / 1000);
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

static void late(struct net_reduce *a)
{
    char text[80];

    for (int i = 0; i < a->ranks; i++) {
        if (a->came[i])
            continue;
        snprintf(text, sizeof text, "it did not come to a sum within %" PRId64 " ms", a->limit_ms);
        broken(a, i, text);
        return;
    }
}

/* Returns when all ranks are here. */
static int meet(struct net_reduce *a, int rank, struct err *err)
{
    pthread_mutex_lock(&a->lock);
    uint64_t meeting = a->meeting;
    struct timespec end = after_ms(a->limit_ms);

    a->came[rank] = true;
    if (!a->is_broken && ++a->here == a->ranks) {
        a->here = 0;
        a->meeting++;
        for (int i = 0; i < a->ranks; i++)
            a->came[i] = false;
        pthread_cond_broadcast(&a->met);
    }
    while (!a->is_broken && a->meeting == meeting) {
        if (pthread_cond_timedwait(&a->met, &a->lock, &end) == ETIMEDOUT && a->meeting == meeting &&
            !a->is_broken)
            late(a);
    }
    int rc = a->meeting == meeting ? err_set(err, ERR_DEVICE, "%s", a->why) : 0;
    pthread_mutex_unlock(&a->lock);
    return rc;
}

/* The places [from, to) of the sum, on every rank. Nobody else reads or writes them between two meetings. */
static void add_up(struct net_reduce *a, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        float sum = a->x[0][i];
        for (int k = 1; k < a->ranks; k++)
            sum += a->x[k][i];
        for (int k = 0; k < a->ranks; k++)
            a->x[k][i] = sum;
    }
}

static int threads_sum(struct ml_reduce *r, float *x, int64_t n, struct err *err)
{
    struct net_reduce *a = ((struct end *)r)->all;

    a->x[r->rank] = x;
    a->n[r->rank] = n;
    if (meet(a, r->rank, err) < 0)
        return -1;
    for (int i = 0; i < a->ranks; i++)
        CHECK(a->n[i] == n);
    add_up(a, n * r->rank / a->ranks, n * (r->rank + 1) / a->ranks);
    return meet(a, r->rank, err);
}

/* Sums are complete when threads_sum returns. */
static int threads_wait(struct ml_reduce *r, struct err *err)
{
    (void)r, (void)err;
    return 0;
}

static void threads_leave(struct ml_reduce *r, const char *why)
{
    struct net_reduce *a = ((struct end *)r)->all;

    pthread_mutex_lock(&a->lock);
    broken(a, r->rank, why);
    pthread_mutex_unlock(&a->lock);
}

static int threads_look(struct ml_reduce *r, struct err *err)
{
    struct net_reduce *a = ((struct end *)r)->all;

    pthread_mutex_lock(&a->lock);
    int rc = a->is_broken ? err_set(err, ERR_DEVICE, "%s", a->why) : 0;
    pthread_mutex_unlock(&a->lock);
    return rc;
}

static const struct ml_reduce_ops threads = { .backend = "threads",
                                              .sum = threads_sum,
                                              .wait = threads_wait,
                                              .leave = threads_leave,
                                              .look = threads_look };

struct net_reduce *net_reduce_new(int ranks, int64_t limit_ms)
{
    struct net_reduce *a = mem_zalloc(sizeof *a);
    pthread_condattr_t monotonic;

    CHECK(ranks >= 1 && ranks <= ML_REDUCE_RANKS);
    a->ranks = ranks;
    a->limit_ms = limit_ms;
    pthread_mutex_init(&a->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&a->met, &monotonic);
    pthread_condattr_destroy(&monotonic);
    for (int i = 0; i < ranks; i++)
        a->end[i] = (struct end){ { &threads, i, ranks }, a };
    return a;
}

void net_reduce_free(struct net_reduce *a)
{
    if (!a)
        return;
    pthread_cond_destroy(&a->met);
    pthread_mutex_destroy(&a->lock);
    mem_free(a);
}

struct ml_reduce *net_reduce_end(struct net_reduce *a, int rank)
{
    return &a->end[rank].reduce;
}
