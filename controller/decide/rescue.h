/* rescue.h - when a search ends, a paused trial may have the best score of all: it was never sent to the top of its ladder,
 * but at its level it was scored on all rows, and its model lies in its checkpoint. One such trial is granted once more with
 * a deadline that is already over, so that it completes with what it has. What ships is then the best that was found. */
#ifndef CONTROLLER_DECIDE_RESCUE_H
#define CONTROLLER_DECIDE_RESCUE_H

#include "controller/decide/action.h"

/* The study finishes: picks the trial, if there is one and time for it: 1 = an action, 0, -1. */
int rescue_next(struct study *st, struct actions *out, struct err *err);
bool rescue_waits(const struct study *st); /* it is queued for a runner, and may still wait */
/* This is the trial, and it waits: nobody may cancel it yet. */
bool rescue_holds(const struct study *st, int64_t number);
int64_t rescue_due(
    const struct study *st); /* monotonic ms until which it may wait; INT64_MAX = it does not */

#endif
