/* sampler.h - who proposes configurations. A sampler is a pure value: batches out, observations in any order,
 * state saved to bytes; replaying the same calls gives the same state and the same proposals.
 * One thread at a time; no clock, no I/O. Larger `value` is always better here: the caller flips losses. */
#ifndef SEARCH_SAMPLER_H
#define SEARCH_SAMPLER_H

#include "base/buf.h"
#include "search/space.h"

#include <stdint.h>

enum obs_state { OBS_RUNNING, OBS_COMPLETED, OBS_PRUNED, OBS_FAILED }; /* RUNNING: an intermediate report */

struct observation {
    int64_t trial;       /* number within the study, from 1 */
    enum obs_state state;
    int resource;        /* level reached */
    int max_resource;    /* of the trial's family */
    double value;        /* NaN for a failure without a score */
    double cost;         /* integer cost units spent so far */
};

struct sampler;
struct sampler_ops {
    const char *name;
    const char *help;     /* one line for --help and /config */
    bool is_test_only;    /* offered only with --dev */
    struct sampler *(*open)(const struct space *space, uint64_t seed, struct err *err);
    void (*close)(struct sampler *s);
    /* Proposes up to n points (row-major n x space->n) for the trials numbered first..first+n-1, which the sampler
     * records as running. Returns how many; fewer only when the space has no unseen point left; -1 on error. */
    int (*suggest)(struct sampler *s, int64_t first, int n, double *points, struct err *err);
    /* Tells of a trial that was not suggested by it (enqueued by a user, warm start). */
    int (*adopt)(struct sampler *s, int64_t trial, const double *point, struct err *err);
    /* Out of order and repeated observations are legal; a repeat changes nothing. */
    int (*observe)(struct sampler *s, const struct observation *o, struct err *err);
    int (*save)(const struct sampler *s, struct buf *out, struct err *err);
    int (*load)(struct sampler *s, struct view *in, struct err *err); /* into a fresh one, same space and seed */
};
struct sampler {
    const struct sampler_ops *ops;
    const struct space *space; /* borrowed; outlives the sampler */
    uint64_t seed;
};

const struct sampler_ops *sampler_find(const char *name); /* NULL = unknown */
const struct sampler_ops *sampler_at(int i);              /* NULL past the end */

#endif
