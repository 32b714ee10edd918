/* ship.h - writes the end of a study into rows. What is to be done is decided in decide/finish.c;
 * settle.c calls these functions to do it. api/study.c calls ship_finish and ship_kill when a user
 * stops a study, and serve/task.c calls ship_refitted. */
#ifndef CONTROLLER_SETTLE_SHIP_H
#define CONTROLLER_SETTLE_SHIP_H

#include "controller/state/study.h"
#include "proto/msg.h"

/* The search is over: the study finishes, and its rungs are stored as they stand. cut_running =
 * running trials are cancelled. The rest follows when the study is settled. */
int ship_finish(struct study *st, const char *why, bool cut_running, struct err *err);
/* Creates the task that trains the configuration of this trial once more on all rows. */
int ship_refit(struct study *st, int64_t number, struct err *err);
/* That task ended with this artifact; NULL = it failed or was given up. */
int ship_refitted(struct study *st, const char *artifact, double test_score, double test_se,
                  struct err *err);
/* Ends the study. The model of this trial (or the refitted one) is its result; 0 = there is no
 * model. */
int ship_close(struct study *st, int64_t number, struct err *err);
/* Ends the study at once, without a model: everything open is cancelled. */
int ship_kill(struct study *st, struct err *err);
/* Ends a study that has no table any more as failed, for this reason. */
int ship_fail(struct study *st, const char *reason, struct err *err);

#endif
