/* fold_rows.h - the rows of a fold: those that a lane trains on and those that are held out, by their number in the table.
 *
 * Rows without a target and test rows are in neither list; both lists are ascending. Lanes of the same fold and share have
 * equal lists, so a family may keep one for several lanes. Called by the families and by fit/. */
#ifndef ML_MODEL_FOLD_ROWS_H
#define ML_MODEL_FOLD_ROWS_H

#include "base/err.h"
#include "ml/model/data.h"

#include <stdbool.h>
#include <stdint.h>

struct fold_rows {
    int32_t *train, *held;
    int64_t n_train, n_held;
};
/* fold: the held-out fold, or FOLD_ALL (model.h). share: of the training rows (lane.share); 0 = all. Fails without memory,
 * and where no training row is left. */
int fold_rows_init(struct fold_rows *r, const struct ml_data *d, int fold, double share,
                   struct err *err);
void fold_rows_fini(struct fold_rows *r);
/* Whether a row belongs to a share of the training rows; share <= 0: every row does. */
bool row_is_in_share(const struct ml_data *d, int64_t row, double share);
/* Mean and standard deviation of the target over the training rows, safe for any finite values; *spread is never 0: where
 * all targets are equal it is their size, or 1. */
void target_scale(const struct ml_data *d, const struct fold_rows *r, double *mean, double *spread);

#endif
