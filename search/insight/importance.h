/* importance.h - which parameters made the difference: the data that estimates are made from, and
 * PED-ANOVA, which is cheap enough to be always on. It is a report for people: no sampler or
 * scheduler reads it. Pure. */
#ifndef SEARCH_INSIGHT_IMPORTANCE_H
#define SEARCH_INSIGHT_IMPORTANCE_H

#include "search/space/space.h"

struct importance_data {
    const struct space *space;
    int n;               /* trials with a verdict, at least 0 */
    const float *units;  /* n x space->n in the unit cube (space_to_unit), NaN where inactive */
    const double *gains; /* n; larger is better; infinities are legal, NaN is left out */
};

/* Whether a parameter can matter at all: it is searched (no free axis) and has at least two
 * values. */
bool importance_concerns(const struct param *p);

/* out[space->n]: each is 0 or more, and they are comparable within one call only; divide by their
 * sum to show shares. Returns the number of trials used, or 0 if there are too few (fewer than 3,
 * or all equally good); then all are 0. Only the order of the gains matters. Cost: O(n log n + n d
 * + d 50^2). */
int importance_ped_anova(const struct importance_data *d, double *out);

#endif
