/* pareto.h - several objectives at once: who is dominated by whom, and how much a front covers. Points are rows of m
 * objectives (1..4), larger is better. A point with a NaN is worse than every point without. Pure. */
#ifndef SEARCH_INSIGHT_PARETO_H
#define SEARCH_INSIGHT_PARETO_H

#include <stdbool.h>

enum { PARETO_MAX_OBJECTIVES = 4 };

/* a is at least as good everywhere and better somewhere; equal points do not dominate each other. */
bool pareto_dominates(const double *a, const double *b, int m);
/* ranks[i] = how many fronts must be taken away before i is dominated by none (0 = the front); points with a NaN share
 * the rank after all others. Returns the number of ranks. O(n log n) for m <= 2, else O(m n^2) at worst. */
int pareto_ranks(const double *values, int n, int m, int *ranks);
/* Rows that none dominates, in descending order of the first objective, then by row; returns how many. */
int pareto_front(const double *values, int n, int m, int *rows);
/* The volume that the points dominate above `reference`; all finite. Points that are not better than it everywhere add
 * nothing, and order and repeats do not matter. */
double pareto_hypervolume(const double *values, int n, int m, const double *reference);

#endif
