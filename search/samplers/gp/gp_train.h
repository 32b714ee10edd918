/* gp_train.h - chooses the trials that a Gaussian process learns from, and the number that each
 * stands for (its target). Pure.
 *
 * One level is modelled: the highest that has enough results (max(d + 1, 8), with d parameters),
 * otherwise the one with the most. A trial that ended or waits below that level gets a target
 * between the median and the worst of the level, in order of level and value. A failed trial gets
 * the worst.
 *
 * Targets are the values, standardised by the mean and spread of their better half. Values worse
 * than that are compressed, so that long tails and infinities do no harm. Multiplying all values by
 * a factor changes nothing.
 *
 * Where trials know the standard error of their values (observation.error), each has a share of the
 * noise: its variance over the mean of all that are known, between 1/16 and 16. Without, it is 1.
 *
 * If there are more than GP_TARGETS trials, some are left out: of the oldest, half of the places go to
 * the best, a quarter to the newest, and the rest is spread evenly over the ranks; all that came after
 * them stay. The oldest are counted anew after each 60 results, so that the set changes seldom. */
#ifndef SEARCH_SAMPLERS_GP_GP_TRAIN_H
#define SEARCH_SAMPLERS_GP_GP_TRAIN_H

#include "search/contract/history.h"

/* The most trials; the cost of a prediction grows with the square of their number. */
enum { GP_TARGETS = 300 };

struct gp_train {
    int n;
    int n_values; /* of all trials: those that did not fail */
    /* rows of the history, best first */
    int rows[GP_TARGETS];
    double targets[GP_TARGETS], shares[GP_TARGETS];
    /* a hash of the trials and targets, never 0; equal hashes mean equal sets */
    uint64_t hash;
};
/* d: the number of parameters that the model sees. */
/* is_without_failed: failed trials are left out, because they say nothing (gp_luck.h). */
void gp_train_make(struct gp_train *t, const struct history *h, int d, bool is_without_failed);

#endif
