/* expire.h - decides which trials and tasks are lost, and queues them again. Called by report.c and
 * turn.c, and by api/runner.c. */
#ifndef CONTROLLER_SERVE_EXPIRE_H
#define CONTROLLER_SERVE_EXPIRE_H

#include "controller/state/lease.h"

/* Whether a trial or task that this report does not list is lost: see the head of expire.c. */
bool lease_is_missing(const struct lease *l, const struct msg_report *r);
/* Ends a lease that is lost. A trial goes back to the queue and keeps its number, its reports and
 * its last checkpoint; a task is queued again, or fails if it was lost too often. */
int lease_lose(struct ctl *ctl, struct lease l, enum trial_reason reason, struct err *err);
/* Does that for all leases that have run out by now. */
int lease_expire(struct ctl *ctl, struct err *err);
/* Does it for all that a runner held, which has ended. */
int lease_lose_all(struct ctl *ctl, int64_t runner, struct err *err);

#endif
