/* lease.h - the table of leases. A lease is the right of one runner's session to work on one trial
 * or task, under one fence, until a time on the controller's monotonic clock. Each report of the
 * runner moves that time on.
 *
 * Leases are in memory only, so that a renewal writes nothing. The rows hold the trial's state
 * RUNNING, its fence and the attempt; after a restart each of them gets a lease of a full period
 * (lease_restore in rows.h), during which its runner may report. Leases are added in serve/ and
 * dropped by trial_move and task_end; serve/expire.c decides which are lost. */
#ifndef CONTROLLER_STATE_LEASE_H
#define CONTROLLER_STATE_LEASE_H

#include "controller/state/ctl.h"

struct lease {
    bool is_task;
    int64_t id; /* of the trial or task */
    int64_t fence;
    int64_t study, number; /* number of the trial; 0 for a task */
    int64_t runner;
    char session[33], device[32];
    int64_t ask_n; /* number of the lease call that got it; 0 = unknown after a restart */
    int64_t group; /* number of the grant, and how many trials it held */
    int group_size;
    int from, to; /* levels: where the trial begins, and how far it may run at the grant */
    int64_t granted_ms, expires_ms;
    int64_t period_ms;   /* a silent holder loses it after so long; 0 = conf.lease_ms */
    int64_t kept_ms;     /* when its final report was answered `keep`; 0 = not yet */
    int64_t deadline_ms; /* when its trial must have ended; 0 = none. All times are monotonic ms. */
    bool is_probe;       /* its trial decides the validation (decide/probe.h) */
    bool was_listed;     /* a report of its session listed it at least once (serve/expire.c) */
    bool is_leaving; /* it was told `keep` or `pause`: only its file is on the way, and its device
                            already does other work */
    /* Where rank 0 of a trial of several devices listens (serve/gang.h); "" = it has not said. */
    char meet[MSG_ADDRESS];
    double progress; /* as last reported, for display */
    /* How its networks learn (state/epochs.h), as last reported; NULL = nothing was. */
    json_t *epochs;
};

struct lease *lease_find(struct ctl *ctl, bool is_task, int64_t id); /* NULL = none */
/* Adds a copy of *l and returns it; valid until a lease is added or dropped. */
struct lease *lease_add(struct ctl *ctl, const struct lease *l);
/* Drop the lease of a trial or task if it has this fence. Without effect if there is none. */
void lease_drop(struct ctl *ctl, int64_t trial, int64_t fence);
void lease_drop_task(struct ctl *ctl, int64_t task, int64_t fence);
/* Removes the lease at place i of ctl.leases; the last one moves there. */
void lease_remove(struct ctl *ctl, int i);
/* Sets is_leaving, which is counted. */
void lease_leave(struct ctl *ctl, struct lease *l, bool is_leaving);
/* Leases of the study's trials; those of them that are leaving. */
int lease_count_study(const struct ctl *ctl, int64_t study);
int lease_count_leaving(const struct ctl *ctl, int64_t study);
/* Whether a GPU holds a trial of the study. */
bool lease_is_on_gpus(const struct ctl *ctl, int64_t study);

/* period_ms of a lease, or the controller's own where that is 0. */
int64_t lease_period(const struct ctl *ctl, int64_t period_ms);
/* Its session reported it: it gets a full period from now on. */
void lease_renew(struct ctl *ctl, struct lease *l);
/* Monotonic ms before which none expires. */
int64_t lease_due(const struct ctl *ctl);
/* Counts anew how many leases runners and their devices have, after runners were read from their
 * rows; r NULL = of all. lease_add and lease_remove keep these numbers. */
void lease_tally(struct ctl *ctl, struct runner *r);
void lease_free_all(struct ctl *ctl);

#endif
