/* simulate.h - a search that takes no time: any sampler and scheduler against a table, with W workers on a simulated
 * clock. The calls are those of a live study, in its order: at a report first the sampler, then the scheduler, then what
 * is to be retired; a free worker gets a trial to resume, else a new one. Asking, pausing and resuming take no time.
 * Thousands of trials a second; a run is a pure function of its conf.
 *
 * Epochs of a table count at the moment they end, whether the scheduler hears of them or not: it is told at the levels of
 * the ladder only, of the value there. */
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
    int workers; /* a grid's evaluations take equally long, so W workers are W in flight: the oldest is told first */
    int n_levels;
    int ladder
        [TABULAR_MAX_LEVELS]; /* epochs of levels 1..n_levels, rising, the last = table->epochs */
    double clock; /* seconds until it stops; 0 = never. Epochs that would end later do not count */
    int64_t
        trials; /* started at most; 0 = no limit. One of the two limits, or the table's end, ends it */
};

struct sim_result {
    /* The best value so far: with a clock at 0, 1 .. 100 % of it, without after 0, 1 .. n trials have ended. NaN before the
     * first. */
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

/* 0, or -1 when a searcher refuses or breaks its contract; r is set on 0 only. */
int simulate(const struct sim_conf *conf, struct sim_result *r, struct err *err);
void sim_result_fini(struct sim_result *r);

#endif
