/* message.h - what each message about a running trial does to it. Called by report.c, which has
 * checked who speaks and that the message is the next one, and which stores the answer. */
#ifndef CONTROLLER_SERVE_MESSAGE_H
#define CONTROLLER_SERVE_MESSAGE_H

#include "controller/state/study.h"

/* Takes the reply over into the row, for a repeat of the message. */
void message_answer(struct trial_row *row, const struct msg_reply *reply);
/* Applies a message. The trial must be running under the message's fence, and row->msg_seq must be
 * the message's already. Fills the action and the level of the reply. Returns 1 = it was applied,
 * and the caller stores row and answer unless row->has_answer; 0 = it was refused, the trial is queued again, and the
 * reply is `stale`; -1. */
int message_apply(struct study *st, struct trial_row *row, const struct msg_event *e,
                  struct msg_reply *reply, struct err *err);

/* What the loss of another rank of it (gang.h) does to a running trial: it is queued again for this
 * reason; it fails for it; or a worker died with it, as if it had trained alone. */
int message_requeue(struct study *st, struct trial_row *row, enum trial_reason reason,
                    struct err *err);
int message_fail(struct study *st, struct trial_row *row, enum trial_reason reason,
                 const char *detail, struct err *err);
int message_crashed(struct study *st, struct trial_row *row, const char *detail, struct err *err);

#endif
