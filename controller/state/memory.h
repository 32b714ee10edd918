/* memory.h - forecasts of the memory that a trial and its data take in a worker. Dispatch grants
 * only as many trials to a device as fit by these forecasts. A forecast is the family's formula, in
 * which the size of trees is corrected by what was measured: for this trial at its last level, or
 * else for the study's other trials of the family. */
#ifndef CONTROLLER_STATE_MEMORY_H
#define CONTROLLER_STATE_MEMORY_H

#include "controller/state/study.h"

/* Bytes of a trial that trains from level `from` to row->run_to, with all its folds; 0 = the family
 * has no formula. */
int64_t memory_of_trial(const struct study *st, const struct trial_mem *t,
                        const struct trial_row *row, int from);
/* The expected size of the trial's trees / their size by the formula: more than 0. */
double memory_growth(const struct study *st, const struct trial_mem *t);
/* Bytes that all trials of the study in one process share: the mapped table, its bins or encoded
 * rows. */
int64_t memory_of_data(const struct study *st);
/* Takes in the growth that a worker measured when the trial reached a level; 0 = it could not say.
 * A trial's newest measurement takes the place of its former one. */
void memory_note(struct study *st, struct trial_mem *t, double growth);

#endif
