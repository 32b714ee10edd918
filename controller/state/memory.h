/* memory.h - what a trial and its data will take of a worker's memory: the family's formula for the levels it runs, its
 * trees times what those of the trial, or of the study's trials of the family, took against it. */
#ifndef CONTROLLER_STATE_MEMORY_H
#define CONTROLLER_STATE_MEMORY_H

#include "controller/state/study.h"

/* A trial that trains from level `from` to row->run_to, with all its folds. 0 = the family has no formula. */
int64_t memory_of_trial(const struct study *st, const struct trial_mem *t,
                        const struct trial_row *row, int from);
double memory_growth(const struct study *st, const struct trial_mem *t); /* > 0 */
/* What trials of the study share in one process: the mapped table, its bins or encoded rows. */
int64_t memory_of_data(const struct study *st);
/* A trial reached a level, where its worker measured this (0 = it cannot say); the last word of a trial counts. */
void memory_note(struct study *st, struct trial_mem *t, double growth);

#endif
