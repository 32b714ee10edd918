/* adjust_fit_private.h - the three things that are learnt, as adjust_fit.c asks for them. Included by
 * ml/adjust/ alone. */
#ifndef ML_ADJUST_ADJUST_FIT_PRIVATE_H
#define ML_ADJUST_ADJUST_FIT_PRIVATE_H

#include "ml/adjust/adjust_fit.h"
#include "ml/adjust/adjust_private.h"

static inline double adjust_weight(const struct adjust_rows *r, int64_t i)
{
    return r->weight ? r->weight[i] : 1.0;
}

/* What one more row has of the weight of all rows and itself: it counts 1, or what the others count in
 * the mean where that is less. n of the rows, one of `every`, count `some` together. */
static inline double adjust_unknown(double some, int64_t n, int64_t every)
{
    double one = some < (double)n ? some / (double)n : 1;

    return one / (some * (double)MAX(every, 1) + one);
}

/* ---- each for all rows, and for the rows of all parts but one (-1 = all) ---- */

/* calibrate.c. False = there is none: too few rows, one class, a slope that cannot be. */
bool adjust_calibrate(const struct adjust_rows *r, int without, struct adjust *out);
/* Fills weight[n]: what a row counts in the loss; and the loss of one row. */
void adjust_loss_weights(const struct adjust_rows *r, double *weight);
double adjust_row_loss(const struct adjust_rows *r, const float *p, int64_t i);

/* threshold.c. p[n]: probabilities, calibrated if they are to be. Fills *out; 0 = all p are equal, or
 * there is one class only. Fails without memory. */
int adjust_tune(const struct adjust_rows *r, const float *p, int without, double *out,
                struct err *err);

/* intervals.c. Fails without memory. */
int adjust_spread(const struct adjust_rows *r, struct adjust_intervals *out, struct err *err);

#endif
