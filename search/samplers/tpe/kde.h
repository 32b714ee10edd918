/* kde.h - a multivariate density of product kernels, as BOHB uses it; bohb.c calls it. Numeric
 * dimensions have a Gaussian kernel on the unit interval that is not normalised at the ends.
 * Unordered dimensions have the kernel of Aitchison and Aitken: 1 - h for the kernel's own value
 * and h / (c - 1) for each of the other c - 1. Bandwidths follow the normal reference rule of
 * statsmodels, 1.06 sd n^(-1/(4+d)). They are at least `least`, and in an unordered dimension at
 * most the value at which the kernel is uniform. Pure arithmetic; the caller fills in the data. */
#ifndef SEARCH_SAMPLERS_TPE_KDE_H
#define SEARCH_SAMPLERS_TPE_KDE_H

#include "base/rng.h"

struct kde {
    int n, d;
    const int *choices; /* number of choices of each dimension, 0 = numeric; borrowed */
    double *data;       /* n x d: unit values, indices of choices */
    double *columns;    /* the same, d x n */
    double *bandwidth;  /* d */
    double *log_same, *log_other, log_scale;
    double *terms, *away, *parts; /* room for n */
};

void kde_init(struct kde *k, int n, int d, const int *choices);
void kde_fini(struct kde *k);
void kde_fit(struct kde *k, double least); /* n >= 1, data filled */
double kde_log_density(const struct kde *k, const double *x);
/* Draws near a random point of the data. A numeric dimension is drawn from a normal of `factor`
 * bandwidths, cut off at 0 and 1. An unordered one keeps its value with probability 1 - bandwidth
 * and is uniform otherwise. */
void kde_sample(const struct kde *k, double factor, struct rng *r, double *x);

#endif
