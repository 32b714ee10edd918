/* agent.h - the supervisor's conversation with the controller. It registers this runner, asks for
 * work with one long poll per device, and sends reports, which also renew the leases. It stops
 * trials when the lease has run out, and it hands everything back when it is drained. If the
 * controller cannot be reached, it tries again for ever, or as long as conf->away_exit_ms says. It
 * also ends, in order, after conf->idle_exit_ms without work. If the controller refuses its token
 * it ends the loop at once, because then asking again cannot help. main.c owns the one agent. */
#ifndef TRIAL_RUNNER_AGENT_AGENT_H
#define TRIAL_RUNNER_AGENT_AGENT_H

#include "base/loop.h"
#include "proto/msg.h"
#include "trial-runner/agent/cache.h"
#include "trial-runner/agent/conf.h"
#include "trial-runner/agent/http.h"
#include "trial-runner/agent/work.h"

struct agent;

struct agent_conf {
    struct loop *loop;
    const struct runner_conf *conf;
    struct http *http;
    struct cache *cache;
    const struct msg_device *devices; /* borrowed as long as the agent lives */
    int n_devices;
    const char *name;
    bool has_token; /* `http` sends a token; chooses the words if the controller refuses us */
    uint64_t seed;  /* of the pauses, and of the session if the system has no random bytes */
};
/* Starts the workers; registers as soon as the loop runs. */
struct agent *agent_new(const struct agent_conf *conf, struct err *err);
void agent_free(struct agent *a); /* kills the workers and tells the controller nothing */
/* Hands all work back. Stops the loop when the controller has acknowledged everything, or when
 * conf->drain_ms have passed. */
void agent_drain(struct agent *a);

/* -1 with the reason if the loop ended because the controller refuses this runner; else 0. */
int agent_refusal(const struct agent *a, struct err *err);

#endif
