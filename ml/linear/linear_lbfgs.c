/* linear_lbfgs.c - L-BFGS (Nocedal, Updating quasi-Newton matrices with limited storage, 1980; 8
 * pairs) with a backtracking line search. All state is in struct lbfgs, so the search can be left
 * after any tile of rows and goes on with equal bits.
 *
 * Loss and gradient are sums of doubles over the tiles, in the order of rows. Doubles, because near
 * the minimum the rounding errors of floats would look like a rising objective and make the line
 * search backtrack. Called by linear.c. */
#include "ml/linear/linear.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/glm.h"

#include <math.h>
#include <string.h>

enum { MAX_ITERATIONS = 100 };
/* The search ends when no component of the gradient of the mean loss is larger than this, */
#define TOLERANCE 1e-5
/* or when an iteration lowers the objective by less than this share of it, twice in a row. */
#define SMALL_GAIN 1e-7

int lbfgs_init(struct lbfgs *o, int64_t size, struct err *err)
{
    memset(o, 0, sizeof *o);
    o->size = size;
    o->block = mem_try_zalloc((size_t)size * (5 + 2 * LBFGS_MEMORY) * sizeof *o->block);
    if (!o->block)
        return err_set(err, ERR_NOMEM, "linear: no memory for %lld weights", (long long)size);
    double **own[] = { &o->w, &o->g, &o->w_try, &o->g_try, &o->dir };
    double *at = o->block;
    for (size_t i = 0; i < ARRAY_LEN(own); i++, at += size)
        *own[i] = at;
    for (int i = 0; i < LBFGS_MEMORY; i++, at += 2 * size) {
        o->s[i] = at;
        o->y[i] = at + size;
    }
    return 0;
}

void lbfgs_fini(struct lbfgs *o)
{
    mem_try_free(o->block);
    memset(o, 0, sizeof *o);
}

/* Four partial sums, so that the compiler may use vectors; the order is fixed, and so are the
 * bits. */
static double dot(const double *a, const double *b, int64_t n)
{
    double s[4] = { 0 };
    int64_t i = 0;

    for (; i + 4 <= n; i += 4) {
        for (int k = 0; k < 4; k++)
            s[k] += a[i + k] * b[i + k];
    }
    for (; i < n; i++)
        s[0] += a[i] * b[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

void lbfgs_start(struct lbfgs *o, const double *w)
{
    o->kept = o->newest = o->iteration = o->small_gains = 0;
    o->is_started = o->is_first = true;
    o->at = 0;
    o->f_try = 0;
    memcpy(o->w_try, w, (size_t)o->size * sizeof *w);
    memset(o->g_try, 0, (size_t)o->size * sizeof *w);
}

/* Squared loss of one tile; z becomes its derivative. */
static double square_loss(double *z, const double *y, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++) {
        z[i] -= y[i];
        sum += 0.5 * z[i] * z[i];
    }
    return sum;
}

/* Loss of a tile whose rows count as `weight` says; z becomes the derivatives times it. */
static double weighted_loss(const struct linear_lane *l, double *z, int64_t at, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++) {
        double *zi = z + i * l->lanes, w = l->weight[at + i];
        sum += w * (l->task == ML_REGRESSION
                        ? square_loss(zi, l->target + at + i, 1)
                        : glm_log_loss(zi, l->label + at + i, 1, l->outputs, l->lanes));
        for (int k = 0; k < l->lanes; k++)
            zi[k] *= w;
    }
    return sum;
}

double linear_loss(const struct linear_lane *l, double *z, int64_t at, int64_t n)
{
    if (l->weight)
        return weighted_loss(l, z, at, n);
    return l->task == ML_REGRESSION ? square_loss(z, l->target + at, n)
                                    : glm_log_loss(z, l->label + at, n, l->outputs, l->lanes);
}

/* Computes the objective and its gradient at w_try, tile after tile, going on where it was left. 1
 * = complete, 0 = `stop` asked it to pause. */
static int pass(struct lbfgs *o, struct linear_lane *l, double c, const struct ml_stop *stop)
{
    struct glm_rows r = {
        .x = l->x->x, .stride = l->x->stride, .cols = l->cols, .lanes = l->lanes
    };

    for (; o->at < l->r.n_train; o->at += r.n) {
        if (ml_stop_now(stop))
            return 0;
        r.n = MIN(GLM_TILE, l->r.n_train - o->at);
        r.rows = l->r.train + o->at;
        glm_scores(&r, o->w_try, l->z);
        o->f_try += linear_loss(l, l->z, o->at, r.n);
        glm_gradient(&r, l->z, o->g_try);
    }
    int64_t slopes = (int64_t)l->cols * l->lanes;
    double n = l->n, sq = dot(o->w_try, o->w_try, slopes);
    o->f_try = (o->f_try + sq / (2 * c)) / n;
    for (int64_t i = 0; i < o->size; i++)
        o->g_try[i] = (o->g_try[i] + (i < slopes ? o->w_try[i] / c : 0.0)) / n;
    return 1;
}

/* The search direction: minus the approximate inverse Hessian times the gradient, by the two loops
 * of Nocedal's algorithm over the kept pairs. Without pairs it is minus the gradient. */
static void direction(struct lbfgs *o)
{
    double alpha[LBFGS_MEMORY];

    for (int64_t i = 0; i < o->size; i++)
        o->dir[i] = -o->g[i];
    for (int k = 0; k < o->kept; k++) {
        int j = (o->newest - k + LBFGS_MEMORY) % LBFGS_MEMORY;
        alpha[j] = o->rho[j] * dot(o->s[j], o->dir, o->size);
        for (int64_t i = 0; i < o->size; i++)
            o->dir[i] -= alpha[j] * o->y[j][i];
    }
    if (o->kept) {
        double gamma = 1.0 / (o->rho[o->newest] * dot(o->y[o->newest], o->y[o->newest], o->size));
        for (int64_t i = 0; i < o->size; i++)
            o->dir[i] *= gamma;
    }
    for (int k = o->kept - 1; k >= 0; k--) {
        int j = (o->newest - k + LBFGS_MEMORY) % LBFGS_MEMORY;
        double beta = o->rho[j] * dot(o->y[j], o->dir, o->size);
        for (int64_t i = 0; i < o->size; i++)
            o->dir[i] += (alpha[j] - beta) * o->s[j][i];
    }
}

/* Keeps the last step as a pair, in place of the oldest. A pair of too little curvature is left
 * out, because it would make the approximation indefinite. */
static void remember(struct lbfgs *o)
{
    int j = o->kept ? (o->newest + 1) % LBFGS_MEMORY : 0;

    for (int64_t i = 0; i < o->size; i++) {
        o->s[j][i] = o->w_try[i] - o->w[i];
        o->y[j][i] = o->g_try[i] - o->g[i];
    }
    double sy = dot(o->s[j], o->y[j], o->size), yy = dot(o->y[j], o->y[j], o->size);
    if (!(sy > 1e-12 * yy))
        return;
    o->rho[j] = 1.0 / sy;
    o->newest = j;
    o->kept = MIN(o->kept + 1, LBFGS_MEMORY);
}

/* Sets the next point to try, and clears its sums. */
static void propose(struct lbfgs *o)
{
    for (int64_t i = 0; i < o->size; i++)
        o->w_try[i] = o->w[i] + o->step * o->dir[i];
    memset(o->g_try, 0, (size_t)o->size * sizeof *o->g_try);
    o->f_try = 0;
    o->at = 0;
}

static double largest(const double *g, int64_t n)
{
    double top = 0;

    for (int64_t i = 0; i < n; i++)
        top = fmax(top, fabs(g[i]));
    return top;
}

/* Moves to the point that was tried. True = converged. */
static bool accept(struct lbfgs *o)
{
    double gain = o->is_first ? INFINITY : o->f - o->f_try;

    if (!o->is_first)
        remember(o);
    memcpy(o->w, o->w_try, (size_t)o->size * sizeof *o->w);
    memcpy(o->g, o->g_try, (size_t)o->size * sizeof *o->g);
    o->f = o->f_try;
    o->is_first = false;
    o->small_gains = gain <= SMALL_GAIN * fabs(o->f) ? o->small_gains + 1 : 0;
    if (largest(o->g, o->size) <= TOLERANCE || o->small_gains >= 2 ||
        ++o->iteration > MAX_ITERATIONS)
        return true;
    direction(o);
    o->slope = dot(o->dir, o->g, o->size);
    /* The direction does not lead down: forget the pairs and take steepest descent. */
    if (!(o->slope < 0)) {
        o->kept = 0;
        direction(o);
        o->slope = dot(o->dir, o->g, o->size);
    }
    o->step = o->kept ? 1.0 : 1.0 / fmax(1.0, sqrt(-o->slope));
    return !(o->slope < 0);
}

int lbfgs_run(struct lbfgs *o, struct linear_lane *l, double c, const struct ml_stop *stop)
{
    for (;;) {
        if (!pass(o, l, c, stop))
            return 0;
        bool is_good = o->is_first || o->f_try <= o->f + 1e-4 * o->step * o->slope;
        if (is_good) {
            if (accept(o))
                break;
        } else {
            /* The next step goes to the minimum of the parabola through the objective and its slope
             * at w and the objective at w_try, held to 0.1 to 0.5 of the last step. */
            double bend = o->f_try - o->f - o->step * o->slope;
            double shrink = isfinite(bend) && bend > 0 ? -0.5 * o->step * o->slope / bend : 0.1;
            o->step *= shrink < 0.1 ? 0.1 : shrink > 0.5 ? 0.5 : shrink;
            if (o->step < 1e-12)
                break;
        }
        propose(o);
    }
    o->is_started = false;
    return 1;
}
