/* loop.c - see loop.h. Everything except a job's `work` runs on the thread that owns the loop.
 *
 * How a turn ends: loop_turn_mark activates the event turn_ev. When libevent reaches it, on_turn
 * activates it once more, so that it comes after the callbacks that this turn's callbacks have
 * queued; the second time it runs the hook. If loop_breathe ended the turn early, loop_run runs the
 * hook itself (hook_now). */
#include "base/loop.h"

#include "base/mem.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* TURNS: how many turns loop_turn_us looks back.
 * BREATH_US: a turn ends early from here on. Slices of 6 ms made the longest turn 24.7 ms with
 * 1,000 runners and 200 event streams, slices of 4 ms 18 to 21 ms; 3 ms gained nothing more. */
enum { TURNS = 16, BREATH_US = 4000, SIGNALS_MAX = 8, THREADS_MAX = 16 };

struct job {
    struct job *next;
    void (*work)(void *arg);
    void (*done)(void *arg);
    void (*drop)(void *arg); /* NULL = nothing to free */
    void *arg;
};

struct job_list {
    struct job *first, **last;
};

struct loop_sig {
    struct event *ev;
    void (*on_signal)(int signo, void *arg);
    void *arg;
};

struct loop {
    struct event_base *base;
    struct clk *clk;
    bool stop;
    struct loop_sig sigs[SIGNALS_MAX];
    int n_sigs;

    struct event *turn_ev;
    bool turn_marked; /* the hook is to run in this turn */
    bool turn_late;   /* turn_ev has already been moved to the end of the queue once */
    void (*on_turn_end)(void *arg);
    void *turn_arg;
    int64_t turns_us[TURNS];
    unsigned turn_pos;
    int64_t marked_us; /* time from the poll to the end of the hook; 0 if no hook ran */
    int64_t breath_us; /* time from the poll to the turn's early end; 0 if there was none */
    int64_t turn_max_us, turn_cpu_max_us;

    int n_threads, wake_fd;
    struct event *wake_ev;
    pthread_t threads[THREADS_MAX];
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t more;
    bool ending;
    struct job_list todo, finished;
};

struct loop_timer {
    struct event *ev;
    int64_t period_ms;
    void (*on_tick)(void *arg);
    void *arg;
    bool in_tick, dead;
};

struct loop_watch {
    struct event *ev;
    void (*on_readable)(int fd, void *arg);
    void *arg;
};

/* ---- turns ---- */

static int64_t clock_us(clockid_t id)
{
    struct timespec ts = { 0 };

    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Microseconds since libevent's poll of this turn returned. */
static int64_t since_poll_us(const struct loop *l)
{
    struct timeval start = { 0 }, now = { 0 };

    if (event_base_gettimeofday_cached(l->base, &start) < 0)
        return 0;
    gettimeofday(&now, NULL);
    return (int64_t)(now.tv_sec - start.tv_sec) * 1000000 + (now.tv_usec - start.tv_usec);
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
    struct loop *l = arg;

    (void)fd, (void)what;
    /* Callbacks that this turn's callbacks queued belong to the turn: go behind them once. */
    if (!l->turn_late) {
        l->turn_late = true;
        event_active(l->turn_ev, EV_TIMEOUT, 0);
        return;
    }
    l->turn_marked = l->turn_late = false;
    if (l->on_turn_end)
        l->on_turn_end(l->turn_arg);
    l->marked_us = since_poll_us(l);
    /* libevent goes on until no event is active. If the hook has marked another turn, stop here, so
     * that the kernel is asked for new events first. Otherwise hooks that always begin more work
     * would keep everybody else waiting. */
    if (l->turn_marked)
        event_base_loopbreak(l->base);
}

void loop_turn_hook(struct loop *l, void (*on_turn_end)(void *arg), void *arg)
{
    l->on_turn_end = on_turn_end;
    l->turn_arg = arg;
}

void loop_turn_mark(struct loop *l)
{
    if (l->turn_marked)
        return;
    l->turn_marked = true;
    l->turn_late = false;
    event_active(l->turn_ev, EV_TIMEOUT, 0);
}

int64_t loop_turn_us(const struct loop *l)
{
    int64_t longest = 0;

    for (int i = 0; i < TURNS; i++)
        longest = MAX(longest, l->turns_us[i]);
    return longest;
}

int64_t loop_turn_max_us(const struct loop *l)
{
    return l->turn_max_us;
}

int64_t loop_turn_cpu_max_us(const struct loop *l)
{
    return l->turn_cpu_max_us;
}

bool loop_is_late(const struct loop *l)
{
    return since_poll_us(l) >= BREATH_US;
}

void loop_breathe(struct loop *l)
{
    int64_t us = since_poll_us(l);

    if (us < BREATH_US)
        return;
    l->breath_us = us;
    event_base_loopbreak(l->base);
}

/* Runs the hook of a turn that loop_breathe ended before turn_ev had its place in the queue. */
static void hook_now(struct loop *l)
{
    int64_t from = clock_us(CLOCK_MONOTONIC);

    event_del(l->turn_ev);
    l->turn_marked = l->turn_late = false;
    if (l->on_turn_end)
        l->on_turn_end(l->turn_arg);
    l->marked_us = l->breath_us + clock_us(CLOCK_MONOTONIC) - from;
}

int loop_run(struct loop *l, struct err *err)
{
    l->stop = false;
    while (!l->stop) {
        int64_t cpu = clock_us(CLOCK_THREAD_CPUTIME_ID);

        l->marked_us = l->breath_us = 0;
        if (event_base_loop(l->base, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY) < 0)
            return err_set(err, ERR_IO, "the event loop failed");
        if (l->breath_us && l->turn_marked)
            hook_now(l);
        /* A turn's length is its processor time, because the time in the poll is not work. But the
         * hook may wait for the disk (fsync), and marked_us includes that. */
        cpu = clock_us(CLOCK_THREAD_CPUTIME_ID) - cpu;
        l->turn_cpu_max_us = MAX(l->turn_cpu_max_us, cpu);
        cpu = MAX(cpu, l->marked_us);
        l->turns_us[l->turn_pos++ % TURNS] = cpu;
        l->turn_max_us = MAX(l->turn_max_us, cpu);
    }
    return 0;
}

void loop_stop(struct loop *l)
{
    l->stop = true;
    event_base_loopexit(l->base, NULL);
}

/* ---- timers, signals, watches ---- */

static void timer_add(struct loop_timer *t, int64_t ms)
{
    struct timeval tv = { .tv_sec = MAX(ms, 0) / 1000, .tv_usec = MAX(ms, 0) % 1000 * 1000 };

    event_add(t->ev, &tv);
}

static void timer_destroy(struct loop_timer *t)
{
    event_free(t->ev);
    mem_free(t);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct loop_timer *t = arg;

    (void)fd, (void)what;
    if (t->period_ms > 0)
        timer_add(t, t->period_ms);
    t->in_tick = true;
    t->on_tick(t->arg);
    t->in_tick = false;
    if (t->dead)
        timer_destroy(t);
}

struct loop_timer *loop_timer_new(struct loop *l, int64_t first_ms, int64_t period_ms,
                                  void (*on_tick)(void *arg), void *arg)
{
    struct loop_timer *t = mem_zalloc(sizeof *t);

    t->period_ms = period_ms;
    t->on_tick = on_tick;
    t->arg = arg;
    t->ev = event_new(l->base, -1, 0, on_timer, t);
    CHECK(t->ev);
    timer_add(t, first_ms);
    return t;
}

void loop_timer_again(struct loop_timer *t, int64_t first_ms)
{
    CHECK(!t->dead); /* freed in its own callback */
    timer_add(t, first_ms);
}

void loop_timer_free(struct loop_timer *t)
{
    if (!t)
        return;
    CHECK(!t->dead);
    if (t->in_tick) {
        event_del(t->ev);
        t->dead = true;
        return;
    }
    timer_destroy(t);
}

static void on_sig(evutil_socket_t signo, short what, void *arg)
{
    struct loop_sig *sig = arg;

    (void)what;
    sig->on_signal((int)signo, sig->arg);
}

int loop_signal(struct loop *l, int signo, void (*on_signal)(int signo, void *arg), void *arg,
                struct err *err)
{
    struct loop_sig *sig = &l->sigs[l->n_sigs];

    CHECK(l->n_sigs < SIGNALS_MAX);
    sig->on_signal = on_signal;
    sig->arg = arg;
    sig->ev = evsignal_new(l->base, signo, on_sig, sig);
    if (!sig->ev || event_add(sig->ev, NULL) < 0) {
        if (sig->ev)
            event_free(sig->ev);
        return err_set(err, ERR_IO, "cannot watch signal %d", signo);
    }
    l->n_sigs++;
    return 0;
}

static void on_watch(evutil_socket_t fd, short what, void *arg)
{
    struct loop_watch *w = arg;

    (void)what;
    w->on_readable((int)fd, w->arg);
}

struct loop_watch *loop_watch_new(struct loop *l, int fd, void (*on_readable)(int fd, void *arg),
                                  void *arg)
{
    struct loop_watch *w = mem_zalloc(sizeof *w);

    w->on_readable = on_readable;
    w->arg = arg;
    w->ev = event_new(l->base, fd, EV_READ | EV_PERSIST, on_watch, w);
    CHECK(w->ev && event_add(w->ev, NULL) == 0);
    return w;
}

void loop_watch_free(struct loop_watch *w)
{
    if (!w)
        return;
    event_free(w->ev);
    mem_free(w);
}

/* ---- pool ---- */

static void list_init(struct job_list *q)
{
    q->first = NULL;
    q->last = &q->first;
}

static void list_add(struct job_list *q, struct job *j)
{
    j->next = NULL;
    *q->last = j;
    q->last = &j->next;
}

static void list_add_first(struct job_list *q, struct job *j)
{
    j->next = q->first;
    q->first = j;
    if (!j->next)
        q->last = &j->next;
}

static struct job *list_pop(struct job_list *q)
{
    struct job *j = q->first;

    if (j && !(q->first = j->next))
        q->last = &q->first;
    return j;
}

static void wake(struct loop *l)
{
    uint64_t one = 1;

    (void)!write(l->wake_fd, &one, sizeof one);
}

static void *pool_main(void *arg)
{
    struct loop *l = arg;
    struct job *j = NULL;

    pthread_mutex_lock(&l->lock);
    while (!l->ending) {
        j = list_pop(&l->todo);
        if (!j) {
            pthread_cond_wait(&l->more, &l->lock);
            continue;
        }
        pthread_mutex_unlock(&l->lock);
        j->work(j->arg);
        pthread_mutex_lock(&l->lock);
        list_add(&l->finished, j);
        wake(l);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    struct loop *l = arg;
    struct job *j = NULL, *next = NULL;
    uint64_t count = 0;

    (void)what;
    (void)!read(fd, &count, sizeof count);
    pthread_mutex_lock(&l->lock);
    j = l->finished.first;
    list_init(&l->finished);
    pthread_mutex_unlock(&l->lock);
    for (; j; j = next) {
        next = j->next;
        if (j->done)
            j->done(j->arg);
        mem_free(j);
    }
}

void loop_pool_start(struct loop *l, int threads)
{
    sigset_t all, old;

    CHECK(l->n_threads == 0 && threads >= 0 && threads <= THREADS_MAX);
    /* Threads inherit the mask: signals are to be handled on the loop's thread only. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&l->threads[i], NULL, pool_main, l) != 0)
            break; /* fewer threads do as well, and with none the jobs run in place */
        l->n_threads++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void submit(struct loop *l, bool first, void (*work)(void *arg), void (*done)(void *arg),
                   void (*drop)(void *arg), void *arg)
{
    struct job *j = NULL;

    if (l->n_threads == 0) {
        work(arg);
        if (done)
            done(arg);
        return;
    }
    j = mem_zalloc(sizeof *j);
    j->work = work;
    j->done = done;
    j->drop = drop;
    j->arg = arg;
    pthread_mutex_lock(&l->lock);
    if (first)
        list_add_first(&l->todo, j);
    else
        list_add(&l->todo, j);
    pthread_cond_signal(&l->more);
    pthread_mutex_unlock(&l->lock);
}

void loop_pool_submit(struct loop *l, void (*work)(void *arg), void (*done)(void *arg), void *arg)
{
    submit(l, false, work, done, NULL, arg);
}

void loop_pool_submit_owned(struct loop *l, void (*work)(void *arg), void (*done)(void *arg),
                            void (*drop)(void *arg), void *arg)
{
    submit(l, false, work, done, drop, arg);
}

void loop_pool_submit_first(struct loop *l, void (*work)(void *arg), void (*done)(void *arg),
                            void (*drop)(void *arg), void *arg)
{
    submit(l, true, work, done, drop, arg);
}

int loop_pool_threads(const struct loop *l)
{
    return l->n_threads;
}

static void pool_end(struct loop *l)
{
    struct job *j = NULL;

    pthread_mutex_lock(&l->lock);
    l->ending = true;
    pthread_cond_broadcast(&l->more);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->n_threads; i++)
        pthread_join(l->threads[i], NULL);
    while ((j = list_pop(&l->todo)) || (j = list_pop(&l->finished))) {
        if (j->drop)
            j->drop(j->arg);
        mem_free(j);
    }
}

/* ---- life ---- */

struct loop *loop_new(struct clk *clk, struct err *err)
{
    struct loop *l = mem_zalloc(sizeof *l);

    signal(SIGPIPE, SIG_IGN);
    l->clk = clk;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->more, NULL);
    list_init(&l->todo);
    list_init(&l->finished);
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->base = event_base_new();
    if (l->wake_fd < 0 || !l->base) {
        err_errno(err, "event loop");
        loop_free(l);
        return NULL;
    }
    l->turn_ev = event_new(l->base, -1, 0, on_turn, l);
    l->wake_ev = event_new(l->base, l->wake_fd, EV_READ | EV_PERSIST, on_wake, l);
    CHECK(l->turn_ev && l->wake_ev && event_add(l->wake_ev, NULL) == 0);
    return l;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    pool_end(l);
    for (int i = 0; i < l->n_sigs; i++)
        event_free(l->sigs[i].ev);
    if (l->turn_ev)
        event_free(l->turn_ev);
    if (l->wake_ev)
        event_free(l->wake_ev);
    if (l->base)
        event_base_free(l->base);
    if (l->wake_fd >= 0)
        close(l->wake_fd);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->more);
    mem_free(l);
}

struct event_base *loop_base(struct loop *l)
{
    return l->base;
}

struct clk *loop_clk(struct loop *l)
{
    return l->clk;
}
