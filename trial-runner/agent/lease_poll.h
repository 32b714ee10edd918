/* lease_poll.h - asks the controller for work for one device, by a long poll. Each call has a
 * number. A call that got no answer is sent again with the same number, and the controller then
 * gives the same grant again, so that no grant is lost or given twice. The poll owns the device's
 * work (work.h). agent.c owns one poll per device, and calls lease_poll_turn whenever something
 * changed. */
#ifndef TRIAL_RUNNER_AGENT_LEASE_POLL_H
#define TRIAL_RUNNER_AGENT_LEASE_POLL_H

#include "trial-runner/agent/work.h"

struct lease_poll;

struct lease_poll_conf {
    struct loop *loop;
    const struct runner_conf *conf;
    struct http *http;
    struct cache *cache;
    struct fetch *fetch;
    struct outbox *outbox;
    const struct msg_device *device;
    int number; /* of the device in this runner, from 0 */
    const char *session;
    uint64_t seed;                 /* of the pauses between calls */
    void (*on_change)(void *arg);  /* something changed: the agent should look what can be done */
    void (*on_unknown)(void *arg); /* the controller does not know this runner */
    void *arg;
};
/* Starts the device's worker too. */
struct lease_poll *lease_poll_new(const struct lease_poll_conf *conf, struct err *err);
void lease_poll_free(struct lease_poll *s);
/* Asks for work if the device wants some. runner: our id, 0 = not registered; paused: no new
 * work. */
void lease_poll_turn(struct lease_poll *s, int64_t runner, bool paused);
void lease_poll_drain(struct lease_poll *s);
bool lease_poll_is_open(const struct lease_poll *s); /* has the last call no answer yet? */
/* The last call that was answered; false if there is none. */
bool lease_poll_asked(const struct lease_poll *s, struct msg_asked *out);

#endif
