/* linear_newton.c - Newton's step on the weights that are not 0 (linear_newton.h).
 *
 * On weights whose signs are known the model is a quadratic function, and one Cholesky factor gives its
 * minimum, where sweeps would creep (feature-sign search: Lee, Battle, Raina and Ng, Efficient sparse
 * coding algorithms, 2007). Signs that would change are found by the sweeps between two steps, which
 * also let weights in. From step to step few weights come or go: those that left are taken out of the
 * factor one by one, or its last lines are made again, whichever is less work. So that the latter
 * seldom goes far back, large weights come first. Called by linear_descent.c. */
#include "ml/linear/linear_newton.h"

#include "base/base.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is added to the diagonal, as a share of it, and the least share of it that a pivot may be. */
#define RIDGE       1e-8
#define LEAST_PIVOT 1e-9
enum {
    /* up to so many weights that would change their sign become 0 */
    FEW_CROSS = 10,
    /* a product of taking a line out takes as long as so many of the factor's */
    ROTATION = 8
};

void newton_fini(struct newton *t)
{
    mem_try_free(t->c.r);
    mem_try_free(t->step);
    mem_try_free(t->scratch);
    mem_free(t->at);
    mem_free(t->is_in);
    *t = (struct newton){ 0 };
}

int64_t newton_cost(int64_t weights)
{
    return weights * weights * weights / 6;
}

void newton_start(struct newton *t, int n)
{
    t->c.n = 0;
    if (t->n < n) {
        mem_free(t->is_in);
        t->is_in = mem_array((size_t)n, sizeof *t->is_in);
        t->n = n;
    }
    memset(t->is_in, 0, (size_t)t->n * sizeof *t->is_in);
}

/* Room for so many weights, and for half as many again, because the factor is then made anew. */
static bool room_take(struct newton *t, int64_t weights, int n)
{
    if (t->room >= weights)
        return true;
    newton_fini(t);
    t->room = MAX(weights, MIN(weights + weights / 2, n));
    /* an odd number of cache lines */
    t->c.wide = (t->room + 8 + 7) / 16 * 16 + 8;
    t->c.r = mem_try_zalloc((size_t)(t->room * t->c.wide) * sizeof(double));
    t->step = mem_try_zalloc((size_t)t->room * sizeof(double));
    t->scratch = mem_try_zalloc((size_t)t->room * sizeof(double));
    t->at = mem_array((size_t)t->room, sizeof *t->at);
    t->bytes = t->room * (t->c.wide + 3) * (int64_t)sizeof(double);
    newton_start(t, n);
    return t->c.r && t->step && t->scratch;
}

/* ---- the factor ---- */

/* How many of the factor's first lines are kept; those among them that left are taken out. */
static int64_t lines_keep(const struct newton *t, const bool *stays, int64_t weights)
{
    int64_t best = 0, least = INT64_MAX, left = 0;

    for (int64_t q = 0; q <= t->c.n; q++) {
        if (q < t->c.n && stays[q])
            continue;
        /* keep q lines, take `left` of them out */
        int64_t work = newton_cost(weights) - newton_cost(q - left);
        for (int64_t i = 0; i < q && work < least; i++)
            work += stays[i] ? 0 : (q - i) * (q - i) / 2 * ROTATION;
        if (work < least) {
            least = work;
            best = q;
        }
        left++;
    }
    return best;
}

static void lines_drop(struct newton *t, const struct newton_model *m, const double *w,
                       int64_t weights, int64_t *work)
{
    bool *stays = mem_array((size_t)t->c.n + 1, sizeof *stays);

    for (int64_t q = 0; q < t->c.n; q++)
        stays[q] = w[t->at[q]] != 0 || m->is_free[t->at[q]];
    int64_t keep = lines_keep(t, stays, weights);
    for (int64_t q = keep; q < t->c.n; q++)
        t->is_in[t->at[q]] = false;
    t->c.n = keep;
    for (int64_t q = keep - 1; q >= 0; q--) {
        if (stays[q])
            continue;
        t->is_in[t->at[q]] = false;
        *work += (t->c.n - q) * (t->c.n - q) / 2;
        chol_delete(&t->c, q, t->scratch);
        memmove(t->at + q, t->at + q + 1, (size_t)(t->c.n - q) * sizeof *t->at);
    }
    mem_free(stays);
}

struct entrant {
    double size;
    int32_t at;
};

static int by_size(const void *a, const void *b)
{
    const struct entrant *x = a, *y = b;

    return x->size != y->size ? (x->size < y->size) - (x->size > y->size) : x->at - y->at;
}

/* Lists the weights that are not in the factor, large ones first. */
static int64_t lines_list(struct newton *t, const struct newton_model *m, const double *w)
{
    struct entrant *e = mem_array((size_t)m->n, sizeof *e);
    int64_t n = 0;

    for (int j = m->first; j < m->n; j++) {
        if ((w[j] != 0 || m->is_free[j]) && !t->is_in[j])
            e[n++] = (struct entrant){ fabs(w[j]), j };
    }
    qsort(e, (size_t)n, sizeof *e, by_size);
    for (int64_t i = 0; i < n; i++) {
        t->at[t->c.n + i] = e[i].at;
        t->is_in[e[i].at] = true;
    }
    mem_free(e);
    return n;
}

static bool lines_add(struct newton *t, const struct newton_model *m, int64_t more, int64_t *work)
{
    int64_t old = t->c.n, end = old + more;

    for (int64_t i = 0; i < end; i++) {
        int32_t a = t->at[i];
        const double *h = m->h + a * m->wide;
        double *to = t->c.r + i * t->c.wide, lean = m->lean[a];
        for (int64_t j = MAX(i, old); j < end; j++)
            to[j] = h[t->at[j]] - lean * m->h[t->at[j]];
        if (i >= old)
            to[i] += (m->is_free[a] ? 0 : m->l2) + RIDGE * to[i];
    }
    *work += (newton_cost(end) - newton_cost(old)) / 4;
    return chol_append(&t->c, more, LEAST_PIVOT);
}

/* ---- the step ---- */

static int by_value(const void *a, const void *b)
{
    const struct entrant *x = a, *y = b;

    return x->size != y->size ? (x->size > y->size) - (x->size < y->size) : x->at - y->at;
}

/* How far to go along the step: from `crossed` weights with the shares of the step at which they are
 * 0. Between these the model is a parabola, and at each its slope grows by twice the penalty's. gain:
 * the slope at the start. */
static double far(const struct newton *t, double l1, double gain, struct entrant *crossed,
                  int64_t n)
{
    double slope = gain, from = 0;

    qsort(crossed, (size_t)n, sizeof *crossed, by_value);
    for (int64_t i = 0; i < n; i++) {
        /* slope: that at the start of this parabola's line, of which -gain is the curvature */
        double least = slope / gain, to = crossed[i].size;
        if (least <= to)
            return fmax(least, from);
        slope += 2 * l1 * fabs(t->step[crossed[i].at]);
        from = to;
        if (slope - gain * to >= 0)
            return to;
    }
    return fmax(fmin(slope / gain, 1), from);
}

bool newton_step(struct newton *t, const struct newton_model *m, const double *w,
                 const double *slope, bool clips, double *out, int64_t *work)
{
    int64_t weights = 0, crosses = 0;
    double gain = 0, by = 1;

    for (int j = m->first; j < m->n; j++)
        weights += w[j] != 0 || m->is_free[j];
    if (weights == 0 || !room_take(t, weights, m->n))
        return false;
    lines_drop(t, m, w, weights, work);
    if (!lines_add(t, m, lines_list(t, m, w), work)) {
        newton_start(t, m->n);
        return false;
    }
    struct entrant *crossed = mem_array((size_t)weights, sizeof *crossed);
    for (int64_t i = 0; i < weights; i++) {
        int32_t j = t->at[i];
        double pull = slope[j] + (m->is_free[j] ? 0 : copysign(m->l1, w[j]) + m->l2 * w[j]);
        t->step[i] = t->scratch[i] = -pull;
    }
    chol_solve(&t->c, t->step);
    *work += weights * weights;
    for (int64_t i = 0; i < weights; i++) {
        int32_t j = t->at[i];
        gain -= t->scratch[i] * t->step[i];
        if (!m->is_free[j] && (w[j] + t->step[i]) * w[j] <= 0)
            crossed[crosses++] = (struct entrant){ -w[j] / t->step[i], (int32_t)i };
    }
    clips = clips && crosses <= FEW_CROSS;
    if (!clips)
        by = far(t, m->l1, gain, crossed, crosses);
    memcpy(out, w, (size_t)m->n * sizeof *w);
    for (int64_t i = 0; i < weights; i++)
        out[t->at[i]] += by * t->step[i];
    for (int64_t i = 0; i < crosses && clips; i++)
        out[t->at[crossed[i].at]] = 0;
    mem_free(crossed);
    return gain < 0;
}
