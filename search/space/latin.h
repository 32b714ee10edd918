/* latin.h - the stratified start of samplers that learn: a Latin hypercube (McKay, Beckman, Conover
 * 1979). Trials are cut into blocks of `block`; within a block each parameter has exactly one value
 * in each of `block` equal parts of its range, so the first block already covers every parameter
 * evenly. A point is a pure function of (seed, trial). With `fuse` > 1 the trials of a group share
 * their shape parameters, as fresh_points.h says. Points may repeat; the caller marks them. */
#ifndef SEARCH_SPACE_LATIN_H
#define SEARCH_SPACE_LATIN_H

#include "search/space/space.h"

enum { LATIN_MAX_BLOCK = 256 };

void latin_point(const struct space *space, uint64_t seed, int64_t trial, int block, int fuse,
                 double *point);

#endif
