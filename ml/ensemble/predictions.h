/* predictions.h - what a trial predicted for rows that its models had not seen, and the file that
 * keeps it.
 *
 * `held` are the training rows, each predicted by the models of the fold that holds it out (out of
 * fold), in the order of the table. `test` are the test rows as the model file predicts them, before
 * the mean of its models is raised to its power; there may be none. All trials of a study hold out the same rows in the same folds, so their files differ
 * in the predictions only. Of a holdout the rows that are held out are dealt out to five parts in turn,
 * which stand in the place of folds.
 *
 * File, little-endian: magic "ASSAYOOF", u32 format, u32 task, metric, floats a row, classes, folds,
 * whether rows have weights; u64 held rows, test rows; f64 shift; in format 2 f64 power;
 * then of the held rows the folds
 * (u8), targets (f64), weights (f64, if any), predictions (f32), and of the test rows targets,
 * weights and predictions. Equal trials give equal bytes. Written by ml/fit/, read by the worker. */
#ifndef ML_ENSEMBLE_PREDICTIONS_H
#define ML_ENSEMBLE_PREDICTIONS_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/metric/metric.h"

#include <stdbool.h>
#include <stdint.h>

enum { PREDICTIONS_MOST_FOLDS = 254, PREDICTIONS_MOST_CLASSES = 1000 };

struct predicted_rows {
    int64_t n;
    /* [n] of the held rows: the fold; NULL for test rows */
    uint8_t *fold;
    /* [n] class index or value */
    double *y;
    /* [n] what a row counts; NULL = all count 1 */
    double *weight;
    /* [n][outputs] as artifact_predict gives them */
    float *p;
};

struct predictions {
    enum ml_task task;
    enum metric_id metric;
    /* outputs: floats a row, 1 or the number of classes; classes: 0 for numbers */
    int outputs, classes, folds;
    /* values and targets are less than in the table by this (target_unit.h) */
    double shift;
    /* to which the model file raises the mean of its models (ml/adjust/adjust.h); 0 = to none. The
     * predictions of `test` are not raised. */
    double power;
    struct predicted_rows held, test;
};

void predictions_fini(struct predictions *p);
int predictions_write(const struct predictions *p, struct buf *out, struct err *err);
/* The bytes may come from a stranger: everything is checked. Fails without memory. */
int predictions_read(struct predictions *p, const void *bytes, size_t n, struct err *err);
/* Values that a model of numbers may predict as a member of an ensemble: those of the held rows, and as
 * far again beyond both ends. One model that runs away in a single row, as the exponential of a
 * straight line does, would take all others with it. False = no limits: classes. */
bool predictions_limits(const struct predictions *p, double *least, double *most);
/* Brings the predictions within them. */
void predictions_clip(struct predictions *p, double least, double most);
/* Whether both are of the same rows, targets and metric, so that they can be combined. */
bool predictions_match(const struct predictions *a, const struct predictions *b);

#endif
