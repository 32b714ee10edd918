/* board.h - the leaderboard of a study: numbers of completed trials with a score, best first, ties by number. Kept sorted
 * as trials end, so that a page of a board of 100,000 costs what a page of a small one does. */
#ifndef CONTROLLER_STATE_BOARD_H
#define CONTROLLER_STATE_BOARD_H

#include "controller/state/study.h"

void board_add(struct study *st, int64_t number);
void board_sort(struct study *st); /* after many were added in any order (study.is_filling) */
void board_remove(struct study *st, int64_t number);
/* Would a trial of this number, with this record (its family, its score, its costs), be among those whose artifacts are
 * kept: the best 10 of the study, the best 3 of its family, with several objectives the front, among the completed ones? */
bool board_keeps(const struct study *st, int64_t number, const struct trial_mem *t);
int64_t board_rank(const struct study *st, int64_t number); /* from 1; of one that is on it */
int64_t board_best(const struct study *st);                 /* number or 0 */
int64_t board_best_artifact(const struct study *st); /* the best one whose artifact is here, or 0 */

#endif
