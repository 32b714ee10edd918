/* quasi_points.h - a sequence led through a space without repeats: what the Sobol, Halton and grid samplers are made of. Its
 * points are those of the sequence in order, less the ones seen before; what falls on nothing new for long is looked for
 * in a shuffled numbering of the whole space, so that a finite space is used up and then ends. A point is a pure
 * function of (seed, elements used, points seen), never of the batch it is asked in.
 *
 * Each parameter that is searched has a dimension; parameters that never are active together share one, so a space of
 * many families needs no more dimensions than its largest one. Free axes stay at their default. */
#ifndef SEARCH_SPACE_QUASI_POINTS_H
#define SEARCH_SPACE_QUASI_POINTS_H

#include "search/space/hash_set.h"
#include "search/space/sequence.h"
#include "search/space/space.h"

struct quasi_points {
    const struct space *space; /* borrowed */
    const struct sequence_ops *ops;
    struct sequence *sequence;
    struct hash_set seen;
    uint64_t used; /* elements of the sequence */
    int *dim;      /* of each parameter, -1 = not searched */
    int dims;
    double *unit, *point; /* room for one */
    double size;
    /* The numbering: ranks start, start + stride, ... Those before `passed` are all seen, so it need not be saved. */
    uint64_t rank, stride, passed;
};

void quasi_points_init(struct quasi_points *w, const struct space *space,
                       const struct sequence_ops *ops, uint64_t seed);
void quasi_points_fini(struct quasi_points *w);
/* 1 and the point, seen from now on; 0 when the space has no unseen point left. */
int quasi_points_next(struct quasi_points *w, double *point);
/* Marks a point of someone else's; true when it was new. */
bool quasi_points_mark(struct quasi_points *w, const double *point);
int quasi_points_save(const struct quasi_points *w, struct buf *out, struct err *err);
int quasi_points_load(struct quasi_points *w, struct view *in,
                      struct err *err); /* into a fresh one */

#endif
