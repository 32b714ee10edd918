/* local_flow.h - one randomised direct search over part of a space. From a centre it tries a random
 * direction, first one way and then the opposite way. The centre moves to whatever is better. The
 * step grows with success and shrinks without it (FLOW2 of Wu, Wang and Huang, Frugal Optimization
 * for Cost-related Hyperparameters, AAAI 2021). It starts where trials are cheap and leaves only
 * for better results, so its total cost stays near that of the best configuration. Used by local.c.
 *
 * Pure. The caller decides whether a trial is better. Many trials may be in flight from one centre;
 * results of trials that were asked for before the last move count only if they are better. Numbers
 * and ordinals move in the unit cube, and each category is drawn anew with probability 1/d. One
 * parameter (the one that names the family) may be fixed. */
#ifndef SEARCH_SAMPLERS_LOCAL_FLOW_H
#define SEARCH_SAMPLERS_LOCAL_FLOW_H

#include "base/buf.h"
#include "search/space/space.h"

struct flow {
    const struct space *space; /* borrowed */
    int fixed;                 /* parameter that never moves, -1 = none */
    int d;                     /* parameters that can move */
    double *centre;            /* unit cube; a place for inactive parameters too */
    bool has_incumbent;      /* the centre is the point of trial `incumbent`, which has a result */
    int64_t incumbent, last; /* last: newest trial asked for before the last move */
    double step;
    uint32_t moves, asked, failed; /* in all; since the last move */
};

/* A search at the defaults, with parameter `fixed` at this value. */
void flow_init(struct flow *w, const struct space *space, int fixed, double value);
void flow_fini(struct flow *w);
/* Starts anew from this place of the unit cube. NaN (an inactive parameter) keeps the old
 * coordinate. */
void flow_restart(struct flow *w, const double *unit, int64_t newest);
/* The next place to try; the same arguments give the same answer. The first place is the centre
 * itself, while it has no result. attempt > 0: the places of earlier attempts were proposed before,
 * so the steps get longer. flow_asked is to be called once per trial. */
void flow_next(const struct flow *w, uint64_t seed, int attempt, double *unit);
void flow_asked(struct flow *w);
/* A trial's result is better than the incumbent's (or the first after a restart), so its point
 * becomes the centre. */
void flow_move(struct flow *w, int64_t trial, const double *unit, int64_t newest);
/* A trial's result is not better. True if the search has converged and wants a restart. */
bool flow_fail(struct flow *w, int64_t trial);

#endif
