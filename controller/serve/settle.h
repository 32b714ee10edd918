/* settle.h - the consequences of what happened to a study; see settle.c. */
#ifndef CONTROLLER_SERVE_SETTLE_H
#define CONTROLLER_SERVE_SETTLE_H

#include "controller/state/study.h"

/* Draws all consequences of what changed. Called at the end of each request that touched the study. */
int study_settle(struct study *st, struct err *err);
int study_settle_all(struct ctl *ctl, struct err *err);

#endif
