/* message.h - what each message of a running trial does to it. */
#ifndef CONTROLLER_SERVE_MESSAGE_H
#define CONTROLLER_SERVE_MESSAGE_H

#include "controller/state/study.h"

/* The trial is running under the message's fence, msg_seq is set to the message's. Fills the reply's action and to.
 * 1 = applied, the caller stores row and answer · 0 = refused and requeued, the reply is stale · -1. */
int message_apply(struct study *st, struct trial_row *row, const struct msg_event *e,
                  struct msg_reply *reply, struct err *err);

#endif
