/* ensemble.h - whether a study ends with an ensemble of its best models, and of which they are
 * chosen. An ensemble is made by a task of a runner (trial-runner/worker/worker_ensemble.c), from
 * files that trials left with their models: when the search is over, and before that halfway through
 * the time or after a minute, and again whenever the time that was used has doubled. The early one can
 * be downloaded while the search goes on, it ships if the last one does not come in time, and how long
 * it took says how much time to keep for the last one (budget.c).
 *
 * A deterministic study makes none early, because when that is depends on the clock. */
#ifndef CONTROLLER_DECIDE_ENSEMBLE_H
#define CONTROLLER_DECIDE_ENSEMBLE_H

#include "controller/state/study.h"

/* Trials of this study are to keep their predictions: models are fold models that ship as they are,
 * and the score alone decides which ships. */
bool ensemble_keeps(const struct study *st);
/* The study should make one now. */
bool ensemble_wants(const struct study *st);
/* While the search goes on: one should be made now. Cheap as long as it is not time for one. */
bool ensemble_is_due(const struct study *st);
/* The monotonic ms when it may be time for the next one; INT64_MAX = not by the clock alone. */
int64_t ensemble_due(const struct study *st);
/* Up to `most` numbers of trials whose models may become members, best first; returns how many. */
int ensemble_candidates(const struct study *st, int64_t *out, int most);

#endif
