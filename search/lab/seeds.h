/* seeds.h - a sampler and a scheduler over many seeds on a table: mean regret with its standard error, and what the trials
 * and workers did on average. */
#ifndef SEARCH_LAB_SEEDS_H
#define SEARCH_LAB_SEEDS_H

#include "search/lab/simulate.h"

enum { SEEDS_MARKS = 3 };

struct seeds_result {
    int seeds;
    double at[SEEDS_MARKS]; /* a quarter, a half, the whole: seconds, or trials ended */
    double regret[SEEDS_MARKS], se[SEEDS_MARKS];
    double value[SEEDS_MARKS]; /* mean best, in the table's own direction */
    double *curve;             /* mean regret along the trace */
    size_t n_curve;
    /* Means of the numbers of the same names in sim_result. */
    double started, resumed, completed, stopped, failed, retired, paused, running, repeats;
    double reached[TABULAR_MAX_LEVELS];
    double busy, idle, idle_open, end;
};

/* Seeds conf->seed, + 1, .. 0, or -1 as simulate. */
int seeds_run(const struct sim_conf *conf, int seeds, struct seeds_result *j, struct err *err);
void seeds_result_fini(struct seeds_result *j);

#endif
