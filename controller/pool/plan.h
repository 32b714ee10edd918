/* plan.h - which jobs of one pool should be submitted or cancelled, from what it has and what
 * waits. Pure. Called by pool.c with a fresh list of jobs, and with the last list to see whether a
 * fresh one is worth asking for. */
#ifndef CONTROLLER_POOL_PLAN_H
#define CONTROLLER_POOL_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/* At most so many jobs are submitted at once, or as many as run already. */
enum { PLAN_BURST = 4 };

struct plan_in {
    int min, max, devices; /* devices of one job's runner */
    int jobs, pending, late, running, leaving;
    int kept;            /* of all jobs, those that stay without work */
    int starting;        /* of the running ones, those whose runner has not come yet */
    int wanted;          /* devices that could work now beside those that are idle */
    bool is_closed;      /* nothing is submitted now: submissions fail, or runners did not come */
    int64_t unwanted_ms; /* for how long more jobs were pending than trials call for */
    int64_t idle_ms;     /* the patience with such jobs */
};

struct plan {
    int submit, submit_kept;
    int cancel;       /* pending jobs, those that are not kept first */
    int end;          /* running jobs, because there are more than max */
    int taken;        /* devices of the wanted ones that this pool will serve */
    bool is_unwanted; /* more jobs are pending than trials call for */
};

void plan_pool(const struct plan_in *in, struct plan *out);

#endif
