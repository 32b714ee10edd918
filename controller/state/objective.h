/* objective.h - what a completed trial is worth by each objective that a spec can name: its score, and what it costs.
 * Larger is better throughout, NaN = unknown; costs by the logarithm, which changes no front. Private to controller/. */
#ifndef CONTROLLER_STATE_OBJECTIVE_H
#define CONTROLLER_STATE_OBJECTIVE_H

#include "controller/state/study.h"

int objective_count(const struct study *st); /* at least 1 */
double objective_worth(const struct study *st, const struct trial_mem *t, enum spec_objective o);
/* All objectives of the study, the score first, then the others in the order of the spec; NaN after the last. */
void objective_all(const struct study *st, const struct trial_mem *t,
                   double out[SPEC_MAX_OBJECTIVES]);
/* Of two scored trials, a is at least as good in each objective of the study and better in one; what is unknown is worst. */
bool objective_dominates(const struct study *st, const struct trial_mem *a,
                         const struct trial_mem *b);

#endif
