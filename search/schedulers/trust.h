/* trust.h - whether ranks at one rung say anything about ranks at the next. It keeps a window of
 * the latest pairs (value at the rung, value at the next) of trials that went on whatever their
 * rank, and Kendall's tau over them. Only such trials may be counted: among trials that were chosen
 * by the ranking under test, the correlation is smaller than it really is. Used by asha.c. */
#ifndef SEARCH_SCHEDULERS_TRUST_H
#define SEARCH_SCHEDULERS_TRUST_H

#include "base/buf.h"

#include <stdbool.h>

/* Pairs kept, and pairs that a verdict needs at least. */
enum { TRUST_WINDOW = 32, TRUST_MIN_PAIRS = 6 };

struct trust {
    int n, next; /* pairs held; place of the next one in the ring */
    double here[TRUST_WINDOW], there[TRUST_WINDOW];
    bool holds; /* the verdict over the pairs held */
};

/* Adds a pair. NaN is allowed and is the worst value. The verdict holds if tau, less one standard
 * error of the tau of unrelated values, is at least `least`. */
void trust_add(struct trust *t, double here, double there, double least);
double trust_tau(const struct trust *t); /* over the pairs held; 0 with fewer than 2 */

#endif
