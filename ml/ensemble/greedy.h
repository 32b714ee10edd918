/* greedy.h - which models to average, and with what weights: greedy selection with replacement.
 *
 * Caruana, Niculescu-Mizil, Crew and Ksikes, Ensemble selection from libraries of models (ICML 2004):
 * begin with the best model; add, again and again, the model with which the mean of all that were
 * added is best, the same one as often as it helps; of the means along this way the best counts, and
 * a model's weight is the share of its additions. Bags repeat this on a random half of the rows and
 * average the weights, so that chance of single rows decides less. (The paper's bags are of models, of
 * which it has thousands; halves of twenty leave out all good ones too often.)
 *
 * The mean is judged by a loss that a pass over the rows gives: the metric itself where it is a mean
 * over rows or, of at least GREEDY_FEW_ROWS rows, an area under the curve of two classes; else log
 * loss. The area of few rows counts few pairs near the border, so its order of models is mostly
 * chance, and models that rank all held-out rows rightly are equal to it. Where the area judges, models
 * that rank no row of a fold over another are left out, if there are others. Pure: no clock, no I/O, sums
 * in a fixed order. Called by blend.c and tests. */
#ifndef ML_ENSEMBLE_GREEDY_H
#define ML_ENSEMBLE_GREEDY_H

#include "ml/ensemble/predictions.h"

#include <stdint.h>

/* GREEDY_FEW_ROWS: tables of 75 to 800 rows were measured, docs/measurements/2026-11-26.md. */
enum { GREEDY_MOST_MODELS = 64, GREEDY_FEW_ROWS = 1000 };

struct greedy {
    /* [models] all of the same rows */
    const struct predictions *const *models;
    int n_models;
    /* [held.n] 1 = the row is used; NULL = all are */
    const uint8_t *use;
    /* different models at most; additions at most; bags beside the run on all rows */
    int most, steps, bags;
    uint64_t seed;
};

/* weight[n_models]: the weights, which add up to 1. Fails without memory. */
int greedy_select(const struct greedy *g, double *weight, struct err *err);
/* How many rows a selection among so many models should use, so that it takes some 10 ms. */
int64_t greedy_most_rows(const struct predictions *p, int n_models);

#endif
