/* ahead.c - a suggestion that is made on the loop's pool (ahead.h).
 *
 * The slot is shared by the study and the pool's job. Whichever of the two needs it last frees it,
 * always on the loop's thread. The lock guards the state only. Everything else in the slot, and the
 * sampler itself, belongs to the pool's thread while the state is SLOT_RUNNING, and to the loop's
 * thread at all other times.
 *
 * The loop may need the sampler before the pool has begun (ahead_settle). It then takes the job
 * back by setting the state to SLOT_MADE, and makes the suggestion itself; the pool's thread finds
 * that state and does nothing. */
#include "controller/decide/ahead.h"

#include "base/mem.h"

#include <pthread.h>
#include <string.h>

/* Suggestions that are expected to take less processor time than this are made on the loop: half a
 * millisecond delays nobody. By the clock they would look slow on a loaded machine, which a pool's
 * thread would not change. */
enum { AHEAD_US = 500 };
/* QUEUED: the pool has not begun. RUNNING: a thread has the sampler. MADE: the point is there, and
 * the sampler has not been told yet what came meanwhile. HOME: it has been told; the point is still
 * to be taken. */
enum slot_state { SLOT_FREE, SLOT_QUEUED, SLOT_RUNNING, SLOT_MADE, SLOT_HOME };

struct ahead_slot {
    struct ctl *ctl; /* NULL = the study does not need the slot any more */
    bool is_in_pool; /* the pool's job still needs it */
    pthread_mutex_t lock;
    pthread_cond_t made;
    enum slot_state state;
    struct sampler *sampler;
    struct clk *clk;
    int64_t number, us;
    double *point;
    int rc;
    struct err err;
    struct observation *told; /* results that came while the sampler was away; owned */
    int n_told, cap_told;
};

static void make(struct ahead_slot *s)
{
    int64_t start_us = clk_cpu_us(s->clk);

    s->rc = s->sampler->ops->suggest(s->sampler, s->number, 1, s->point, &s->err);
    s->us = clk_cpu_us(s->clk) - start_us;
}

static void slot_free(struct ahead_slot *s)
{
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->made);
    mem_free(s->point);
    mem_free(s->told);
    mem_free(s);
}

/* The study does not need its slot any more. */
static void release(struct study *st)
{
    struct ahead_slot *s = st->search->ahead;

    st->search->ahead = NULL;
    s->ctl = NULL;
    if (!s->is_in_pool)
        slot_free(s);
}

/* ---- the pool's job ---- */

static void job_work(void *arg)
{
    struct ahead_slot *s = arg;
    bool is_mine = false;

    pthread_mutex_lock(&s->lock);
    is_mine = s->state == SLOT_QUEUED; /* else the loop could not wait and took it back */
    if (is_mine)
        s->state = SLOT_RUNNING;
    pthread_mutex_unlock(&s->lock);
    if (!is_mine)
        return;
    make(s);
    pthread_mutex_lock(&s->lock);
    s->state = SLOT_MADE;
    pthread_cond_broadcast(&s->made);
    pthread_mutex_unlock(&s->lock);
}

static void job_drop(void *arg)
{
    struct ahead_slot *s = arg;

    s->is_in_pool = false;
    if (!s->ctl)
        slot_free(s);
}

static void job_done(void *arg)
{
    struct ahead_slot *s = arg;
    struct ctl *ctl = s->ctl;

    job_drop(s);
    if (!ctl)
        return;
    ctl->is_deferred = ctl->has_news = true;
    ctl_tick_soon(ctl);
}

/* ---- a study's slot ---- */

/* Waits until the pool's thread has nothing to do with the slot. in_place = if the thread has not
 * begun, the suggestion is made here. */
static void wait_for(struct ahead_slot *s, bool in_place)
{
    bool is_queued = false;

    pthread_mutex_lock(&s->lock);
    is_queued = s->state == SLOT_QUEUED;
    if (is_queued)
        s->state = SLOT_MADE;
    while (s->state == SLOT_RUNNING)
        pthread_cond_wait(&s->made, &s->lock);
    pthread_mutex_unlock(&s->lock);
    if (is_queued && in_place)
        make(s);
}

/* The sampler is back: tells it what came while it was away. */
static int come_home(struct study *st, struct err *err)
{
    struct ahead_slot *s = st->search->ahead;

    CHECK(s->state == SLOT_MADE);
    s->state = SLOT_HOME;
    ahead_took(st, s->us, false);
    for (int i = 0; i < s->n_told; i++) {
        if (st->search->sampler->ops->observe(st->search->sampler, &s->told[i], err) < 0)
            return -1;
    }
    s->n_told = 0;
    return 0;
}

static enum slot_state state_of(const struct study *st)
{
    enum slot_state state = SLOT_FREE;

    if (!st->search->ahead)
        return state;
    pthread_mutex_lock(&st->search->ahead->lock);
    state = st->search->ahead->state;
    pthread_mutex_unlock(&st->search->ahead->lock);
    return state;
}

static bool has_pool(const struct ctl *ctl)
{
    return ctl->loop && loop_pool_threads(ctl->loop) > 0;
}

/* The expectation rises at once and falls by a sixteenth with each quicker suggestion, because one
 * slow suggestion on the loop is worse than some quick ones beside it. */
void ahead_took(struct study *st, int64_t us, bool in_turn)
{
    st->ctl->suggest_us += in_turn ? us : 0;
    st->search->expect_us = MAX(us, st->search->expect_us - st->search->expect_us / 16);
}

bool ahead_is_wanted(const struct study *st)
{
    return st->search->expect_us >= AHEAD_US && has_pool(st->ctl);
}

bool ahead_is_open(const struct study *st)
{
    return st->search && st->search->ahead;
}

bool ahead_is_made(const struct study *st, int64_t number)
{
    return state_of(st) >= SLOT_MADE && st->search->ahead->number == number;
}

void ahead_begin(struct study *st, int64_t number)
{
    struct ahead_slot *s = mem_zalloc(sizeof *s);

    CHECK(!ahead_is_open(st));
    s->ctl = st->ctl;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->made, NULL);
    s->state = SLOT_QUEUED;
    s->sampler = st->search->sampler;
    s->clk = st->ctl->clk;
    s->number = number;
    s->point = mem_array((size_t)st->space.space->n + 1, sizeof *s->point);
    st->search->ahead = s;
    st->ctl->stats.ahead++;
    s->is_in_pool = has_pool(st->ctl);
    if (s->is_in_pool)
        loop_pool_submit_first(st->ctl->loop, job_work, job_done, job_drop, s);
    else
        wait_for(s, true);
}

int ahead_take(struct study *st, int64_t number, double *point, struct err *err)
{
    struct ahead_slot *s = st->search->ahead;
    enum slot_state state = state_of(st);
    int rc = 0;

    CHECK(state != SLOT_FREE && s->number == number);
    if (state < SLOT_MADE)
        return AHEAD_LATER;
    if (state == SLOT_MADE && come_home(st, err) < 0)
        return -1;
    memcpy(point, s->point, (size_t)st->space.space->n * sizeof *point);
    rc = s->rc;
    if (rc < 0 && err)
        *err = s->err;
    release(st);
    return rc;
}

int ahead_observe(struct study *st, const struct observation *o, struct err *err)
{
    struct ahead_slot *s = st->search->ahead;
    enum slot_state state = state_of(st);

    if (state == SLOT_MADE && come_home(st, err) < 0)
        return -1;
    if (state != SLOT_QUEUED && state != SLOT_RUNNING)
        return st->search->sampler->ops->observe(st->search->sampler, o, err);
    MEM_GROW(s->told, s->n_told, s->cap_told);
    s->told[s->n_told++] = *o;
    return 0;
}

int ahead_settle(struct study *st, struct err *err)
{
    if (!ahead_is_open(st))
        return 0;
    wait_for(st->search->ahead, true);
    return st->search->ahead->state == SLOT_MADE ? come_home(st, err) : 0;
}

void ahead_close(struct study *st)
{
    if (!ahead_is_open(st))
        return;
    wait_for(st->search->ahead, false);
    release(st);
}
