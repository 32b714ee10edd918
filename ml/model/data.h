/* data.h - a learning problem: a table, its target and its split, with what all trials on it share.
 *
 * The preparation, the bins and the dense matrix are made once per process, when they are first
 * asked for, under a lock, and kept while the data is open. Families read only this. Opened by the
 * worker, the CLI and tests. */
#ifndef ML_MODEL_DATA_H
#define ML_MODEL_DATA_H

#include "base/err.h"
#include "ml/family/family.h"
#include "ml/metric/metric.h"
#include "ml/prep/prep.h"
#include "ml/table/frame.h"

#include <stdbool.h>
#include <stdint.h>

/* A constraint: with all else equal, predictions never fall (1) or never rise (-1) as the column
 * grows. */
struct ml_monotone {
    const char *column;
    int direction;
};

struct ml_ops;
struct ml_ctx;
struct ml_boost_table;

/* Where to train families that have a form for devices: an open context, used by one thread, and
 * its operations (ml/ops/ops.h). */
struct ml_compute {
    const struct ml_ops *ops;
    struct ml_ctx *ctx;
    /* How work is cut on the device: threads of a block, rows of a tile, nodes split at a time. 0 =
     * the device's own choice. Results do not depend on them. */
    int threads, tile_rows, batch;
};

struct ml_data_spec {
    /* borrowed while the data lives */
    const struct frame *frame;
    /* NULL, or a table of test rows. They are scored through the model file, which matches columns
     * by name. */
    const struct frame *test_frame;
    const char *target;
    /* the positive class of a binary target; "" = the rarer one */
    const char *positive;
    enum ml_task task;
    enum metric_id metric;
    double test_fraction;
    int folds;
    uint64_t split_seed;
    /* borrowed for the call of ml_data_open */
    const struct ml_monotone *monotone;
    int n_monotone;
    /* NULL = the CPU; borrowed while the data lives */
    const struct ml_compute *device;
};

struct ml_data {
    struct ml_data_spec spec;
    /* rows of the frame */
    int64_t rows;
    /* rows to train on: with a target, and no test rows */
    int64_t n_train;
    /* may be fewer than spec.folds where there are few rows */
    int k_folds;
    /* 2 for binary, 0 for regression */
    int n_classes;
    /* scores per row that a model gives: 1, or n_classes for multiclass */
    int n_outputs;
    /* In the order of target.h. */
    char **classes;
    /* [rows] class index or target value; NaN where it is missing */
    double *y;
    /* [rows] 0 to k_folds - 1, SPLIT_TEST, or SPLIT_NONE without a target */
    uint8_t *fold;
    /* fitted on the training rows of all folds */
    struct prep *prep;
    /* [inputs] direction or 0; NULL = no constraint */
    int8_t *monotone;
    /* private: the matrices made on demand */
    struct ml_shared *shared;
};

struct ml_data *ml_data_open(const struct ml_data_spec *spec, struct err *err);
void ml_data_close(struct ml_data *d);

/* Shared forms of the table, made at the first call and borrowed. Any thread may call. NULL with
 * err when there is no memory. */
/* For trees: a row's bins side by side. */
const struct prep_bins *ml_data_bins(struct ml_data *d, int max_bins, struct err *err);
/* The same column by column (prep_bins.columns). */
const uint8_t *ml_data_columns(struct ml_data *d, int max_bins, struct err *err);
/* Standardised and one-hot, for linear models. */
const struct prep_dense *ml_data_dense(struct ml_data *d, struct err *err);
/* The bins on spec.device, for training there. */
struct ml_boost_table *ml_data_boost_table(struct ml_data *d, int max_bins, struct err *err);
int64_t ml_data_shared_bytes(const struct ml_data *d);
/* Bytes that the form would add to shared_bytes now; 0 when it is there already. */
int64_t ml_data_missing_bytes(const struct ml_data *d, enum family_form form);

#endif
