/* ladder.h - a family's ladder as the scheduler counts it. With a holdout one fold is all there is, and a level that only
 * adds folds is the level below it: the scheduler counts the two as one, and a trial sent there runs to the higher. Else it
 * would have to be among the best twice for the same result. Levels elsewhere (rows, journal, runners) are the family's own.
 * Trials made before the validation was decided (probe.c) keep the ladder they were started on. */
#ifndef CONTROLLER_PROBLEM_LADDER_H
#define CONTROLLER_PROBLEM_LADDER_H

#include "controller/problem/problem.h"

int ladder_levels(const struct problem *p, const struct family *f);
bool ladder_is_short(const struct problem *p, int64_t number, const struct family *f);
int ladder_top(const struct problem *p, const struct family *f, bool is_short);
int ladder_to_scheduler(const struct family *f, bool is_short, int level);
int ladder_to_family(const struct family *f, bool is_short, int level);
/* The score at this level of the family is one over all rows that validation scores: it ranks with complete trials. */
bool ladder_is_whole(const struct problem *p, const struct family *f, const double *params,
                     int level);

#endif
