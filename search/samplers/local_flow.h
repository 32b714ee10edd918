/* local_flow.h - one randomised direct search over part of a space: from a centre along random unit directions, first one
 * way, then the opposite; the centre moves to whatever is better, the step grows with success and shrinks without.
 * (Wu, Wang and Huang, Frugal Optimization for Cost-related Hyperparameters, AAAI 2021: FLOW2. It starts where trials are
 * cheap and leaves only for better results, so its total cost stays near that of the best configuration.)
 *
 * Pure. Whether a trial is better is the caller's to say. Many trials may be in flight from one centre: results of trials
 * asked before the last move count only when they are better. Numbers and ordinals step in the unit cube, each choice
 * is drawn anew with probability 1/d; one parameter (the arm's) may stand still. */
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

/* At the defaults, `fixed` at this value. */
void flow_init(struct flow *w, const struct space *space, int fixed, double value);
void flow_fini(struct flow *w);
/* A new search from this place of the unit cube; NaN (inactive) keeps what stands there. */
void flow_restart(struct flow *w, const double *unit, int64_t newest);
/* The next place to try; the same arguments give the same answer. The first is the centre itself while it has no result.
 * attempt > 0: that was proposed before; the steps get longer. Asked once per trial, flow_asked counts. */
void flow_next(const struct flow *w, uint64_t seed, int attempt, double *unit);
void flow_asked(struct flow *w);
/* A trial's result, better than the incumbent's (or the first one after a restart): it becomes the centre. */
void flow_move(struct flow *w, int64_t trial, const double *unit, int64_t newest);
/* A trial's result that is not better. True when the search has converged: it wants a restart. */
bool flow_fail(struct flow *w, int64_t trial);

#endif
