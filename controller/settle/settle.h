/* settle.h - the consequences of what happened to a study; see settle.c. */
#ifndef CONTROLLER_SETTLE_SETTLE_H
#define CONTROLLER_SETTLE_SETTLE_H

#include "controller/state/study.h"

/* Draws all consequences of what changed. Called at the end of each request that touched the study. */
int study_settle(struct study *st, struct err *err);
int study_settle_all(struct ctl *ctl, struct err *err);
/* By the clock: studies whose time is used, and those that wait for a time. When that is next, in monotonic ms. */
int study_tick_all(struct ctl *ctl, struct err *err);
int64_t study_due(const struct ctl *ctl);

/* Before a grant: as many trials as may be wait in the queue, `want` at most (studies in order of arrival). */
int settle_fill(struct study *st, int want, struct err *err);
/* Before a grant, while the validation is undecided: afterwards it is decided, or study.probe is the only trial to run. */
int settle_probe(struct study *st, const char *sig, struct err *err);
/* The probe's trial ended after this time of fitting; 0 = without an answer. Nothing when the validation is decided. */
int settle_validation(struct study *st, int64_t fit_us, struct err *err);
/* A trial has just reported this level: what it is to do now. */
int settle_report(struct study *st, int64_t number, int level, struct sched_decision *out,
                  struct err *err);
/* A user's trial gets the next number. settle_begun first: that number may be promised to a suggestion under way. */
int settle_adopt(struct study *st, const struct config *c, enum trial_source source,
                 int64_t retry_of, struct err *err);
int settle_begun(struct study *st, struct err *err);

#endif
