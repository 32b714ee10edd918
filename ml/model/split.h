/* split.h - which rows a model may see: test rows, and folds that are stratified by class
 * (regression: by rank of the target). Pure functions of (seed, target), equal on every machine.
 * Called by data.c. */
#ifndef ML_MODEL_SPLIT_H
#define ML_MODEL_SPLIT_H

#include "base/err.h"
#include "ml/metric/metric.h"

#include <stdint.h>

enum { SPLIT_NONE = 254, SPLIT_TEST = 255, SPLIT_MAX_FOLDS = 20 };
/* fold[i] becomes 0 to k - 1, SPLIT_TEST, or SPLIT_NONE where the target is missing (y NaN): such a
 * row is neither trained on nor scored. y: as in target.h. test_fraction in [0, 1): above 0 at
 * least one row is set apart. A class with fewer rows than folds is spread as far as it goes. k (2
 * to SPLIT_MAX_FOLDS) is lowered to the number of training rows; fewer than 2 of them are an error. */
int split_make(enum ml_task task, const double *y, int64_t n, int n_classes, double test_fraction,
               int *k, uint64_t seed, uint8_t *fold, struct err *err);

#endif
