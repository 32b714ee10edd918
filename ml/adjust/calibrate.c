/* calibrate.c - the two numbers of a calibration, by Newton's method on log loss, which is convex in
 * them (adjust.h).
 *
 * One row more than there are is counted, of which the model knows nothing (adjust_fit.h). Its loss is
 * the mean over the inputs of the n rows and, by their shares, over the classes: so the target of a
 * row is to n / (n + 1) its class, and to 1 / (n + 1) the shares. */
#include "ml/adjust/adjust_fit_private.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/math/fmath.h"

#include <math.h>

/* LEAST_ROWS: of fewer rows nothing is learnt. STEPS: Newton's method needs 4 to 8. MOST_VALUES:
 * rows x outputs from which the two numbers are learnt to about a hundredth. */
enum { LEAST_ROWS = 30, STEPS = 25, MOST_VALUES = 1 << 14 };
/* The two numbers are drawn to 1 and 0 as if so many rows had said so. */
#define RIDGE 1.0
/* As if so many rows had said that there is no offset. */
#define HOLD 1e15
/* Steeper or flatter than this, or another order of the rows, is the work of chance. */
#define LEAST_SLOPE 0.05
#define MOST_SLOPE  20.0

/* Loss, gradient and second derivatives at one point. */
struct newton {
    double loss, g[2], h[3];
};

static double class_share(const struct adjust_rows *r, int without, int class, double *all)
{
    double sum = 0;

    *all = 0;
    for (int64_t i = 0; i < r->n; i++) {
        if (r->part[i] == without)
            continue;
        *all += adjust_weight(r, i);
        sum += (int)r->y[i] == class ? adjust_weight(r, i) : 0;
    }
    return sum;
}

/* With the balanced metric each class counts as much as the others, as the metric has it. */
void adjust_loss_weights(const struct adjust_rows *r, double *weight)
{
    bool is_balanced = r->metric == METRIC_BALANCED_LOGLOSS;
    double *by = mem_array((size_t)r->classes + 1, sizeof *by);

    for (int c = 0; c < r->classes; c++) {
        double all = 0, size = is_balanced ? class_share(r, -1, c, &all) : 1;
        by[c] = is_balanced && size > 0 ? all / size / r->classes : 1;
    }
    for (int64_t i = 0; i < r->n; i++)
        weight[i] = adjust_weight(r, i) * by[(int)r->y[i]];
    mem_free(by);
}

double adjust_row_loss(const struct adjust_rows *r, const float *p, int64_t i)
{
    double q = r->classes == 2 && r->outputs == 1 ? (r->y[i] > 0 ? (double)p[0] : 1 - (double)p[0])
                                                  : (double)p[(int)r->y[i]];

    return -fm_log_d(fmin(fmax(q, 1e-15), 1 - 1e-15));
}

/* The rows that teach, with their logarithms taken once. */
struct taught {
    int64_t n;
    /* floats a row: 1 = two classes, x holds log-odds; else k, x holds logarithms of probabilities */
    int k;
    double *x, *weight;
    int *y;
    /* [k] of more than two classes */
    const double *log_share;
    /* the part of each target that is the shares of the classes, and these [k], or of class 1 */
    double unknown, *share;
    /* [k] scratch */
    double *score;
    /* how strongly the offset is drawn to 0 */
    double holds;
};

static void add_two(const struct taught *t, int64_t i, const double at[2], struct newton *s)
{
    double x = t->x[i], w = t->weight[i], z = at[0] * x + at[1], tail = fm_exp_d(-fabs(z)),
           q = (z >= 0 ? 1 : tail) / (1 + tail),
           target = t->y[i] + t->unknown * (t->share[0] - t->y[i]), e = w * (q - target),
           v = w * q * (1 - q);

    s->loss += w * (fmax(z, 0) - target * z + fm_log_d(1 + tail));
    s->g[0] += e * x;
    s->g[1] += e;
    s->h[0] += v * x * x;
    s->h[1] += v * x;
    s->h[2] += v;
}

static void add_more(const struct taught *t, int64_t i, const double at[2], struct newton *s)
{
    double top = -INFINITY, sum = 0, mean[2] = { 0 }, square[3] = { 0 }, w = t->weight[i];
    double aim[3] = { 0 }; /* what the target expects of x, of the log share, and of the score */
    const double *x = t->x + i * t->k;

    for (int c = 0; c < t->k; c++) {
        t->score[c] = at[0] * x[c] + at[1] * t->log_share[c];
        top = fmax(top, t->score[c]);
        double target = (c == t->y[i]) + t->unknown * (t->share[c] - (c == t->y[i]));
        aim[0] += target * x[c];
        aim[1] += target * t->log_share[c];
        aim[2] += target * t->score[c];
    }
    s->loss += w * (top - aim[2]);
    for (int c = 0; c < t->k; c++)
        sum += t->score[c] = fm_exp_d(t->score[c] - top);
    s->loss += w * fm_log_d(sum);
    for (int c = 0; c < t->k; c++) {
        double q = t->score[c] / sum, u = t->log_share[c];
        mean[0] += q * x[c];
        mean[1] += q * u;
        square[0] += q * x[c] * x[c];
        square[1] += q * x[c] * u;
        square[2] += q * u * u;
    }
    s->g[0] += w * (mean[0] - aim[0]);
    s->g[1] += w * (mean[1] - aim[1]);
    s->h[0] += w * (square[0] - mean[0] * mean[0]);
    s->h[1] += w * (square[1] - mean[0] * mean[1]);
    s->h[2] += w * (square[2] - mean[1] * mean[1]);
}

static struct newton look(const struct taught *t, const double at[2])
{
    struct newton s = { 0 };

    for (int64_t i = 0; i < t->n; i++) {
        if (t->k > 1)
            add_more(t, i, at, &s);
        else
            add_two(t, i, at, &s);
    }
    s.loss += RIDGE / 2 * (at[0] - 1) * (at[0] - 1) + t->holds / 2 * at[1] * at[1];
    s.g[0] += RIDGE * (at[0] - 1);
    s.g[1] += t->holds * at[1];
    s.h[0] += RIDGE;
    s.h[2] += t->holds;
    return s;
}

/* Steps that do not lower the loss are halved. */
static void newton(const struct taught *t, double at[2])
{
    struct newton s = look(t, at);

    for (int step = 0; step < STEPS; step++) {
        double det = s.h[0] * s.h[2] - s.h[1] * s.h[1];
        double by[2] = { (s.h[2] * s.g[0] - s.h[1] * s.g[1]) / det,
                         (s.h[0] * s.g[1] - s.h[1] * s.g[0]) / det },
               share = 1, next[2];
        struct newton now;

        if (!(det > 0) || fabs(by[0]) + fabs(by[1]) < 1e-8)
            return;
        do {
            next[0] = at[0] - share * by[0];
            next[1] = at[1] - share * by[1];
            now = look(t, next);
            share /= 2;
        } while (!(now.loss <= s.loss) && share > 1e-3);
        if (!(now.loss <= s.loss))
            return;
        at[0] = next[0];
        at[1] = next[1];
        s = now;
    }
}

/* Shares of the classes; a class without rows counts as half a row. */
static double *log_shares(const struct adjust_rows *r, int without)
{
    double *out = mem_array((size_t)r->classes, sizeof *out);

    for (int c = 0; c < r->classes; c++) {
        double all = 0, size = class_share(r, without, c, &all);
        out[c] = fmin(fm_log_d(fmax(size / all, 0.5 / (double)r->n)), 0);
    }
    return out;
}

/* Rows beside the part, of at least two classes. */
static bool is_enough(const struct adjust_rows *r, int without)
{
    int64_t n = 0;
    bool differ = false;
    double first = -1;

    for (int64_t i = 0; i < r->n; i++) {
        if (r->part[i] == without)
            continue;
        first = n++ == 0 ? r->y[i] : first;
        differ = differ || r->y[i] != first;
    }
    return n >= LEAST_ROWS && differ;
}

/* Sets the part of the targets that stands for the unknown row; one of `every` rows teaches. */
static void taught_share(struct taught *t, int64_t every)
{
    double all = 0;

    for (int64_t i = 0; i < t->n; i++) {
        all += t->weight[i];
        if (t->k > 1)
            t->share[t->y[i]] += t->weight[i];
        else
            t->share[0] += t->y[i] ? t->weight[i] : 0;
    }
    for (int c = 0; c < t->k; c++)
        t->share[c] /= all;
    t->unknown = adjust_unknown(all, t->n, every);
}

/* Every so-many-th row beside the part: so many that their values are at most MOST_VALUES, or ADJUST_ROWS
 * rows. The number has no factor in common with that of the parts, which may come in turn. */
static void taught_take(struct taught *t, const struct adjust_rows *r, int without)
{
    int64_t most = MAX(MOST_VALUES / r->outputs, ADJUST_ROWS), every = (r->n + most - 1) / most;
    double *weight = mem_array((size_t)r->n, sizeof *weight);

    every += every % ADJUST_PARTS == 0;
    most = r->n / every + 1;
    t->k = r->outputs;
    t->x = mem_array((size_t)(most * t->k), sizeof *t->x);
    t->weight = mem_array((size_t)most, sizeof *t->weight);
    t->y = mem_array((size_t)most, sizeof *t->y);
    t->score = mem_array((size_t)t->k, sizeof *t->score);
    t->share = mem_zalloc((size_t)t->k * sizeof *t->share);
    adjust_loss_weights(r, weight);
    for (int64_t i = 0; i < r->n; i += every) {
        if (r->part[i] == without)
            continue;
        for (int c = 0; c < t->k; c++) {
            double p = (double)r->p[i * t->k + c];
            t->x[t->n * t->k + c] = t->k > 1 ? adjust_log(p) : adjust_log_odds(p);
        }
        t->weight[t->n] = weight[i];
        t->y[t->n++] = (int)r->y[i];
    }
    taught_share(t, every * MAX(r->every, 1));
    mem_free(weight);
}

bool adjust_calibrate(const struct adjust_rows *r, int without, struct adjust *out)
{
    bool is_smooth = metric_info(r->metric)->is_smooth;
    struct taught t = { .holds = RIDGE };
    double at[2] = { 1, 0 };

    if (!is_enough(r, without))
        return false;
    if (r->task == ML_MULTICLASS) {
        out->classes = r->classes;
        out->log_share = log_shares(r, without);
        t.log_share = out->log_share;
        /* where the predicted class of several is what counts, it stays what it was */
        t.holds = is_smooth ? RIDGE : HOLD;
    }
    taught_take(&t, r, without);
    newton(&t, at);
    mem_free(t.x);
    mem_free(t.weight);
    mem_free(t.y);
    mem_free(t.score);
    mem_free(t.share);
    out->calibrates = at[0] >= LEAST_SLOPE && at[0] <= MOST_SLOPE && fabs(at[1]) <= MOST_SLOPE;
    out->slope = at[0];
    out->offset = t.holds > RIDGE ? 0 : at[1];
    if (!out->calibrates)
        adjust_fini(out);
    return out->calibrates;
}
