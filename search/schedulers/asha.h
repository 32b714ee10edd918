/* asha.h - what asha.c (decisions) and asha_describe.c (rungs as rows) share. Private to these
 * two. */
#ifndef SEARCH_SCHEDULERS_ASHA_H
#define SEARCH_SCHEDULERS_ASHA_H

#include "search/schedulers/roster.h"
#include "search/schedulers/rung.h"
#include "search/schedulers/trust.h"

enum { ASHA_OPTIONS = 8, ASHA_MAX_BRACKETS = 8 };
/* Pairs of values that are collected before a rung is tested for the first time. */
enum { ASHA_PROOF = 12 };
/* Flag of a trial: it left its last rung whatever its rank, so it may be counted by trust.h. */
enum { ASHA_FREE = 1 };

/* Bracket b starts at rung b of the ladder; its rungs below stay empty. */
struct asha_track {
    struct rung rungs[RUNG_MAX];
};
struct asha_ladder {
    int family, max_level, n_tracks;
    struct rung_ladder rungs;
    struct asha_track tracks[ASHA_MAX_BRACKETS];
    /* trust[k]: whether ranks at rung k predict ranks at rung k + 1. */
    struct trust trust[RUNG_MAX];
    /* n_free[k]: trials that passed rung k whatever their rank, and still run. */
    int n_free[RUNG_MAX];
};

struct asha {
    struct scheduler base;
    double options[ASHA_OPTIONS];
    struct rung_rule rule;
    int n_brackets;
    bool is_stop_only, is_strict;
    double trust_least;
    uint64_t partial;            /* search_setup's */
    uint64_t held;               /* scheduler_ops.hold */
    int top;                     /* promotions to the top are rarer by this factor */
    struct roster roster;        /* home = ladder * ASHA_MAX_BRACKETS + bracket */
    struct asha_ladder *ladders; /* in the order they were met */
    int n_ladders;
};

struct asha_ladder *asha_ladder_add(struct asha *a, int family, int max_level);
static inline struct asha_ladder *asha_ladder_of(const struct asha *a, const struct roster_entry *e)
{
    return &a->ladders[e->home / ASHA_MAX_BRACKETS];
}
static inline struct rung *asha_rung_of(const struct asha *a, const struct roster_entry *e)
{
    return &asha_ladder_of(a, e)->tracks[e->home % ASHA_MAX_BRACKETS].rungs[e->rung];
}

/* asha_rival.c. Whether the ladder's best trial that waits at its lowest rung is not among the best
 * 1/eta of the lowest rungs of all ladders. */
bool asha_is_behind(const struct asha *a, const struct asha_ladder *l);

int asha_describe(const struct scheduler *s, int first, int n, struct sched_rung *out);

#endif
