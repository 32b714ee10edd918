/* trust.h - do ranks at one rung say anything of ranks at the next? A window of the latest pairs (value at the rung, value
 * at the next) of trials that went on whatever their rank, and Kendall's tau over them. Only such trials may be
 * counted: among those that were chosen by the very ranking under test the correlation is too small. */
#ifndef SEARCH_SCHEDULERS_TRUST_H
#define SEARCH_SCHEDULERS_TRUST_H

#include "base/buf.h"

#include <stdbool.h>

enum { TRUST_WINDOW = 32, TRUST_MIN_PAIRS = 6 };

struct trust {
    int n, next; /* pairs held; where the next one goes */
    double here[TRUST_WINDOW], there[TRUST_WINDOW];
    bool holds; /* the verdict over the pairs held */
};

/* Adds a pair, NaN allowed (worst of all). The verdict holds when tau is at least `least` above zero even after one standard error
 * of a tau between unrelated values is taken off. */
void trust_add(struct trust *t, double here, double there, double least);
double trust_tau(const struct trust *t); /* of the pairs held; 0 with fewer than 2 */

#endif
