/* ensemble.h - whether a study ends with an ensemble of its best models, and of which they are
 * chosen. An ensemble is made by a task of a runner when the search is over
 * (trial-runner/worker/worker_ensemble.c), from files that trials left with their models. */
#ifndef CONTROLLER_DECIDE_ENSEMBLE_H
#define CONTROLLER_DECIDE_ENSEMBLE_H

#include "controller/state/study.h"

/* Trials of this study are to keep their predictions: models are fold models that ship as they are,
 * and the score alone decides which ships. */
bool ensemble_keeps(const struct study *st);
/* The study should make one now. */
bool ensemble_wants(const struct study *st);
/* Up to `most` numbers of trials whose models may become members, best first; returns how many. */
int ensemble_candidates(const struct study *st, int64_t *out, int most);

#endif
