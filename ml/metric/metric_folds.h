/* metric_folds.h - the score of several folds together: their mean and its standard error (folds.h),
 * and what an area under the curve needs on top.
 *
 * An error over rows vanishes where the rows that are there are ranked rightly, however few they are.
 * So for the area under the curve of two classes one row more of each class is counted, of which
 * nothing is known, as ml/adjust/ does for probabilities: with it the area would move by |area - 1/2| /
 * (rows of the class + 1), and so much is added, in squares, to the error. The same as Agresti and
 * Coull (Approximate is better than "exact" for interval estimation of binomial proportions, The
 * American Statistician 52, 1998) do for shares. Of many rows it is nothing. Pure. Called by ml/fit/
 * and ml/ensemble/. */
#ifndef ML_METRIC_METRIC_FOLDS_H
#define ML_METRIC_METRIC_FOLDS_H

#include "ml/metric/folds.h"
#include "ml/metric/metric.h"

#include <stdint.h>

struct metric_folds {
    enum metric_id id;
    enum ml_task task;
    struct folds folds;
    int64_t rows[2]; /* of two classes */
};

/* err_together: whether rows of a fold do (folds.h). */
void metric_folds_begin(struct metric_folds *m, enum metric_id id, enum ml_task task,
                        bool err_together);
/* Adds a fold whose rows count `size` together. y[n]: its rows' classes or values. A fold whose
 * score is NaN is left out. */
void metric_folds_add(struct metric_folds *m, double size, double score, double se, const double *y,
                      int64_t n);
/* NaN: nothing was added; of the error also: no fold has one. */
void metric_folds_end(const struct metric_folds *m, double *score, double *se);

#endif
