/* gp_train.h - which trials a Gaussian process learns from, and what it is told of them. Pure.
 *
 * The level modelled is the highest with enough results (max(d + 1, 8)), or else the one with the most. Trials that ended
 * or wait below it stand, in order of level and value, between its median and its worst, failures at its worst. Targets
 * are values standardised by the better half; the worse ones are compressed, so that long tails and infinities do no
 * harm, and scaling all values changes nothing. Past GP_TARGETS trials: the better half of the places goes to the
 * best, a quarter to the newest, the rest evenly over the ranks. */
#ifndef SEARCH_SAMPLERS_GP_GP_TRAIN_H
#define SEARCH_SAMPLERS_GP_GP_TRAIN_H

#include "search/contract/history.h"

enum { GP_TARGETS = 300 };

struct gp_train {
    int n;
    int rows[GP_TARGETS]; /* of the history, best first */
    double targets[GP_TARGETS];
    uint64_t hash; /* of trials and targets, never 0: same hash, same set */
};
void gp_train_make(struct gp_train *t, const struct history *h, int d);

#endif
