/* mlp_private.h - what the files of the family `mlp` share. A lane of the family `mlp`: one network trained on the rows outside one fold. A step of the
 * lane is an epoch. Between two calls a lane may stand inside an epoch; `whole` then holds the parameters and the state of
 * the optimiser as they were at the end of the last whole epoch, which is all that is predicted with, saved or resumed.
 *
 * mlp.c        the family behind the lane interface (ml/model/model.h)
 * mlp_train.c  an epoch: order of the rows, batches, schedules, the step of the optimiser
 * mlp_file.c   models and checkpoints as bytes */
#ifndef ML_NET_MLP_PRIVATE_H
#define ML_NET_MLP_PRIVATE_H

#include "ml/family/family_params.h"
#include "ml/model/fold_rows.h"
#include "ml/model/model.h"
#include "ml/net/net.h"

#include <stdbool.h>

enum { MLP_TILE = 256 }; /* rows that are predicted together */

enum mlp_loss { MLP_CLASSES, MLP_SQUARE, MLP_QUANTILE };

/* What predicting needs beside the parameters. */
struct mlp_head {
    struct net net;
    enum ml_task task;
    double mean, spread; /* of a number: prediction = mean + spread * score, */
    double lo, hi;       /* held within what training rows had */
};

struct mlp_lane {
    struct mlp_head head;
    struct fold_rows r;
    const struct prep_dense *x; /* borrowed of the data */
    enum mlp_loss loss;
    float quantile;
    int32_t *label; /* [n_train] classes, or NULL */
    float *target;  /* [n_train] standardised numbers, or NULL */
    int32_t *order; /* [n_train] places of training rows, in the order of this epoch */
    float *now;     /* [3][size]: parameters, first and second moments of the gradients */
    float *whole;   /* [3][size]: the same at the end of an epoch, see above */
    float *best;    /* [size]: parameters after best_step epochs; allocated when first kept */
    float *grad;    /* [size] */
    int64_t best_step;
    int64_t batches; /* of an epoch */
    int64_t at;      /* the next batch; 0 = the lane stands between two epochs */
    struct net_work work;
    int32_t *batch_label;
    float *batch_target;
    bool has_whole;            /* `whole` was written */
    uint64_t seed, order_seed; /* of the trial and the fold; of the split and the fold */
    int64_t bytes;
};

/* mlp_train.c. Trains up to the end of epoch `target`; false = stopped before. A loss that is not finite fails the lane. */
bool mlp_train(struct mlp_lane *l, struct lane *lane, int64_t target, const struct ml_stop *stop);
/* The parameters after `steps` epochs: the last whole epoch, the one before it, or the one that was kept. */
const float *mlp_weights_at(const struct mlp_lane *l, const struct lane *lane, int64_t steps);

/* Rows of the dense form as the first matrix of a batch: clipped. rows NULL: from, from + 1 ... */
void mlp_rows(const struct net *n, const struct prep_dense *x, const int32_t *rows, int64_t from,
              int64_t count, float *out);
/* Predictions of rows [0, count) of `rows`, or of the first `count` rows of x where it is NULL. */
int mlp_predict(const struct mlp_head *h, const float *w, const struct prep_dense *x,
                const int32_t *rows, int64_t count, float *out, struct err *err);

/* mlp_file.c. A model: the head and the parameters. A checkpoint adds the optimiser and what was kept. */
int mlp_save(const struct lane *lane, int64_t steps, struct buf *out, struct err *err);
int mlp_save_training(const struct lane *lane, struct buf *out, struct err *err);
int mlp_load(struct ml_data *d, struct lane *lane, struct view *in, struct err *err);
struct predictor *mlp_predictor_load(const struct prep *prep, int n_outputs, enum ml_task task,
                                     struct view *in, struct err *err);
void mlp_predictor_free(struct predictor *p);
int mlp_predictor_predict(const struct predictor *p, const struct prep_view *v, int64_t from,
                          int64_t n, float *out, struct err *err);

#endif
