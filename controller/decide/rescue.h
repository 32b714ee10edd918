/* rescue.h - when a search ends, a paused trial may have the best score of all: it was never sent to
 * the top of its ladder, but at its level it was scored on all rows, and its model lies in its
 * checkpoint. Such a trial is granted once more with a deadline that is already over, so that it
 * completes with what it has. What ships is then the best that was found. Where an ensemble is to be
 * made (ensemble.h), further paused trials that are good enough for it complete too, as many as the
 * time allows.
 *
 * A trial that was scored on some folds only completes, too, if it is far better than all others: then
 * it would ship if the end had cut it there. */
#ifndef CONTROLLER_DECIDE_RESCUE_H
#define CONTROLLER_DECIDE_RESCUE_H

#include "controller/decide/action.h"

/* The study finishes: picks trials, if there are any and time for them: 1 = actions, 0, -1. */
int rescue_next(struct study *st, struct actions *out, struct err *err);
/* One of them is queued for a runner, and may still wait. */
bool rescue_waits(const struct study *st);
/* This trial is one of them, and it waits: nobody may cancel it yet. */
bool rescue_holds(const struct study *st, int64_t number);
/* The best of those that wait; 0 = none does. */
int64_t rescue_first(const struct study *st);
/* Monotonic ms until which they may wait; INT64_MAX = none does. */
int64_t rescue_due(const struct study *st);

#endif
