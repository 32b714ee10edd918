/* split.h - which rows a model may see. Test rows by a hash of (seed, row), stratified folds by class (regression: by
 * rank of the target in blocks of k). Pure functions of (seed, target), equal on every machine. */
#ifndef ML_MODEL_SPLIT_H
#define ML_MODEL_SPLIT_H

#include "base/err.h"
#include "ml/metric/metric.h"

#include <stdint.h>

enum { SPLIT_NONE = 254, SPLIT_TEST = 255, SPLIT_MAX_FOLDS = 20 };
/* fold[i] in 0..k-1, SPLIT_TEST, or SPLIT_NONE where the target is missing (y NaN): such a row is neither trained on nor
 * scored. y as in metric.h. test_fraction in [0, 1): above 0 it sets apart at least one row. A class with fewer rows than
 * folds is spread as far as it goes. k (2..SPLIT_MAX_FOLDS) is lowered to the training rows there are; fewer than 2 is an
 * error. */
int split_make(enum ml_task task, const double *y, int64_t n, int n_classes, double test_fraction,
               int *k, uint64_t seed, uint8_t *fold, struct err *err);

#endif
