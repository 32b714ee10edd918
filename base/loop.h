/* loop.h - the event loop: one libevent base per process, owned by one thread. It offers timers,
 * signals, watched descriptors, a hook at the end of each turn and a small pool of threads.
 *
 * A turn is one round of libevent: it waits for events and runs the callbacks of all that are
 * ready. A callback decodes its input, calls one function and logs. Nothing that may wait belongs
 * in a callback; that is what the pool is for. Every function here must be called on the thread
 * that owns the loop. */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include "base/clk.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct loop;
struct loop_timer;

struct loop *loop_new(struct clk *clk, struct err *err); /* borrows clk; ignores SIGPIPE */
/* Waits for pool jobs that are running. For those that wait or are finished, `drop` is called
 * instead of `done`. */
void loop_free(struct loop *l);
struct event_base *loop_base(struct loop *l); /* borrowed, for code that uses libevent itself */
struct clk *loop_clk(struct loop *l);
int loop_run(struct loop *l, struct err *err); /* returns after loop_stop */
void loop_stop(struct loop *l);                /* ends loop_run after the current turn */

/* Timers run in real time, also if the loop's clk is a manual one. period_ms 0 = once. */
struct loop_timer *loop_timer_new(struct loop *l, int64_t first_ms, int64_t period_ms,
                                  void (*on_tick)(void *arg), void *arg);
void loop_timer_again(struct loop_timer *t, int64_t first_ms); /* sets it anew; the period stays */
void loop_timer_free(struct loop_timer *t); /* may be called in its own callback */

int loop_signal(struct loop *l, int signo, void (*on_signal)(int signo, void *arg), void *arg,
                struct err *err);
/* Calls on_readable whenever the descriptor is readable, until loop_watch_free. */
struct loop_watch;
struct loop_watch *loop_watch_new(struct loop *l, int fd, void (*on_readable)(int fd, void *arg),
                                  void *arg);
void loop_watch_free(struct loop_watch *w);

/* The hook runs once at the end of a turn in which loop_turn_mark was called, after every callback
 * of that turn. The controller commits its transaction in it. The hook is queued behind the other
 * callbacks rather than given a low priority, so that a busy loop cannot starve it. A mark made
 * within the hook asks for another turn. A loop has one hook. */
void loop_turn_hook(struct loop *l, void (*on_turn_end)(void *arg), void *arg);
void loop_turn_mark(struct loop *l);
int64_t loop_turn_us(const struct loop *l);     /* length of the longest of the last 16 turns */
int64_t loop_turn_max_us(const struct loop *l); /* length of the longest turn so far */
/* The longest turn so far in processor time, which other programs on the machine do not affect. */
int64_t loop_turn_cpu_max_us(const struct loop *l);
/* To be called after each piece of work. If the turn has lasted long, it ends here, so that other
 * connections get their chance: callbacks that have not run belong to the next turn, and run there
 * after those that became ready earlier. */
void loop_breathe(struct loop *l);
bool loop_is_late(const struct loop *l); /* would loop_breathe end the turn? */

/* The pool: `work` runs on a thread of the pool and may touch only what `arg` points to; then
 * `done` (may be NULL) runs on the loop's thread. Without threads, both run at once inside the
 * call. */
void loop_pool_start(struct loop *l, int threads);
void loop_pool_submit(struct loop *l, void (*work)(void *arg), void (*done)(void *arg), void *arg);
/* The same for an arg that owns something: loop_free calls `drop` instead of `done`. */
void loop_pool_submit_owned(struct loop *l, void (*work)(void *arg), void (*done)(void *arg),
                            void (*drop)(void *arg), void *arg);
/* The same, in front of all waiting jobs. Only for short work. */
void loop_pool_submit_first(struct loop *l, void (*work)(void *arg), void (*done)(void *arg),
                            void (*drop)(void *arg), void *arg);
int loop_pool_threads(const struct loop *l);

#endif
