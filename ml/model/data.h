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
#include "ml/model/target_limits.h"
#include "ml/model/target_unit.h"
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

/* Columns that say how rows are used. Borrowed while ml_data_open runs; NULL or "" = none. */
struct ml_rows_spec {
    /* Rows with equal values are never divided between folds and test rows. Not with time. */
    const char *groups;
    /* Validation is forward in time; test rows are the last ones. */
    const char *time;
    /* In units of the time column (seconds for dates): see split.h. */
    double gap;
    /* What a row counts in training and in metrics; rows of weight 0 count for nothing. */
    const char *weights;
    /* Whether the column is an input too. Weights are never one. */
    bool groups_are_input, time_is_input;
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
    /* TARGET_LOG: learn in this unit (ml/fit/fit_unit.h chooses it). Else the unit is plain, or
     * shifted where that is needed. */
    struct target_unit unit;
    double test_fraction;
    int folds;
    uint64_t split_seed;
    struct ml_rows_spec by;
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
    /* [rows] class index, or target value in the unit that is learnt; NaN where it is missing */
    double *y;
    struct target_unit unit;
    /* TARGET_LOG where learning in it is worth a try */
    struct target_unit log_unit;
    /* how far predictions may go; none of classes */
    struct target_limits limits;
    /* [rows] what predictions are compared with after target_predicted; equals y but for TARGET_LOG */
    double *truth;
    /* [rows] 0 to k_folds - 1, SPLIT_PAST, SPLIT_TEST, or SPLIT_NONE without a target. Which rows a
     * fold is trained on follows from it by fold_rows.h only: forward in time, not all rows of the
     * other folds are. */
    uint8_t *fold;
    /* Whether rows of one fold err together (ml/metric/folds.h): folds are of groups or of time. */
    bool err_together;
    /* [rows] 0 to n_groups - 1, in no order; NULL = rows have no groups */
    uint32_t *group;
    int64_t n_groups;
    /* Forward in time only: [rows] times, and the first time of each fold; else NULL. */
    double *time, *start;
    /* [rows] what a row counts, 1 on average over the training rows; NULL = all rows count 1 */
    double *weight;
    /* the column of the weights, which may be named although all rows count 1; NULL = none */
    char *weights_name;
    /* Rows that have a target but are left out, because they have no time or the weight 0. */
    int64_t n_left_out;
    /* Rows that repeat and would be in another fold than the first of their kind, but are kept with
     * it (repeats.h). */
    int64_t n_joined;
    /* Rows with the inputs of another one, where such have various targets (repeats.h); else 0. */
    int64_t n_alike;
    /* fitted on the training rows of all folds, as `choice` wants it */
    struct prep *prep;
    struct prep_choice choice;
    /* [inputs] direction or 0; NULL = no constraint */
    int8_t *monotone;
    /* private: the matrices made on demand */
    struct ml_shared *shared;
};

/* What a row counts. */
static inline double ml_data_weight(const struct ml_data *d, int64_t row)
{
    return d->weight ? d->weight[row] : 1.0;
}

struct ml_data *ml_data_open(const struct ml_data_spec *spec, struct err *err);
void ml_data_close(struct ml_data *d);

/* Shared forms of the table, made at the first call and borrowed. Any thread may call. NULL with
 * err when there is no memory. */
/* fold: the lane's, or FOLD_ALL (model.h). Where prep_is_by_fold, each fold has its own form;
 * memory and time are then those of one form for each fold that is asked for. Else all are one. */
/* For trees: a row's bins side by side. */
const struct prep_bins *ml_data_bins(struct ml_data *d, int fold, int max_bins, struct err *err);
/* The same column by column (prep_bins.columns). */
const uint8_t *ml_data_columns(struct ml_data *d, int fold, int max_bins, struct err *err);
/* Standardised and one-hot, for linear models. */
const struct prep_dense *ml_data_dense(struct ml_data *d, int fold, struct err *err);
/* The pixels of images; the table must have some (prep_image). */
const struct prep_images *ml_data_images(struct ml_data *d, struct err *err);
/* The bins on spec.device, for training there. */
struct ml_boost_table *ml_data_boost_table(struct ml_data *d, int fold, int max_bins,
                                           struct err *err);
/* The problem's variants included (variant.h). */
int64_t ml_data_shared_bytes(const struct ml_data *d);
/* Bytes that the form, for all folds, would add to shared_bytes now; 0 when it is there already. */
int64_t ml_data_missing_bytes(const struct ml_data *d, enum family_form form);

#endif
