/* calibration.h - how far predictions can be taken at their word: groups of rows with like
 * predictions, and what happened in them.
 *
 * Called by `assay score`. */
#ifndef ML_METRIC_CALIBRATION_H
#define ML_METRIC_CALIBRATION_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct calibration_group {
    double weight; /* sum; the number of rows where they have no weights */
    int64_t rows;
    double lo, hi;              /* the smallest and the largest prediction */
    double predicted, observed; /* means */
    double se;                  /* of the mean observed; NaN for one row */
};

struct calibration {
    int n_groups;
    struct calibration_group *group; /* mem_free */
    /* sum of weight |observed - predicted| over the sum of the weights (Naeini, Cooper and
     * Hauskrecht, Bayesian binning into quantiles, 2015, equation 2) */
    double error;
    /* observed = intercept + slope x predicted; of probabilities on the logit scale, by maximum
     * likelihood (Cox, Two further applications of a model for binary regression, 1958). 0 and 1
     * are perfect. NaN where they are not determined. */
    double intercept, slope;
};

/* p[n]: probabilities (is_probability; y is 0 or 1) or values. weight: NULL or [n]. The rows are
 * sorted by p and cut into `groups` of as nearly equal weight as their order allows; equal
 * predictions stay together, so that there may be fewer. */
int calibration_of(const double *p, const double *y, const double *weight, int64_t n,
                   bool is_probability, int groups, struct calibration *out, struct err *err);
void calibration_fini(struct calibration *c);

#endif
