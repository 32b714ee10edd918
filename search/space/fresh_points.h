/* fresh_points.h - a random point that was not proposed before. The random sampler consists of it,
 * and other samplers use it for their first points and when their model proposes nothing new. A
 * point is a pure function of (seed, trial number, set of points seen), never of the batch it is
 * drawn in. Free axes stay at their default, so two points that differ only there count as one.
 *
 * Fusing: with `fuse` > 1 the trials of one group, (trial - 1) / fuse, draw their AXIS_SHAPE
 * parameters from a stream of the group and all others from their own. A batch then holds only a
 * few distinct shapes, each of which can train in one launch, and every parameter still has its
 * exact distribution. If a group's shape has no unseen point left, another shape is drawn for
 * it. */
#ifndef SEARCH_SPACE_FRESH_POINTS_H
#define SEARCH_SPACE_FRESH_POINTS_H

#include "search/space/hash_set.h"
#include "search/space/space.h"

struct fresh_points {
    const struct space *space; /* borrowed */
    double size;               /* space_search_size */
    int fuse;                  /* search_setup's; 0 after fresh_points_init */
    struct hash_set seen;
};

int64_t fresh_points_group(int64_t trial, int fuse); /* fuse >= 1 */

void fresh_points_init(struct fresh_points *d, const struct space *space);
void fresh_points_fini(struct fresh_points *d);
bool fresh_points_is_used_up(const struct fresh_points *d); /* the space has no unseen point left */
/* Returns 1 and the point, which counts as seen from now on, or 0 if the space is used up. */
int fresh_points_next(struct fresh_points *d, uint64_t seed, int64_t trial, double *point);
/* Marks a point that was not drawn here, for example one enqueued by a user. True if it was new. A
 * point that breaks a constraint of the space never is. */
bool fresh_points_mark(struct fresh_points *d, const double *point);

#endif
