/* expire.h - trials and tasks that are lost; see expire.c. */
#ifndef CONTROLLER_SERVE_EXPIRE_H
#define CONTROLLER_SERVE_EXPIRE_H

#include "controller/state/lease.h"

/* Is a trial that the session does not list in this report lost? */
bool lease_is_missing(const struct lease *l, const struct msg_report *r);
/* The trial goes back to the queue with its number, reports and last checkpoint; a task is queued again or fails. */
int lease_lose(struct ctl *ctl, struct lease l, enum trial_reason reason, struct err *err);
int lease_expire(struct ctl *ctl, struct err *err); /* all that ran out by now */

#endif
