/* stage.h - a network that would take much of the time stops once on its way. In an automatic search
 * with a limit in time, a first trial of a family whose levels are parts of a fit runs to its highest
 * level at once (script.h). Where that is more than one part in 24 of the time by the family's
 * formula, which knows one machine only, it first runs to the level below, which trains one fold
 * for a part of its epochs. It goes on if its score there is near enough to what the others have on
 * that fold, and if the rest, by the time that this part took here, fits the time that is left: half of
 * it, or most of it where chance alone may have put it behind. Five
 * folds of a network that was far behind took two fifths of a search of ten seconds.
 *
 * Called by live.c and propose.c. */
#ifndef CONTROLLER_DECIDE_STAGE_H
#define CONTROLLER_DECIDE_STAGE_H

#include "controller/decide/search.h"

/* The level to which a new trial of source SRC_FIRST runs now; `to` is its highest one. */
int stage_first(const struct study *st, const struct config *c, int to);
/* What such a trial does that has this score at a level below its highest one. */
struct sched_decision stage_next(struct study *st, int64_t number, double score);

#endif
