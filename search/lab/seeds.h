/* seeds.h - a sampler and a scheduler on a benchmark table with many seeds: the mean regret with
 * its standard error, and what trials and workers did on average. Called by `assay simulate` and
 * tests/bench/. */
#ifndef SEARCH_LAB_SEEDS_H
#define SEARCH_LAB_SEEDS_H

#include "search/lab/simulate.h"

enum { SEEDS_MARKS = 3 };

struct seeds_result {
    int seeds;
    double at[SEEDS_MARKS]; /* a quarter, a half and all of the seconds, or of the ended trials */
    double regret[SEEDS_MARKS], se[SEEDS_MARKS];
    double value[SEEDS_MARKS];   /* mean best, in the table's own direction */
    double (*each)[SEEDS_MARKS]; /* regret of every seed, so that two samplers can be paired */
    double *curve;               /* mean regret along the trace */
    size_t n_curve;
    /* Means of the numbers of the same names in sim_result. */
    double started, resumed, completed, stopped, failed, retired, paused, running, repeats;
    double reached[TABULAR_MAX_LEVELS];
    double busy, idle, idle_open, end;
};

/* Runs the seeds conf->seed, conf->seed + 1 and so on. Returns as simulate() does. */
int seeds_run(const struct sim_conf *conf, int seeds, struct seeds_result *j, struct err *err);
void seeds_result_fini(struct seeds_result *j);

#endif
