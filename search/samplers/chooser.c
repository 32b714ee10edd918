/* chooser.c - the estimated cost for improvement, section 4.2 of the FLAML paper, with K0, K1 and
 * K2 as there.
 *
 * The arm that holds the best: ECI = max(K0 - K1, K1 - K2): what its last improvement took, or what
 * has been spent in vain since then. An arm that is behind by D: at least D (K0 - K2) / d, where d
 * is its last improvement; that is the way to the best at the speed of that improvement. The
 * paper's second estimate, for growing the sample, is not needed here, because the scheduler
 * decides on levels. */
#include "search/samplers/chooser.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>

enum { TAG = 0xc40 }; /* keeps its draws apart from others of the same seed */

void chooser_init(struct chooser *c, int n_arms)
{
    CHECK(n_arms >= 1);
    c->n = n_arms;
    c->arms = mem_array((size_t)n_arms, sizeof *c->arms);
    for (int i = 0; i < n_arms; i++)
        c->arms[i].best = c->arms[i].before = -INFINITY;
}

void chooser_fini(struct chooser *c)
{
    mem_free(c->arms);
}

void chooser_start(struct chooser *c, int arm)
{
    CHECK(arm >= 0 && arm < c->n);
    c->arms[arm].started++;
}

void chooser_close(struct chooser *c, int arm)
{
    CHECK(arm >= 0 && arm < c->n);
    c->arms[arm].is_closed = true;
}

void chooser_observe(struct chooser *c, int arm, double value, double cost)
{
    struct chooser_arm *a = &c->arms[arm];

    CHECK(arm >= 0 && arm < c->n);
    a->told++;
    a->spent = MIN(a->spent + (cost > 1e-200 && cost < 1e200 ? cost : 1), 1e250);
    value = MIN(value, 1e150); /* so that differences stay finite */
    if (!(value > a->best && value > -1e150))
        return;
    a->before = a->best;
    a->at_before = a->at_best;
    a->best = value;
    a->at_best = a->spent;
}

/* The mean cost of a result so far; 0 if there is none. */
static double mean_cost(const struct chooser *c)
{
    double spent = 0;
    int64_t told = 0;

    for (int i = 0; i < c->n; i++) {
        spent += c->arms[i].spent;
        told += c->arms[i].told;
    }
    return told > 0 ? spent / (double)told : 0;
}

double chooser_eci(const struct chooser *c, int arm)
{
    const struct chooser_arm *a = &c->arms[arm];
    double top = -INFINITY, mean = mean_cost(c);

    CHECK(arm >= 0 && arm < c->n);
    for (int i = 0; i < c->n; i++)
        top = MAX(top, c->arms[i].best);
    if (mean == 0)
        return INFINITY;
    if (a->told == 0) /* no result yet: less urgent with every trial that is in flight */
        return mean * (double)(1 + a->started);
    double eci = MAX(a->spent - a->at_best, a->at_best - a->at_before);
    double lag = top - a->best, gain = a->best - a->before;
    eci = MAX(eci, a->spent / (double)a->told); /* an improvement takes at least one trial */
    if (a->best == -INFINITY || lag <= 0)
        return eci;
    if (a->before ==
        -INFINITY) /* one value says nothing of speed: at least as much again as was spent */
        return MAX(eci, 2 * a->spent);
    double way = lag * ((a->spent - a->at_before) / gain);
    return MIN(MAX(eci, way), 1e280);
}

/* Draws arms in proportion to 1 / chooser_eci as a race: each arm arrives after an exponential time of
 * its own, and the first wins. So the winner does not depend on when an arm was closed that cannot
 * win any more: a sampler that is rebuilt from its trials does not know that. */
int chooser_next(const struct chooser *c, uint64_t seed, int64_t trial)
{
    double total = 0, least = INFINITY;
    int first = -1;

    for (int i = 0; i < c->n; i++) {
        if (c->arms[i].is_closed)
            continue;
        if (c->arms[i].started == 0)
            return i;
        total += 1 / chooser_eci(c, i);
    }
    for (int i = 0; i < c->n; i++) {
        uint32_t out[4];
        if (c->arms[i].is_closed)
            continue;
        rng_at(seed, TAG, (uint32_t)i, (uint64_t)trial, out);
        /* in (0, 1); nothing may be known of any arm */
        double u = ((double)out[0] + 0.5) * 0x1p-32;
        double time = -log(u) * (total > 0 ? chooser_eci(c, i) : (double)c->arms[i].started);
        if (time < least || first < 0) {
            least = time;
            first = i;
        }
    }
    return first;
}
