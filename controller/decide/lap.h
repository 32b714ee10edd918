/* lap.h - the last lap. Successive halving sends few trials to the top of their ladder: one in nine
 * waits for eight others. In a short search of a family whose trials take a tenth of the time, so many
 * never come, and the best trial ends as it paused, boosting with a third of its rounds. New trials
 * that start when the time is nearly over get no further either. So when what is left is just enough
 * for it, the best paused trial of the leading family goes on to its top in their place.
 *
 * Not networks: their lower levels are a part of the epochs of one fold, which says too little of what
 * they become, and the rest of a trial costs fifteen times as much (measured on tables of 120 rows:
 * docs/measurements/2026-11-24.md, The surest of few rows). */
#ifndef CONTROLLER_DECIDE_LAP_H
#define CONTROLLER_DECIDE_LAP_H

#include "controller/decide/action.h"
#include "controller/decide/search.h"

/* Whether a paused trial should go on to its top now: 1 and its number, 0, or -1. Live studies only. */
int lap_wanted(struct study *st, int64_t *number, struct err *err);
/* The paused trial of this family that is highest on its ladder, the best of them; 0 = none. */
int64_t lap_best_paused(const struct study *st, int family);
/* What it takes to the top of its ladder, in ms: from what it took, by its family's formula of the
 * levels, in which the speed of the machine cancels. NaN = an error. */
double lap_need_ms(struct study *st, int64_t number, struct err *err);

#endif
