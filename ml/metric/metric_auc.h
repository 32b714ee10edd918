/* metric_auc.h - the area under the ROC curve and its standard error (metric_auc.c). Called by metric.c alone.
 *
 * pred: n x width, row-major; width 1 = scores of the positive class, else one score a class. y: class indices. With a
 * score a class the result is the mean of each class against the rest, weighted by the number of rows of the class.
 * term: n doubles of scratch, used only then. */
#ifndef ML_METRIC_METRIC_AUC_H
#define ML_METRIC_METRIC_AUC_H

#include "base/err.h"

#include <stdint.h>

int metric_auc(const float *pred, const double *y, int64_t n, int width, double *term,
               double *value, double *se, struct err *err);

#endif
