/* gp_train.h - chooses the trials that a Gaussian process learns from, and the target of each.
 * Pure.
 *
 * One level is modelled: the highest that has enough results (max(d + 1, 8)), otherwise the one
 * with the most. A trial that ended or waits below that level gets a target between the median and
 * the worst of the level, in order of level and value. A failure gets the worst. Targets are values
 * standardised by the better half. Worse values are compressed, so long tails and infinities do no
 * harm. Scaling all values by a factor changes nothing.
 *
 * Of more than GP_TARGETS trials, half of the places go to the best, a quarter to the newest, and
 * the rest is spread evenly over the ranks. */
#ifndef SEARCH_SAMPLERS_GP_GP_TRAIN_H
#define SEARCH_SAMPLERS_GP_GP_TRAIN_H

#include "search/contract/history.h"

enum { GP_TARGETS = 300 }; /* a suggestion costs their number squared per prediction */

struct gp_train {
    int n;
    int rows[GP_TARGETS]; /* of the history, best first */
    double targets[GP_TARGETS];
    uint64_t hash; /* of trials and targets, never 0; equal hashes mean equal sets */
};
void gp_train_make(struct gp_train *t, const struct history *h, int d);

#endif
