/* folds.h - one score of several folds: their mean, weighted by rows, and the standard error of that.
 *
 * Rows that do not depend on each other tell the error within each fold, and folds are taken as
 * independent. Rows of one group, or of one stretch of time, err together, and no error over rows can
 * see that: a stretch in which the level has moved is predicted badly as a whole. There the folds are
 * what is drawn, and the error is that of the mean of their values, where it is the larger of the two
 * (the cluster is the unit: Cameron and Miller, A practitioner's guide to cluster-robust inference,
 * Journal of Human Resources 50, 2015). With few folds it is itself uncertain: of five, by a third.
 * Used by ml/fit/ and ml/ensemble/. */
#ifndef ML_METRIC_FOLDS_H
#define ML_METRIC_FOLDS_H

#include <stdbool.h>

struct folds {
    /* Whether rows of a fold err together. */
    bool err_together;
    /* private: how many folds, sums over them, and those of the squared weights times powers of the value
     * less that of the first */
    int n;
    double first, weight, sum, within, twice[3];
};

/* A fold without a value (NaN) is left out. se: the error over its rows; NaN = unknown. */
void folds_add(struct folds *f, double value, double se, double weight);
/* NaN = there was no fold with a value. */
double folds_mean(const struct folds *f);
/* NaN also where the error of a fold is unknown. */
double folds_error(const struct folds *f);

#endif
