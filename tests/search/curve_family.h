/* curve_family.h - learning curves made here, to judge schedulers on what the public tables do not show: curves that cross,
 * first epochs that mislead, training times with heavy tails. Drawn by seed; nothing is fitted to a real table. */
#ifndef TESTS_SEARCH_CURVE_FAMILY_H
#define TESTS_SEARCH_CURVE_FAMILY_H

#include "search/lab/tabular.h"

struct curve_family {
    const char *name;
    double crossing;   /* 0..1: how much lower the curves end that rise fast */
    double misleading; /* 0..1: how much of the first epoch says nothing, fading */
    double tails;      /* standard deviation of the logarithm of the time */
};

const struct curve_family *curve_family_at(int i); /* NULL past the end */
/* n configurations of a space with floats, an integer, logarithms and a choice. */
struct tabular *curve_family_new(const struct curve_family *f, size_t n, int epochs, uint64_t seed);

#endif
