/* rung.h - where on a ladder trials are compared, and the ranking of those that came there. Shared by the schedulers that
 * have rungs; pure arithmetic in whole numbers, so every machine finds the same rungs.
 *
 * What a level costs. A scheduler knows levels only, 1..max_level, and there are two kinds of ladders. A long one counts
 * something (epochs, rounds): the resource of level l is l, and with reduction factor eta the rungs are max_level / eta^k,
 * rounded to the nearest whole level, for all k that leave at least min_level. A short one was made as a ladder of
 * its own (a family's rungs: one fold, all folds, full learning rate): each step costs about eta times the one before, so each
 * level is a rung. Ladders up to `per_level` levels are read as short. */
#ifndef SEARCH_SCHEDULERS_RUNG_H
#define SEARCH_SCHEDULERS_RUNG_H

#include "search/contract/option.h"
#include "search/contract/scheduler.h"

enum { RUNG_MAX = 32, RUNG_ETA_MAX = 16 };

struct rung_rule {
    int eta, min_level, per_level;
};

/* Levels of the rungs, rising; the last is max_level. */
struct rung_ladder {
    int n;
    int level[RUNG_MAX];
};

void rung_ladder_init(struct rung_ladder *l, const struct rung_rule *rule, int max_level);
int64_t rung_power(int eta, int k); /* eta^k, at most 2^40 */
/* How many of n go on where one in `share` does; where that is rarer than one in eta, the first one goes out of 2 eta. */
size_t rung_limit(const struct rung_rule *rule, size_t share, size_t n);

/* Those that came to a rung, best first: larger values, then smaller trial numbers; NaN is worse than -inf. */
struct rung_entry {
    double value;
    int64_t trial;
    bool is_open; /* paused here, may yet go on */
};
struct rung {
    struct rung_entry *entries;
    size_t n, cap;
    size_t first_open; /* n when none is */
    int64_t n_promoted;
};

bool rung_before(const struct rung_entry *a, const struct rung_entry *b);
void rung_fini(struct rung *r);
size_t rung_add(struct rung *r, struct rung_entry e);                /* returns its place */
size_t rung_find(const struct rung *r, double value, int64_t trial); /* n when it is not there */
void rung_close(struct rung *r, size_t at);                          /* it goes on, or never will */
void rung_remove(struct rung *r, size_t at);

#endif
