/* task.h - grants tasks to runners, takes their reports, and ends tasks (see task.c). A task is the
 * reading of a table or the training of a study's winner on all rows. */
#ifndef CONTROLLER_SERVE_TASK_H
#define CONTROLLER_SERVE_TASK_H

#include "controller/state/runner.h"
#include "controller/state/task.h"

/* Gives this device a task if one waits, or only a refit. Returns 1 with the grant in *out, which the
 * caller frees with msg_grant_fini, 0 if no task waits, or -1. */
int task_grant(struct ctl *ctl, struct runner *r, const struct msg_ask *ask, bool only_refits,
               struct msg_grant *out, struct err *err);
/* Returns whether a task waits that this runner can do. */
bool task_waits(struct ctl *ctl, const struct runner *r);
/* A runner lost the task. It is queued again, or it fails if runners have lost it three times. */
int task_lost(struct ctl *ctl, int64_t id, enum trial_reason reason, struct err *err);
/* Applies a runner's message about a task; reply->action says whether it was accepted or is
 * stale. */
int task_event(struct ctl *ctl, int64_t runner, const char *session, const struct msg_event *e,
               struct msg_reply *reply, struct err *err);
/* Renews the session's lease of the task. Returns false if the session does not hold it under this
 * fence. */
bool task_renew(struct ctl *ctl, const char *session, const struct msg_held *h);

#endif
