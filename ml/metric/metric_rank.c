/* metric_rank.c - metrics of the order of the scores, by one sort.
 *
 * auc: the area under the ROC curve, with ties exact (half a win each), and the standard error of
 * DeLong, DeLong and Clarke-Pearson (1988) from the structural components: V10 of a positive row is
 * the share of negatives that it beats, V01 of a negative row the share of positives that beat it.
 * With more classes each is scored against the rest, weighted by class size; the error comes from
 * the summed influence of each row over the classes. Counts are whole numbers in doubles, so the
 * area itself is exact up to the last division; with weights they are sums of weights.
 *
 * average_precision: the area under the steps of precision over recall, with ties at one step; of
 * more classes the mean of each against the rest. The standard error is the binomial one of Boyd,
 * Eng and Page (Area under the precision-recall curve, 2013). */
#include "base/mem.h"
#include "ml/math/sort.h"
#include "ml/metric/metric_private.h"

#include <math.h>
#include <stdbool.h>

struct rank_work {
    int64_t n;
    const double *weight; /* [n] or NULL: all rows count 1 */
    double all;           /* sum of the weights */
    uint64_t *key;
    uint32_t *row;
    double *v; /* [n] V10 or V01 of each row */
};

static double weight_of(const struct rank_work *w, int64_t i)
{
    return w->weight ? w->weight[i] : 1.0;
}

/* Fills w->v for scores pred[i * stride] against "y[i] == c"; *positives: the weight of the rows of
 * class c, *rows: their number. Sums of ones are whole numbers in doubles and thus exact. */
static int auc_components(struct rank_work *w, const float *pred, int stride, const double *y,
                          double c, double *positives, int64_t *rows, struct err *err)
{
    int64_t n = w->n;
    double pos = 0, pos_below = 0, neg_below = 0;

    *rows = 0;
    for (int64_t i = 0; i < n; i++) {
        w->key[i] = ml_key_f64((double)pred[i * stride]);
        w->row[i] = (uint32_t)i;
        pos += y[i] == c ? weight_of(w, i) : 0;
        *rows += y[i] == c;
    }
    *positives = pos;
    if (*rows == 0 || *rows == n)
        return 0;
    if (ml_sort_u64(w->key, w->row, (size_t)n, err) < 0)
        return -1;
    /* one run of equal scores at a time */
    for (int64_t from = 0, to = 0; from < n; from = to) {
        double p = 0, q = 0;
        for (to = from; to < n && w->key[to] == w->key[from]; to++) {
            bool is_pos = y[w->row[to]] == c;
            p += is_pos ? weight_of(w, w->row[to]) : 0;
            q += is_pos ? 0 : weight_of(w, w->row[to]);
        }
        for (int64_t i = from; i < to; i++) {
            bool is_pos = y[w->row[i]] == c;
            double wins = is_pos ? neg_below + 0.5 * q : pos - pos_below - p + 0.5 * p;
            w->v[w->row[i]] = wins / (is_pos ? w->all - pos : pos);
        }
        pos_below += p;
        neg_below += q;
    }
    return 0;
}

static double auc_mean(const struct rank_work *w, const double *y, double c, double pos)
{
    double sum = 0;

    for (int64_t i = 0; i < w->n; i++)
        sum += y[i] != c ? 0 : w->weight ? w->weight[i] * w->v[i] : w->v[i];
    return sum / pos;
}

/* Variance of the mean of m values whose squared distances from it, times their squared weights, add
 * up to `squares`; all: the sum of the weights. */
static double mean_variance(const struct rank_work *w, double squares, int64_t m, double all)
{
    double n = (double)m;

    return w->weight ? squares / (all * all) * n / (n - 1) : squares / (n - 1) / n;
}

/* The variance that the rows of one class bring. One row alone shows none; its share of wins is then
 * taken for a yes or no of probability p, which lies halfway between the area and a half, so that a
 * row that wins always is no certainty. */
static double class_variance(const struct rank_work *w, double squares, int64_t m, double all,
                             double auc)
{
    double p = (auc + 0.5) / 2;

    return m > 1 ? mean_variance(w, squares, m, all) : p * (1 - p);
}

static int auc_binary(struct rank_work *w, const float *pred, const double *y, double *value,
                      double *se, struct err *err)
{
    int64_t rows = 0;
    double s10 = 0, s01 = 0, pos = 0;

    if (auc_components(w, pred, 1, y, 1, &pos, &rows, err) < 0)
        return -1;
    if (rows == 0 || rows == w->n)
        return err_set(err, ERR_ARG, "auc needs rows of both classes");
    double auc = auc_mean(w, y, 1, pos);
    for (int64_t i = 0; i < w->n; i++) {
        double d = weight_of(w, i) * (w->v[i] - auc);
        s10 += y[i] == 1 ? d * d : 0;
        s01 += y[i] == 1 ? 0 : d * d;
    }
    *value = auc;
    /* an area is between 0 and 1, so no error is above a half */
    *se = fmin(0.5, sqrt(class_variance(w, s10, rows, pos, auc) +
                         class_variance(w, s01, w->n - rows, w->all - pos, auc)));
    return 0;
}

static int auc_multiclass(struct rank_work *w, const float *pred, const double *y, int k,
                          double *term, double *value, double *se, struct err *err)
{
    int64_t n = w->n;
    double total = 0, sum = 0, mean = 0, spread = 0;

    for (int64_t i = 0; i < n; i++)
        term[i] = 0;
    for (int c = 0; c < k; c++) {
        int64_t rows = 0;
        double pos = 0;
        if (auc_components(w, pred + c, k, y, c, &pos, &rows, err) < 0)
            return -1;
        if (rows == 0)
            continue;
        if (rows == n)
            return err_set(err, ERR_ARG, "auc needs rows of at least two classes");
        double auc = auc_mean(w, y, c, pos);
        total += pos;
        sum += auc * pos;
        for (int64_t i = 0; i < n; i++)
            term[i] += pos * (w->v[i] - auc) * w->all / (y[i] == c ? pos : w->all - pos);
    }
    *value = sum / total;
    for (int64_t i = 0; i < n; i++)
        mean += weight_of(w, i) * term[i] / total / w->all;
    for (int64_t i = 0; i < n; i++) {
        double d = weight_of(w, i) * (term[i] / total - mean);
        spread += d * d;
    }
    *se = n < 2 ? (double)NAN : sqrt(mean_variance(w, spread, n, w->all));
    return 0;
}

/* Of one class against the rest; *positives: the weight of its rows, *alike: as many rows of equal
 * weight would weigh as much. */
static int class_precision(struct rank_work *w, const float *pred, int stride, const double *y,
                           double c, double *positives, double *alike, double *out, struct err *err)
{
    double pos = 0, squares = 0, pos_below = 0, below = 0, sum = 0;
    int64_t n = w->n;

    for (int64_t i = 0; i < n; i++) {
        double is = y[i] == c ? weight_of(w, i) : 0;
        w->key[i] = ml_key_f64((double)pred[i * stride]);
        w->row[i] = (uint32_t)i;
        pos += is;
        squares += is * is;
    }
    *positives = pos;
    *alike = squares > 0 ? pos * pos / squares : 0;
    *out = 0;
    if (pos == 0)
        return 0;
    if (ml_sort_u64(w->key, w->row, (size_t)n, err) < 0)
        return -1;
    /* one run of equal scores at a time; all rows from it on are above the threshold */
    for (int64_t from = 0, to = 0; from < n; from = to) {
        double p = 0, all = 0;
        for (to = from; to < n && w->key[to] == w->key[from]; to++) {
            p += y[w->row[to]] == c ? weight_of(w, w->row[to]) : 0;
            all += weight_of(w, w->row[to]);
        }
        sum += p * (pos - pos_below) / (w->all - below);
        pos_below += p;
        below += all;
    }
    *out = sum / pos;
    return 0;
}

static int precision(struct rank_work *w, const struct metric_rows *r, double *value, double *se,
                     struct err *err)
{
    bool is_binary = r->task == ML_BINARY;
    int width = is_binary ? 1 : r->k, seen = 0;
    double sum = 0, variance = 0;

    for (int c = 0; c < width; c++) {
        double pos = 0, alike = 0, one = 0;
        if (class_precision(w, r->pred + c, width, r->y, is_binary ? 1 : c, &pos, &alike, &one,
                            err) < 0)
            return -1;
        if (pos == 0)
            continue;
        sum += one;
        variance += one * (1 - one) / alike;
        seen++;
    }
    if (seen == 0)
        return err_set(err, ERR_ARG, "average_precision needs rows of the positive class");
    *value = sum / seen;
    *se = sqrt(fmax(variance, 0)) / seen;
    return 0;
}

typedef int rank_fn(struct rank_work *w, const struct metric_rows *r, double *value, double *se,
                    struct err *err);

/* Gives fn its scratch. */
static int ranked(rank_fn *fn, const struct metric_rows *r, double *value, double *se,
                  struct err *err)
{
    struct rank_work w = { .n = r->n, .weight = r->weight };
    size_t n = (size_t)r->n;
    int rc = -1;

    for (int64_t i = 0; i < r->n; i++)
        w.all += weight_of(&w, i);
    w.key = mem_try_alloc(n * sizeof(*w.key));
    w.row = mem_try_alloc(n * sizeof(*w.row));
    w.v = mem_try_alloc(n * sizeof(*w.v));
    if (!w.key || !w.row || !w.v)
        err_set(err, ERR_NOMEM, "no memory to rank %lld rows", (long long)n);
    else
        rc = fn(&w, r, value, se, err);
    mem_try_free(w.key);
    mem_try_free(w.row);
    mem_try_free(w.v);
    return rc;
}

static int area(struct rank_work *w, const struct metric_rows *r, double *value, double *se,
                struct err *err)
{
    return r->task == ML_BINARY ? auc_binary(w, r->pred, r->y, value, se, err)
                                : auc_multiclass(w, r->pred, r->y, r->k, r->term, value, se, err);
}

int metric_auc(const struct metric_rows *r, double *value, double *se, struct err *err)
{
    return ranked(area, r, value, se, err);
}

int metric_average_precision(const struct metric_rows *r, double *value, double *se,
                             struct err *err)
{
    return ranked(precision, r, value, se, err);
}
