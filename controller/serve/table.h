/* table.h - what happens when the file of a study's table is missing or damaged. That is neither
 * the trial's fault nor the runner's.
 *
 * Before a grant the controller looks at its own file. If the file is gone or damaged, it is made
 * again from the file that the user uploaded, if that one is whole; otherwise the study pauses at
 * once, with a sentence that names the file. A failure that only a runner sees (reason `data`) is
 * tried again after a pause, which doubles each time, and the fifth in a row pauses the study.
 * Called by dispatch.c, message.c and turn.c; api/study.c resets the count when a user resumes. */
#ifndef CONTROLLER_SERVE_TABLE_H
#define CONTROLLER_SERVE_TABLE_H

#include "controller/state/study.h"
#include "store/runner.h"

/* Whether trials of this study may be granted to the runner that asks: 1, 0 = not now (the study
 * may have been paused by this), -1. */
int table_check(struct study *st, const struct msg_ask *ask, struct err *err);
/* A runner could not read the table. detail is what the runner says; it may be NULL. */
int table_failed(struct study *st, const char *detail, struct err *err);
/* A trial of the study got an answer, or a user resumed it: the next failure is a first one. */
void table_worked(struct study *st);

void table_tick(struct ctl *ctl);         /* ends the pauses that are over */
int64_t table_due(const struct ctl *ctl); /* monotonic ms when the next one is over */

#endif
