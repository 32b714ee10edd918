/* explain_adjust.h - explanations of a model whose probabilities are calibrated (ml/adjust/adjust.h), or
 * whose numbers are held to limits (target_limits.h).
 *
 * Log-odds, and scores before softmax, are scaled as the calibration scales them, which is exact.
 * Values that add up to a probability are scaled by how much the calibrated one moves per unit of the
 * other (the rescale rule of explain_bag.h); of several classes by the ratio of the two. Called by
 * artifact*.c. */
#ifndef ML_MODEL_EXPLAIN_ADJUST_H
#define ML_MODEL_EXPLAIN_ADJUST_H

#include "ml/adjust/adjust.h"
#include "ml/model/explain_bag.h"

/* values: [n][inputs + 1] of a model that predicts classes, the base last. link: EXPLAIN_LOG_ODDS =
 * they add up to log-odds or to scores before softmax, EXPLAIN_SAME = to a probability. Of several
 * classes, of[n] says for which each row is explained, and p[n][classes] holds what was predicted
 * before the calibration (not read for scores). Fails without memory. */
int explain_adjust(const struct adjust *a, enum explain_link link, const int *of, const float *p,
                   int inputs, int64_t n, double *values, struct err *err);
/* values: [n][inputs + 1] of a model of numbers. Where base and values add up to less than `least` or
 * more than `most`, which are in the same unit, they are scaled so that they add up to the limit; so
 * is a base that is beyond. */
void explain_limit(double least, double most, int inputs, int64_t n, double *values);
/* weights: [outputs][width + 1] of a linear model, the score of the mean row last. */
void explain_adjust_weights(const struct adjust *a, double *weights, int outputs, int width);

#endif
