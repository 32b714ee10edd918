/* quasi_points.h - leads a low-discrepancy sequence through a space without repeats. The Sobol,
 * Halton and grid samplers consist of it. Its points are the elements of the sequence in order,
 * without those seen before. If 32 elements in a row were seen, the next point comes from a
 * shuffled numbering of the whole space, so a finite space is used up completely and then ends. A
 * point is a pure function of (seed, elements used, points seen), never of the batch it is asked
 * in.
 *
 * Each parameter that is searched has a dimension of the sequence. Parameters that are never active
 * together share one, so a space of many families needs no more dimensions than its largest family.
 * Free axes stay at their default. */
#ifndef SEARCH_SPACE_QUASI_POINTS_H
#define SEARCH_SPACE_QUASI_POINTS_H

#include "search/space/hash_set.h"
#include "search/space/sequence.h"
#include "search/space/space.h"

struct quasi_points {
    const struct space *space; /* borrowed */
    const struct sequence_ops *ops;
    struct sequence *sequence; /* made at the first element: it takes longer than a suggestion */
    uint64_t seed;
    struct hash_set seen;
    uint64_t used; /* elements of the sequence */
    int *dim;      /* of each parameter, -1 = not searched */
    int dims;
    double *unit, *point; /* room for one */
    double size;
    /* The shuffled numbering goes from `rank` on by `stride`; `passed` ranks were visited, and all
     * of them are seen. */
    uint64_t rank, stride, passed;
};

void quasi_points_init(struct quasi_points *w, const struct space *space,
                       const struct sequence_ops *ops, uint64_t seed);
void quasi_points_fini(struct quasi_points *w);
/* Returns 1 and the point, which counts as seen from now on, or 0 if the space has no unseen point
 * left. */
int quasi_points_next(struct quasi_points *w, double *point);
/* Marks a point that did not come from here. True if it was new. */
bool quasi_points_mark(struct quasi_points *w, const double *point);

#endif
