/* linear_descent.c - coordinate descent on a quadratic model with an L1 and an L2 penalty
 * (linear_l1.h).
 *
 * The gradient of the model along every column of the set is kept up to date ("covariance updates"),
 * so that a coordinate that does not move costs a few operations and one that moves one line of the
 * matrix. Intercepts carry no penalty. A single one is taken out exactly: a column's line is corrected
 * by its product with the intercept's, as if all columns were centred. Sweeps go over the columns whose
 * weight is not 0 until they agree, then once over all; that is repeated until a sweep over all moves
 * nothing. Called by linear_l1.c. */
#include "ml/linear/linear_descent.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/glm.h"

#include <math.h>
#include <string.h>

/* A call ends after so many operations, a few hundredths of a second; the caller goes on from there. */
enum { MOST_WORK = 30000000 };

struct descent {
    const struct l1_set *set;
    const struct l1_model *m;
    int64_t wide;
    /* [n] slopes of the model at the present weights, and these; curvature with the intercept over
     * that of the intercept alone */
    double *slope, *w, *lean;
    /* the first coordinate that moves */
    int first;
    int64_t work;
};

/* Moves one coordinate to its minimum. Returns by how much its slope was off. */
static double move(struct descent *d, int j)
{
    const struct l1_model *m = d->m;
    bool is_free = d->set->col[j] == m->cols;
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

static double sweep(struct descent *d, bool all)
{
    double off = 0;

    d->work += d->set->n;
    for (int j = d->first; j < d->set->n; j++) {
        if (all || d->w[j] != 0)
            off = fmax(off, move(d, j));
    }
    return off;
}

int l1_descend(struct l1_set *set, const struct l1_model *m, struct err *err)
{
    size_t n = (size_t)set->n;
    bool is_one = set->output[set->n - 1] == set->output[0];
    struct descent d = { .set = set, .m = m, .wide = set->room, .first = is_one };
    double *block = mem_try_alloc(3 * n * sizeof *block), base = is_one ? set->hess[0] : 0;

    if (!block)
        return err_set(err, ERR_NOMEM, "linear: no memory for %d columns", set->n);
    d.slope = block;
    d.w = block + n;
    d.lean = block + 2 * n;
    for (int j = 0; j < set->n; j++) {
        d.lean[j] = base > 0 ? set->hess[j] / base : 0;
        d.slope[j] = m->g[j] - d.lean[j] * m->g[0];
        d.w[j] = m->w[j];
    }
    while (d.work < MOST_WORK && sweep(&d, true) > m->slack) {
        while (d.work < MOST_WORK && sweep(&d, false) > m->slack)
            ;
    }
    double shift = base > 0 ? -m->g[0] / base : 0;
    for (int j = d.first; j < set->n; j++) {
        set->step[j] = d.w[j] - m->w[j];
        shift -= d.lean[j] * set->step[j];
    }
    if (is_one)
        set->step[0] = shift;
    mem_try_free(block);
    return 0;
}
