/* latin.h - the stratified start of samplers that learn: a Latin hypercube (McKay, Beckman, Conover 1979) per block of
 * `block` trials, so that each parameter's range is covered evenly by the first block. A point is a pure function of
 * (seed, trial). With `fuse` > 1 the trials of a group share their shape parameters, as fresh_points.h says. */
#ifndef SEARCH_SPACE_LATIN_H
#define SEARCH_SPACE_LATIN_H

#include "search/space/space.h"

enum { LATIN_MAX_BLOCK = 256 };

void latin_point(const struct space *space, uint64_t seed, int64_t trial, int block, int fuse,
                 double *point);

#endif
