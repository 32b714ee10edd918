/* split.h - which rows a model may see: test rows, and folds.
 *
 * Three ways: row by row, stratified by class (regression: by rank of the target); by groups, which
 * no split may divide (split_groups.c); and forward in time, where a fold is trained on the rows
 * before it (split_time.c). Pure functions of their arguments, equal on every machine. Called by
 * data.c. */
#ifndef ML_MODEL_SPLIT_H
#define ML_MODEL_SPLIT_H

#include "base/err.h"
#include "ml/metric/metric.h"

#include <stdint.h>

/* SPLIT_PAST: a training row that no fold holds out, because it is older than all folds. */
enum { SPLIT_PAST = 253, SPLIT_NONE = 254, SPLIT_TEST = 255, SPLIT_MAX_FOLDS = 20 };

struct split_in {
    enum ml_task task;
    /* [n] as in target.h. NaN: the row is neither trained on nor scored. */
    const double *y;
    int64_t n;
    int n_classes;
    /* in [0, 1); above 0 at least one row is set apart */
    double test_fraction;
    uint64_t seed;
    /* NULL, or [n]: rows with equal numbers, 0 to n_groups - 1, stay together */
    const uint32_t *group;
    int64_t n_groups;
    /* NULL, or [n] finite numbers: rows are split forward in time */
    const double *time;
    /* The rows of so much time before a fold, or before the test rows, are not trained on for
     * it. */
    double gap;
};

/* fold[i] becomes 0 to k - 1, SPLIT_TEST or SPLIT_NONE. A class with fewer rows than folds is
 * spread as far as it goes. k (2 to SPLIT_MAX_FOLDS) is lowered to the number of training rows;
 * fewer than 2 of them are an error. */
int split_make(const struct split_in *in, int *k, uint8_t *fold, struct err *err);
/* The same; whole groups are test rows or held out by a fold. The share of test rows is then only
 * about the one that was asked for. k is lowered to the number of groups in the training rows;
 * fewer than 2 of them are an error. */
int split_make_groups(const struct split_in *in, int *k, uint8_t *fold, struct err *err);
/* Forward in time: the test rows are the last ones, and the training rows are cut into k + 1
 * stretches of about equal size. Rows of one moment are never divided. Fold 0 is the newest
 * stretch, fold k - 1 the oldest but one; the oldest is SPLIT_PAST. start[f]: the time of the first
 * row of fold f. A row is trained on for fold f when split_is_before(its time, start[f], gap). k
 * (from 1 on) is lowered where there are too few moments. */
int split_make_time(const struct split_in *in, int *k, uint8_t *fold, double start[SPLIT_MAX_FOLDS],
                    struct err *err);

static inline int split_is_before(double time, double start, double gap)
{
    return time < start && time <= start - gap;
}

/* An error where the fraction, the folds or the number of rows are out of range. */
int split_check(const struct split_in *in, int k, struct err *err);

/* The hash by which rows and groups are set apart (tag 1) and dealt (tag 2). */
enum { SPLIT_TAG_TEST = 1, SPLIT_TAG_FOLD = 2 };
uint32_t split_hash(uint64_t seed, uint32_t tag, uint64_t number);

#endif
