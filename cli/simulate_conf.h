/* simulate_conf.h - what `assay simulate` shall run, from specs and flags: pairs of a sampler and a scheduler with their
 * options, which `auto` has been turned into, and the limits. */
#ifndef CLI_SIMULATE_CONF_H
#define CLI_SIMULATE_CONF_H

#include "search/lab/simulate.h"

enum { SIMULATE_MAX_PAIRS = 64 };

/* A searcher as written ("asha:eta=4", "auto"), resolved. */
struct simulate_pair {
    char sampler_text[120], scheduler_text[120];
    double sampler_options[SEARCH_MAX_OPTIONS], scheduler_options[SEARCH_MAX_OPTIONS];
    struct sim_conf conf; /* points to the options: a pair is not moved */
};

struct simulate_wish {                 /* flags; 0, NULL or negative = not said */
    const char *samplers, *schedulers; /* "random,tpe:startup=20" */
    const char *ladder;                /* "1,3,9,27,52" */
    int64_t workers, trials, budget;
    int64_t clock_ms;
    uint64_t seed;
};

/* One pair per spec; then every sampler of the wish with every scheduler, unless there are specs and the wish names none.
 * Returns how many, or -1. */
int simulate_pairs(const struct tabular *t, const struct simulate_wish *w, const char *const *specs,
                   int n_specs, struct simulate_pair pairs[SIMULATE_MAX_PAIRS], struct err *err);

#endif
