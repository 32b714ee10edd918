/* epochs.h - how the networks of a trial learned, epoch by epoch: what runners tell of it, what is stored, what the API
 * shows.
 *
 * A run is one time that the folds of a trial began anew; it is named by the level that they began with. Its JSON:
 *   {level, folds, metric, larger_is_better, epoch: [1, 2, ..], train_loss: [..], score: [..], learning_rate: [..],
 *    gradient_norm: [..], samples_per_s: [..], fence: [..]}
 * All lists have the same length, at most EPOCHS_POINTS, with null where a number is not known. A runner tells all that it
 * knows of its present run, thinned evenly, each time; this replaces what was there, so a message that is lost or comes twice
 * does no harm. What it read from a checkpoint it did not train itself: there samples_per_s is null, and the speed and the
 * fence (which lease trained the epoch) of what was stored before stay.
 *
 * While a trial runs, the last word is in its lease. It is stored when the trial reaches a rung, a checkpoint or its end. */
#ifndef CONTROLLER_STATE_EPOCHS_H
#define CONTROLLER_STATE_EPOCHS_H

#include "controller/state/ctl.h"

#include <stdbool.h>
#include <stdint.h>

enum { EPOCHS_POINTS = 256 };

/* What a runner told under this fence, as text; is_stored: and it is to outlive the lease. What is not as described above is
 * left out and logged. */
int epochs_take(struct ctl *ctl, int64_t trial, int64_t fence, const char *text, bool is_stored,
                struct err *err);
/* All runs of a trial by level, as a new list; is_live: its lease has told some of it. */
int epochs_list(struct ctl *ctl, int64_t trial, json_t **out, bool *is_live, struct err *err);

#endif
