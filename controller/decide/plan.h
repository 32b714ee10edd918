/* plan.h - deterministic studies (CONTRACTS section 5): which trial runs when is decided on virtual workers whose clock counts
 * cost units, never by who asks or answers first. */
#ifndef CONTROLLER_DECIDE_PLAN_H
#define CONTROLLER_DECIDE_PLAN_H

#include "controller/state/study.h"

enum { PLAN_WORKERS = 16 };

void plan_init(struct study *st);
void plan_fini(struct study *st);
/* Goes on as far as results are known. After a load it starts at nothing and meets the rows of what it had done. */
int plan_advance(struct study *st, struct err *err);
/* Is the decision about this trial at this level taken? 1 with what to do, 0 = not yet, -1. */
int plan_decision(struct study *st, int64_t number, int level, struct sched_decision *out,
                  struct err *err);

#endif
