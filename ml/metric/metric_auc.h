/* metric_auc.h - private to metric.c: the area under the ROC curve. term: n doubles of scratch. */
#ifndef ML_METRIC_METRIC_AUC_H
#define ML_METRIC_METRIC_AUC_H

#include "ml/metric/metric.h"

int metric_auc(enum ml_task task, const float *pred, const double *y, int64_t n, int k,
               double *term, double *value, double *se, struct err *err);

#endif
