/* power.h - how much surer the mean of a bag of models should be than it is (adjust.h, `power`).
 *
 * Each fold's model may be as sure as it should be, and their mean is not: where they differ, their
 * mean lies nearer the middle, although it errs less than they do. By how much is told by how they
 * differ on rows that none of them was trained on. No such rows are kept back, so the caller makes
 * some (ml/fit/fit_power.c), and the held-out rows say how sure single models are and should be.
 *
 * With p the mean of the models' probabilities p_k on such a row, the mean's log loss is expected to
 * be lower than the mean of theirs by the sum over k of KL(p || p_k) / K, whatever the truth. Models
 * that are as sure as they should be lose their entropy, and so should a power of p: that power whose
 * entropy is their mean entropy less the gain is right by what the models say of each other. Half the
 * way to it is taken, because made rows make models differ more than new ones do (measured:
 * docs/measurements/2026-11-24.md, Bags that are too unsure).
 *
 * What the held-out rows say comes on top: by how much the log probability of what happened is, in
 * the mean, above what a single model expects it to be. If it is below, models are too sure of
 * themselves, which counts in full; if it is above, it counts beyond a standard error. One row more
 * is counted, of which the models know nothing: from few rows without an error nothing follows.
 *
 * Pure and deterministic. Called by ml/fit/. */
#ifndef ML_ADJUST_POWER_H
#define ML_ADJUST_POWER_H

#include "ml/adjust/adjust_fit.h"

/* The highest power. A caller should pass at most so many made and held-out rows x classes: the
 * bisections pass over the former some 50 times, over the latter there is one pass. */
#define ADJUST_MOST_POWER 1.5
enum { ADJUST_MADE_VALUES = 1 << 14, ADJUST_HELD_VALUES = 1 << 18 };

/* What the models of a bag say of rows that none of them was trained on. */
struct bag_rows {
    int64_t n;
    int classes;
    /* [n][classes] means over the models: of the probabilities and of their logarithms */
    const double *mean, *mean_log;
    /* [n] the mean of the models' entropies */
    const double *entropy;
};

/* From 1 (no power) to ADJUST_MOST_POWER. held: calibrated predictions of single models on rows that
 * they were not trained on. Fails without memory. */
int adjust_power(const struct bag_rows *bag, const struct adjust_rows *held, double *out,
                 struct err *err);

#endif
