/* believe.h - checks of what runners say, before it counts: a score must be possible in its metric,
 * and a model must be a well-formed file. A broken or hostile runner must not be able to put an
 * impossible trial at the top of a leaderboard. Called by message.c and task.c. */
#ifndef CONTROLLER_SERVE_BELIEVE_H
#define CONTROLLER_SERVE_BELIEVE_H

#include "controller/state/study.h"
#include "proto/msg.h"

/* Checks the scores and standard errors of a message in the study's metric. NULL = all are
 * possible; else a phrase that says which is not. */
const char *believe_scores(const struct study *st, const struct msg_event *e);
/* Checks that a stored blob is a model file: 1, 0 = it is not, and the log says why, -1. */
int believe_model(struct ctl *ctl, const char *sha256, struct err *err);

#endif
