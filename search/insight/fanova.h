/* fanova.h - functional ANOVA: how much of the variance of the score over the whole space each parameter explains by
 * itself, read from a regression forest fitted to the trials. Slower than PED-ANOVA and about the whole space, not the
 * good part: on request, in the background. Pure and seeded. */
#ifndef SEARCH_INSIGHT_FANOVA_H
#define SEARCH_INSIGHT_FANOVA_H

#include "search/insight/importance.h"

enum { FANOVA_TREES = 64, FANOVA_TREE_TRIALS = 2000 };

/* out[space->n]: the share of the variance that is the parameter's main effect, 0..1; what is missing to 1 in the sum are
 * interactions. Trials whose gain is not finite are left out. Returns how many it is made from; 0 = too few (under 2, or
 * the forest is flat): then all are 0. Each tree is grown on a bootstrap sample of at most FANOVA_TREE_TRIALS. */
int fanova_main_effects(const struct importance_data *d, uint64_t seed, double *out);

#endif
