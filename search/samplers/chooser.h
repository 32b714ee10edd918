/* chooser.h - which arm (a family of models, a part of the space) gets the next trial: the one expected to improve on the
 * best for the least cost. (Wang, Wu, Weimer and Zhu, FLAML: A Fast and Lightweight AutoML Library, MLSys 2021: estimated
 * cost for improvement, ECI, and a draw with probability proportional to 1 / ECI.)
 *
 * A value: told in some order of trials begun and results, it answers by (seed, trial). Independent draws suit any number
 * of trials in flight. Larger values are better; NaN, -infinity and failures are cost without gain. */
#ifndef SEARCH_SAMPLERS_CHOOSER_H
#define SEARCH_SAMPLERS_CHOOSER_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct chooser_arm {
    int64_t started, told; /* trials begun, results heard */
    double best, before;   /* best value and the best before it; -INFINITY = none */
    double spent;          /* K0: cost of all its results */
    double at_best;        /* K1: spent when the best came */
    double at_before;      /* K2: spent when the one before came */
    bool is_closed;        /* has no configuration left */
};
struct chooser {
    int n;
    struct chooser_arm *arms;
};

void chooser_init(struct chooser *c, int n_arms); /* n_arms >= 1 */
void chooser_fini(struct chooser *c);
void chooser_start(struct chooser *c, int arm);
/* A result, or a further report of a trial: cost is what it took since the last one. Cost that is not above 0 counts 1. */
void chooser_observe(struct chooser *c, int arm, double value, double cost);
/* No more proposals from this arm. */
void chooser_close(struct chooser *c, int arm);
/* Estimated cost until the arm beats the best of all; INFINITY while nothing is known of any arm. Positive. */
double chooser_eci(const struct chooser *c, int arm);
/* Arms never begun come first, in their order (put the cheap ones first); -1 when all are closed. */
int chooser_next(const struct chooser *c, uint64_t seed, int64_t trial);

#endif
