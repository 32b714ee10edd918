/* linear_l1_path.c - the points of a path of L1 or elastic net penalties (linear_l1.h): steps and their
 * length, and when a point is good enough. Called by linear.c. */
#include "ml/linear/linear.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/glm.h"
#include "ml/linear/linear_descent.h"
#include "ml/math/fmath.h"

#include <math.h>
#include <string.h>

enum {
    /* iterations of a point, and where classes have sets of their own; a step is halved so many times
     * at most */
    MAX_ITERATIONS = 100,
    MAX_LOOSE = 40,
    MAX_HALVES = 20,
    /* a relaxed point has so many rows for each weight of a class, or it is left as it is */
    RELAX_ROWS = 4
};
/* The least share of a class, from which its intercept starts. */
#define LEAST_SHARE 1e-6
/* The slope, as a share of lambda, at which a weight of several classes takes part at first. */
#define CLASSES_LEAST 0.9
/* A relaxed point: the L2 penalty of its second fit, in units of the targets' spread; the slope, as a share
 * of top, at which that fit is good enough; what the second weights have of the mean. */
#define RELAX_L2    0.1
#define RELAX_SLOPE 1e-4
#define RELAX_SHARE 0.5

static int64_t weights_of(const struct l1_fit *f)
{
    return (int64_t)(f->cols + 1) * f->lanes;
}

/* ---- open, close ---- */

void l1_free(struct l1_fit *f)
{
    if (!f)
        return;
    l1_sets_free(f);
    newton_fini(&f->newton);
    mem_try_free(f->lasso);
    mem_try_free(f->is_in);
    mem_try_free(f->root);
    mem_try_free(f->block);
    mem_try_free(f->w);
    mem_try_free(f->w_try);
    mem_try_free(f->g);
    mem_try_free(f->g_try);
    mem_try_free(f->p);
    mem_try_free(f->tile);
    mem_try_free(f->xy);
    mem_free(f);
}

struct l1_fit *l1_new(struct linear_lane *l, double ratio, bool relaxes, struct err *err)
{
    struct l1_fit *f = mem_zalloc(sizeof *f);
    size_t n = (size_t)linear_weights(l), rows = (size_t)l->r.n_train * (size_t)l->outputs;
    double **own[] = { &f->w, &f->w_try, &f->g, &f->g_try };
    bool ok = true;

    f->cols = l->cols;
    f->outputs = l->outputs;
    f->lanes = l->lanes;
    f->ratio = f->path_ratio = ratio;
    f->relaxes = relaxes;
    f->spread = 1;
    f->n = l->n;
    f->top = (double)NAN;
    f->set = mem_array((size_t)f->outputs, sizeof *f->set);
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        *own[i] = mem_try_zalloc(n * sizeof **own);
        ok = ok && *own[i];
    }
    if (relaxes) {
        f->lasso = mem_try_zalloc(n * sizeof *f->lasso);
        ok = ok && f->lasso;
        f->bytes += (int64_t)(n * sizeof *f->lasso);
    }
    f->is_in = mem_try_zalloc(n);
    f->root = mem_try_alloc((size_t)(GLM_TILE * f->outputs) * sizeof *f->root);
    ok = ok && f->is_in && f->root;
    f->bytes += (int64_t)(sizeof *f + n * (4 * sizeof(double) + 1)) +
                (int64_t)GLM_TILE * f->outputs * (int64_t)sizeof *f->root;
    if (l->task != ML_REGRESSION) {
        f->p = mem_try_alloc(rows * sizeof *f->p);
        ok = ok && f->p;
        f->bytes += (int64_t)(rows * sizeof *f->p);
    }
    if (ok && (!l->gram || l1_take_gram(f, l, err) == 0))
        return f;
    if (!ok)
        err_set(err, ERR_NOMEM, "linear: no memory for %zu weights and %zu rows", n, rows);
    l1_free(f);
    return NULL;
}

/* ---- the objective ---- */

static double l2_of(const struct l1_fit *f)
{
    return f->lambda * (1 - f->ratio) / f->spread;
}

static double penalty(const struct l1_fit *f, const double *w)
{
    int64_t slopes = (int64_t)f->cols * f->lanes;
    double one = 0, two = 0;

    for (int64_t i = 0; i < slopes; i++) {
        one += fabs(w[i]);
        two += w[i] * w[i];
    }
    return f->lambda * f->ratio * one + 0.5 * l2_of(f) * two;
}

/* At most how far the objective at the accepted point is from its minimum. With the dual point that
 * the gradient is, the gap of Fenchel's duality is
 *
 *   penalty(w) + w'g + the most of (-g'v - penalty(v)) over all v.
 *
 * The last part is a sum of squares where there is an L2 penalty. It is also bounded by the fact
 * that lambda |v|_1 need not exceed the objective that is reached already; the lesser one is taken.
 * What an intercept is away from its best is estimated from its slope. */
static double gap(const struct l1_fit *f)
{
    double l1 = f->lambda * f->ratio, l2 = l2_of(f), pen = penalty(f, f->w), wg = 0, square = 0,
           worst = 0, level = 0;
    int64_t slopes = (int64_t)f->cols * f->lanes;

    for (int64_t i = 0; i < slopes; i++) {
        double beyond = fmax(fabs(f->g[i]) - l1, 0);
        wg += f->w[i] * f->g[i];
        square += beyond * beyond;
        worst = fmax(worst, beyond);
    }
    for (int k = 0; k < f->n_sets; k++) {
        const struct l1_set *s = &f->set[k];
        for (int i = 0; i < s->n; i++) {
            double g = f->g[s->at[i]], base = s->hess[(int64_t)i * s->room + i];
            level += s->col[i] == f->cols && base > 0 ? g * g / base : 0;
        }
    }
    double most = (f->loss + pen) / l1 * worst;
    if (l2 > 0)
        most = fmin(most, square / (2 * l2));
    return pen + wg + most + level;
}

/* ---- steps ---- */

/* The weights without any column, from which the smallest lambda without any follows. */
static void start_at_none(struct l1_fit *f, const struct linear_lane *l)
{
    double *level = f->w_try + (int64_t)f->cols * f->lanes;

    memset(f->w_try, 0, (size_t)weights_of(f) * sizeof *f->w_try);
    if (f->gram)
        return;
    for (int64_t i = 0; i < l->r.n_train; i++) {
        double weight = l->weight ? l->weight[i] : 1.0;
        if (l->task == ML_REGRESSION)
            level[0] += weight * l->target[i] / f->n;
        else if (f->outputs > 1)
            level[l->label[i]] += weight / f->n;
        else
            level[0] += l->label[i] ? weight / f->n : 0;
    }
    if (l->task == ML_REGRESSION)
        return;
    for (int k = 0; k < f->outputs; k++) {
        double share = fmin(fmax(level[k], LEAST_SHARE), 1 - LEAST_SHARE);
        level[k] = fm_log_d(share) - (f->outputs == 1 ? fm_log_d(1 - share) : 0);
    }
}

static void accept(struct l1_fit *f)
{
    double *w = f->w, *g = f->g;

    f->w = f->w_try;
    f->w_try = w;
    f->g = f->g_try;
    f->g_try = g;
    f->loss = f->loss_try;
    f->phase = L1_REST;
}

/* Finds top, by a pass without any weights. */
static int top_find(struct l1_fit *f, const struct linear_lane *l, const struct ml_stop *stop)
{
    if (f->phase != L1_FIRST) {
        start_at_none(f, l);
        f->phase = L1_FIRST;
    }
    if (!l1_pass(f, l, stop))
        return 0;
    accept(f);
    double most = 0;
    for (int64_t i = 0; i < (int64_t)f->cols * f->lanes; i++)
        most = fmax(most, fabs(f->g[i]));
    f->top = most / f->ratio;
    f->has_point = true;
    return 1;
}

/* Takes up the solution of the point before, where it is not at hand already. */
static int from_take(struct l1_fit *f, const struct linear_lane *l, const double *from,
                     const struct ml_stop *stop)
{
    if (f->phase != L1_FIRST) {
        memcpy(f->w_try, from, (size_t)weights_of(f) * sizeof *from);
        if (f->gram)
            f->w_try[f->cols] = 0;
        f->phase = L1_FIRST;
    }
    if (!l1_pass(f, l, stop))
        return 0;
    accept(f);
    f->has_point = true;
    return 1;
}

/* The number m that minimises l1 sum |w - m| + l2/2 sum (w - m)^2 over n sorted numbers; of several
 * the one nearest to 0. */
static double middle(const double *w, int n, double l1, double l2)
{
    double sum = 0, from = -INFINITY;

    for (int i = 0; i < n; i++)
        sum += w[i];
    for (int i = 0; i <= n; i++) {
        /* between w[i - 1] and w[i] the slope is l1 (2 i - n) + l2 (n m - sum) */
        double to = i < n ? w[i] : INFINITY, lean = l1 * (2 * i - n) - l2 * sum;
        if (l2 > 0 && lean + l2 * n * to >= 0)
            return fmax(-lean / (l2 * n), from);
        if (l2 == 0 && 2 * i == n)
            return fmin(fmax(0, from), to);
        if (l2 == 0 && 2 * i > n)
            return from;
        from = to;
    }
    return 0;
}

/* A number added to the weights of a column for all classes changes no probability. So the penalty
 * is made least by it, which steps within classes would be slow to find (Friedman, Hastie and
 * Tibshirani 2010, section 4.1). Columns that not all classes may use are left. */
static void level_columns(struct l1_fit *f, double *w)
{
    double *sorted = mem_array((size_t)f->outputs, sizeof *sorted);

    for (int j = 0; j < f->cols; j++) {
        double *at = w + (int64_t)j * f->lanes;
        int n = 0;
        while (n < f->outputs && f->is_in[(int64_t)j * f->lanes + n]) {
            int i = n++;
            for (; i > 0 && sorted[i - 1] > at[n - 1]; i--)
                sorted[i] = sorted[i - 1];
            sorted[i] = at[n - 1];
        }
        if (n < f->outputs)
            continue;
        double by = middle(sorted, n, f->lambda * f->ratio, l2_of(f));
        for (int k = 0; k < n && by != 0; k++)
            at[k] -= by;
    }
    mem_free(sorted);
}

/* The point to try, at the present length of the step. */
static void propose(struct l1_fit *f)
{
    memcpy(f->w_try, f->w, (size_t)weights_of(f) * sizeof *f->w);
    for (int k = 0; k < f->n_sets; k++) {
        const struct l1_set *s = &f->set[k];
        for (int i = 0; i < s->n; i++)
            f->w_try[s->at[i]] += f->length * s->step[i];
    }
    if (f->outputs > 1)
        level_columns(f, f->w_try);
    f->phase = L1_TRY;
}

/* Minimises the quadratic models of all outputs. The first iterations of losses that are not squares
 * need no exact steps. */
static int step_find(struct l1_fit *f, double off, struct err *err)
{
    struct l1_model m = {
        .l1 = f->lambda * f->ratio, .l2 = l2_of(f), .cols = f->cols, .newton = &f->newton
    };
    double gain = -penalty(f, f->w);
    int rc = 0;

    m.slack = fmax(0.3 * l1_tolerance(f) * m.l1, f->p ? 0.02 * off : 0);
    m.slack = fmax(m.slack, f->is_relaxing ? RELAX_SLOPE / 2 * f->top : 0);
    for (int k = 0; k < f->n_sets && rc == 0; k++) {
        struct l1_set *s = &f->set[k];
        double *at = mem_array((size_t)s->n * 2, sizeof *at);
        for (int i = 0; i < s->n; i++) {
            at[i] = f->w[s->at[i]];
            at[s->n + i] = f->g[s->at[i]];
        }
        m.w = at;
        m.g = at + s->n;
        rc = l1_descend(s, &m, err);
        for (int i = 0; rc == 0 && i < s->n; i++)
            gain += m.g[i] * s->step[i];
        mem_free(at);
    }
    f->length = 1;
    propose(f);
    f->model = gain + penalty(f, f->w_try);
    return rc;
}

/* The largest violation of the conditions of a minimum by a column of the sets. */
static double worst_slope(const struct l1_fit *f)
{
    double l1 = f->lambda * f->ratio, l2 = l2_of(f), worst = 0;

    for (int64_t i = 0; i < (int64_t)f->cols * f->lanes; i++) {
        double g = f->g[i] + l2 * f->w[i];
        double off = f->w[i] > 0   ? fabs(g + l1)
                     : f->w[i] < 0 ? fabs(g - l1)
                                   : fmax(fabs(g) - l1, 0);
        worst = fmax(worst, f->is_in[i] ? off : 0);
    }
    return worst;
}

/* What became of the point that was tried: 1 = it is taken, 0 = a shorter step is tried, -1 = no
 * step leads down. */
static int judge(struct l1_fit *f)
{
    double was = f->loss + penalty(f, f->w), is = f->loss_try + penalty(f, f->w_try);

    /* Of squared losses the model is exact. */
    if (!f->p || is <= was + 1e-4 * f->length * fmin(f->model, 0) + 1e-13 * fabs(was)) {
        accept(f);
        return 1;
    }
    /* with the curvature of the point before, back to the accepted point, for its own */
    f->length *= f->is_stale ? 0 : 0.5;
    if (++f->halves > MAX_HALVES)
        return -1;
    propose(f);
    return 0;
}

/* ---- points ---- */

bool l1_is_end(const struct l1_fit *f, const double *from, const double *w)
{
    return memcmp(from, w, (size_t)((int64_t)f->cols * f->lanes) * sizeof *w) == 0;
}

/* Ends a point with the weights `now`, those in f->w or those of the point before. Where nothing has
 * changed nothing ever will: then the path has ended. */
static int point_end(struct l1_fit *f, const double *now, const double *from, double *w)
{
    f->phase = L1_REST;
    memcpy(w, now, (size_t)weights_of(f) * sizeof *w);
    if (f->gram) {
        w[f->cols] = f->y_mean;
        for (int j = 0; j < f->cols; j++)
            w[f->cols] -= f->mean[j] * w[j];
    }
    f->is_full = from && l1_is_end(f, from, w);
    return 1;
}

/* The sets of a new point, by the sequential strong rule. Of several classes fewer take part at first,
 * because a matrix of all their weights costs more than the passes in which others come in. */
static int point_begin(struct l1_fit *f, double share, double share_before, struct err *err)
{
    f->lambda = f->top * share;
    f->before = f->top * share_before;
    f->iteration = f->halves = 0;
    f->left = 1;
    f->is_stale = false;
    double least = f->outputs > 1 ? CLASSES_LEAST * f->lambda : 2 * f->lambda - f->before;
    int rc = l1_sets_take(f, f->ratio * least, true, err);
    l1_curve_forget(f);
    f->phase = L1_CURVE;
    return rc;
}

/* Whether the curvature at hand is good for another step. `left`: the gap now, as a share of the
 * objective. What a Newton step leaves is about the product of the gaps before and after it; a step
 * with the curvature of the point before leaves about as much, at a fraction of the cost, and is taken
 * where that is enough to end. A bound of classes with sets of their own need not be exact. */
static bool curve_serves(const struct l1_fit *f, double left)
{
    if (f->n_sets > 1)
        return f->iteration >= 3 && f->iteration % 8 != 0 && !f->halves;
    return f->set->n_missing == 0 && !f->halves && left * f->left <= l1_tolerance(f);
}

/* One iteration after another. 1 = the point is found, 0 = `stop` asked it to pause, -1 = failed, 2
 * = it needs too many columns, 3 = no better one can be found. */
static int iterate(struct l1_fit *f, const struct linear_lane *l, const struct ml_stop *stop,
                   struct err *err)
{
    for (;;) {
        if (f->phase == L1_CURVE) {
            int rc = l1_curve(f, l, stop, err);
            if (rc <= 0)
                return rc;
            if (step_find(f, worst_slope(f), err) < 0)
                return -1;
        }
        if (ml_stop_now(stop) || !l1_pass(f, l, stop))
            return 0;
        int rc = judge(f);
        if (rc < 0)
            return 3;
        if (rc == 0)
            continue;
        double objective = f->loss + penalty(f, f->w), off = gap(f);
        bool is_good = f->is_relaxing ? worst_slope(f) <= RELAX_SLOPE * f->top
                                      : off <= l1_tolerance(f) * objective;
        if (is_good || ++f->iteration >= (f->n_sets > 1 ? MAX_LOOSE : MAX_ITERATIONS))
            return 1;
        double left = off / objective;
        bool serves = curve_serves(f, left);
        if (!f->is_relaxing)
            rc = l1_sets_take(f, f->lambda * f->ratio * (1 + l1_tolerance(f) / 4),
                              f->outputs > 1 && f->n_sets == 1 && !serves, err);
        if (rc <= 0)
            return rc < 0 ? -1 : 2;
        serves = serves && curve_serves(f, left);
        f->is_stale = serves && f->n_sets == 1;
        if (!serves) {
            l1_curve_forget(f);
            f->left = left;
        }
        f->halves = 0;
        f->phase = L1_CURVE;
    }
}

/* ---- relaxed points ---- */

/* Begins the second fit of a point, of the weights that are not 0. False: there are none, or so many
 * that a fit without a penalty knows the rows by heart, or classes of so many that each has its own set. */
static bool relax_begin(struct l1_fit *f, struct err *err)
{
    int64_t n = 0;

    for (int64_t i = 0; i < (int64_t)f->cols * f->lanes; i++)
        n += f->w[i] != 0;
    if (n == 0 || (double)n * RELAX_ROWS > f->n * f->outputs)
        return false;
    memcpy(f->lasso, f->w, (size_t)weights_of(f) * sizeof *f->w);
    f->is_relaxing = true;
    f->ratio = 0;
    f->lambda = RELAX_L2 * f->spread;
    f->iteration = f->halves = 0;
    f->left = 1;
    f->is_stale = false;
    if (l1_sets_take(f, INFINITY, true, err) == 1 && f->n_sets == 1) {
        l1_curve_forget(f);
        f->phase = L1_CURVE;
        return true;
    }
    f->is_relaxing = false;
    f->ratio = f->path_ratio;
    return false;
}

/* Goes on with it. The next point starts from the mean, as it does in a lane that was loaded. */
static int relax_go(struct l1_fit *f, const struct linear_lane *l, const double *from, double *w,
                    const struct ml_stop *stop, struct err *err)
{
    int rc = iterate(f, l, stop, err);

    if (rc <= 0)
        return rc;
    f->is_relaxing = false;
    f->ratio = f->path_ratio;
    for (int64_t i = 0; i < weights_of(f); i++)
        f->lasso[i] += RELAX_SHARE * (f->w[i] - f->lasso[i]);
    return point_end(f, f->lasso, from, w);
}

int l1_point(struct l1_fit *f, struct linear_lane *l, double share, double share_before,
             const double *from, double *w, const struct ml_stop *stop, struct err *err)
{
    int rc = 1;

    if (f->is_relaxing)
        return relax_go(f, l, from, w, stop, err);
    if (isnan(f->top)) {
        if (!top_find(f, l, stop))
            return 0;
        f->has_point = !from;
    }
    if (!from)
        return point_end(f, f->w, NULL, w);
    if (f->is_full || f->top == 0)
        return point_end(f, from, from, w);
    if (!f->has_point && !from_take(f, l, from, stop))
        return 0;
    if (f->phase == L1_REST)
        rc = point_begin(f, share, share_before, err);
    if (rc <= 0)
        return rc < 0 ? -1 : point_end(f, from, from, w);
    rc = iterate(f, l, stop, err);
    if (rc <= 0)
        return rc;
    /* after a step that was given up f->p is that of another point */
    f->has_point = rc == 1 && !f->relaxes;
    if (rc == 1 && f->relaxes && relax_begin(f, err))
        return relax_go(f, l, from, w, stop, err);
    return point_end(f, rc == 2 ? from : f->w, from, w);
}
