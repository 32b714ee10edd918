/* plan.h - decisions in the order of a virtual clock: deterministic studies (CONTRACTS section 5). Which trial runs when is
 * decided on virtual workers whose clock counts cost units, never by which runner asks or answers first. */
#ifndef CONTROLLER_DECIDE_PLAN_H
#define CONTROLLER_DECIDE_PLAN_H

#include "controller/decide/action.h"
#include "controller/decide/search.h"

void plan_init(struct study *st);
/* Goes on as far as results are known: 1 = actions, 0 = nothing to do before another result is known, -1. After a load it
 * starts at the beginning and meets the rows of what it had done. */
int plan_next(struct study *st, struct actions *out, struct err *err);
/* What the trial is to do at this level, when plan_next has nothing more: to run on, to stop, or to pause until the virtual
 * clock comes to it. */
struct sched_decision plan_said(const struct study *st, int64_t number, int level);

#endif
