/* preview.h - what a schedule will do, before anything runs: how many trials end at each level, and
 * what they cost together. The scheduler itself is run on made-up results, so a preview is right
 * for any scheduler. It is run twice: with results in random order ("typical"), and with every
 * trial better than all before it ("most"), which is the worst case, because no trial is stopped
 * that can go on. Pure and without text: controller/ and the CLI print the struct. */
#ifndef SEARCH_PREVIEW_H
#define SEARCH_PREVIEW_H

#include "search/contract/scheduler.h"

enum { PREVIEW_MAX_TRIALS = 5000 }; /* of a larger study this many are run, and counts scaled up */

/* A family as the preview sees it. Trials are given to the ladders in turn. */
struct preview_ladder {
    int family, max_level;
    const double
        *cost; /* cost[l - 1]: what a trial spends up to level l, rising; NULL = l / max_level */
};

struct preview_line { /* in order of ladder and level; levels at which no trial ends are left out */
    int ladder, level;
    int64_t typical, most; /* trials that end there; `most` in the worst case */
};

struct preview {
    int64_t trials;
    bool is_open;   /* the study has no limit of trials: this is about the first `trials` */
    bool is_scaled; /* counts were made with fewer trials and scaled up */
    struct preview_line *lines;
    int n_lines;
    double typical, most, full; /* cost of all; full = every trial to the top */
};

/* ERR_ARG for options or ladders that make no sense. Without budget_trials the preview covers one
 * round of brackets, or 100 trials if the scheduler has none. */
int preview_make(const struct scheduler_ops *ops, const struct search_setup *setup,
                 const struct preview_ladder *ladders, int n_ladders, struct preview *out,
                 struct err *err);
void preview_fini(struct preview *p);

#endif
