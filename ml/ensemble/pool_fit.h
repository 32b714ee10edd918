/* pool_fit.h - the weights of a log-linear pool of models of classes (ml/adjust/pool.h): logistic
 * regression on the logarithms of what they predicted out of fold, with one weight a model.
 *
 * Stacked generalization (Wolpert, Neural Networks 1992) with log-probabilities as its inputs (Ting
 * and Witten, Issues in stacked generalization, JAIR 1999), but of any sign: where a linear model is
 * sure and a better model that has seen the same is less so, the truth is often on the other side.
 * One weight for all classes keeps it to a few numbers. The log loss with a penalty of
 * PENALTY / 2 x (distance from the prior weights)^2, as if so many rows said so, is convex; Newton's
 * method finds its least. The prior weights add up to 1 and are in proportion to 1 / (loss of the model
 * alone)^2: equal for equal models. Models are given up one after another, always the one without which
 * the quadratic form at the optimum grows least (Hassibi and Stork, Optimal brain surgeon, NIPS 1992),
 * until `most` are left, which are then weighed anew. Pure: no clock, no I/O, sums in a fixed order. */
#ifndef ML_ENSEMBLE_POOL_FIT_H
#define ML_ENSEMBLE_POOL_FIT_H

#include "ml/ensemble/pool_margins.h"

/* weight[n_models]: 0 = not a member. Fails without memory. */
int pool_fit(const struct pool_fit *f, double *weight, struct err *err);

#endif
