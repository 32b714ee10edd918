/* honest.h - what the best trial's score is worth to a stranger. The best of many scores is better
 * than its model is, because chance helped to choose it. Trials tell their scores block by block of
 * rows (ml/fit/fit_blocks.c), and from these follow
 *
 * - an estimate of the score of what is chosen, by the bootstrap of blocks: the best trial of the
 *   blocks that were drawn is scored on those that were not (Tsamardinos, Greasidou and Borboudakis,
 *   Bootstrapping the out-of-sample predictions for efficient and accurate cross-validation, Machine
 *   Learning 107, 2018: BBC-CV; here with blocks in place of rows, so that a score needs no
 *   predictions);
 * - whether that is better than the baseline by more than its error, or where blocks are few, as forward
 *   in time, by the signs of its gains; an area under the curve of few positive rows by the error of
 *   chance; a trial that its rungs let pass on the other folds, too;
 * - an estimate of the score of an ensemble. Its own score is nested over the folds, but its models
 *   were picked from all trials by all rows, and so was the best single model that is nested beside
 *   it (ml/ensemble/blend.h). So that flatters both alike: by as much as the single one is better
 *   than the bootstrap says, which draws anew among all trials. The bootstrap of the ensemble itself,
 *   which the same paper allows, would need the predictions of all trials.
 *
 * A function of the rows alone: no clock, no order of arrival. Used by board.c, view/ and settle/. */
#ifndef CONTROLLER_STATE_HONEST_H
#define CONTROLLER_STATE_HONEST_H

#include "controller/state/study.h"

/* HONEST_BLOCKS: as many as a trial of many rows has, less what its folds do not divide (FIT_BLOCKS of
 * ml/fit/fit.h). */
enum { HONEST_MAX_BLOCKS = 64, HONEST_BLOCKS = 32 };

/* The estimate for this completed trial, as the best of its study. */
struct honest honest_of(const struct study *st, int64_t number);
/* The estimate for an ensemble of the study's models: score and error as it tells them, and what the
 * best single model has that was chosen in the same way; best: the study's best trial. NaN = unknown.
 * Its gain is not known. */
struct honest honest_of_ensemble(const struct study *st, int64_t best, double score, double se,
                                 double single);
/* The standard error of the difference between two trials on equal rows; NaN = unknown. */
double honest_error(const struct study *st, int64_t a, int64_t b);
/* Whether the trial is better than the baseline by more than the error of that. True where it is not
 * known. Quick where it is beyond doubt. */
bool honest_beats_baseline(const struct study *st, int64_t number);
/* The baseline's number, if it is completed; 0 = none. */
int64_t honest_baseline(const struct study *st);

#endif
