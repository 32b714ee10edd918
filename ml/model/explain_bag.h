/* explain_bag.h - the explanations of several models as one.
 *
 * A bag predicts the mean of its models' predictions. Behind a link that is not linear (log-odds to
 * a probability, a logarithm to a rate) that is not the link of the mean of their scores. So that
 * values and prediction agree, each model's values are scaled by how much its prediction moves per
 * unit of its score, and their mean by how much the bag's score moves per unit of its prediction:
 * the rescale rule of Chen, Lundberg and Lee, "Explaining a series of models by propagating Shapley
 * values" (2022). Signs stay, and a single model keeps its values. Called by artifact.c. */
#ifndef ML_MODEL_EXPLAIN_BAG_H
#define ML_MODEL_EXPLAIN_BAG_H

#include <stdint.h>

/* The link from what a family explains to what it predicts. */
enum explain_link {
    /* none; also several outputs, whose mean score is explained */
    EXPLAIN_SAME,
    /* log-odds to a probability */
    EXPLAIN_LOG_ODDS,
    /* the logarithm of a rate to the rate */
    EXPLAIN_LOG
};

/* Sums of one row over the models so far; zeros at first. */
struct explain_sums {
    /* Predictions for the row and for the base: p and 1 - p; with EXPLAIN_LOG the rate alone. */
    double row[2], base[2];
    /* predictions of the row less those of the base */
    double moved;
};

/* Adds one model's values of n rows to out. one: [n][inputs + 1], the base last. */
void explain_bag_add(enum explain_link link, const double *one, int inputs, int64_t n,
                     struct explain_sums *sums, double *out);
/* Turns the sums in out into the bag's values: base and values add up to the link of the mean
 * prediction. */
void explain_bag_end(enum explain_link link, int models, int inputs, int64_t n,
                     const struct explain_sums *sums, double *out);

#endif
