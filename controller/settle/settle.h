/* settle.h - what follows from what happened to a study, and carrying it out; see settle.c. Called
 * by everybody who runs a request: the verbs in api/, serve/ for runners, and the tick. */
#ifndef CONTROLLER_SETTLE_SETTLE_H
#define CONTROLLER_SETTLE_SETTLE_H

#include "controller/decide/search.h"

/* Decides and carries out everything that follows from the changes so far, until nothing more
 * follows. Called at the end of each request that touched the study. */
int study_settle(struct study *st, struct err *err);
int study_settle_all(struct ctl *ctl, struct err *err); /* all studies that need it */
/* Does what is due by the clock: ends searches whose time is used, and marks studies that waited
 * for a time. */
int study_tick_all(struct ctl *ctl, struct err *err);
int64_t study_due(const struct ctl *ctl); /* monotonic ms when something is due next */

/* Before a grant of a live study: creates or promotes trials until `want` wait in the queue, or no
 * more may be made. Without effect on deterministic studies, whose trials are created by their
 * plan. */
int settle_fill(struct study *st, int want, struct err *err);
/* Before a grant, while the validation is undecided. Afterwards it is decided, or study.probe is
 * the only trial that may run. sig is the numeric class of the runner that asks. */
int settle_probe(struct study *st, const char *sig, struct err *err);
/* The probe's trial ended after this time of fitting (0 = it gave no answer): decides the
 * validation, unless that was done. */
int settle_validation(struct study *st, int64_t fit_us, struct err *err);
/* A trial has just reported this level: says what it is to do now. */
int settle_report(struct study *st, int64_t number, int level, struct sched_decision *out,
                  struct err *err);
/* Creates a user's trial with the next number. Call settle_begun before, because that number may
 * have been promised to a suggestion under way, whose trial is then created first. */
int settle_adopt(struct study *st, const struct config *c, enum trial_source source,
                 int64_t retry_of, struct err *err);
int settle_begun(struct study *st, struct err *err);

#endif
