/* preview.h - what a schedule will do, before anything runs: so many trials end at this level, and what they cost
 * together. Found by running the scheduler itself on made-up results, so it is true of any scheduler: once on results in
 * random order ("typical"), once with every trial better than all before it ("most", which is the worst case: nothing
 * that may be stopped early is). Pure, no text: REST and CLI print the struct. */
#ifndef SEARCH_PREVIEW_H
#define SEARCH_PREVIEW_H

#include "search/contract/scheduler.h"

enum { PREVIEW_MAX_TRIALS = 5000 }; /* more are run as so many and scaled up */

/* A family as the preview sees it. Trials go to the ladders by turns. */
struct preview_ladder {
    int group, max_level;
    const double
        *cost; /* cost[l - 1] = what a trial spends up to level l, rising; NULL = l / max_level */
};

struct preview_line { /* in order of ladder, level; levels at which no trial ends are left out */
    int ladder, level;
    int64_t typical, most; /* trials that end there; `most` in the worst case */
};

struct preview {
    int64_t trials;
    bool is_open;   /* the study has no limit of trials: this is for a first `trials` of them */
    bool is_scaled; /* counts are of a smaller run, scaled up */
    struct preview_line *lines;
    int n_lines;
    double typical, most, full; /* cost of all; full = every trial to the top */
};

/* ERR_ARG for options or ladders that make no sense. Without budget_trials: one round of a bracketed scheduler's brackets,
 * else 100. */
int preview_make(const struct scheduler_ops *ops, const struct search_setup *setup,
                 const struct preview_ladder *ladders, int n_ladders, struct preview *out,
                 struct err *err);
void preview_fini(struct preview *p);

#endif
