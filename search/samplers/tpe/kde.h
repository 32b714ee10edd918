/* kde.h - a multivariate density of product kernels, as BOHB uses it: Gaussian along numeric dimensions (unit interval, not
 * normalised at its ends), Aitchison & Aitken's kernel along unordered ones (1 - h on the value, h / (c - 1) on the
 * others). Bandwidths by the normal reference rule of statsmodels, 1.06 sd n^(-1/(4+d)), from `least` to where the
 * kernel of an unordered dimension is uniform. Pure arithmetic; the caller fills data. */
#ifndef SEARCH_SAMPLERS_TPE_KDE_H
#define SEARCH_SAMPLERS_TPE_KDE_H

#include "base/rng.h"

struct kde {
    int n, d;
    const int *choices; /* of each dimension, 0 = numeric; borrowed */
    double *data;       /* n x d: unit values, indices of choices */
    double *bandwidth;  /* d */
    double *log_same, *log_other, log_scale;
    double *terms; /* room for n */
};

void kde_init(struct kde *k, int n, int d, const int *choices);
void kde_fini(struct kde *k);
void kde_fit(struct kde *k, double least); /* n >= 1, data filled */
double kde_log_density(const struct kde *k, const double *x);
/* A draw near a random point: numeric ones from a normal of `factor` bandwidths cut off at 0 and 1, unordered ones keep
 * their value but for one in 1 / bandwidth, which is uniform. */
void kde_sample(const struct kde *k, double factor, struct rng *r, double *x);

#endif
