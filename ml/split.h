/* split.h - which rows a model may see. Test rows by a hash of (seed, row), stratified folds by class (regression: by
 * rank of the target in blocks of k). Pure functions of (seed, target), equal on every machine. */
#ifndef ML_SPLIT_H
#define ML_SPLIT_H

#include "base/err.h"
#include "ml/metric.h"

#include <stdint.h>

enum { SPLIT_TEST = 255, SPLIT_MAX_FOLDS = 20 };
/* fold[i] in 0..k-1, or SPLIT_TEST. y as in metric.h; rows with a missing target (NaN) get SPLIT_TEST + error before. A
 * class with fewer rows than folds is spread as far as it goes. k is lowered to the rows there are, at least 2 rows. */
int split_make(enum ml_task task, const double *y, int64_t n, int n_classes, double test_fraction, int *k, uint64_t seed, uint8_t *fold, struct err *err);

#endif
