/* adjust_private.h - what the files of ml/adjust/ share. */
#ifndef ML_ADJUST_ADJUST_PRIVATE_H
#define ML_ADJUST_ADJUST_PRIVATE_H

#include "ml/adjust/adjust.h"
#include "ml/adjust/adjust_fit.h"

/* Probabilities are kept away from 0 and 1 by this, where their logarithms are taken. */
#define ADJUST_LEAST_P 1e-12

double adjust_log(double p);
double adjust_log_odds(double p);
/* How large residuals are where this is predicted. */
double adjust_size_at(const struct adjust_intervals *v, double prediction);

static inline double adjust_weight(const struct adjust_rows *r, int64_t i)
{
    return r->weight ? r->weight[i] : 1.0;
}

/* ---- each for all rows, and for the rows of all parts but one (-1 = all) ---- */

/* calibrate.c. loss[n]: the loss of each row, by what the rows of other parts say of it. False = it
 * has no calibration: too few rows, one class. */
bool adjust_calibrate(const struct adjust_rows *r, int without, struct adjust *out);
/* Fills weight[n]: what a row counts in the loss. */
void adjust_loss_weights(const struct adjust_rows *r, double *weight);
double adjust_row_loss(const struct adjust_rows *r, const float *p, int64_t i);

/* threshold.c. p[n]: probabilities, calibrated if they are to be. Fills *out; 0 = all p are equal, or
 * there is one class only. Fails without memory. */
int adjust_tune(const struct adjust_rows *r, const float *p, int without, double *out,
                struct err *err);

/* intervals.c. Fails without memory. */
int adjust_spread(const struct adjust_rows *r, struct adjust_intervals *out, struct err *err);

#endif
