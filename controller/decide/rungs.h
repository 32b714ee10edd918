/* rungs.h - what a scheduler's rungs look like, as JSON for people who watch a study. Nothing
 * decides by it. Called by view/show.c and api/page.c; settle/ship.c stores the last picture when
 * the search ends. */
#ifndef CONTROLLER_DECIDE_RUNGS_H
#define CONTROLLER_DECIDE_RUNGS_H

#include "controller/decide/search.h"

/* A new array with one object for each bracket of each family's ladder, in the scheduler's order:
 *   {family, max_level, bracket, rungs: [{rung, level, resource, size, running, waiting, promoted,
 *    done, best}]}
 * resource is the share of a full run's cost that a trial has spent at this level, by the family's
 * formula at its first configuration; size is the number of trials planned, or null; best is a
 * score, or null. The answer is a JSON null if the scheduler has no rungs. After the search has
 * ended the rungs are shown as they stood then, except that trials which waited or ran count as
 * done at their rung. Only the last RUNGS_MAX rungs are shown, so that the answer stays small. */
enum { RUNGS_MAX = 1000 };
json_t *rungs_json(const struct study *st);
/* The rungs as the scheduler describes them now, as a new array; NULL = the study has no search. */
json_t *rungs_now(const struct study *st);

#endif
