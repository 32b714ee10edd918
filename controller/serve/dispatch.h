/* dispatch.h - which work a device gets when it asks: a task, or else a group of trials of one
 * study that can be trained together. Called by wait.c. */
#ifndef CONTROLLER_SERVE_DISPATCH_H
#define CONTROLLER_SERVE_DISPATCH_H

#include "controller/state/ctl.h"
#include "controller/state/study.h"

struct runner;
struct gang_seats;

/* Grants work to the device of the first seat: 1 = the seats with a grant have work, the first one
 * and, if that is a trial of several devices, others, and rows and leases say so; 0 = there is no
 * work for it now; -1. */
int dispatch_grant(struct ctl *ctl, struct gang_seats *seats, struct err *err);
/* Gives this trial of a study with a space of its own (spec.is_own) to a client of the user's. r:
 * the runner that stands for all such clients (api/ask.c). row: the trial's, as it is now; to be
 * freed by trial_row_fini, also after an error. */
int dispatch_own(struct study *st, struct runner *r, const char *client, int64_t number,
                 struct trial_row *row, struct err *err);
int64_t dispatch_own_next(const struct study *st); /* number of the next such trial; 0 = none */
/* Whether there may be work for this runner. Reads memory only, so it is cheap; a yes may turn out
 * to be wrong. */
bool dispatch_may(struct ctl *ctl, const struct runner *r);

#endif
