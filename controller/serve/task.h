/* task.h - tasks on their way; see task.c. */
#ifndef CONTROLLER_SERVE_TASK_H
#define CONTROLLER_SERVE_TASK_H

#include "controller/state/runner.h"
#include "controller/state/task.h"

/* A task for this device: 1 and the grant (msg_grant_fini by the caller), 0 = none. */
int task_grant(struct ctl *ctl, struct runner *r, const struct msg_ask *ask, struct msg_grant *out,
               struct err *err);
bool task_waits(struct ctl *ctl, const struct runner *r); /* is there one for this runner? */
/* The machine lost it: queued again, or failed after the third time. */
int task_lost(struct ctl *ctl, int64_t id, enum trial_reason reason, struct err *err);
int task_event(struct ctl *ctl, int64_t runner, const char *session, const struct msg_event *e,
               struct msg_reply *reply, struct err *err);
/* Does this session hold the task under this fence? Renews it. */
bool task_renew(struct ctl *ctl, const char *session, const struct msg_held *h);

#endif
