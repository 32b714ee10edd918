/* simulate.h - a search that takes no time: any sampler and scheduler against a table of known
 * outcomes, with W workers on a simulated clock. The calls are those of a live study, in its order.
 * At a report first the sampler is told, then the scheduler, then trials are retired. A free worker
 * gets a trial to resume, otherwise a new one. Asking, pausing and resuming take no time. Several
 * thousand trials run in a second, and a run is a pure function of its conf.
 *
 * The value of an epoch counts for the best so far at the moment the epoch ends, whether or not the
 * scheduler hears of it. The scheduler is told only the values at the levels of its ladder. */
#ifndef SEARCH_LAB_SIMULATE_H
#define SEARCH_LAB_SIMULATE_H

#include "search/contract/sampler.h"
#include "search/contract/scheduler.h"
#include "search/lab/tabular.h"

enum { SIM_SHARES = 100, SIM_MAX_WORKERS = 1 << 20 };

struct sim_conf {
    const struct tabular *table;
    const struct sampler_ops *sampler;
    const struct scheduler_ops *scheduler;
    const double *sampler_options, *scheduler_options; /* NULL = the defaults */
    uint64_t seed;
    int workers; /* in a grid all take equally long, so the oldest of W trials is told first */
    int n_levels;
    int ladder
        [TABULAR_MAX_LEVELS]; /* epochs of levels 1..n_levels, rising; the last is table->epochs */
    /* Standard deviation of the noise on what is told, in the table's spreads (tabular.h); 0 = none.
     * Then the best so far is the true value of the configuration that looked best. */
    double noise;
    double clock; /* seconds until it stops; 0 = never. Epochs that would end later do not count */
    int64_t
        trials; /* started at most; 0 = no limit. One of the two limits, or the table's end, ends it */
};

struct sim_result {
    /* The best value so far: with a clock at 0, 1 .. 100 % of it, without after 0, 1 .. n trials
     * have ended. NaN before the first. */
    double *trace;
    size_t n_trace;
    int64_t started, resumed, completed, stopped, failed, retired;
    int64_t paused, running; /* at the end */
    int64_t repeats;         /* a grid's entries that were proposed again */
    int64_t
        reached[TABULAR_MAX_LEVELS]; /* trials that ended level 1..n_levels, or went on from it */
    double busy, idle;               /* worker seconds */
    double idle_open;                /* of them, while there still were configurations to start */
    double end;                      /* the clock at the end */
};

/* Returns 0, or -1 if a sampler or scheduler refuses or breaks its contract. r is set only on 0. */
int simulate(const struct sim_conf *conf, struct sim_result *r, struct err *err);
void sim_result_fini(struct sim_result *r);

#endif
