/* loop.h - one libevent base per process, owned by one thread: timers, signals, end-of-turn hook, a small
 * pool for slow work, clean stop. Callbacks decode, call one function, log. */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include "base/clk.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct loop;
struct loop_timer;

struct loop *loop_new(struct clk *clk, struct err *err); /* clk borrowed; ignores SIGPIPE */
void loop_free(
    struct loop
        *l); /* waits for running pool jobs, drops waiting ones; done callbacks do not run */
struct event_base *loop_base(struct loop *l); /* borrowed, for bufferevents */
struct clk *loop_clk(struct loop *l);
int loop_run(struct loop *l, struct err *err); /* until loop_stop */
void loop_stop(struct loop *l); /* ends after the current turn; callable from any callback */

/* Timers in loop time (real time; components ask clk for "now"). period_ms 0 = once. */
struct loop_timer *loop_timer_new(struct loop *l, int64_t first_ms, int64_t period_ms,
                                  void (*on_tick)(void *arg), void *arg);
void loop_timer_again(struct loop_timer *t, int64_t first_ms); /* re-arm; period stays */
void loop_timer_free(struct loop_timer *t);                    /* legal inside its own callback */

int loop_signal(struct loop *l, int signo, void (*on_signal)(int signo, void *arg), void *arg,
                struct err *err);
/* Read events on a descriptor; freed with loop_watch_free. */
struct loop_watch;
struct loop_watch *loop_watch_new(struct loop *l, int fd, void (*on_readable)(int fd, void *arg),
                                  void *arg);
void loop_watch_free(struct loop_watch *w);

/* End of turn: after loop_turn_mark, the hook runs once when every callback active in this turn has run
 * (queued last, not by priority, so that a busy loop cannot starve it), which is where the controller
 * commits. A mark made in the hook asks for another one. One hook per loop. */
void loop_turn_hook(struct loop *l, void (*on_turn_end)(void *arg), void *arg);
void loop_turn_mark(struct loop *l);
int64_t loop_turn_us(const struct loop *l);     /* how long the longest of the last 16 turns took */
int64_t loop_turn_max_us(const struct loop *l); /* and the longest of all */
/* The longest of all in processor time, which other programs of the machine do not change. */
int64_t loop_turn_cpu_max_us(const struct loop *l);
/* Called after a piece of work of some length: when the turn has lasted long, it ends here, and callbacks that are left
 * belong to the next one, behind those that were ready before them. */
void loop_breathe(struct loop *l);
bool loop_is_late(const struct loop *l); /* loop_breathe would end the turn */

/* Pool: `work` runs on a pool thread and must touch only its arg; then `done` runs on the loop. */
void loop_pool_start(struct loop *l,
                     int threads); /* default none: then jobs run at once, in place */
void loop_pool_submit(struct loop *l, void (*work)(void *arg), void (*done)(void *arg), void *arg);
/* The same; loop_free calls `drop` for a job whose `done` will not run any more, so that it can free what it owns. */
void loop_pool_submit_owned(struct loop *l, void (*work)(void *arg), void (*done)(void *arg),
                            void (*drop)(void *arg), void *arg);
/* The same, before all jobs that wait. Not for long work. */
void loop_pool_submit_first(struct loop *l, void (*work)(void *arg), void (*done)(void *arg),
                            void (*drop)(void *arg), void *arg);
int loop_pool_threads(const struct loop *l);

#endif
