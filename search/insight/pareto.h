/* pareto.h - several objectives at once: which points dominate which, and how much a front covers.
 * Points are rows of m objectives (1..4), and larger is better. A point with a NaN is worse than
 * every point without one. Pure. Used for reports by the controller and by TPE, which ranks trials
 * by fronts. */
#ifndef SEARCH_INSIGHT_PARETO_H
#define SEARCH_INSIGHT_PARETO_H

#include <stdbool.h>

enum { PARETO_MAX_OBJECTIVES = 4 };

/* Whether a is at least as good as b in all objectives and better in one. Equal points do not
 * dominate each other. */
bool pareto_dominates(const double *a, const double *b, int m);
/* ranks[i] = how many fronts must be removed before no point dominates i; 0 is the front itself.
 * Points with a NaN share the rank after all others. Returns the number of ranks. O(n log n) for m
 * <= 2, otherwise at worst O(m n^2). */
int pareto_ranks(const double *values, int n, int m, int *ranks);
/* The rows that no other row dominates, in descending order of the first objective, then by row.
 * Returns their number. */
int pareto_front(const double *values, int n, int m, int *rows);
/* The volume that the points dominate above `reference`. All numbers must be finite. A point that
 * is not better than the reference in every objective adds nothing. Order and repeats do not
 * matter. O(n log n) comparisons for m <= 3, O(n^2 log n) for m = 4. */
double pareto_hypervolume(const double *values, int n, int m, const double *reference);

#endif
