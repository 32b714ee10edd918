/* rescue.h - when a search ends, a paused trial may have the best score of all: it was never sent to the top of its ladder,
 * but at its level it was scored on all rows, and its model lies in its checkpoint. One such trial is granted once more with
 * a deadline that is over, so that it completes with what it has. What ships is then the best that was found. */
#ifndef CONTROLLER_DECIDE_RESCUE_H
#define CONTROLLER_DECIDE_RESCUE_H

#include "controller/state/study.h"

/* The study has begun to finish: picks the trial, if there is one and time for it, and queues it. */
int rescue_begin(struct study *st, struct err *err);
/* It is on its way: nobody may cancel it yet. */
bool rescue_holds(const struct study *st, int64_t number);
bool rescue_waits(const struct study *st); /* queued for a runner, and may still wait */
int64_t rescue_due(
    const struct study *st); /* monotonic ms until which it may wait; INT64_MAX = does not */

#endif
