/* marginals.h - does a parameter have the distribution it says: chi-squared over the bins of its values. Shared by the
 * tests of everything that draws. */
#ifndef TESTS_SEARCH_MARGINALS_H
#define TESTS_SEARCH_MARGINALS_H

#include "search/space/space.h"

/* How surprising counts are under the expected shares, in standard deviations of the normal that Wilson and Hilferty's
 * cube root makes of chi-squared. Above 5: 3 in 10 million. */
double marginals_chi(const double *count, const double *share, int bins);
void marginals_even(double *share, int bins);
/* The same for parameter i over n points (row-major); those where it is inactive are left out. */
double marginals_surprise(const struct space *s, const double *points, int n, int i);
/* One parameter of every kind, children and grandchildren. */
struct space *marginals_space(void);

#endif
