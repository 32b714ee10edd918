/* kde.c - product-kernel densities; see kde.h. Everything is computed in logarithms, so many
 * dimensions with narrow kernels neither overflow nor vanish, and with search_log and search_exp,
 * so all machines agree to the last bit. */
#include "search/samplers/tpe/kde.h"

#include "search/space/exact_math.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/simd.h"

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
    k->columns = mem_array((size_t)n * width, sizeof *k->columns);
    k->terms = mem_array((size_t)n, sizeof *k->terms);
    k->away = mem_array((size_t)n, sizeof *k->away);
    k->parts = mem_array((size_t)n, sizeof *k->parts);
}

void kde_fini(struct kde *k)
{
    mem_free(k->data);
    mem_free(k->bandwidth);
    mem_free(k->log_same);
    mem_free(k->log_other);
    mem_free(k->columns);
    mem_free(k->terms);
    mem_free(k->away);
    mem_free(k->parts);
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
    for (int i = 0; i < k->n * k->d; i++)
        k->columns[(size_t)(i % k->d) * (size_t)k->n + (size_t)(i / k->d)] = k->data[i];
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

/* Adds the kernels of one dimension at x, without the constant factors that log_scale holds. */
SIMD_BODY void add_number_body(double *restrict terms, const double *restrict at, int n, double x,
                               double bandwidth)
{
    for (int i = 0; i < n; i++) {
        double z = (at[i] - x) / bandwidth;
        terms[i] -= z * z / 2;
    }
}

SIMD_BODY void add_choice_body(double *restrict terms, const double *restrict at, int n, double x,
                               double same, double other)
{
    for (int i = 0; i < n; i++)
        terms[i] += at[i] == x ? same : other;
}

SIMD_KERNEL_STATIC(add_number, (double *terms, const double *at, int n, double x, double bandwidth),
                   (terms, at, n, x, bandwidth))
SIMD_KERNEL_STATIC(add_choice,
                   (double *terms, const double *at, int n, double x, double same, double other),
                   (terms, at, n, x, same, other))

/* log sum exp of the kernels, with the largest term taken off first. e^-40 = 2^-57 of it would
 * change no bit, so what is smaller is left out. The loops run along kernels. */
double kde_log_density(const struct kde *k, const double *x)
{
    double top = -INFINITY, sum = 0;

    memset(k->terms, 0, (size_t)k->n * sizeof *k->terms);
    for (int j = 0; j < k->d; j++) {
        const double *at = k->columns + (size_t)j * (size_t)k->n;
        if (k->choices[j] > 0)
            add_choice(k->terms, at, k->n, x[j], k->log_same[j], k->log_other[j]);
        else
            add_number(k->terms, at, k->n, x[j], k->bandwidth[j]);
    }
    for (int i = 0; i < k->n; i++)
        top = MAX(top, k->terms[i]);
    for (int i = 0; i < k->n; i++)
        k->away[i] = MAX(k->terms[i] - top, -50);
    search_exp_each(k->away, k->parts, k->n);
    for (int i = 0; i < k->n; i++)
        sum += k->terms[i] > top - 40 ? k->parts[i] : 0;
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
