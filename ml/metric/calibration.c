/* calibration.c - groups of like predictions, and the line between predicted and observed
 * (calibration.h). Sums run in a fixed order. */
#include "ml/metric/calibration.h"

#include "base/mem.h"
#include "ml/math/fmath.h"
#include "ml/math/sort.h"

#include <math.h>

/* Probabilities of 0 and 1 have no logit. */
#define LEAST_P 1e-7

struct sample {
    const double *p, *y, *weight;
    int64_t n;
    double all;
};

static double weight_of(const struct sample *s, int64_t i)
{
    return s->weight ? s->weight[i] : 1.0;
}

/* The group of rows row[from..to). */
static struct calibration_group group_of(const struct sample *s, const uint32_t *row, int64_t from,
                                         int64_t to)
{
    struct calibration_group g = { .rows = to - from,
                                   .lo = s->p[row[from]],
                                   .hi = s->p[row[to - 1]] };
    double spread = 0, n = (double)g.rows;

    for (int64_t i = from; i < to; i++) {
        double w = weight_of(s, row[i]);
        g.weight += w;
        g.predicted += w * s->p[row[i]];
        g.observed += w * s->y[row[i]];
    }
    g.predicted /= g.weight;
    g.observed /= g.weight;
    for (int64_t i = from; i < to; i++) {
        double e = weight_of(s, row[i]) * (s->y[row[i]] - g.observed);
        spread += e * e;
    }
    g.se = g.rows > 1 ? sqrt(spread * n / (n - 1)) / g.weight : (double)NAN;
    return g;
}

static void cut(const struct sample *s, const uint64_t *key, const uint32_t *row, int groups,
                struct calibration *out)
{
    double below = 0;

    for (int64_t from = 0, to = 0; from < s->n; from = to) {
        double end = s->all * (out->n_groups + 1) / groups;
        /* as many rows as come nearest to the end of the group, and all that are equal */
        do {
            double w = 0;
            int64_t next = to;
            for (; next < s->n && key[next] == key[to]; next++)
                w += weight_of(s, row[next]);
            if (to > from && below + w - end > end - below)
                break;
            below += w;
            to = next;
        } while (to < s->n && (below < end || out->n_groups == groups - 1));
        out->group[out->n_groups++] = group_of(s, row, from, to);
    }
}

static void line_of_values(const struct sample *s, struct calibration *out)
{
    double p = 0, y = 0, pp = 0, py = 0;

    for (int64_t i = 0; i < s->n; i++) {
        p += weight_of(s, i) / s->all * s->p[i];
        y += weight_of(s, i) / s->all * s->y[i];
    }
    for (int64_t i = 0; i < s->n; i++) {
        double w = weight_of(s, i) / s->all, d = s->p[i] - p;
        pp += w * d * d;
        py += w * d * (s->y[i] - y);
    }
    if (!(pp > 0))
        return;
    out->slope = py / pp;
    out->intercept = y - out->slope * p;
}

static double logit(double p)
{
    p = fmin(fmax(p, LEAST_P), 1 - LEAST_P);
    return fm_log_d(p / (1 - p));
}

/* Newton's method on the two coefficients. Where the classes can be parted by a threshold the slope
 * has no largest value, and stays NaN. */
static void line_of_probabilities(const struct sample *s, struct calibration *out)
{
    double a = 0, b = 1;

    for (int step = 0; step < 50; step++) {
        double ga = 0, gb = 0, haa = 0, hab = 0, hbb = 0;
        for (int64_t i = 0; i < s->n; i++) {
            double w = weight_of(s, i) / s->all, x = logit(s->p[i]);
            double q = 1 / (1 + exp(-(a + b * x))), h = w * q * (1 - q), e = w * (s->y[i] - q);
            ga += e;
            gb += e * x;
            haa += h;
            hab += h * x;
            hbb += h * x * x;
        }
        double det = haa * hbb - hab * hab;
        if (!(det > 1e-12 * haa * hbb))
            return;
        double da = (hbb * ga - hab * gb) / det, db = (haa * gb - hab * ga) / det;
        a += da;
        b += db;
        if (!(fabs(a) < 100 && fabs(b) < 100))
            return;
        if (fabs(da) + fabs(db) < 1e-10) {
            out->intercept = a;
            out->slope = b;
            return;
        }
    }
}

int calibration_of(const double *p, const double *y, const double *weight, int64_t n,
                   bool is_probability, int groups, struct calibration *out, struct err *err)
{
    struct sample s = { p, y, weight, n, 0 };
    uint64_t *key = mem_try_alloc((size_t)n * sizeof *key);
    uint32_t *row = mem_try_alloc((size_t)n * sizeof *row);
    int rc = -1;

    *out = (struct calibration){ .intercept = (double)NAN, .slope = (double)NAN };
    CHECK(n > 0 && groups > 0);
    for (int64_t i = 0; i < n; i++)
        s.all += weight_of(&s, i);
    if (!key || !row) {
        err_set(err, ERR_NOMEM, "no memory to sort %lld rows", (long long)n);
        goto out;
    }
    for (int64_t i = 0; i < n; i++) {
        key[i] = ml_key_f64(p[i]);
        row[i] = (uint32_t)i;
    }
    if (ml_sort_u64(key, row, (size_t)n, err) < 0)
        goto out;
    out->group = mem_array((size_t)groups, sizeof *out->group);
    cut(&s, key, row, groups, out);
    for (int g = 0; g < out->n_groups; g++) {
        const struct calibration_group *c = &out->group[g];
        out->error += c->weight / s.all * fabs(c->observed - c->predicted);
    }
    if (is_probability)
        line_of_probabilities(&s, out);
    else
        line_of_values(&s, out);
    rc = 0;
out:
    mem_try_free(key);
    mem_try_free(row);
    return rc;
}

void calibration_fini(struct calibration *c)
{
    mem_free(c->group);
    *c = (struct calibration){ 0 };
}
