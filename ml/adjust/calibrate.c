/* calibrate.c - the two numbers of a calibration, by Newton's method on log loss, which is convex in
 * them (adjust.h). */
#include "ml/adjust/adjust_fit_private.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/math/fmath.h"

#include <math.h>

/* LEAST_ROWS: of fewer rows nothing is learnt. STEPS: Newton's method needs 4 to 8. */
enum { LEAST_ROWS = 30, STEPS = 25 };
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

/* log(1 + exp(x)) */
static double softplus(double x)
{
    return x > 0 ? x + fm_log_d(1 + fm_exp_d(-x)) : fm_log_d(1 + fm_exp_d(x));
}

static void add_two(const struct adjust_rows *r, int64_t i, double w, const double at[2],
                    struct newton *s)
{
    double x = adjust_log_odds((double)r->p[i]), z = at[0] * x + at[1], q = fm_sigmoid_d(z),
           e = w * (q - r->y[i]), v = w * q * (1 - q);

    s->loss += w * softplus(r->y[i] > 0 ? -z : z);
    s->g[0] += e * x;
    s->g[1] += e;
    s->h[0] += v * x * x;
    s->h[1] += v * x;
    s->h[2] += v;
}

static void add_more(const struct adjust_rows *r, int64_t i, double w, const double *log_share,
                     const double at[2], double *score, struct newton *s)
{
    const float *p = r->p + i * r->outputs;
    double top = -INFINITY, sum = 0, mean[2] = { 0 }, square[3] = { 0 };
    int y = (int)r->y[i], k = r->outputs;
    double *x = score + k;

    for (int c = 0; c < k; c++) {
        x[c] = adjust_log((double)p[c]);
        score[c] = at[0] * x[c] + at[1] * log_share[c];
        top = fmax(top, score[c]);
    }
    s->loss += w * (top - score[y]);
    for (int c = 0; c < k; c++)
        sum += score[c] = fm_exp_d(score[c] - top);
    s->loss += w * fm_log_d(sum);
    for (int c = 0; c < k; c++) {
        double q = score[c] / sum, u = log_share[c];
        mean[0] += q * x[c];
        mean[1] += q * u;
        square[0] += q * x[c] * x[c];
        square[1] += q * x[c] * u;
        square[2] += q * u * u;
    }
    s->g[0] += w * (mean[0] - x[y]);
    s->g[1] += w * (mean[1] - log_share[y]);
    s->h[0] += w * (square[0] - mean[0] * mean[0]);
    s->h[1] += w * (square[1] - mean[0] * mean[1]);
    s->h[2] += w * (square[2] - mean[1] * mean[1]);
}

struct fitting {
    const struct adjust_rows *r;
    int without;
    /* how strongly the offset is drawn to 0 */
    double holds;
    const double *weight, *log_share;
    /* [2 outputs] */
    double *score;
};

static struct newton look(const struct fitting *f, const double at[2])
{
    struct newton s = { 0 };

    for (int64_t i = 0; i < f->r->n; i++) {
        if (f->r->part[i] == f->without)
            continue;
        if (f->log_share)
            add_more(f->r, i, f->weight[i], f->log_share, at, f->score, &s);
        else
            add_two(f->r, i, f->weight[i], at, &s);
    }
    s.loss += RIDGE / 2 * (at[0] - 1) * (at[0] - 1) + f->holds / 2 * at[1] * at[1];
    s.g[0] += RIDGE * (at[0] - 1);
    s.g[1] += f->holds * at[1];
    s.h[0] += RIDGE;
    s.h[2] += f->holds;
    return s;
}

/* Steps that do not lower the loss are halved. */
static void newton(const struct fitting *f, double at[2])
{
    struct newton s = look(f, at);

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
            now = look(f, next);
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

bool adjust_calibrate(const struct adjust_rows *r, int without, struct adjust *out)
{
    double at[2] = { 1, 0 };
    struct fitting f = { .r = r, .without = without, .holds = RIDGE };

    if (!is_enough(r, without))
        return false;
    double *weight = mem_array((size_t)r->n, sizeof *weight);
    adjust_loss_weights(r, weight);
    f.weight = weight;
    if (r->task == ML_MULTICLASS) {
        out->classes = r->classes;
        out->log_share = log_shares(r, without);
        f.log_share = out->log_share;
        /* where the predicted class of several is what counts, it stays what it was */
        f.holds = metric_info(r->metric)->is_smooth ? RIDGE : HOLD;
        f.score = mem_array(2 * (size_t)r->outputs, sizeof *f.score);
    }
    newton(&f, at);
    mem_free(weight);
    mem_free(f.score);
    out->calibrates = at[0] >= LEAST_SLOPE && at[0] <= MOST_SLOPE && fabs(at[1]) <= MOST_SLOPE;
    out->slope = at[0];
    out->offset = f.holds > RIDGE ? 0 : at[1];
    if (!out->calibrates)
        adjust_fini(out);
    return out->calibrates;
}
