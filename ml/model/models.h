/* models.h - the rows of the registry of models. Private to ml/model/model.c and the families' own files. */
#ifndef ML_MODEL_MODELS_H
#define ML_MODEL_MODELS_H

#include "ml/model/model.h"

extern const struct model_ops model_baseline, model_linear, model_boost, model_forest,
    model_extra_trees;

/* Lanes that share a workspace, one after another, up to `steps` more steps each and no more than they may. `busy`: the state
 * of the lane whose step was left half done in the workspace, which goes on first; NULL = none. train brings a lane to
 * `target`; false = stopped, and no other lane is begun. */
typedef bool lane_train_fn(void *ctx, struct lane *l, int64_t target, const struct ml_stop *stop);
void lanes_in_turn(struct lane *lanes, int n, const void *busy, int64_t steps, lane_train_fn *train,
                   void *ctx, const struct ml_stop *stop);

/* Bytes that lanes of the same data share the look of: rows of a fold, ascending. */
struct fold_rows {
    int32_t *train, *held;
    int64_t n_train, n_held;
};
/* share: of the training rows (lane.share), by a hash of (split seed, row); 0 = all. Error: no memory, no training row. */
int fold_rows_init(struct fold_rows *r, const struct ml_data *d, int fold, double share,
                   struct err *err);
bool row_is_in_share(const struct ml_data *d, int64_t row, double share);
void fold_rows_fini(struct fold_rows *r);
/* Mean and spread of the target over training rows, safe for any finite values; spread is never 0. */
void target_scale(const struct ml_data *d, const struct fold_rows *r, double *mean, double *spread);

#endif
