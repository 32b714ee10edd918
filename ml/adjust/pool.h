/* pool.h - the log-linear pool: several models' probabilities as one, by the weighted sum of their
 * logarithms, scaled to the sum 1 (Genest and Zidek, Combining probability distributions, Statistical
 * Science 1986, section 3). Of two classes the log-odds are added.
 *
 * Weights may have any sign and need not add up to 1: a model with a weight below 0 takes away what
 * others say as it does. Each probability is at least POOL_LEAST_P, so that one model that is certain
 * and wrong does not decide alone. Pure, in double, in the order of the calls. Called by ml/model/ to
 * predict and by ml/ensemble/ to find weights. */
#ifndef ML_ADJUST_POOL_H
#define ML_ADJUST_POOL_H

#include <stdint.h>

#define POOL_LEAST_P 1e-5
/* A weight beyond is no weight. */
#define POOL_MOST_WEIGHT 100.0

/* The logarithm of a probability as it counts. NaN stays NaN. */
double pool_log(double p);
/* The terms of one model for n rows: sum[n][outputs] += weight x logarithm of p[n][outputs], or of one
 * output (two classes) weight x log-odds. NaN stays NaN. */
void pool_add(double weight, const float *p, int outputs, int64_t n, double *sum);
/* The probabilities that the sums stand for. */
void pool_end(const double *sum, int outputs, int64_t n, float *out);

#endif
