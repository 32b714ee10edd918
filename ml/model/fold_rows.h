/* fold_rows.h - the rows of a fold: those that a lane trains on and those that are held out, by
 * their number in the table.
 *
 * Rows without a target and test rows are in neither list; both lists are ascending. Lanes of the
 * same fold and share have equal lists, so a family may keep one for several lanes. Called by the
 * families and by fit/. */
#ifndef ML_MODEL_FOLD_ROWS_H
#define ML_MODEL_FOLD_ROWS_H

#include "base/err.h"
#include "ml/model/data.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether a fold (or FOLD_ALL, model.h) is trained on the row. Ordinary folds are trained on all
 * training rows that they do not hold out; forward in time, on those before them. */
bool row_is_trained(const struct ml_data *d, int64_t row, int fold);
/* Parts, 0 to row_parts() - 1: each training row belongs to one, and each fold is trained on whole
 * parts, so that sums over training rows can be added up from sums over parts. */
int row_parts(const struct ml_data *d);
int row_part(const struct ml_data *d, int64_t row); /* -1 = no training row */
bool part_is_trained(const struct ml_data *d, int part, int fold);

struct fold_rows {
    int32_t *train, *held;
    int64_t n_train, n_held;
};
/* fold: the held-out fold, or FOLD_ALL (model.h). share: of the training rows (lane.share); 0 =
 * all. Fails without memory, and where no training row is left. */
int fold_rows_init(struct fold_rows *r, const struct ml_data *d, int fold, double share,
                   struct err *err);
void fold_rows_fini(struct fold_rows *r);
/* Whether a row belongs to a share of the training rows; share <= 0: every row does. */
bool row_is_in_share(const struct ml_data *d, int64_t row, double share);
/* Mean and standard deviation of the target over the training rows (by their weights), safe for any finite values;
 * *spread is never 0: where all targets are equal it is their size, or 1. */
void target_scale(const struct ml_data *d, const struct fold_rows *r, double *mean, double *spread);

#endif
