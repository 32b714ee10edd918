/* fanova.h - functional ANOVA: how much of the variance of the score over the whole space each
 * parameter explains by itself. It is computed from a regression forest that is fitted to the
 * trials. It is slower than PED-ANOVA (importance.h), and it speaks of the whole space instead of
 * its good part, so it is made on request and in the background. Pure and seeded; called by the
 * controller for its reports. */
#ifndef SEARCH_INSIGHT_FANOVA_H
#define SEARCH_INSIGHT_FANOVA_H

#include "search/insight/importance.h"

enum { FANOVA_TREES = 64, FANOVA_TREE_TRIALS = 2000 };

/* out[space->n]: the share of the variance that is the parameter's main effect, 0..1. If the shares
 * add up to less than 1, the rest are interactions. Trials whose gain is not finite are left out.
 * Returns the number of trials used, or 0 if there are too few (under 2, or all trees are flat);
 * then all shares are 0. Each tree is grown on a bootstrap sample of at most FANOVA_TREE_TRIALS. */
int fanova_main_effects(const struct importance_data *d, uint64_t seed, double *out);

#endif
