/* believe.h - what a runner says is checked before it counts: a score must be possible in its metric, a model must begin as
 * a model does. A broken or hostile runner shall not become the best of a study. */
#ifndef CONTROLLER_SERVE_BELIEVE_H
#define CONTROLLER_SERVE_BELIEVE_H

#include "controller/state/study.h"
#include "proto/msg.h"

/* Scores and errors of a rung, a final or a task's end, in the study's metric. NULL = possible, else what is not: a phrase. */
const char *believe_scores(const struct study *st, const struct msg_event *e);
/* The stored blob's beginning is that of a model file as long as it is: 1, 0 = it is not (logged), -1. */
int believe_model(struct ctl *ctl, const char *sha256, struct err *err);

#endif
