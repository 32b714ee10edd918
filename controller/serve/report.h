/* report.h - one message about a trial, from a program of the user's (api/tell.c). Those of runners
 * come by the same way, in report.c. */
#ifndef CONTROLLER_SERVE_REPORT_H
#define CONTROLLER_SERVE_REPORT_H

#include "controller/state/ctl.h"
#include "proto/msg.h"
#include "store/trial.h"

/* Applies the message if `session` may speak for the trial under the message's fence, and fills the
 * action, level and deadline of the reply: stale where it may not. row: the trial's, as it is stored
 * now, before and after. -1 = the whole request fails. */
int report_row(struct ctl *ctl, const char *session, const struct msg_event *e,
               struct trial_row *row, struct msg_reply *reply, struct err *err);

#endif
