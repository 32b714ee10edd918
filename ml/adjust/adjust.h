/* adjust.h - what is done to the outputs of a trained model before people see them, learnt from rows
 * that it had not seen (adjust_fit.h):
 *
 * calibration  probabilities are made as large as what they promise happens often. Of two classes
 *              the log-odds become slope x log-odds + offset (Platt 1999; Cox 1958). Of more classes p
 *              becomes p^slope x share^offset, scaled to the sum 1, where share is how common the
 *              class is: with offset 0 this is temperature scaling (Guo and others, 2017), with
 *              offset 1 - slope a temperature about the shares, as forests need it.
 * power        the mean of a bag of models is less sure than they are where they differ. It becomes
 *              p^power, scaled to the sum 1 (power.h). Applied after the mean is taken, so not by
 *              adjust_probabilities but by whatever takes the mean (ml/model/artifact.h).
 * threshold    of two classes, the positive one is predicted where its probability is above this.
 * intervals    around a predicted number: quantiles of the residuals, each divided by how large
 *              residuals are where predictions are like this one (split-conformal prediction: Lei
 *              and others, 2018; the residuals are those of cross-validation, Barber and others,
 *              2021). The share of new rows inside is as promised over all rows together, not in
 *              every part of the table.
 *
 * Pure. Kept in the model file (ml/model/artifact.h). */
#ifndef ML_ADJUST_ADJUST_H
#define ML_ADJUST_ADJUST_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/metric/metric.h"

#include <stdbool.h>
#include <stdint.h>

/* Residuals that are kept, and places at which their size is known, at most. */
enum { ADJUST_RESIDUALS = 1999, ADJUST_PLACES = 12 };

struct adjust_intervals {
    /* rows from which they were learnt */
    int64_t rows;
    /* [n] ascending: the j-th (from 1) is below a share of j / (n + 1) of new residuals; 0 = there
     * are no intervals. mem_free */
    int n;
    float *residual;
    /* size[i]: how large residuals are where the prediction is at[i], ascending; 0 places = 1
     * everywhere */
    int places;
    double at[ADJUST_PLACES], size[ADJUST_PLACES];
};

/* All zero, it changes nothing. */
struct adjust {
    bool calibrates;
    double slope, offset;
    /* of more than two classes: [classes] logarithm of each class's share; mem_free */
    int classes;
    double *log_share;
    /* of the mean of a bag of models; above 1, or 0 = none */
    double power;
    /* 0 = one half, and nothing was tuned */
    double threshold;
    struct adjust_intervals intervals;
};

void adjust_fini(struct adjust *a);
bool adjust_is_plain(const struct adjust *a);
/* Calibrates n rows of 1 (two classes) or a->classes floats in place. NaN stays NaN. */
void adjust_probabilities(const struct adjust *a, float *p, int64_t n);
/* The logarithms of the probabilities of all classes, for 1 (two classes) or `classes` floats. */
void adjust_class_logs(const float *p, int outputs, int classes, double *out);
/* A power in the form of a calibration, for adjust_probabilities and for explanations; 0 = a plain
 * one. adjust_fini frees what *out holds. */
void adjust_of_power(double power, int outputs, struct adjust *out);
/* The threshold in force: 0.5 where none was tuned. */
double adjust_threshold(const struct adjust *a);
/* Whether the metric is of the predicted class of two, so that a threshold decides. */
bool adjust_decides(enum metric_id metric, enum ml_task task);
/* Where the threshold decides about the metric, probabilities become 1 and 0 as it says. */
void adjust_decide(const struct adjust *a, enum metric_id metric, enum ml_task task, float *p,
                   int64_t n);

/* The highest level, such as 0.9, for which there is an interval; 0 = for none. */
double adjust_most_level(const struct adjust *a);
/* The interval around a prediction, for a level from above 0 to adjust_most_level. */
void adjust_interval(const struct adjust *a, double level, double prediction, double *lower,
                     double *upper);

int adjust_save(const struct adjust *a, struct buf *out, struct err *err);
/* The bytes may come from a stranger: everything is checked. outputs: floats a row of the model.
 * adjust_fini frees what *a holds, also after an error. */
int adjust_load(struct adjust *a, enum ml_task task, int outputs, struct view *in, struct err *err);

#endif
