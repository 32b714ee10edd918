/* chooser.h - which arm gets the next trial. An arm is a family of models, or a part of the space.
 * The arm chosen is one that is expected to improve on the best of all for the least cost (Wang,
 * Wu, Weimer and Zhu, FLAML: A Fast and Lightweight AutoML Library, MLSys 2021: the estimated cost
 * for improvement, ECI, and a draw with probability proportional to 1 / ECI). Used by local.c.
 *
 * It is told of trials that begin and of results, and it answers a draw by (seed, trial). The draws
 * are independent, so any number of trials may be in flight. Larger values are better. NaN,
 * -infinity and failures are cost without gain. */
#ifndef SEARCH_SAMPLERS_CHOOSER_H
#define SEARCH_SAMPLERS_CHOOSER_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct chooser_arm {
    int64_t started, told; /* trials begun; results heard of */
    double best, before;   /* best value and the best before it; -INFINITY = none */
    double spent;          /* K0: cost of all its results */
    double at_best;        /* K1: spent when the best came */
    double at_before;      /* K2: spent when the one before came */
    bool is_closed;        /* it has no configuration left */
};
struct chooser {
    int n;
    struct chooser_arm *arms;
};

void chooser_init(struct chooser *c, int n_arms); /* n_arms >= 1 */
void chooser_fini(struct chooser *c);
void chooser_start(struct chooser *c, int arm);
/* A result, or a further report of a trial. cost is what it took since the last one; a cost that is
 * not above 0 counts as 1. */
void chooser_observe(struct chooser *c, int arm, double value, double cost);
/* No more proposals from this arm. */
void chooser_close(struct chooser *c, int arm);
/* The estimated cost until the arm is better than the best of all; positive. INFINITY while nothing
 * is known of any arm. */
double chooser_eci(const struct chooser *c, int arm);
/* The arm of a trial. Arms that never began come first, in their order, so the caller puts cheap
 * ones first. -1 if all are closed. */
int chooser_next(const struct chooser *c, uint64_t seed, int64_t trial);

#endif
