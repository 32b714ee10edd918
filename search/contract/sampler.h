/* sampler.h - what a sampler is: it proposes configurations. A sampler is a pure value. Batches of
 * proposals come out, and observations come in, in any order. Replaying the same calls gives the
 * same state and the same proposals; this is how a restart of the controller rebuilds it. One
 * thread at a time; no clock, no I/O. A larger `value` is always better here; the caller negates
 * losses. controller/ and lab/ call it; searchers.c lists the samplers.
 *
 * Free axes (AXIS_FREE) are never searched: a proposal has their default. Every trial must be
 * observed with its end, also a cancelled one, or it counts as pending for ever. */
#ifndef SEARCH_CONTRACT_SAMPLER_H
#define SEARCH_CONTRACT_SAMPLER_H

#include "search/contract/option.h"
#include "search/space/space.h"

#include <stdint.h>

/* RUNNING is an intermediate report. CANCELLED is an end without a verdict: the trial only stops
 * being pending. */
enum obs_state { OBS_RUNNING, OBS_COMPLETED, OBS_PRUNED, OBS_FAILED, OBS_CANCELLED, OBS_STATES };
enum { SEARCH_MAX_OBJECTIVES = 4 };

struct observation {
    int64_t
        trial; /* number within the study, from 1; a warm start counts its trials 0, -1, -2 ... */
    enum obs_state state;
    int level;     /* level reached */
    int max_level; /* of the trial's family */
    double value;  /* NaN for a failure without a score; infinities are legal and sort as such */
    double more[SEARCH_MAX_OBJECTIVES -
                1]; /* further objectives, larger is better; 0 where there are none */
    double cost;    /* integer cost units spent so far */
    double error;   /* standard error of the value; 0 or NaN = not known */
};

struct sampler;
struct sampler_ops {
    const char *name;
    const char *help;  /* one line for `assay searchers`, GET /searchers and docs/SPEC.md */
    bool is_test_only; /* offered only with --dev */
    bool ranks_by_one; /* it takes only one objective */
    /* What it proposes does not depend on results, so any number of trials may be in flight. */
    bool ignores_results;
    const struct search_option *options;
    int n_options;
    struct sampler *(*open)(const struct space *space, const struct search_setup *setup,
                            struct err *err);
    void (*close)(struct sampler *s);
    /* Proposes up to n points (row-major, n x space->n) for the trials numbered first..first+n-1,
     * which the sampler records as running. Returns how many, or -1 on error. It returns fewer than
     * n only if the space has no unseen point left; nothing is recorded for the rest. */
    int (*suggest)(struct sampler *s, int64_t first, int n, double *points, struct err *err);
    /* Tells it of a trial that it did not propose: enqueued by a user, a family's first
     * configuration, a retry, or from a warm start. */
    int (*adopt)(struct sampler *s, int64_t trial, const double *point, struct err *err);
    /* A trial that it suggested itself in a former life, at this place among the calls: leaves the
     * state that suggest left, for much less. NULL: only suggesting again does. */
    int (*recall)(struct sampler *s, int64_t trial, const double *point, struct err *err);
    /* Which choice of the parameter that opens branches the next suggestion should be of; -1 = the
     * sampler chooses. A recall needs none of it. NULL: the sampler always chooses. */
    void (*prefer)(struct sampler *s, int choice);
    /* Observations may come out of order and repeatedly; a repeat changes nothing. An observation
     * of a trial that was neither suggested nor adopted is ignored. */
    int (*observe)(struct sampler *s, const struct observation *o, struct err *err);
};
struct sampler {
    const struct sampler_ops *ops;
    const struct space *space; /* borrowed; outlives the sampler */
    uint64_t seed;
};

void sampler_close(struct sampler *s); /* NULL is legal */

#endif
