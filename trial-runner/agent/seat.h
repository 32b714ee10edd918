/* seat.h - one device's place at the controller's table: asks for work by a long poll, takes the answer once, repeats a
 * call under the same number until it is answered (a repeat gets the same grant). Owns the device's work. agent.c owns
 * the seats. */
#ifndef TRIAL_RUNNER_AGENT_SEAT_H
#define TRIAL_RUNNER_AGENT_SEAT_H

#include "trial-runner/agent/work.h"

struct seat;

struct seat_conf {
    struct loop *loop;
    const struct runner_conf *conf;
    struct http *http;
    struct cache *cache;
    struct fetch *fetch;
    struct book *book;
    const struct msg_device *device;
    const char *session;
    uint64_t seed;                 /* of its pauses */
    void (*on_change)(void *arg);  /* look again what can be done */
    void (*on_unknown)(void *arg); /* the controller does not know this runner */
    void *arg;
};
struct seat *seat_new(const struct seat_conf *conf, struct err *err); /* starts the worker */
void seat_free(struct seat *s);
/* Asks when there is need and leave to: runner is our id (0: not registered); paused: no new work. */
void seat_turn(struct seat *s, int64_t runner, bool paused);
void seat_drain(struct seat *s);
bool seat_is_open(const struct seat *s); /* a call has no answer yet */
bool seat_asked(const struct seat *s,
                struct msg_asked *out); /* the last answered call; false: none yet */

#endif
