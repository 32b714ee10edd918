/* simulate_conf.h - what `assay simulate` will run: pairs of a sampler and a scheduler with
 * their options and limits, read from specs and flags. `auto` is already replaced by a real
 * searcher. */
#ifndef CLI_SIMULATE_CONF_H
#define CLI_SIMULATE_CONF_H

#include "search/lab/simulate.h"

enum { SIMULATE_MAX_PAIRS = 64 };

/* One pair: its text as written ("asha:eta=4", "auto") and what it means. */
struct simulate_pair {
    char sampler_text[120], scheduler_text[120];
    double sampler_options[SEARCH_MAX_OPTIONS], scheduler_options[SEARCH_MAX_OPTIONS];
    struct sim_conf conf; /* points to the options: a pair is not moved */
};

struct simulate_wish {                 /* the flags; 0, NULL or a negative number = not given */
    const char *samplers, *schedulers; /* "random,tpe:startup=20" */
    const char *ladder;                /* "1,3,9,27,52" */
    const char *noise;                 /* "0.3" */
    int64_t workers, trials, budget;
    int64_t clock_ms;
    uint64_t seed;
};

/* Makes one pair for each spec. Then adds every sampler of the flags with every scheduler of the
 * flags, unless there are specs and the flags name none. Returns the number of pairs, or -1. */
int simulate_pairs(const struct tabular *t, const struct simulate_wish *w, const char *const *specs,
                   int n_specs, struct simulate_pair pairs[SIMULATE_MAX_PAIRS], struct err *err);

#endif
