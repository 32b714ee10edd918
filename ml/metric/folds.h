/* folds.h - the mean of several folds, weighted by rows, and the standard error of that.
 *
 * Rows that do not depend on each other tell the error within each fold, and folds are taken as
 * independent; one whose error is unknown is taken to be like the others. Rows of one group, or of
 * one stretch of time, err together, and no error over rows can see that: a stretch in which the level
 * has moved is predicted badly as a whole. There the folds are what is drawn, and the error is that of
 * the mean of their values, where it is the larger of the two (the cluster is the unit: Cameron and
 * Miller, A practitioner's guide to cluster-robust inference, Journal of Human Resources 50, 2015).
 * With few folds it is itself uncertain: of five, by a third. Pure. Used by metric_folds.h for scores,
 * and by ml/ensemble/ for gains. */
#ifndef ML_METRIC_FOLDS_H
#define ML_METRIC_FOLDS_H

#include <stdbool.h>

struct folds {
    /* Whether rows of a fold err together. */
    bool err_together;
    /* private: how many folds, and sums over them: sizes, values times sizes; squares of sizes of
     * folds with and without an error, and of errors times sizes; of squared sizes times powers of the
     * value less that of the first */
    int n;
    double first, size, sum, told, untold, within, twice[3];
};

/* A fold without a value (NaN) is left out. se: the error over its rows; NaN = unknown. */
void folds_add(struct folds *f, double size, double value, double se);
/* NaN = there was no fold with a value. */
double folds_mean(const struct folds *f);
/* NaN: no fold has one. */
double folds_error(const struct folds *f);

#endif
