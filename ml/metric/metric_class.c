/* metric_class.c - metrics of classes that need no ranks: of probabilities (log loss, Brier) and of
 * the class that is predicted (accuracy, F1, MCC, kappa). */
#include "ml/math/fmath.h"
#include "ml/metric/metric_private.h"

#include <math.h>

/* The class with the largest probability; of two classes the positive one above one half. */
static int row_class(const struct metric_rows *r, int64_t i)
{
    if (r->task == ML_BINARY)
        return r->pred[i] > 0.5f;
    const float *p = r->pred + i * r->k;
    int best = 0;
    for (int c = 1; c < r->k; c++) {
        if (p[c] > p[best])
            best = c;
    }
    return best;
}

static double row_logloss(const struct metric_rows *r, int64_t i)
{
    double p;

    if (r->task == ML_BINARY)
        p = r->y[i] > 0 ? (double)r->pred[i] : 1.0 - (double)r->pred[i];
    else
        p = (double)r->pred[i * r->k + (int64_t)r->y[i]];
    p = p < 1e-15 ? 1e-15 : p > 1.0 - 1e-15 ? 1.0 - 1e-15 : p;
    return -fm_log_d(p);
}

int metric_logloss(const struct metric_rows *r, double *value, double *se, struct err *err)
{
    (void)err;
    for (int64_t i = 0; i < r->n; i++)
        r->term[i] = row_logloss(r, i);
    metric_of_terms(r, value, se);
    return 0;
}

/* The mean of the classes' own log losses, so that a rare class counts as much as a common one: log
 * loss with the rows of each class weighted by 1 / their number. A row's influence is its loss less
 * its class's, over the share of its class. */
int metric_balanced_logloss(const struct metric_rows *r, double *value, double *se, struct err *err)
{
    double *size = r->classes, *sum = r->classes + r->k, total = 0;
    int seen = 0;

    (void)err;
    for (int64_t i = 0; i < r->n; i++) {
        r->term[i] = row_logloss(r, i);
        size[(int)r->y[i]] += metric_weight(r, i);
        sum[(int)r->y[i]] += metric_weight(r, i) * r->term[i];
    }
    for (int c = 0; c < r->k; c++) {
        total += size[c] > 0 ? sum[c] / size[c] : 0;
        seen += size[c] > 0;
    }
    for (int64_t i = 0; i < r->n; i++) {
        int c = (int)r->y[i];
        r->term[i] = (r->term[i] - sum[c] / size[c]) / (size[c] / r->all) / seen;
    }
    *value = total / seen;
    *se = metric_terms_se(r);
    return 0;
}

/* The mean squared distance between the probabilities and what happened (Brier, Verification of
 * forecasts expressed in terms of probability, 1950): of two classes that of the positive one, of
 * more the sum over the classes. */
int metric_brier(const struct metric_rows *r, double *value, double *se, struct err *err)
{
    (void)err;
    for (int64_t i = 0; i < r->n; i++) {
        int width = r->task == ML_BINARY ? 1 : r->k;
        r->term[i] = 0;
        for (int c = 0; c < width; c++) {
            bool is = r->y[i] == (width == 1 ? 1 : c);
            double e = (double)r->pred[i * width + c] - is;
            r->term[i] += e * e;
        }
    }
    metric_of_terms(r, value, se);
    return 0;
}

int metric_accuracy(const struct metric_rows *r, double *value, double *se, struct err *err)
{
    (void)err;
    for (int64_t i = 0; i < r->n; i++)
        r->term[i] = row_class(r, i) == (int)r->y[i];
    metric_of_terms(r, value, se);
    return 0;
}

/* The mean recall of the classes that occur; each recall is a share of the class's own rows. */
int metric_balanced_accuracy(const struct metric_rows *r, double *value, double *se,
                             struct err *err)
{
    double *count = r->classes, *hits = count + r->k, *squares = count + 2 * r->k;
    double sum = 0, var = 0;
    int seen = 0;

    (void)err;
    for (int64_t i = 0; i < r->n; i++) {
        int c = (int)r->y[i];
        double w = metric_weight(r, i);
        count[c] += w;
        squares[c] += w * w;
        hits[c] += row_class(r, i) == c ? w : 0;
    }
    for (int c = 0; c < r->k; c++) {
        if (count[c] == 0)
            continue;
        double recall = hits[c] / count[c];
        sum += recall;
        /* as many rows of equal weight would give the same error: count^2 / squares */
        var += recall * (1 - recall) / (r->weight ? count[c] * count[c] / squares[c] : count[c]);
        seen++;
    }
    *value = sum / seen;
    *se = sqrt(var) / seen;
    return 0;
}

/* F_c = 2 tp / (true + predicted). Binary: of class 1; else the mean over the classes that are true
 * or predicted somewhere. The influence of a row on F_c is (2 [hit] - F_c ([true is c] + [predicted
 * is c])) / mean(true + predicted). */
int metric_f1(const struct metric_rows *r, double *value, double *se, struct err *err)
{
    double *size = r->classes, *tp = size + r->k, *f = size + 2 * r->k, sum = 0;
    int first = r->task == ML_BINARY ? 1 : 0, seen = 0;

    (void)err;
    for (int64_t i = 0; i < r->n; i++) {
        int t = (int)r->y[i], p = row_class(r, i);
        double w = metric_weight(r, i);
        size[t] += w;
        size[p] += w;
        tp[t] += t == p ? w : 0;
    }
    for (int c = first; c < r->k; c++) {
        f[c] = size[c] > 0 ? 2 * tp[c] / size[c] : 0;
        sum += f[c];
        seen += size[c] > 0;
    }
    *value = seen ? sum / seen : 0;
    for (int64_t i = 0; i < r->n; i++) {
        int t = (int)r->y[i], p = row_class(r, i);
        double v = 0;
        if (t >= first)
            v += ((t == p ? 2.0 : 0.0) - f[t]) / (size[t] / r->all);
        if (p >= first)
            v -= f[p] / (size[p] / r->all);
        r->term[i] = seen ? v / seen : 0;
    }
    *se = seen ? metric_terms_se(r) : (double)NAN;
    return 0;
}

/* The correlation of true and predicted classes (Matthews, 1975; of more than two classes R_K of
 * Gorodkin, 2004): (c - P T) / sqrt((1 - P P) (1 - T T)), where c is the share of hits, P and T are
 * the shares of the classes among the predicted and the true ones, and products are sums over the
 * classes. 0 where one class only is predicted, or true. */
int metric_mcc(const struct metric_rows *r, double *value, double *se, struct err *err)
{
    double *t = r->classes, *p = r->classes + r->k, hits = 0, tp = 0, tt = 0, pp = 0;

    (void)err;
    for (int64_t i = 0; i < r->n; i++) {
        double w = metric_weight(r, i) / r->all;
        int is = row_class(r, i);
        t[(int)r->y[i]] += w;
        p[is] += w;
        hits += is == (int)r->y[i] ? w : 0;
    }
    for (int c = 0; c < r->k; c++) {
        tp += t[c] * p[c];
        tt += t[c] * t[c];
        pp += p[c] * p[c];
    }
    double most = (1 - tt) * (1 - pp);
    *value = most > 0 ? (hits - tp) / sqrt(most) : 0;
    if (!(most > 0))
        return 0;
    for (int64_t i = 0; i < r->n; i++) {
        int is = row_class(r, i), y = (int)r->y[i];
        double top = (is == y) - hits - (t[is] + p[y] - 2 * tp);
        double low = (p[is] - pp) / (1 - pp) + (t[y] - tt) / (1 - tt);
        r->term[i] = top / sqrt(most) + *value * low;
    }
    *se = metric_terms_se(r);
    return 0;
}

/* Cohen's kappa with quadratic weights (Cohen, Weighted kappa, 1968), for classes that have an
 * order: 1 - D / E, where D is the mean squared distance between the places of the predicted and the
 * true class, and E what it would be if the two had nothing to do with each other. Not a number
 * where one class only is both true and predicted. */
int metric_quadratic_kappa(const struct metric_rows *r, double *value, double *se, struct err *err)
{
    double t = 0, p = 0, square = 0, d = 0;

    (void)err;
    for (int64_t i = 0; i < r->n; i++) {
        double w = metric_weight(r, i) / r->all, is = row_class(r, i), y = r->y[i];
        t += w * y;
        p += w * is;
        square += w * (y * y + is * is);
        d += w * (y - is) * (y - is);
    }
    double e = square - 2 * t * p;
    if (!(e > 0))
        return 0;
    *value = 1 - d / e;
    for (int64_t i = 0; i < r->n; i++) {
        double is = row_class(r, i), y = r->y[i];
        double of_d = (y - is) * (y - is) - d;
        double of_e = y * y + is * is - square - 2 * (p * (y - t) + t * (is - p));
        r->term[i] = d / e * of_e / e - of_d / e;
    }
    *se = metric_terms_se(r);
    return 0;
}
