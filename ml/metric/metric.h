/* metric.h - scores of predictions. Binary probabilities are of the positive class; multiclass n x k row-major;
 * regression one value a row. Sums in fixed order in double: the result does not depend on threads. */
#ifndef ML_METRIC_METRIC_H
#define ML_METRIC_METRIC_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum ml_task { ML_BINARY = 1, ML_MULTICLASS = 2, ML_REGRESSION = 4 };
enum metric_id {
    METRIC_AUC,
    METRIC_LOGLOSS,
    METRIC_ACCURACY,
    METRIC_BALANCED_ACCURACY,
    METRIC_F1,
    METRIC_RMSE,
    METRIC_MAE,
    METRIC_R2,
    METRIC_POISSON,
    METRIC_PINBALL_05,
    METRIC_PINBALL_10,
    METRIC_PINBALL_25,
    METRIC_PINBALL_50,
    METRIC_PINBALL_75,
    METRIC_PINBALL_90,
    METRIC_PINBALL_95,
    METRICS
};

struct metric_info {
    const char *name;
    bool larger_is_better;
    int tasks; /* mask of enum ml_task; auc on multiclass = one-vs-rest, weighted by class size */
    bool is_smooth;  /* usable for choosing along free axes; the others choose by log loss */
    double quantile; /* of the pinball loss; 0 = another metric */
};
const struct metric_info *metric_info(enum metric_id id);
int metric_parse(const char *name, enum metric_id *out, struct err *err); /* names the nearest */
enum metric_id metric_default(enum ml_task task);                         /* auc, logloss, rmse */

#define METRIC_LEAST_COUNT 1e-7
/* pred: n (binary, regression) or n x k (multiclass) floats. y: class index (binary: 1 = positive) or target value.
 * *se = standard error from rows (DeLong for auc; NaN when undefined). One class only: auc is NaN and ERR_ARG. Poisson
 * deviance: y >= 0, else ERR_ARG; predictions below METRIC_LEAST_COUNT, which no count has, are taken as that. */
int metric_score(enum metric_id id, enum ml_task task, const float *pred, const double *y,
                 int64_t n, int k, double *value, double *se, struct err *err);

#endif
