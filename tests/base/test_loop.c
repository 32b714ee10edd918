/* test_loop.c - timers, signals, watches, the end-of-turn hook and the pool. Runs under SAN=thread too. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/clk.h"
#include "base/loop.h"
#include "base/rng.h"

#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

struct fix {
    struct clk clk;
    struct loop *loop;
    struct loop_timer *timer;
    int count, hooks, order[64], n_order;
    int fds[2];
    struct loop_watch *watch;
};

static int fix_new(void **state)
{
    static struct fix f;

    memset(&f, 0, sizeof f);
    clk_init_system(&f.clk);
    f.loop = loop_new(&f.clk, NULL);
    *state = &f;
    return f.loop ? 0 : -1;
}

static int fix_free(void **state)
{
    struct fix *f = *state;

    loop_free(f->loop);
    return 0;
}

static void on_stop(void *arg)
{
    struct fix *f = arg;

    loop_stop(f->loop);
}

static void on_count(void *arg)
{
    struct fix *f = arg;

    if (++f->count == 3)
        loop_stop(f->loop);
}

static void a_periodic_timer_ticks_until_the_loop_stops(void **state)
{
    struct fix *f = *state;
    struct loop_timer *t = loop_timer_new(f->loop, 0, 1, on_count, f);

    assert_int_equal(loop_run(f->loop, NULL), 0);
    assert_int_equal(f->count, 3);
    assert_ptr_equal(loop_clk(f->loop), &f->clk);
    assert_non_null(loop_base(f->loop));
    loop_timer_free(t);
    loop_timer_free(NULL);
}

static void on_self_free(void *arg)
{
    struct fix *f = arg;

    f->count++;
    loop_timer_free(f->timer);
}

static void a_timer_may_free_itself_in_its_tick(void **state)
{
    struct fix *f = *state;
    struct loop_timer *end = loop_timer_new(f->loop, 15, 0, on_stop, f);

    f->timer = loop_timer_new(f->loop, 0, 1, on_self_free, f);
    assert_int_equal(loop_run(f->loop, NULL), 0);
    assert_int_equal(f->count, 1);
    loop_timer_free(end);
}

static void on_rearm(void *arg)
{
    struct fix *f = arg;

    if (++f->count < 3)
        loop_timer_again(f->timer, 1);
    else
        loop_stop(f->loop);
}

static void a_single_timer_can_be_armed_again(void **state)
{
    struct fix *f = *state;

    f->timer = loop_timer_new(f->loop, 0, 0, on_rearm, f);
    assert_int_equal(loop_run(f->loop, NULL), 0);
    assert_int_equal(f->count, 3);
    loop_timer_free(f->timer);
}

static void on_usr1(int signo, void *arg)
{
    struct fix *f = arg;

    f->count = signo;
    loop_stop(f->loop);
}

static void on_raise(void *arg)
{
    (void)arg;
    raise(SIGUSR1);
}

static void a_signal_comes_as_a_callback(void **state)
{
    struct fix *f = *state;
    struct loop_timer *t = loop_timer_new(f->loop, 0, 0, on_raise, f);

    assert_int_equal(loop_signal(f->loop, SIGUSR1, on_usr1, f, NULL), 0);
    assert_int_equal(loop_run(f->loop, NULL), 0);
    assert_int_equal(f->count, SIGUSR1);
    loop_timer_free(t);
}

static void on_readable(int fd, void *arg)
{
    struct fix *f = arg;
    char byte = 0;

    if (read(fd, &byte, 1) == 1) {
        f->count++;
        return;
    }
    loop_watch_free(f->watch);
    loop_stop(f->loop);
}

static void a_watch_sees_data_and_the_end(void **state)
{
    struct fix *f = *state;

    assert_int_equal(pipe(f->fds), 0);
    assert_int_equal(write(f->fds[1], "ab", 2), 2);
    close(f->fds[1]);
    f->watch = loop_watch_new(f->loop, f->fds[0], on_readable, f);
    assert_int_equal(loop_run(f->loop, NULL), 0);
    assert_int_equal(f->count, 2);
    close(f->fds[0]);
}

/* ---- end of turn ---- */

static void note(struct fix *f, int what)
{
    assert_true(f->n_order < (int)ARRAY_LEN(f->order));
    f->order[f->n_order++] = what;
}

static void on_later(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    note(arg, 2);
}

static void on_write(evutil_socket_t fd, short what, void *arg)
{
    struct fix *f = arg;

    (void)fd, (void)what;
    note(f, 1);
    loop_turn_mark(f->loop);
    loop_turn_mark(f->loop);
}

static void on_turn_end(void *arg)
{
    struct fix *f = arg;

    note(f, 9);
    loop_stop(f->loop);
}

static void the_hook_runs_once_after_every_callback_of_the_turn(void **state)
{
    static const int want[] = { 1, 1, 2, 2, 9 };
    struct fix *f = *state;
    struct event *ev[4];

    loop_turn_hook(f->loop, on_turn_end, f);
    for (int i = 0; i < 4; i++) {
        ev[i] = event_new(loop_base(f->loop), -1, 0, i < 2 ? on_write : on_later, f);
        event_active(ev[i], EV_TIMEOUT, 0);
    }
    assert_int_equal(loop_run(f->loop, NULL), 0);
    assert_int_equal(f->n_order, ARRAY_LEN(want));
    assert_memory_equal(f->order, want, sizeof want);
    for (int i = 0; i < 4; i++)
        event_free(ev[i]);
}

static void on_hook_count(void *arg)
{
    struct fix *f = arg;

    f->hooks++;
    if (f->hooks < 5)
        loop_turn_mark(f->loop); /* a commit that makes more work: the next turn has its own hook */
    else
        loop_stop(f->loop);
}

static void a_hook_may_mark_again(void **state)
{
    struct fix *f = *state;

    loop_turn_hook(f->loop, on_hook_count, f);
    loop_turn_mark(f->loop);
    assert_int_equal(loop_run(f->loop, NULL), 0);
    assert_int_equal(f->hooks, 5);
}

static void on_slow_turn(void *arg)
{
    struct fix *f = arg;
    int64_t end = clk_now_ms(&f->clk) + 30;

    while (clk_now_ms(&f->clk) < end)
        ;
    loop_stop(f->loop);
}

static void a_slow_turn_shows(void **state)
{
    struct fix *f = *state;

    assert_int_equal(loop_turn_us(f->loop), 0);
    loop_turn_hook(f->loop, on_slow_turn, f);
    loop_turn_mark(f->loop);
    assert_int_equal(loop_run(f->loop, NULL), 0);
    assert_true(loop_turn_us(f->loop) >= 25000);
}

static void on_idle_end(void *arg)
{
    struct fix *f = arg;

    f->timer = NULL;
    loop_stop(f->loop);
}

static void waiting_for_events_is_no_turn_time(void **state)
{
    struct fix *f = *state;
    struct loop_timer *t = loop_timer_new(f->loop, 200, 0, on_idle_end, f);

    assert_int_equal(loop_run(f->loop, NULL), 0);
    assert_true(loop_turn_us(f->loop) < 150000);
    loop_timer_free(t);
}

/* ---- pool ---- */

enum { JOBS = 200 };
struct pool_job {
    struct fix *f;
    uint64_t in, out;
    pthread_t on;
};

static void work(void *arg)
{
    struct pool_job *j = arg;

    j->out = rng_mix(j->in, 1);
    j->on = pthread_self();
}

static void done(void *arg)
{
    struct pool_job *j = arg;

    if (++j->f->count == JOBS)
        loop_stop(j->f->loop);
}

static void run_jobs(struct fix *f, int threads)
{
    static struct pool_job jobs[JOBS];

    loop_pool_start(f->loop, threads);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct pool_job){ .f = f, .in = (uint64_t)i };
        loop_pool_submit(f->loop, work, done, &jobs[i]);
    }
    if (threads)
        assert_int_equal(loop_run(f->loop, NULL), 0);
    assert_int_equal(f->count, JOBS);
    for (int i = 0; i < JOBS; i++) {
        assert_true(jobs[i].out == rng_mix((uint64_t)i, 1));
        assert_int_equal(pthread_equal(jobs[i].on, pthread_self()) != 0, threads == 0);
    }
}

static void pool_jobs_run_on_threads_and_finish_on_the_loop(void **state)
{
    run_jobs(*state, 3);
}

static void without_a_pool_jobs_run_in_place(void **state)
{
    run_jobs(*state, 0);
}

struct ordered {
    struct fix *f;
    pthread_mutex_t *gate; /* waited for; NULL = none */
    int nth;               /* among those done */
};

static void wait_at_gate(void *arg)
{
    struct ordered *o = arg;

    if (o->gate) {
        pthread_mutex_lock(o->gate);
        pthread_mutex_unlock(o->gate);
    }
}

static void note_order(void *arg)
{
    struct ordered *o = arg;

    o->nth = ++o->f->count;
    if (o->nth == 4)
        loop_stop(o->f->loop);
}

static void a_job_submitted_first_passes_those_that_wait(void **state)
{
    struct fix *f = *state;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    struct ordered jobs[4] = { { f, &gate, 0 }, { f, &gate, 0 }, { f, NULL, 0 }, { f, NULL, 0 } };

    pthread_mutex_lock(&gate);
    loop_pool_start(f->loop, 1);
    assert_int_equal(loop_pool_threads(f->loop), 1);
    for (int i = 0; i < 3; i++)
        loop_pool_submit(f->loop, wait_at_gate, note_order, &jobs[i]);
    loop_pool_submit_first(f->loop, wait_at_gate, note_order, NULL, &jobs[3]);
    pthread_mutex_unlock(&gate);
    assert_int_equal(loop_run(f->loop, NULL), 0);
    /* The thread may have begun the first one before the last came. */
    assert_true(jobs[3].nth <= 2);
    assert_true(jobs[1].nth < jobs[2].nth);
    pthread_mutex_destroy(&gate);
}

static void freeing_the_loop_with_jobs_waiting_is_safe(void **state)
{
    static struct pool_job jobs[JOBS];
    struct fix *f = *state;

    loop_pool_start(f->loop, 2);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct pool_job){ .f = f };
        loop_pool_submit(f->loop, work, done, &jobs[i]);
    }
    loop_free(f->loop);
    f->loop = NULL;
    assert_int_equal(f->count, 0);
}

int main(void)
{
#define LOOP_TEST(fn) cmocka_unit_test_setup_teardown(fn, fix_new, fix_free)
    const struct CMUnitTest tests[] = {
        LOOP_TEST(a_periodic_timer_ticks_until_the_loop_stops),
        LOOP_TEST(a_timer_may_free_itself_in_its_tick),
        LOOP_TEST(a_single_timer_can_be_armed_again),
        LOOP_TEST(a_signal_comes_as_a_callback),
        LOOP_TEST(a_watch_sees_data_and_the_end),
        LOOP_TEST(the_hook_runs_once_after_every_callback_of_the_turn),
        LOOP_TEST(a_hook_may_mark_again),
        LOOP_TEST(a_slow_turn_shows),
        LOOP_TEST(waiting_for_events_is_no_turn_time),
        LOOP_TEST(pool_jobs_run_on_threads_and_finish_on_the_loop),
        LOOP_TEST(a_job_submitted_first_passes_those_that_wait),
        LOOP_TEST(without_a_pool_jobs_run_in_place),
        LOOP_TEST(freeing_the_loop_with_jobs_waiting_is_safe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
