/* explain_adjust.c - see explain_adjust.h. */
#include "ml/model/explain_adjust.h"

#include "base/base.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* below this distance the secant is replaced by one over this distance */
#define NEAR 1e-4

static double sum_of(const double *values, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += values[i];
    return sum;
}

static double calibrated(const struct adjust *a, double p)
{
    float q = (float)fmin(fmax(p, 0), 1);

    adjust_probabilities(a, &q, 1);
    return (double)q;
}

static void scale(double *values, int inputs, double by, double base)
{
    for (int c = 0; c < inputs; c++)
        values[c] *= by;
    values[inputs] = base;
}

/* Values that add up to the probability of the positive class. */
static void of_two(const struct adjust *a, int inputs, double *values)
{
    double by = sum_of(values, inputs), from = values[inputs], base = calibrated(a, from), rate;

    if (fabs(by) < NEAR) {
        double step = from + NEAR <= 1 ? NEAR : -NEAR;
        rate = (calibrated(a, from + step) - base) / step;
        base = calibrated(a, from + by) - rate * by;
    } else {
        rate = (calibrated(a, from + by) - base) / by;
    }
    scale(values, inputs, rate, base);
}

/* Values that add up to the probability of a class of several. before, after: that without and with
 * the calibration. */
static void of_more(int inputs, double before, double after, double *values)
{
    double rate = before > 0 ? after / before : 1;

    scale(values, inputs, rate, after - rate * sum_of(values, inputs));
}

int explain_adjust(const struct adjust *a, enum explain_link link, const int *of, const float *p,
                   int inputs, int64_t n, double *values, struct err *err)
{
    size_t k = (size_t)MAX(a->classes, 1);
    float *q = NULL;

    if (!a->calibrates)
        return 0;
    if (a->classes > 0 && link != EXPLAIN_LOG_ODDS) {
        q = mem_try_alloc((size_t)(n + 1) * k * sizeof *q);
        if (!q)
            return err_set(err, ERR_NOMEM, "no memory to explain %lld rows", (long long)n);
        memcpy(q, p, (size_t)n * k * sizeof *q);
        adjust_probabilities(a, q, n);
    }
    for (int64_t i = 0; i < n; i++, values += inputs + 1) {
        double more = a->classes > 0 ? a->offset * a->log_share[of[i]] : a->offset;
        if (link == EXPLAIN_LOG_ODDS)
            scale(values, inputs, a->slope, a->slope * values[inputs] + more);
        else if (q)
            of_more(inputs, (double)p[i * a->classes + of[i]], (double)q[i * a->classes + of[i]],
                    values);
        else
            of_two(a, inputs, values);
    }
    mem_try_free(q);
    return 0;
}

void explain_limit(double least, double most, int inputs, int64_t n, double *values)
{
    for (int64_t i = 0; i < n; i++, values += inputs + 1) {
        double by = sum_of(values, inputs), from = values[inputs], whole = from + by,
               base = fmin(fmax(from, least), most), end = fmin(fmax(whole, least), most);
        if (by != 0 && isfinite(whole) && (base != from || end != whole))
            scale(values, inputs, (end - base) / by, base);
    }
}

void explain_adjust_weights(const struct adjust *a, double *weights, int outputs, int width)
{
    if (!a->calibrates)
        return;
    for (int o = 0; o < outputs; o++, weights += width + 1) {
        double more = a->classes > 0 ? a->offset * a->log_share[o] : a->offset;
        scale(weights, width, a->slope, a->slope * weights[width] + more);
    }
}
