/* board.h - the leaderboard of a study: the numbers of its completed trials with a score, best
 * first, equal scores by number. It is kept sorted as trials end, so that a page of a board of
 * 100,000 trials costs no more than a page of a small one. Only trial.c and rows.c change it;
 * everybody reads it. */
#ifndef CONTROLLER_STATE_BOARD_H
#define CONTROLLER_STATE_BOARD_H

#include "controller/state/study.h"

/* Adds a completed trial; one without a score is left out. */
void board_add(struct study *st, int64_t number);
/* Sorts the board once, after a study's rows were read (study.is_filling): board_add only appends
 * then. */
void board_sort(struct study *st);
void board_remove(struct study *st, int64_t number); /* without effect if it is not there */
/* Whether a completed trial with this number and this record (family, score, costs) would be
 * among those whose artifacts are kept: the best CTL_KEEP_BEST of the study, the best
 * CTL_KEEP_FAMILY of its family, and in a study with several objectives those that no kept trial
 * beats in all of them. */
bool board_keeps(const struct study *st, int64_t number, const struct trial_mem *t);
int64_t board_rank(const struct study *st, int64_t number); /* from 1; the trial is on the board */
/* The trial that stands for the study; 0 = the board is empty. It is the first of the board, unless
 * that has a score of some folds only, which depends on which folds these were. It then counts only if
 * it is better than the baseline, and if on the first fold it is better than the best trial of all
 * folds by its own standard error and by what that trial's error is on one fold; or, where a trial's
 * score of the first fold is unknown, if it is better by BOARD_MARGIN standard errors of their
 * difference. Where what stands is not better than the baseline by more than the error of that
 * (honest.h), the baseline stands for the study. */
int64_t board_best(const struct study *st);
/* The same among the trials whose artifacts are kept; 0 = none. */
int64_t board_best_artifact(const struct study *st);
/* Whether one trial's score of some folds is so much better than the other's of all that it counts. */
bool board_is_far_better(const struct study *st, const struct trial_mem *t,
                         const struct trial_mem *than);
/* Whether a trial's score of some folds only is too weak to count beside the scores of all folds. */
bool board_outdoes(const struct study *st, const struct trial_mem *t);

#define BOARD_MARGIN 2

#endif
