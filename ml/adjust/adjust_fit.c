/* adjust_fit.c - learns adjustments part by part and from all rows (adjust_fit.h). */
#include "ml/adjust/adjust_fit.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/adjust/adjust_fit_private.h"

#include <math.h>
#include <string.h>

/* ---- rows ---- */

/* The rows whose predictions are finite. */
struct gathered {
    struct adjust_rows rows;
    float *p;
    double *y, *weight;
    uint8_t *part;
};

static void gathered_free(struct gathered *g)
{
    mem_try_free(g->p);
    mem_try_free(g->y);
    mem_try_free(g->weight);
    mem_try_free(g->part);
}

static bool is_row(const struct adjust_rows *r, int64_t i)
{
    for (int o = 0; o < r->outputs; o++) {
        if (!isfinite(r->p[i * r->outputs + o]))
            return false;
    }
    return isfinite(r->y[i]);
}

static int gather(struct gathered *g, const struct adjust_rows *r, struct err *err)
{
    size_t n = (size_t)r->n + 1, row = (size_t)r->outputs;

    g->p = mem_try_alloc(n * row * sizeof *g->p);
    g->y = mem_try_alloc(n * sizeof *g->y);
    g->weight = r->weight ? mem_try_alloc(n * sizeof *g->weight) : NULL;
    g->part = mem_try_alloc(n);
    if (!g->p || !g->y || (r->weight && !g->weight) || !g->part)
        return err_set(err, ERR_NOMEM, "no memory to learn from %lld rows", (long long)r->n);
    g->rows = *r;
    g->rows.n = 0;
    for (int64_t i = 0; i < r->n; i++) {
        int64_t to = g->rows.n;
        if (!is_row(r, i))
            continue;
        memcpy(g->p + (size_t)to * row, r->p + (size_t)i * row, row * sizeof *g->p);
        g->y[to] = r->y[i];
        g->part[to] = r->part[i];
        if (g->weight)
            g->weight[to] = r->weight[i];
        g->rows.n++;
    }
    g->rows.p = g->p;
    g->rows.y = g->y;
    g->rows.weight = g->weight;
    g->rows.part = g->part;
    return 0;
}

/* ---- calibration ---- */

/* By how much the row of which nothing is known is better: in the mean over the inputs of the rows
 * and, by their shares, over the classes. weight: of the rows, which add up to all. */
static double unknown_gain(const struct adjust_rows *r, const float *before, const float *after,
                           const double *weight, double all)
{
    size_t k = (size_t)r->classes;
    double *gain = mem_zalloc(k * sizeof *gain), *share = mem_zalloc(k * sizeof *share);
    double *x = mem_array(2 * k, sizeof *x), sum = 0;

    for (int64_t i = 0; i < r->n; i++) {
        adjust_class_logs(before + i * r->outputs, r->outputs, r->classes, x);
        adjust_class_logs(after + i * r->outputs, r->outputs, r->classes, x + k);
        for (size_t c = 0; c < k; c++)
            gain[c] += weight[i] / all * (x[k + c] - x[c]);
        share[(int)r->y[i]] += weight[i] / all;
    }
    for (size_t c = 0; c < k; c++)
        sum += share[c] * gain[c];
    mem_free(gain);
    mem_free(share);
    mem_free(x);
    return sum;
}

/* Whether rows that did not teach the calibration, and one unknown row, are the better for it, beyond
 * chance. */
static bool is_gain(const struct adjust_rows *r, const float *before, const float *after)
{
    double *weight = mem_array((size_t)r->n, sizeof *weight), all = 0, mean = 0, square = 0;
    double n = (double)r->n;

    adjust_loss_weights(r, weight);
    for (int64_t i = 0; i < r->n; i++) {
        int64_t at = i * r->outputs;
        mean +=
            weight[i] * (adjust_row_loss(r, before + at, i) - adjust_row_loss(r, after + at, i));
        all += weight[i];
    }
    mean /= all;
    for (int64_t i = 0; i < r->n; i++) {
        int64_t at = i * r->outputs;
        double e = weight[i] *
                   (adjust_row_loss(r, before + at, i) - adjust_row_loss(r, after + at, i) - mean);
        square += e * e;
    }
    double part = adjust_unknown(all, r->n, r->every),
           with = (1 - part) * mean + part * unknown_gain(r, before, after, weight, all);
    mem_free(weight);
    return with > 0 && with > sqrt(square * n / (n - 1)) / all;
}

/* Calibrates p in place, if that is a gain. */
static bool calibrate(const struct adjust_rows *r, float *p, struct adjust *all,
                      struct adjust *part)
{
    bool is_known = adjust_calibrate(r, -1, all);

    for (int k = 0; k < r->parts && is_known; k++)
        is_known = adjust_calibrate(r, k, &part[k]);
    for (int64_t i = 0; i < r->n && is_known; i++)
        adjust_probabilities(&part[r->part[i]], p + i * r->outputs, 1);
    if (is_known && is_gain(r, r->p, p))
        return true;
    memcpy(p, r->p, (size_t)(r->n * r->outputs) * sizeof *p);
    adjust_fini(all);
    for (int k = 0; k < r->parts; k++)
        adjust_fini(&part[k]);
    return false;
}

/* ---- threshold ---- */

/* The metric of what is predicted of p by the parts' thresholds, which may be none. */
static double decided(const struct adjust_rows *r, const float *p, const struct adjust *part,
                      float *class)
{
    double value = (double)NAN, se = 0;

    for (int64_t i = 0; i < r->n; i++)
        class[i] = (double)p[i] > (part ? adjust_threshold(&part[r->part[i]]) : 0.5);
    if (metric_score_weighted(r->metric, r->task, class, r->y, r->weight, r->n, 2, &value, &se,
                              NULL) < 0)
        return (double)NAN;
    return value;
}

/* Whether rows of one part differ. A model that says the same of all rows, but another thing in each
 * fold, has no order of rows that a threshold could cut. */
static bool differs(const struct adjust_rows *r, const float *p)
{
    float first[ADJUST_PARTS];
    bool has[ADJUST_PARTS] = { 0 };

    for (int64_t i = 0; i < r->n; i++) {
        if (has[r->part[i]] && p[i] != first[r->part[i]])
            return true;
        has[r->part[i]] = true;
        first[r->part[i]] = p[i];
    }
    return false;
}

static int tune(const struct adjust_rows *r, const float *p, struct adjust *all,
                struct adjust *part, struct err *err)
{
    float *class = mem_try_alloc((size_t)(r->n + 1) * sizeof *class);
    int rc = class ? adjust_tune(r, p, -1, &all->threshold, err)
                   : err_set(err, ERR_NOMEM, "no memory to tune a threshold");
    bool is_known = all->threshold > 0;

    for (int k = 0; k < r->parts && rc == 0; k++) {
        rc = adjust_tune(r, p, k, &part[k].threshold, err);
        is_known = is_known && part[k].threshold > 0;
    }
    double tuned = rc == 0 && is_known ? decided(r, p, part, class) : (double)NAN,
           half = rc == 0 && is_known ? decided(r, p, NULL, class) : (double)NAN;
    /* all five metrics are better where they are larger */
    if (!(tuned > half)) {
        all->threshold = 0;
        for (int k = 0; k < r->parts; k++)
            part[k].threshold = 0;
    }
    mem_try_free(class);
    return rc;
}

static int of_classes(const struct adjust_rows *r, struct adjust *all, struct adjust *part,
                      struct err *err)
{
    size_t values = (size_t)(r->n * r->outputs);
    float *p = mem_try_alloc((values + 1) * sizeof *p);
    int rc = p ? 0 : err_set(err, ERR_NOMEM, "no memory to calibrate %lld rows", (long long)r->n);

    if (rc == 0) {
        memcpy(p, r->p, values * sizeof *p);
        (void)calibrate(r, p, all, part);
        if (adjust_decides(r->metric, r->task) && differs(r, r->p))
            rc = tune(r, p, all, part, err);
    }
    mem_try_free(p);
    return rc;
}

int adjust_fit(const struct adjust_rows *r, struct adjust *all, struct adjust *part,
               struct err *err)
{
    struct gathered g = { 0 };

    CHECK(r->parts >= 1 && r->parts <= ADJUST_PARTS);
    *all = (struct adjust){ 0 };
    for (int k = 0; k < ADJUST_PARTS; k++)
        part[k] = (struct adjust){ 0 };
    int rc = gather(&g, r, err);
    if (rc == 0 && r->task == ML_REGRESSION)
        rc = adjust_spread(&g.rows, &all->intervals, err);
    else if (rc == 0 && r->parts > 1)
        rc = of_classes(&g.rows, all, part, err);
    gathered_free(&g);
    return rc;
}
