/* metric_auc.c - the area under the ROC curve by one sort, with ties exact (half a win each), and
 * the standard error of DeLong, DeLong and Clarke-Pearson (1988) from the structural components:
 * V10 of a positive row is the share of negatives that it beats, V01 of a negative row the share of
 * positives that beat it.
 *
 * With more classes each is scored against the rest, weighted by class size; the error comes from
 * the summed influence of each row over the classes. Counts are whole numbers in doubles, so the
 * area itself is exact up to the last division. Called by metric.c only. */
#include "ml/metric/metric_auc.h"

#include "base/mem.h"
#include "ml/math/sort.h"

#include <math.h>
#include <stdbool.h>

struct auc_work {
    int64_t n;
    uint64_t *key;
    uint32_t *row;
    double *v; /* [n] V10 or V01 of each row */
};

/* Fills w->v for scores pred[i * stride] against "y[i] == c"; returns the number of rows of class c. */
static int auc_components(struct auc_work *w, const float *pred, int stride, const double *y,
                          double c, int64_t *positives, struct err *err)
{
    int64_t n = w->n, pos = 0, pos_below = 0, neg_below = 0;

    for (int64_t i = 0; i < n; i++) {
        w->key[i] = ml_key_f64((double)pred[i * stride]);
        w->row[i] = (uint32_t)i;
        pos += y[i] == c;
    }
    *positives = pos;
    if (pos == 0 || pos == n)
        return 0;
    if (ml_sort_u64(w->key, w->row, (size_t)n, err) < 0)
        return -1;
    /* one run of equal scores at a time */
    for (int64_t from = 0, to = 0; from < n; from = to) {
        int64_t p = 0;
        for (to = from; to < n && w->key[to] == w->key[from]; to++)
            p += y[w->row[to]] == c;
        int64_t q = to - from - p;
        for (int64_t i = from; i < to; i++) {
            bool is_pos = y[w->row[i]] == c;
            double wins = is_pos ? (double)neg_below + 0.5 * (double)q
                                 : (double)(pos - pos_below - p) + 0.5 * (double)p;
            w->v[w->row[i]] = wins / (double)(is_pos ? n - pos : pos);
        }
        pos_below += p;
        neg_below += q;
    }
    return 0;
}

static double auc_mean(const struct auc_work *w, const double *y, double c, int64_t pos)
{
    double sum = 0;

    for (int64_t i = 0; i < w->n; i++)
        sum += y[i] == c ? w->v[i] : 0;
    return sum / (double)pos;
}

static int auc_binary(struct auc_work *w, const float *pred, const double *y, double *value,
                      double *se, struct err *err)
{
    int64_t pos = 0, neg;
    double s10 = 0, s01 = 0;

    if (auc_components(w, pred, 1, y, 1, &pos, err) < 0)
        return -1;
    neg = w->n - pos;
    if (pos == 0 || neg == 0)
        return err_set(err, ERR_ARG, "auc needs rows of both classes");
    double auc = auc_mean(w, y, 1, pos);
    for (int64_t i = 0; i < w->n; i++) {
        double d = (w->v[i] - auc) * (w->v[i] - auc);
        s10 += y[i] == 1 ? d : 0;
        s01 += y[i] == 1 ? 0 : d;
    }
    *value = auc;
    if (pos > 1 && neg > 1)
        *se = sqrt(s10 / (double)(pos - 1) / (double)pos + s01 / (double)(neg - 1) / (double)neg);
    return 0;
}

static int auc_multiclass(struct auc_work *w, const float *pred, const double *y, int k,
                          double *term, double *value, double *se, struct err *err)
{
    int64_t n = w->n;
    double total = 0, sum = 0, mean = 0, spread = 0;

    for (int64_t i = 0; i < n; i++)
        term[i] = 0;
    for (int c = 0; c < k; c++) {
        int64_t pos = 0;
        if (auc_components(w, pred + c, k, y, c, &pos, err) < 0)
            return -1;
        if (pos == 0)
            continue;
        if (pos == n)
            return err_set(err, ERR_ARG, "auc needs rows of at least two classes");
        double auc = auc_mean(w, y, c, pos);
        total += (double)pos;
        sum += auc * (double)pos;
        for (int64_t i = 0; i < n; i++)
            term[i] +=
                (double)pos * (w->v[i] - auc) * (double)n / (double)(y[i] == c ? pos : n - pos);
    }
    *value = sum / total;
    for (int64_t i = 0; i < n; i++)
        mean += term[i] / total / (double)n;
    for (int64_t i = 0; i < n; i++)
        spread += (term[i] / total - mean) * (term[i] / total - mean);
    *se = n < 2 ? (double)NAN : sqrt(spread / (double)(n - 1) / (double)n);
    return 0;
}

int metric_auc(const float *pred, const double *y, int64_t n, int width, double *term,
               double *value, double *se, struct err *err)
{
    struct auc_work w = { n, NULL, NULL, NULL };
    int rc = -1;

    w.key = mem_try_alloc((size_t)n * sizeof(*w.key));
    w.row = mem_try_alloc((size_t)n * sizeof(*w.row));
    w.v = mem_try_alloc((size_t)n * sizeof(*w.v));
    if (!w.key || !w.row || !w.v)
        err_set(err, ERR_NOMEM, "no memory to rank %lld rows", (long long)n);
    else if (width == 1)
        rc = auc_binary(&w, pred, y, value, se, err);
    else
        rc = auc_multiclass(&w, pred, y, width, term, value, se, err);
    mem_try_free(w.key);
    mem_try_free(w.row);
    mem_try_free(w.v);
    return rc;
}
