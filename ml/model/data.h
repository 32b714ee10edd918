/* data.h - a learning problem: a frame, its target and its split, plus what all trials on it share (prepared matrices,
 * bins), built once per process under a lock and kept while the data is open. Models read only this. */
#ifndef ML_MODEL_DATA_H
#define ML_MODEL_DATA_H

#include "base/err.h"
#include "ml/family/family.h"
#include "ml/metric/metric.h"
#include "ml/prep/prep.h"
#include "ml/table/frame.h"

#include <stdbool.h>
#include <stdint.h>

struct
    ml_monotone { /* with all else equal, predictions never fall (1) or never rise (-1) with the column */
    const char *column;
    int direction;
};

struct ml_ops;
struct ml_ctx;
struct ml_boost_table;

/* Where to train what has a form for it: an open context of one thread, and its operations (ml/ops/ops.h). */
struct ml_compute {
    const struct ml_ops *ops;
    struct ml_ctx *ctx;
    int threads, tile_rows, batch; /* of a block; nodes split at a time; 0 = the device's own.
                                      Results do not depend on them */
};

struct ml_data_spec {
    const struct frame *frame; /* borrowed while the data lives */
    const struct frame
        *test_frame; /* or NULL: its rows are scored through the artifact's own column matching */
    const char *target;
    const char *positive; /* "" = the rarer class */
    enum ml_task task;
    enum metric_id metric;
    double test_fraction;
    int folds;
    uint64_t split_seed;
    const struct ml_monotone *monotone; /* borrowed for the call of ml_data_open */
    int n_monotone;
    const struct ml_compute *device; /* or NULL: the CPU; borrowed while the data lives */
};

struct ml_data {
    struct ml_data_spec spec;
    int64_t rows;    /* of the frame */
    int64_t n_train; /* rows to train on: neither test rows nor without a target */
    int k_folds;     /* effective */
    int n_classes;   /* 2 for binary, 0 for regression */
    int n_outputs;   /* scores per row a model gives: 1 or n_classes */
    char **
        classes; /* in the artifact's order: binary {negative, positive}, multiclass sorted by text (numeric text by value) */
    double *y;   /* [rows] class index or target value; NaN where it is missing */
    uint8_t *fold;            /* [rows] 0..k-1, SPLIT_TEST, SPLIT_NONE (no target) */
    struct prep *prep;        /* fitted on the training rows */
    int8_t *monotone;         /* [inputs] direction or 0; NULL = no constraint */
    struct ml_shared *shared; /* private: matrices made on demand */
};

struct ml_data *ml_data_open(const struct ml_data_spec *spec, struct err *err);
void ml_data_close(struct ml_data *d);

/* Shared forms, made at the first call (thread-safe), borrowed, NULL + err on no memory: */
const struct prep_bins *ml_data_bins(struct ml_data *d, int max_bins,
                                     struct err *err); /* for trees */
const uint8_t *ml_data_columns(struct ml_data *d, int max_bins,
                               struct err *err); /* prep_bins.columns of them */
const struct prep_dense *ml_data_dense(struct ml_data *d,
                                       struct err *err); /* standardised, one-hot */
/* The bins on spec.device, for boosting there. */
struct ml_boost_table *ml_data_boost_table(struct ml_data *d, int max_bins, struct err *err);
int64_t ml_data_shared_bytes(const struct ml_data *d);
/* What the form would add to it now: 0 when it is there. */
int64_t ml_data_missing_bytes(const struct ml_data *d, enum family_form form);

#endif
