/* draw.h - a random point that was not proposed before: what the random sampler is made of and what others start with.
 * A point is a pure function of (seed, trial number, set of points seen): never of the batch it is drawn in. Free axes
 * stay at their default and do not tell points apart.
 *
 * With `fuse` > 1 the trials of one group, (trial - 1) / fuse, draw their AXIS_SHAPE parameters from the group's stream
 * and the rest from their own: a batch then holds few distinct shapes, which can train in one launch, and every
 * parameter still has its exact distribution. A group whose shape has no unseen point left moves on to the next. */
#ifndef SEARCH_SPACE_DRAW_H
#define SEARCH_SPACE_DRAW_H

#include "search/space/seen.h"
#include "search/space/space.h"

struct draw {
    const struct space *space; /* borrowed */
    double size;               /* space_search_size */
    int fuse;                  /* search_setup's; 0 after draw_init */
    struct seen seen;
};

int64_t draw_group(int64_t trial, int fuse); /* fuse >= 1 */

void draw_init(struct draw *d, const struct space *space);
void draw_fini(struct draw *d);
bool draw_is_used_up(const struct draw *d); /* the space has no unseen point left */
/* 1 and the point, which counts as seen from now on; 0 when it is used up. */
int draw_unseen(struct draw *d, uint64_t seed, int64_t trial, double *point);
/* Marks a point of someone else's; true when it was new. */
bool draw_mark(struct draw *d, const double *point);

#endif
