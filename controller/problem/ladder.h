/* ladder.h - the levels of a family's ladder as the scheduler counts them.
 *
 * Some families have a level that repeats the level below it on all folds (family.adds_folds). With
 * a holdout there is one fold only, so the two levels give the same result. The scheduler then
 * counts them as one level ("the short ladder"), and a trial that is sent there runs to the higher
 * of the two. Without this a trial would have to be among the best twice for one result.
 *
 * Only the scheduler counts this way. Rows, the journal and the runners use the family's own
 * levels; propose.c translates in both directions. Trials that were made before the validation was
 * decided (probe.c) keep the ladder on which they were started. */
#ifndef CONTROLLER_PROBLEM_LADDER_H
#define CONTROLLER_PROBLEM_LADDER_H

#include "controller/problem/problem.h"

/* Number of levels of this family in this study, by the family's own count. */
int ladder_levels(const struct problem *p, const struct family *f);
/* True if the trial of this number is on the short ladder. */
bool ladder_is_short(const struct problem *p, int64_t number, const struct family *f);
/* The highest level as the scheduler counts. */
int ladder_top(const struct problem *p, const struct family *f, bool is_short);
/* From the family's count to the scheduler's, and back. */
int ladder_to_scheduler(const struct family *f, bool is_short, int level);
int ladder_to_family(const struct family *f, bool is_short, int level);
/* True if a score at this level of the family covers all rows that validation scores. Such a score
 * can be ranked beside those of complete trials. */
bool ladder_is_whole(const struct problem *p, const struct family *f, const double *params,
                     int level);

#endif
