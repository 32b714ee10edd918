/* linear_descent.c - coordinate descent on a quadratic model with an L1 and an L2 penalty
 * (linear_l1.h).
 *
 * The gradient of the model along every column of the set is kept up to date ("covariance updates"),
 * so that a coordinate that does not move costs a few operations and one that moves one line of the
 * matrix. Intercepts carry no penalty. A single one is taken out exactly: a column's line is corrected
 * by its product with the intercept's, as if all columns were centred. Sweeps go over the columns whose
 * weight is not 0 until they agree, then once over all; that is repeated until a sweep over all moves
 * nothing.
 *
 * Where columns are many and nearly depend on each other, sweeps creep along the same direction.
 * After every KEPT of them the weights are extrapolated from their last changes (Anderson's
 * acceleration: Bertrand and Massias, Anderson acceleration of coordinate descent, 2021), and the
 * extrapolation is kept if it lowers the model. Once the sweeps have taken as long as a PATIENCE-th of
 * a Cholesky factor would, Newton's steps come between them (linear_newton.h). Called by
 * linear_l1_path.c. */
#include "ml/linear/linear_descent.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/glm.h"
#include "ml/linear/linear_newton.h"

#include <math.h>
#include <string.h>

/* A call ends after so many operations, a tenth of a second; the caller goes on from there. Of several
 * classes after so many for each pair of weights, because sweeps creep along what adds a number to the
 * weights of all classes, and Newton's step fails there, but the caller takes it out (level_columns). */
enum { MOST_WORK = 100000000, MOST_JOINT_WORK = 10000 };
/* Newton's steps begin when so many times the products of sweeps are those of a factor, 8 sweeps of 900
 * columns. Of 2, 4, 8, 16, 32 and 100 the larger ones were equally fast. */
enum { PATIENCE = 16 };
enum { KEPT = 5 };

struct descent {
    const struct l1_set *set;
    const struct l1_model *m;
    int64_t wide;
    /* [n] slopes of the model at the present weights, and these; curvature with the intercept over
     * that of the intercept alone */
    double *slope, *w, *lean;
    /* [KEPT + 1][n] weights before and after the last sweeps; [n] slopes and weights that are tried */
    double *kept, *slope_try, *w_try;
    /* [n] intercepts, which carry no penalty */
    bool *is_free;
    /* the first coordinate that moves */
    int first;
    /* products so far */
    int64_t work;
    /* at which the call ends */
    int64_t most_work;
    /* that are not 0; whether Newton's steps have led down so far */
    int64_t weights;
    bool can_solve;
};

/* Moves one coordinate to its minimum. Returns by how much its slope was off. */
static double move(struct descent *d, int j)
{
    const struct l1_model *m = d->m;
    bool is_free = d->is_free[j];
    double curve = d->set->hess[j * d->wide + j] - d->lean[j] * d->set->hess[j], now = d->w[j],
           pull = curve * now - d->slope[j], next = 0, l1 = is_free ? 0 : m->l1,
           l2 = is_free ? 0 : m->l2;

    if (!(curve > 0))
        return 0;
    if (pull > l1)
        next = (pull - l1) / (curve + l2);
    else if (pull < -l1)
        next = (pull + l1) / (curve + l2);
    if (next == now)
        return 0;
    d->w[j] = next;
    glm_add_two(d->slope, d->set->hess + j * d->wide, next - now, d->set->hess,
                (now - next) * d->lean[j], d->set->n);
    d->work += d->set->n;
    return fabs(next - now) * (curve + l2);
}

/* Solves (U' U) z = 1 for the changes U of the last sweeps, and brings z to the sum 1. A thousandth
 * of a millionth of the trace is added, because changes may depend on each other. */
static bool shares_solve(double a[KEPT][KEPT], double z[KEPT])
{
    double trace = 0, sum = 0;

    for (int i = 0; i < KEPT; i++)
        trace += a[i][i];
    for (int i = 0; i < KEPT; i++) {
        a[i][i] += 1e-9 * trace;
        z[i] = 1;
    }
    for (int i = 0; i < KEPT; i++) {
        if (!(a[i][i] > 0))
            return false;
        for (int j = i + 1; j < KEPT; j++) {
            double by = a[j][i] / a[i][i];
            for (int k = i; k < KEPT; k++)
                a[j][k] -= by * a[i][k];
            z[j] -= by * z[i];
        }
    }
    for (int i = KEPT - 1; i >= 0; i--) {
        for (int k = i + 1; k < KEPT; k++)
            z[i] -= a[i][k] * z[k];
        z[i] /= a[i][i];
        sum += z[i];
    }
    for (int i = 0; i < KEPT; i++)
        z[i] /= sum;
    return isfinite(sum) && sum != 0;
}

/* The weights to try, from what was kept. */
static bool extrapolated(struct descent *d)
{
    double a[KEPT][KEPT] = { 0 }, z[KEPT];
    int64_t n = d->set->n;

    for (int64_t j = d->first; j < n; j++) {
        double u[KEPT];
        if (d->w[j] == 0)
            continue;
        for (int i = 0; i < KEPT; i++)
            u[i] = d->kept[(i + 1) * n + j] - d->kept[i * n + j];
        for (int i = 0; i < KEPT; i++) {
            for (int k = 0; k < KEPT; k++)
                a[i][k] += u[i] * u[k];
        }
    }
    if (!shares_solve(a, z))
        return false;
    memcpy(d->w_try, d->w, (size_t)n * sizeof *d->w);
    for (int64_t j = d->first; j < n; j++) {
        if (d->w[j] == 0)
            continue;
        d->w_try[j] = 0;
        for (int i = 0; i < KEPT; i++)
            d->w_try[j] += z[i] * d->kept[(i + 1) * n + j];
    }
    return true;
}

/* Goes to the weights w_try if the model is lower there. */
static bool try_there(struct descent *d)
{
    const struct l1_model *m = d->m;
    int n = d->set->n;
    double gain = 0;

    memcpy(d->slope_try, d->slope, (size_t)n * sizeof *d->slope);
    for (int j = d->first; j < n; j++) {
        double by = d->w_try[j] - d->w[j];
        if (by == 0)
            continue;
        glm_add_two(d->slope_try, d->set->hess + j * d->wide, by, d->set->hess, -by * d->lean[j],
                    n);
        d->work += n;
    }
    for (int j = d->first; j < n; j++) {
        double now = d->w[j], next = d->w_try[j];
        gain -= 0.5 * (d->slope[j] + d->slope_try[j]) * (next - now);
        if (!d->is_free[j])
            gain += m->l1 * (fabs(now) - fabs(next)) + 0.5 * m->l2 * (now * now - next * next);
    }
    if (!(gain > 0))
        return false;
    memcpy(d->w, d->w_try, (size_t)n * sizeof *d->w);
    memcpy(d->slope, d->slope_try, (size_t)n * sizeof *d->slope);
    return true;
}

/* Newton's step on the weights that are not 0. False: it leads nowhere. */
static bool solve(struct descent *d)
{
    struct newton_model m = { .h = d->set->hess,
                              .lean = d->lean,
                              .wide = d->wide,
                              .first = d->first,
                              .n = d->set->n,
                              .l1 = d->m->l1,
                              .l2 = d->m->l2,
                              .is_free = d->is_free };

    for (int clips = 1; clips >= 0; clips--) {
        if (!newton_step(d->m->newton, &m, d->w, d->slope, clips, d->w_try, &d->work))
            return false;
        if (try_there(d))
            return true;
    }
    return false;
}

static double sweep(struct descent *d, bool all)
{
    double off = 0;

    d->work += d->set->n;
    d->weights = 0;
    for (int j = d->first; j < d->set->n; j++) {
        if (all || d->w[j] != 0)
            off = fmax(off, move(d, j));
        d->weights += d->w[j] != 0;
    }
    return off;
}

/* Whether the sweeps so far took so long that a factor costs little beside them. */
static bool is_slow(const struct descent *d)
{
    return d->can_solve && d->work * PATIENCE >= newton_cost(d->weights);
}

/* Sweeps over the columns whose weight is not 0 until they agree, or are slow to. */
static void settle(struct descent *d)
{
    size_t n = (size_t)d->set->n;
    int kept = 0;

    memcpy(d->kept, d->w, n * sizeof *d->w);
    while (d->work < d->most_work && !is_slow(d) && sweep(d, false) > d->m->slack) {
        kept++;
        memcpy(d->kept + (size_t)kept * n, d->w, n * sizeof *d->w);
        if (kept == KEPT) {
            d->work += (int64_t)n * KEPT * KEPT;
            if (extrapolated(d))
                (void)try_there(d);
            memcpy(d->kept, d->w, n * sizeof *d->w);
            kept = 0;
        }
    }
}

/* Sweeps over all columns, and between them what brings those whose weight is not 0 to agree. Two
 * sweeps before a Newton step save more of these than they cost. */
static void descend(struct descent *d)
{
    double slack = d->m->slack;

    while (d->work < d->most_work && sweep(d, true) > slack) {
        if (!is_slow(d))
            settle(d);
        else if (sweep(d, true) > slack)
            d->can_solve = solve(d);
        else
            return;
    }
}

int l1_descend(struct l1_set *set, const struct l1_model *m, struct err *err)
{
    size_t n = (size_t)set->n;
    bool is_one = set->output[set->n - 1] == set->output[0];
    struct descent d = {
        .set = set, .m = m, .wide = set->room, .first = is_one, .can_solve = true
    };
    double *block = mem_try_alloc((KEPT + 6) * n * sizeof *block), base = is_one ? set->hess[0] : 0;

    if (!block)
        return err_set(err, ERR_NOMEM, "linear: no memory for %d columns", set->n);
    d.most_work = is_one ? MOST_WORK : MIN(MOST_WORK, (int64_t)(n * n) * MOST_JOINT_WORK);
    d.slope = block;
    d.w = block + n;
    d.lean = block + 2 * n;
    d.slope_try = block + 3 * n;
    d.w_try = block + 4 * n;
    d.kept = block + 5 * n;
    d.is_free = mem_array(n, sizeof *d.is_free);
    for (int j = 0; j < set->n; j++) {
        d.is_free[j] = set->col[j] == m->cols;
        d.lean[j] = base > 0 ? set->hess[j] / base : 0;
        d.slope[j] = m->g[j] - d.lean[j] * m->g[0];
        d.w[j] = m->w[j];
    }
    newton_start(m->newton, set->n);
    descend(&d);
    double shift = base > 0 ? -m->g[0] / base : 0;
    for (int j = d.first; j < set->n; j++) {
        set->step[j] = d.w[j] - m->w[j];
        shift -= d.lean[j] * set->step[j];
    }
    if (is_one)
        set->step[0] = shift;
    mem_free(d.is_free);
    mem_try_free(block);
    return 0;
}
