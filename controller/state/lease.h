/* lease.h - leases of trials and of tasks, in memory only: the right of one runner session to run one trial under one fence
 * until a time on the controller's monotonic clock. What is stored is the state RUNNING, the fence and the attempt; a
 * restart gives every one of them a full period (lease_restore). */
#ifndef CONTROLLER_STATE_LEASE_H
#define CONTROLLER_STATE_LEASE_H

#include "controller/state/ctl.h"

struct lease {
    bool is_task;
    int64_t id; /* trial or task */
    int64_t fence;
    int64_t study, number; /* number: of the trial; 0 for a task */
    int64_t runner;
    char session[33], device[32];
    int64_t ask_n; /* the lease call that got it; 0 = from before a restart */
    int64_t group;
    int group_size, from, to;
    int64_t granted_ms, expires_ms, kept_ms; /* kept_ms: `keep` was answered then; 0 = not */
    int64_t deadline_ms;                     /* monotonic; 0 = none */
    bool is_probe, was_listed;
    bool is_leaving; /* told to keep or to pause: only its file is on the way, its device is free */
    double progress;
};

struct lease *lease_find(struct ctl *ctl, bool is_task, int64_t id); /* NULL = none */
struct lease *lease_add(struct ctl *ctl,
                        const struct lease *l); /* valid until the next add or drop */
void lease_drop(struct ctl *ctl, int64_t trial, int64_t fence);
void lease_drop_task(struct ctl *ctl, int64_t task, int64_t fence);
void lease_remove(struct ctl *ctl, int i); /* by its place; another one takes that */
int lease_count_study(const struct ctl *ctl, int64_t study);
int lease_count_leaving(const struct ctl *ctl, int64_t study);

void lease_renew(struct ctl *ctl, struct lease *l);
int64_t lease_due(const struct ctl *ctl); /* when the next one expires; INT64_MAX = never */

#endif
