/* metric.h - scores of predictions, and their standard errors.
 *
 * Predictions: binary, the probability of the positive class; multiclass, n x k row-major;
 * regression, one value a row. Sums run in a fixed order in double, so threads do not change a
 * score. Called by fit/, by the CLI and by tests; the controller knows metrics by name. */
#ifndef ML_METRIC_METRIC_H
#define ML_METRIC_METRIC_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum ml_task { ML_BINARY = 1, ML_MULTICLASS = 2, ML_REGRESSION = 4 };
enum metric_id {
#define METRIC(ID, ...) METRIC_##ID,
#include "ml/metric/metric.def"
#undef METRIC
    METRICS
};

/* What a metric asks of its target (metric.def). */
enum metric_target { METRIC_TARGET_ANY, METRIC_TARGET_SIZE, METRIC_TARGET_COUNT };

struct metric_info {
    const char *name;
    bool larger_is_better;
    /* mask of enum ml_task; auc of more than two classes: each class against the rest, weighted by
     * its size */
    int tasks;
    /* can choose along free axes; for the others log loss chooses */
    bool is_smooth;
    /* of the pinball loss; 0 = another metric */
    double quantile;
    enum metric_target target;
};
const struct metric_info *metric_info(enum metric_id id);
/* an error names the nearest one */
int metric_parse(const char *name, enum metric_id *out, struct err *err);
/* auc, logloss or rmse */
enum metric_id metric_default(enum ml_task task);

/* An error where no row may have the target y. */
int metric_target_check(enum metric_id id, double y, struct err *err);

#define METRIC_LEAST_COUNT 1e-7
/* pred: n floats (binary, regression) or n x k floats (multiclass). y: class indices (binary: 1 =
 * positive) or target values. *se: standard error from rows (DeLong's for auc); NaN when it is
 * undefined. With one class only auc is NaN and ERR_ARG. Deviances take predictions below
 * METRIC_LEAST_COUNT, which no count has, as that. Every metric is what scikit-learn 1.9 defines
 * under its name; average_precision, brier and f1 of more than two classes as its mean over them. */
int metric_score(enum metric_id id, enum ml_task task, const float *pred, const double *y,
                 int64_t n, int k, double *value, double *se, struct err *err);
/* The same where row i counts weight[i] > 0; weight NULL = every row counts 1, and then it equals
 * metric_score bit for bit. Only the ratios of the weights matter. */
int metric_score_weighted(enum metric_id id, enum ml_task task, const float *pred, const double *y,
                          const double *weight, int64_t n, int k, double *value, double *se,
                          struct err *err);

#endif
