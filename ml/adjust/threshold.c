/* threshold.c - the probability above which the positive one of two classes is predicted
 * (adjust.h).
 *
 * Every place between two probabilities is tried, by one sort. The best of them is drawn far by
 * single rows where rows are few, so the threshold is the mean of the log-odds of all places, each
 * weighted by how near its metric comes to the best, where SHARPNESS / sqrt(rows) is near. On new
 * rows this beats the best place itself, the middle of all within .01 of it, and the mean over samples
 * with replacement, most where rows are few (docs/measurements/2026-11-24.md). */
#include "ml/adjust/adjust_fit_private.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/math/fmath.h"
#include "ml/math/sort.h"

#include <math.h>

#define SHARPNESS 2.0
/* A threshold is kept away from 0 and 1 by this. */
#define LEAST_P 1e-4

/* What is predicted positive and is (tp) or is not (fp), of so much in all. */
struct confusion {
    double tp, fp, pos, neg;
};

static double value_of(enum metric_id metric, const struct confusion *c)
{
    double tn = c->neg - c->fp, fn = c->pos - c->tp, all = c->pos + c->neg, said = c->tp + c->fp,
           most = c->pos * c->neg * said * (all - said);

    switch (metric) {
    case METRIC_F1:
        return 2 * c->tp / (said + c->pos);
    case METRIC_MCC:
        return most > 0 ? (c->tp * tn - c->fp * fn) / sqrt(most) : 0;
    case METRIC_BALANCED_ACCURACY:
        return (c->tp / c->pos + tn / c->neg) / 2;
    case METRIC_QUADRATIC_KAPPA:
        return 1 - (c->fp + fn) * all / (c->pos * (all - said) + c->neg * said);
    default:
        return (c->tp + tn) / all;
    }
}

struct place {
    double value, log_odds;
};

/* Walks down from the largest probability. Returns the number of places. */
static int64_t places_of(const struct adjust_rows *r, const float *p, const uint64_t *key,
                         const uint32_t *row, int64_t n, struct place *out)
{
    struct confusion c = { 0 };
    int64_t places = 0;

    for (int64_t i = 0; i < n; i++) {
        double w = adjust_weight(r, row[i]);
        *(r->y[row[i]] > 0 ? &c.pos : &c.neg) += w;
    }
    if (!(c.pos > 0 && c.neg > 0))
        return 0;
    for (int64_t i = n - 1; i > 0; i--) {
        double w = adjust_weight(r, row[i]);
        *(r->y[row[i]] > 0 ? &c.tp : &c.fp) += w;
        if (key[i] == key[i - 1])
            continue;
        double between = ((double)p[row[i]] + (double)p[row[i - 1]]) / 2;
        between = fmin(fmax(between, LEAST_P), 1 - LEAST_P);
        out[places++] = (struct place){ value_of(r->metric, &c), adjust_log_odds(between) };
    }
    return places;
}

static double mean_place(const struct place *place, int64_t n, int64_t rows)
{
    double top = -INFINITY, sum = 0, all = 0, sharp = SHARPNESS * sqrt((double)rows);

    for (int64_t i = 0; i < n; i++)
        top = fmax(top, place[i].value);
    for (int64_t i = 0; i < n; i++) {
        double w = fm_exp_d(sharp * (place[i].value - top));
        sum += w * place[i].log_odds;
        all += w;
    }
    return fm_sigmoid_d(sum / all);
}

int adjust_tune(const struct adjust_rows *r, const float *p, int without, double *out,
                struct err *err)
{
    uint64_t *key = mem_try_alloc((size_t)(r->n + 1) * sizeof *key);
    uint32_t *row = mem_try_alloc((size_t)(r->n + 1) * sizeof *row);
    struct place *place = mem_try_alloc((size_t)(r->n + 1) * sizeof *place);
    int64_t n = 0;
    int rc = -1;

    *out = 0;
    if (!key || !row || !place) {
        err_set(err, ERR_NOMEM, "no memory to sort %lld rows", (long long)r->n);
        goto out;
    }
    for (int64_t i = 0; i < r->n; i++) {
        if (r->part[i] == without)
            continue;
        key[n] = ml_key_f64((double)p[i]);
        row[n++] = (uint32_t)i;
    }
    rc = ml_sort_u64(key, row, (size_t)n, err);
    int64_t places = rc == 0 ? places_of(r, p, key, row, n, place) : 0;
    if (places > 0)
        *out = mean_place(place, places, n);
out:
    mem_try_free(key);
    mem_try_free(row);
    mem_try_free(place);
    return rc;
}
