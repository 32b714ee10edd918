/* trust.h - whether the ranking of trials at one rung says anything about their ranking at the
 * next. It keeps a window of the latest pairs (value at the rung, value at the next rung) and
 * Kendall's tau, a rank correlation, over them. Used by asha.c.
 *
 * The pairs are of trials that went on whatever their rank. Only such trials may be counted:
 * among trials that were chosen by the ranking under test, the correlation is smaller than it
 * really is. */
#ifndef SEARCH_SCHEDULERS_TRUST_H
#define SEARCH_SCHEDULERS_TRUST_H

#include "base/buf.h"

#include <stdbool.h>

/* TRUST_WINDOW: pairs kept. TRUST_MIN_PAIRS: fewer pairs are no basis for a verdict. */
enum { TRUST_WINDOW = 32, TRUST_MIN_PAIRS = 6 };

struct trust {
    /* how many pairs are held; the place of the next one in the ring */
    int n, next;
    double here[TRUST_WINDOW], there[TRUST_WINDOW];
    /* whether the ranking can be trusted, by the pairs held */
    bool holds;
};

/* Adds a pair. NaN is allowed and is the worst value. The verdict holds if tau, less one standard
 * error of the tau of unrelated values, is at least `least`. */
void trust_add(struct trust *t, double here, double there, double least);
/* Kendall's tau over the pairs held; 0 with fewer than 2. */
double trust_tau(const struct trust *t);

#endif
