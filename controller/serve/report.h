/* report.h - one message about a trial, from whoever holds it: a runner's report (report.c) or a
 * program of the user's (api/ask.c). */
#ifndef CONTROLLER_SERVE_REPORT_H
#define CONTROLLER_SERVE_REPORT_H

#include "controller/state/ctl.h"
#include "proto/msg.h"

/* Applies the message if `session` may speak for the trial under the message's fence, and fills the
 * action, level and deadline of the reply: stale where it may not. -1 = the whole request fails. */
int report_trial(struct ctl *ctl, const char *session, const struct msg_event *e,
                 struct msg_reply *reply, struct err *err);

#endif
