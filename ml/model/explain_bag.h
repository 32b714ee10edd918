/* explain_bag.h - explanations of several models as one. A bag predicts the mean of its models' predictions, which, behind a link
 * that bends (log-odds to a probability, a logarithm to a rate), is not the link of the mean of their scores. So that score
 * and prediction agree, each model's values are stretched by how much its prediction moves per unit of its score, their
 * mean by how much the bag's score moves per unit of its prediction (the rescale rule of Chen, Lundberg and Lee 2022,
 * "Explaining a series of models by propagating Shapley values"). Signs stay, and one model keeps its values. */
#ifndef ML_MODEL_EXPLAIN_BAG_H
#define ML_MODEL_EXPLAIN_BAG_H

#include <stdint.h>

/* From what a family explains to what it predicts. */
enum explain_link {
    EXPLAIN_SAME,     /* or of several outputs, whose mean score is explained */
    EXPLAIN_LOG_ODDS, /* to a probability */
    EXPLAIN_LOG       /* to a rate */
};

/* Of a row, over the models so far; zeros at first. */
struct explain_sums {
    double row[2],
        base[2]; /* predictions of the row and of the base: p and 1 - p; of a logarithm the rate alone */
    double moved; /* predictions of the rows less those of the bases */
};

/* Adds one model's values of n rows, one: [n][inputs + 1], the base last, to out. */
void explain_bag_add(enum explain_link link, const double *one, int inputs, int64_t n,
                     struct explain_sums *sums, double *out);
/* Makes out the bag's values: base and values add up to the link of its mean prediction. */
void explain_bag_end(enum explain_link link, int models, int inputs, int64_t n,
                     const struct explain_sums *sums, double *out);

#endif
