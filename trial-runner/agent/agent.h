/* agent.h - the supervisor's talk with the controller: registers, asks for work by one long poll a device, renews and
 * reports in one call, stops trials when the lease has run out, drains. It reconnects for ever, unless the
 * controller does not accept its token: asking again cannot help then, so the loop ends. main.c owns it. */
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
    const struct msg_device *devices; /* borrowed while it lives */
    int n_devices;
    const char *name;
    bool has_token; /* http sends one; for the words of a refusal */
    uint64_t seed;  /* of back-off and session */
};
/* Workers start at once; registration as soon as the loop runs. */
struct agent *agent_new(const struct agent_conf *conf, struct err *err);
void agent_free(struct agent *a); /* kills the workers; says nothing to the controller */
/* Hands everything back and stops the loop when it is acknowledged or conf->drain_ms have passed. */
void agent_drain(struct agent *a);

/* -1 and why, when the loop ended because the controller does not let this runner in; else 0. */
int agent_refusal(const struct agent *a, struct err *err);

#endif
