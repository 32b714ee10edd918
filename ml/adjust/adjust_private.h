/* adjust_private.h - arithmetic that applying and learning share. Included by ml/adjust/ alone. */
#ifndef ML_ADJUST_ADJUST_PRIVATE_H
#define ML_ADJUST_ADJUST_PRIVATE_H

#include "ml/adjust/adjust.h"

/* Probabilities are kept away from 0 and 1 by this, where their logarithms are taken. */
#define ADJUST_LEAST_P 1e-12

double adjust_log(double p);
double adjust_log_odds(double p);
/* How large residuals are where this is predicted. */
double adjust_size_at(const struct adjust_intervals *v, double prediction);

#endif
