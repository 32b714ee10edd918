/* importance.h - which parameters made the difference: what the estimates are made from, and PED-ANOVA, the one that is
 * cheap enough to be always on. A report for people: no searcher reads it. Pure. */
#ifndef SEARCH_INSIGHT_IMPORTANCE_H
#define SEARCH_INSIGHT_IMPORTANCE_H

#include "search/space/space.h"

struct importance_data {
    const struct space *space;
    int n;               /* trials with a verdict, at least 0 */
    const float *units;  /* n x space->n in the unit cube (space_to_unit), NaN where inactive */
    const double *gains; /* n; larger is better; infinities are legal, NaN is left out */
};

/* May this parameter matter at all: it is searched (no free axis, no constant) and has two values or more. */
bool importance_concerns(const struct param *p);

/* out[space->n]: 0 or more, comparable within one call only; divide by their sum to show shares. Returns how many trials
 * it is made from, 0 = too few (fewer than 3, or all equally good): then all are 0. Depends on the gains by their order
 * only. Cost: O(n log n + n d + d 50^2). */
int importance_ped_anova(const struct importance_data *d, double *out);

#endif
