/* power.c - the power of a bag's mean, by bisection (power.h). */
#include "ml/adjust/power.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/adjust/adjust_fit_private.h"
#include "ml/math/fmath.h"

#include <math.h>
#include <stdlib.h>

/* BINS: made rows are weighted to be as unsure as held-out ones, by tenths of those. STEPS: of a
 * bisection. LEAST_ROWS: from fewer held-out rows nothing is learnt. */
enum { BINS = 10, STEPS = 24, LEAST_ROWS = 30 };
/* how much of the way to the power that the models' differences ask for is taken */
#define SHARE 0.5

/* The bag's mean on the made rows, with what the bisections need. */
struct bag {
    int64_t n;
    int k;
    double *log;    /* [n][k] of the mean */
    double *weight; /* [n] add up to 1 */
};

/* Of the mean raised to a power, in the mean over the rows: the entropy, and the log probability that
 * the mean itself gives to what this expects. */
static void look(const struct bag *b, double power, double *entropy, double *expected)
{
    *entropy = *expected = 0;
    for (int64_t i = 0; i < b->n; i++) {
        const double *x = b->log + i * b->k;
        double top = -INFINITY, sum = 0, mean = 0;
        for (int c = 0; c < b->k; c++)
            top = fmax(top, power * x[c]);
        for (int c = 0; c < b->k; c++) {
            double q = fm_exp_d(power * x[c] - top);
            sum += q;
            mean += q * x[c];
        }
        mean /= sum;
        *expected += b->weight[i] * mean;
        *entropy += b->weight[i] * (top + fm_log_d(sum) - power * mean);
    }
}

/* The power at which the entropy is `entropy`, or the expected log probability `expected` (the other
 * one is NaN). Both are monotone. */
static double power_at(const struct bag *b, double entropy, double expected, double most)
{
    double low = 1, high = most, h, e;

    for (int step = 0; step < STEPS; step++) {
        double at = step == 0 ? high : (low + high) / 2;
        look(b, at, &h, &e);
        bool is_low = isnan(expected) ? h > entropy : e < expected;
        if (step == 0 && is_low)
            return most;
        if (is_low)
            low = at;
        else
            high = at;
    }
    return low;
}

/* ---- held-out rows ---- */

/* What single models say of the rows on which they were not trained. */
struct held {
    int64_t n;
    double *entropy; /* [n] ascending */
    /* by how much the log probability of what happened is above what the model expects it to be, in
     * the mean over these rows and one unknown; less a standard error where it is above */
    double surprise;
};

static int ascending(const void *va, const void *vb)
{
    double a = *(const double *)va, b = *(const double *)vb;

    return (a > b) - (a < b);
}

/* Weighted sums over the held-out rows. */
struct held_sums {
    double rows, expected; /* the weights; the log probability that the models expect */
    double *log, *share;   /* [classes] log probability; weight of the rows of the class */
};

/* The gap of one more row, of which the models know nothing: its class is drawn as those of the
 * others are. If all of n rows were foreseen, about one in n + 1 will not be (rule of succession).
 * Without it a table of few rows, on which no model errs, asks for the highest power there is. A
 * class is taken to have at least 1 / (n classes), as no more is known of n rows. */
static double gap_of_unknown(const struct held_sums *s, int64_t n, int classes)
{
    double least = -fm_log_d((double)n * classes), log = 0;

    for (int c = 0; c < classes; c++)
        log += s->share[c] / s->rows * fmax(s->log[c] / s->rows, least);
    return log - s->expected / s->rows;
}

/* Sets the surprise by the gaps of single rows, each one of `every`, and the one that is unknown. */
static void surprise_take(struct held *h, const double *gap, const double *weight,
                          const struct held_sums *s, int classes, int64_t every)
{
    double sum = 0, square = 0, n = (double)(h->n * every);

    if (!(s->rows > 0))
        return;
    for (int64_t i = 0; i < h->n; i++)
        sum += weight[i] * gap[i];
    for (int64_t i = 0; i < h->n; i++)
        square += weight[i] * weight[i] * (gap[i] - sum / s->rows) * (gap[i] - sum / s->rows);
    double unknown = gap_of_unknown(s, h->n * every, classes);
    h->surprise = (sum / s->rows * n + unknown) / (n + 1);
    if (h->surprise > 0)
        h->surprise = fmax(h->surprise - sqrt(square) / s->rows, 0);
}

static void held_rows(struct held *h, const struct adjust_rows *r, double *weight, double *gap,
                      struct held_sums *s)
{
    double *x = mem_array((size_t)r->classes, sizeof *x);

    for (int64_t i = 0; i < r->n; i++) {
        double mean = 0;
        if (!isfinite(r->p[i * r->outputs]) || !isfinite(r->y[i]))
            continue;
        adjust_class_logs(r->p + i * r->outputs, r->outputs, r->classes, x);
        for (int c = 0; c < r->classes; c++) {
            mean += fm_exp_d(x[c]) * x[c];
            s->log[c] += weight[i] * x[c];
        }
        h->entropy[h->n] = -mean;
        gap[h->n] = x[(int)r->y[i]] - mean;
        weight[h->n++] = weight[i];
        s->rows += weight[i];
        s->expected += weight[i] * mean;
        s->share[(int)r->y[i]] += weight[i];
    }
    mem_free(x);
}

static int held_take(struct held *h, const struct adjust_rows *r, struct err *err)
{
    size_t rows = (size_t)r->n + 1, k = (size_t)r->classes;
    double *weight = mem_try_alloc(rows * sizeof *weight), *gap = mem_try_alloc(rows * sizeof *gap);
    struct held_sums s = { .log = mem_array(k, sizeof *s.log),
                           .share = mem_array(k, sizeof *s.share) };
    int rc = 0;

    h->entropy = mem_try_alloc(rows * sizeof *h->entropy);
    if (!weight || !gap || !h->entropy) {
        rc = err_set(err, ERR_NOMEM, "no memory to learn from %lld rows", (long long)r->n);
        goto out;
    }
    adjust_loss_weights(r, weight);
    held_rows(h, r, weight, gap, &s);
    surprise_take(h, gap, weight, &s, r->classes, MAX(r->every, 1));
    qsort(h->entropy, (size_t)h->n, sizeof *h->entropy, ascending);
out:
    mem_free(s.log);
    mem_free(s.share);
    mem_try_free(weight);
    mem_try_free(gap);
    return rc;
}

/* Which tenth of the held-out rows is as unsure as this. */
static int bin_of(const struct held *h, double entropy)
{
    int bin = 0;

    while (bin < BINS - 1 && h->entropy[(bin + 1) * h->n / BINS] < entropy)
        bin++;
    return bin;
}

static void weigh(struct bag *b, const struct bag_rows *rows, const struct held *h)
{
    int64_t count[BINS] = { 0 };
    double all = 0;

    for (int64_t i = 0; i < b->n; i++)
        count[bin_of(h, rows->entropy[i])]++;
    for (int64_t i = 0; i < b->n; i++) {
        b->weight[i] = 1.0 / (double)count[bin_of(h, rows->entropy[i])];
        all += b->weight[i];
    }
    for (int64_t i = 0; i < b->n; i++)
        b->weight[i] /= all;
}

/* ---- both ---- */

/* The entropy that the mean should have, if the models are as sure as they should be. */
static double aim(const struct bag *b, const struct bag_rows *rows)
{
    double sum = 0;

    for (int64_t i = 0; i < b->n; i++) {
        double gain = 0;
        for (int c = 0; c < b->k; c++) {
            int64_t at = i * b->k + c;
            gain += rows->mean[at] * (b->log[at] - rows->mean_log[at]);
        }
        sum += b->weight[i] * (rows->entropy[i] - gain);
    }
    return sum;
}

static double power_of(const struct bag *b, const struct bag_rows *rows, const struct held *h)
{
    /* beyond this the power that the models' differences ask for does not matter */
    double far = 1 + (ADJUST_MOST_POWER - 1) / SHARE, entropy = 0, expected = 0;
    double by = 1 + SHARE * (power_at(b, aim(b, rows), (double)NAN, far) - 1);

    look(b, by, &entropy, &expected);
    return power_at(b, (double)NAN, expected + h->surprise, ADJUST_MOST_POWER);
}

int adjust_power(const struct bag_rows *bag, const struct adjust_rows *held, double *out,
                 struct err *err)
{
    size_t values = (size_t)(bag->n * bag->classes);
    struct bag b = { .n = bag->n, .k = bag->classes };
    struct held h = { 0 };

    CHECK(bag->classes >= 2 && held->classes == bag->classes);
    *out = 1;
    int rc = held_take(&h, held, err);
    b.log = mem_try_alloc((values + 1) * sizeof *b.log);
    b.weight = mem_try_alloc((size_t)(b.n + 1) * sizeof *b.weight);
    if (rc == 0 && (!b.log || !b.weight))
        rc = err_set(err, ERR_NOMEM, "no memory to learn from %lld rows", (long long)b.n);
    if (rc == 0 && b.n > 0 && h.n >= LEAST_ROWS) {
        for (size_t i = 0; i < values; i++)
            b.log[i] = adjust_log(bag->mean[i]);
        weigh(&b, bag, &h);
        *out = power_of(&b, bag, &h);
    }
    mem_try_free(h.entropy);
    mem_try_free(b.log);
    mem_try_free(b.weight);
    return rc;
}
