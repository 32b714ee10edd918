/* latin.c - the stratified start; see latin.h. The order of the parts within a block is a
 * Fisher-Yates shuffle keyed by (seed, parameter, block), and the place inside a part is drawn by
 * (seed, parameter, trial). */
#include "search/space/latin.h"

#include "base/rng.h"

#include <math.h>

static const uint64_t LATIN_TAG = 0x6c6174696e; /* "latin" */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* A value in [0,1) for the index-th trial: in the part that the shuffle of its block gives it,
 * anywhere inside the part. */
static double stratified(uint64_t seed, int param, int64_t index, int block)
{
    int64_t which = floor_div(index, block);
    int at = (int)(index - which * block), order[LATIN_MAX_BLOCK];
    struct rng r;

    rng_init(&r, rng_mix(rng_mix(seed, LATIN_TAG), (uint64_t)param), (uint64_t)which);
    for (int i = 0; i < block; i++) {
        int j = (int)rng_below(&r, (uint32_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    rng_init(&r, rng_mix(rng_mix(seed, LATIN_TAG + 1), (uint64_t)param), (uint64_t)index);
    return (order[at] + rng_unit(&r)) / block;
}

void latin_point(const struct space *space, uint64_t seed, int64_t trial, int block, int fuse,
                 double *point)
{
    for (int i = 0; i < space->n; i++) {
        const struct param *p = &space->params[i];
        if (!space_is_active(space, point, i)) {
            point[i] = NAN;
        } else if (p->axis == AXIS_FREE) {
            point[i] = p->def;
        } else {
            bool is_shared = fuse > 1 && p->axis == AXIS_SHAPE;
            int64_t index = is_shared ? floor_div(trial - 1, fuse) : trial - 1;
            point[i] = param_from_unit(p, stratified(seed, i, index, block));
        }
    }
}
