/* target_limits.h - the least and the most that a model of numbers may predict.
 *
 * A straight line that is learnt in logarithms, or a column with one cell a hundred times too large,
 * can take a single prediction anywhere: millions where the training rows have 326 to 18,823. What
 * is beyond the limits counts as the limit, in validation, in the model file and in explanations
 * alike. They are wide, so that ordinary extrapolation stays as it is:
 *
 * any unit     the values of the training rows, and as far again beyond both ends.
 * TARGET_LOG   the most is further away where a quarter of the range of the logarithms leads further
 *              (half of it where errors count in logarithms, rmsle), for targets that grow by
 *              factors. The least is never below 0, because these targets are not.
 * counts       with a metric of targets from 0 on, the least is never below 0.
 *
 * Limits are in the unit of the table less target_shift, as target_back is. Intervals around a
 * prediction (ml/adjust/adjust.h) may reach beyond: they promise something of the truth.
 *
 * Called by data.c and artifact*.c. */
#ifndef ML_MODEL_TARGET_LIMITS_H
#define ML_MODEL_TARGET_LIMITS_H

#include "ml/metric/metric.h"
#include "ml/model/target_unit.h"

#include <stdbool.h>
#include <stdint.h>

/* All zero: there are none. */
struct target_limits {
    double least, most;
};

/* Whether there are any. */
bool target_limits_are(const struct target_limits *l);
/* Finite and in order, as a file of a stranger must be. */
bool target_limits_ok(const struct target_limits *l);
/* From the targets truth[i] (ml_data.truth) with use[i] != 0. None where all are equal. */
struct target_limits target_limits_of(const double *truth, const uint8_t *use, int64_t n,
                                      const struct target_unit *u, enum metric_id metric);
/* A learnt value as the model predicts it: target_back, held to the limits. What is not finite
 * stays, so that a fit that diverged is known as such. */
float target_predicted(const struct target_unit *u, const struct target_limits *l, float learnt);

#endif
