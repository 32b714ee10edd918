/* ahead.c - a slot per study, a queue of slots, a thread that works them off, and a descriptor that wakes the loop. The
 * lock guards states and queue; everything else of a slot, the sampler included, belongs to the thread while the state is
 * RUNNING and to the loop otherwise. */
#include "controller/ahead.h"

#include "base/log.h"
#include "base/mem.h"
#include "controller/decide/propose.h"
#include "controller/serve/turn.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { AHEAD_US = 500 }; /* of a turn that others wait for, so much is nothing */
enum slot_state { SLOT_FREE, SLOT_QUEUED, SLOT_RUNNING, SLOT_MADE, SLOT_HOME };

struct ahead_slot {
    struct ahead_slot *next;
    struct ahead *owner;
    enum slot_state state;
    struct sampler *sampler;
    struct clk *clk;
    int64_t number, us;
    double *point;
    int rc;
    struct err err;
    struct observation *told; /* while it was lent */
    int n_told, cap_told;
};

struct ahead {
    struct ctl *ctl;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more, made;
    struct ahead_slot *first, **last;
    bool is_ending;
    int wake_fd;
    struct loop_watch *watch;
};

/* ---- the thread ---- */

static void make(struct ahead_slot *s)
{
    int64_t start_us = clk_now_us(s->clk);

    s->rc = s->sampler->ops->suggest(s->sampler, s->number, 1, s->point, &s->err);
    s->us = clk_now_us(s->clk) - start_us;
}

static struct ahead_slot *pop(struct ahead *a)
{
    struct ahead_slot *s = a->first;

    if (s && !(a->first = s->next))
        a->last = &a->first;
    return s;
}

static void *thread_main(void *arg)
{
    struct ahead *a = arg;
    uint64_t one = 1;

    pthread_mutex_lock(&a->lock);
    while (!a->is_ending) {
        struct ahead_slot *s = pop(a);

        if (!s) {
            pthread_cond_wait(&a->more, &a->lock);
            continue;
        }
        s->state = SLOT_RUNNING;
        pthread_mutex_unlock(&a->lock);
        make(s);
        pthread_mutex_lock(&a->lock);
        s->state = SLOT_MADE;
        pthread_cond_broadcast(&a->made);
        (void)!write(a->wake_fd, &one, sizeof one);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static void on_made(int fd, void *arg)
{
    struct ahead *a = arg;
    uint64_t count = 0;

    (void)!read(fd, &count, sizeof count);
    a->ctl->is_deferred = a->ctl->has_news = true;
    ctl_tick(a->ctl);
}

static bool thread_start(struct ahead *a)
{
    sigset_t all, old;
    int rc = 0;

    sigfillset(&all); /* signals belong to the loop's thread */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&a->thread, NULL, thread_main, a);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc == 0;
}

/* NULL where there can be none: then suggestions are made in place. */
static struct ahead *ahead_of(struct ctl *ctl)
{
    struct ahead *a = ctl->ahead;

    if (a || !ctl->loop || ctl->has_no_ahead)
        return a;
    a = mem_zalloc(sizeof *a);
    a->ctl = ctl;
    a->last = &a->first;
    a->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->more, NULL);
    pthread_cond_init(&a->made, NULL);
    if (a->wake_fd >= 0 && thread_start(a)) {
        a->watch = loop_watch_new(ctl->loop, a->wake_fd, on_made, a);
        ctl->ahead = a;
        return a;
    }
    log_warn("ctl.ahead err=\"no thread for suggestions: they are made in turn\"");
    ctl->has_no_ahead = true;
    if (a->wake_fd >= 0)
        close(a->wake_fd);
    mem_free(a);
    return NULL;
}

void ahead_stop(struct ctl *ctl)
{
    struct ahead *a = ctl->ahead;

    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->is_ending = true;
    pthread_cond_signal(&a->more);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    CHECK(!a->first); /* the studies are gone */
    loop_watch_free(a->watch);
    close(a->wake_fd);
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->more);
    pthread_cond_destroy(&a->made);
    mem_free(a);
    ctl->ahead = NULL;
}

/* ---- a study's slot ---- */

static void unqueue(struct ahead *a, struct ahead_slot *s)
{
    struct ahead_slot **p = &a->first;

    while (*p != s)
        p = &(*p)->next;
    *p = s->next;
    if (!*p)
        a->last = p;
}

/* Until the thread has no part in it. `in_place`: what the thread has not begun is made here. */
static void wait_for(struct ahead_slot *s, bool in_place)
{
    struct ahead *a = s->owner;
    bool is_queued = false;

    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    is_queued = s->state == SLOT_QUEUED;
    if (is_queued)
        unqueue(a, s);
    while (s->state == SLOT_RUNNING)
        pthread_cond_wait(&a->made, &a->lock);
    pthread_mutex_unlock(&a->lock);
    if (is_queued && in_place)
        make(s);
    if (is_queued)
        s->state = SLOT_MADE;
}

static int come_home(struct study *st, struct err *err)
{
    struct ahead_slot *s = st->ahead;

    CHECK(s->state == SLOT_MADE);
    s->state = SLOT_HOME;
    propose_took(st, s->us, false);
    for (int i = 0; i < s->n_told; i++) {
        if (st->sampler->ops->observe(st->sampler, &s->told[i], err) < 0)
            return -1;
    }
    s->n_told = 0;
    return 0;
}

static enum slot_state state_of(const struct study *st)
{
    enum slot_state state = SLOT_FREE;

    if (!st->ahead)
        return state;
    if (!st->ahead->owner)
        return st->ahead->state;
    pthread_mutex_lock(&st->ahead->owner->lock);
    state = st->ahead->state;
    pthread_mutex_unlock(&st->ahead->owner->lock);
    return state;
}

bool ahead_is_wanted(const struct study *st)
{
    return st->expect_us >= AHEAD_US && ahead_of(st->ctl);
}

bool ahead_is_open(const struct study *st)
{
    return state_of(st) != SLOT_FREE;
}

bool ahead_is_made(const struct study *st, int64_t number)
{
    return state_of(st) >= SLOT_MADE && st->ahead->number == number;
}

void ahead_begin(struct study *st, int64_t number)
{
    struct ahead *a = ahead_of(st->ctl);
    struct ahead_slot *s = st->ahead;

    CHECK(!ahead_is_open(st));
    if (!s) {
        s = st->ahead = mem_zalloc(sizeof *s);
        s->point = mem_array((size_t)st->space.space->n + 1, sizeof *s->point);
    }
    s->owner = a;
    s->sampler = st->sampler;
    s->clk = st->ctl->clk;
    s->number = number;
    s->err = (struct err){ 0 };
    st->ctl->stats.ahead++;
    if (!a) {
        make(s);
        s->state = SLOT_MADE;
        return;
    }
    pthread_mutex_lock(&a->lock);
    s->state = SLOT_QUEUED;
    s->next = NULL;
    *a->last = s;
    a->last = &s->next;
    pthread_cond_signal(&a->more);
    pthread_mutex_unlock(&a->lock);
}

int ahead_take(struct study *st, int64_t number, double *point, struct err *err)
{
    struct ahead_slot *s = st->ahead;
    enum slot_state state = state_of(st);

    CHECK(state != SLOT_FREE && s->number == number);
    if (state < SLOT_MADE)
        return AHEAD_LATER;
    if (state == SLOT_MADE && come_home(st, err) < 0)
        return -1;
    s->state = SLOT_FREE;
    memcpy(point, s->point, (size_t)st->space.space->n * sizeof *point);
    if (s->rc < 0 && err)
        *err = s->err;
    return s->rc;
}

int ahead_observe(struct study *st, const struct observation *o, struct err *err)
{
    struct ahead_slot *s = st->ahead;
    enum slot_state state = state_of(st);

    if (state == SLOT_MADE && come_home(st, err) < 0)
        return -1;
    if (state != SLOT_QUEUED && state != SLOT_RUNNING)
        return st->sampler->ops->observe(st->sampler, o, err);
    CTL_GROW(s->told, s->n_told, s->cap_told);
    s->told[s->n_told++] = *o;
    return 0;
}

int ahead_settle(struct study *st, struct err *err)
{
    if (!ahead_is_open(st))
        return 0;
    wait_for(st->ahead, true);
    return st->ahead->state == SLOT_MADE ? come_home(st, err) : 0;
}

void ahead_close(struct study *st)
{
    struct ahead_slot *s = st->ahead;

    if (!s)
        return;
    if (state_of(st) != SLOT_FREE)
        wait_for(s, false);
    mem_free(s->point);
    mem_free(s->told);
    mem_free(s);
    st->ahead = NULL;
}
