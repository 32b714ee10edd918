/* kde.c - product-kernel densities; see kde.h. Everything is computed in logarithms, so many
 * dimensions with narrow kernels neither overflow nor vanish, and with search_log and search_exp,
 * so all machines agree to the last bit. */
#include "search/samplers/tpe/kde.h"

#include "search/space/exact_math.h"

#include "base/base.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

#define HALF_LOG_2PI 0.91893853320467274178
enum { ATTEMPTS = 64 }; /* of a rejection that succeeds at least once in five times */

void kde_init(struct kde *k, int n, int d, const int *choices)
{
    size_t width = (size_t)d;

    *k = (struct kde){ .n = n, .d = d, .choices = choices };
    k->data = mem_array((size_t)n * width, sizeof *k->data);
    k->bandwidth = mem_array(width, sizeof *k->bandwidth);
    k->log_same = mem_array(width, sizeof *k->log_same);
    k->log_other = mem_array(width, sizeof *k->log_other);
    k->terms = mem_array((size_t)n, sizeof *k->terms);
}

void kde_fini(struct kde *k)
{
    mem_free(k->data);
    mem_free(k->bandwidth);
    mem_free(k->log_same);
    mem_free(k->log_other);
    mem_free(k->terms);
    memset(k, 0, sizeof *k);
}

/* The standard deviation of dimension j over the kernels' centres. */
static double spread(const struct kde *k, int j)
{
    double mean = 0, squares = 0;

    for (int i = 0; i < k->n; i++)
        mean += k->data[(size_t)i * (size_t)k->d + (size_t)j] / k->n;
    for (int i = 0; i < k->n; i++) {
        double off = k->data[(size_t)i * (size_t)k->d + (size_t)j] - mean;
        squares += off * off / k->n;
    }
    return sqrt(squares);
}

/* Scott's rule for the bandwidth: 1.06 sigma n^(-1 / (4 + d)) (Scott, Multivariate density
 * estimation, 1992), at least `least`. For a categorical dimension of c choices the bandwidth is
 * the probability of another choice than the kernel's, shared by all c - 1 others (Aitchison and
 * Aitken, 1976); at most (c - 1) / c, where all choices are equally likely. */
void kde_fit(struct kde *k, double least)
{
    double shrink = search_exp(-search_log(k->n) / (4 + k->d));

    CHECK(k->n >= 1);
    k->log_scale = -search_log(k->n);
    for (int j = 0; j < k->d; j++) {
        double h = MAX(1.06 * spread(k, j) * shrink, least);
        int c = k->choices[j];
        if (c > 0) {
            h = MIN(h, (c - 1.0) / c);
            k->log_same[j] = search_log(1 - h);
            k->log_other[j] = search_log(h / (c - 1.0));
        } else {
            k->log_scale -= search_log(h) + HALF_LOG_2PI;
        }
        k->bandwidth[j] = h;
    }
}

/* The kernel around `at`, at x, without the constant factors that log_scale holds. */
static double log_kernel(const struct kde *k, const double *at, const double *x)
{
    double sum = 0;

    for (int j = 0; j < k->d; j++) {
        if (k->choices[j] > 0) {
            sum += at[j] == x[j] ? k->log_same[j] : k->log_other[j];
        } else {
            double z = (at[j] - x[j]) / k->bandwidth[j];
            sum -= z * z / 2;
        }
    }
    return sum;
}

/* log sum exp of the kernels, with the largest term taken off first. */
double kde_log_density(const struct kde *k, const double *x)
{
    double top = -INFINITY, sum = 0;

    for (int i = 0; i < k->n; i++) {
        k->terms[i] = log_kernel(k, k->data + (size_t)i * (size_t)k->d, x);
        top = MAX(top, k->terms[i]);
    }
    for (int i = 0; i < k->n; i++) { /* e^-40 = 2^-57 of the largest term would change no bit */
        if (k->terms[i] > top - 40)
            sum += search_exp(k->terms[i] - top);
    }
    return k->log_scale + top + search_log(sum);
}

/* A normal inside the unit interval, by rejection. At least a fifth of it lies inside. */
static double cut_normal(struct rng *r, double mean, double sd)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        double x = mean + sd * rng_normal(r);
        if (x >= 0 && x < 1)
            return x;
    }
    return rng_unit(r);
}

/* Draws a kernel, then each dimension from it. factor widens the kernels of numbers. */
void kde_sample(const struct kde *k, double factor, struct rng *r, double *x)
{
    const double *at = k->data + (size_t)rng_below(r, (uint32_t)k->n) * (size_t)k->d;

    for (int j = 0; j < k->d; j++) {
        if (k->choices[j] == 0)
            x[j] = cut_normal(r, at[j], factor * k->bandwidth[j]);
        else if (rng_unit(r) < 1 - k->bandwidth[j])
            x[j] = at[j];
        else
            x[j] = rng_below(r, (uint32_t)k->choices[j]);
    }
}
