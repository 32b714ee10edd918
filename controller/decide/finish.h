/* finish.h - the end of a search: open work is ended, after a holdout the best configuration is fitted once more on all rows,
 * and the trial that ships is named. */
#ifndef CONTROLLER_DECIDE_FINISH_H
#define CONTROLLER_DECIDE_FINISH_H

#include "controller/decide/action.h"

#define FINISH_BY_USER "stopped by a user"

/* The next step of a study that finishes: 1 = actions, 0 = it waits for trials, a refit or the clock, -1. A restart in the
 * middle goes on where the rows are. */
int finish_next(struct study *st, struct actions *out, struct err *err);
int64_t finish_due(
    const struct study *st); /* monotonic ms when finish_next should be asked again */

#endif
