/* rung.h - where on a ladder trials are compared, and the ranking of the trials that came to such a
 * rung. asha.c and bracket.c use it. Pure arithmetic in whole numbers, so every machine finds the
 * same rungs.
 *
 * What a level costs. A scheduler knows only levels, 1..max_level, and there are two kinds of
 * ladders. A long ladder counts something, such as epochs or rounds: level l costs l. With
 * reduction factor eta its rungs are max_level / eta^k, rounded to the nearest level, for all k
 * that leave at least min_level. A short ladder was designed as a ladder by its family (one fold,
 * all folds, full learning rate): each level costs about eta times the one before, so each level is
 * a rung. A ladder of at most `per_level` levels counts as short. */
#ifndef SEARCH_SCHEDULERS_RUNG_H
#define SEARCH_SCHEDULERS_RUNG_H

#include "search/contract/option.h"
#include "search/contract/scheduler.h"

enum { RUNG_MAX = 32, RUNG_ETA_MAX = 16 };

struct rung_rule {
    int eta, min_level, per_level;
};

/* The levels of the rungs in rising order; the last one is max_level. */
struct rung_ladder {
    int n;
    int level[RUNG_MAX];
};

void rung_ladder_init(struct rung_ladder *l, const struct rung_rule *rule, int max_level);
int64_t rung_power(int eta, int k); /* eta^k, at most 2^40 */
/* How many of n trials go on if one in `share` does. If `share` is larger than eta, the first one
 * already goes on when there are 2 eta trials. */
size_t rung_limit(const struct rung_rule *rule, size_t share, size_t n);

/* The trials that came to a rung, best first: larger values, then smaller trial numbers. NaN is
 * worse than -infinity. */
struct rung_entry {
    double value;
    int64_t trial;
    bool is_open; /* paused here, and may still go on */
};
struct rung {
    struct rung_entry *entries;
    size_t n, cap;
    size_t first_open; /* the best open entry; n if none is open */
    int64_t n_promoted;
};

bool rung_before(const struct rung_entry *a, const struct rung_entry *b);
void rung_fini(struct rung *r);
size_t rung_add(struct rung *r, struct rung_entry e);                /* returns its place */
size_t rung_find(const struct rung *r, double value, int64_t trial); /* n if it is not there */
void rung_close(struct rung *r, size_t at); /* the entry went on, or never will */
void rung_remove(struct rung *r, size_t at);

#endif
