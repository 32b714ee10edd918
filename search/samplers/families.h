/* families.h - what duo.c asks the sampler that has a model for each branch of the space. */
#ifndef SEARCH_SAMPLERS_FAMILIES_H
#define SEARCH_SAMPLERS_FAMILIES_H

#include "search/contract/sampler.h"

/* Number of branches that it models; 1 if no parameter opens others. */
int families_branches(const struct sampler *s);
/* The branch that this trial should look at although the best is in another; -1 = none. At most
 * FLOOR of all trials are given away so. A branch's part of them falls with the trials that it has
 * had since it last improved on itself, counted in its mean costs, so what is understood is left
 * alone and what still rises is followed. Keyed by the trial; it depends on the results so far. */
int families_neglected(const struct sampler *s, int64_t trial);

#endif
