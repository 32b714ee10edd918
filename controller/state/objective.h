/* objective.h - what a completed trial is worth by each objective that a spec can name: its score,
 * its time of fitting, its time of prediction, its model's size. Worth is always such that larger
 * is better, and NaN = unknown. The worth of a cost is minus its logarithm: that changes no
 * comparison, and it makes a saving from 2 s to 1 s count as much as one from 200 ms to 100 ms in
 * the box that a front's volume is measured by. Used by board.c, view/analysis.c, and decide/,
 * which tells samplers. */
#ifndef CONTROLLER_STATE_OBJECTIVE_H
#define CONTROLLER_STATE_OBJECTIVE_H

#include "controller/state/study.h"

int objective_count(const struct study *st); /* at least 1: the score */
double objective_worth(const struct study *st, const struct trial_mem *t, enum spec_objective o);
/* The worth by all objectives of the study: the score first, then the others in the order of the
 * spec, then NaN up to the end of the array. */
void objective_all(const struct study *st, const struct trial_mem *t,
                   double out[SPEC_MAX_OBJECTIVES]);
/* Whether a is at least as good as b in each objective of the study, and better in one of them.
 * Both are scored trials; a cost that is unknown is the worst. */
bool objective_dominates(const struct study *st, const struct trial_mem *a,
                         const struct trial_mem *b);

#endif
