/* walk.h - a sequence led through a space without repeats: what the Sobol, Halton and grid samplers are made of. Its
 * points are those of the sequence in order, less the ones seen before; what falls on nothing new for long is looked for
 * in a shuffled numbering of the whole space, so that a finite space is used up and then ends. A point is a pure
 * function of (seed, elements used, points seen), never of the batch it is asked in.
 *
 * Each parameter that is searched has a dimension; parameters that never are active together share one, so a space of
 * many families needs no more dimensions than its largest one. Free axes stay at their default. */
#ifndef SEARCH_SPACE_WALK_H
#define SEARCH_SPACE_WALK_H

#include "search/space/seen.h"
#include "search/space/sequence.h"
#include "search/space/space.h"

struct walk {
    const struct space *space; /* borrowed */
    const struct sequence_ops *ops;
    struct sequence *sequence;
    struct seen seen;
    uint64_t used; /* elements of the sequence */
    int *dim;      /* of each parameter, -1 = not searched */
    int dims;
    double *unit, *point; /* room for one */
    double size;
    /* The numbering: ranks start, start + stride, ... Those before `passed` are all seen, so it need not be saved. */
    uint64_t rank, stride, passed;
};

void walk_init(struct walk *w, const struct space *space, const struct sequence_ops *ops,
               uint64_t seed);
void walk_fini(struct walk *w);
/* 1 and the point, seen from now on; 0 when the space has no unseen point left. */
int walk_next(struct walk *w, double *point);
/* Marks a point of someone else's; true when it was new. */
bool walk_mark(struct walk *w, const double *point);
int walk_save(const struct walk *w, struct buf *out, struct err *err);
int walk_load(struct walk *w, struct view *in, struct err *err); /* into a fresh one */

#endif
