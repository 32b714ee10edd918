/* rungs.h - what a scheduler's rungs look like, for those who watch. */
#ifndef CONTROLLER_DECIDE_RUNGS_H
#define CONTROLLER_DECIDE_RUNGS_H

#include "controller/state/study.h"

/* A new reference to an array, one object for each bracket of each family's ladder, in the order of the scheduler:
 *   {family, max_level, bracket, rungs: [{rung, level, resource: share of a full run's cost by the family's formula at
 *   its first configuration, size: trials planned | null, running, waiting, promoted, done, best: in the metric's own
 *   direction | null}]}
 * null when the scheduler has no rungs. Of a study whose search has ended, as they stood then, but what waited or ran
 * counts as done where it was. At most the last RUNGS_MAX rungs. */
enum { RUNGS_MAX = 1000 };
json_t *rungs_json(const struct study *st);
/* As the scheduler says now, a new reference; NULL without a scheduler. Kept with the study when its search ends. */
json_t *rungs_now(const struct study *st);

#endif
