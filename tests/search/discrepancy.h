/* discrepancy.h - how evenly points cover the unit cube: the centred L2 discrepancy (Hickernell 1998), which looks at
 * boxes from every corner. For the tests of sequences. */
#ifndef TESTS_SEARCH_DISCREPANCY_H
#define TESTS_SEARCH_DISCREPANCY_H

#include "search/space/sequence.h"

double discrepancy_l2(const double *unit, int n, int dims);
/* Fails the test unless the first n elements are, on average over seeds, clearly below random points. */
void discrepancy_below_random(const struct sequence_ops *ops, int dims, int n);

#endif
