/* gp_pool.c - candidates side by side; see gp_pool.h. Every sum goes row by row in one order, so a
 * candidate's numbers are the same bits however often its rows were cut and added again. */
#include "search/samplers/gp/gp_pool.h"

#include "search/samplers/gp/gp_matern.h"
#include "search/samplers/gp/linalg.h"

#include "base/mem.h"
#include "base/simd.h"

#include <math.h>
#include <string.h>

/* TERMS of the continued fraction in quick_log_ei. FOUR rows are solved side by side. */
enum { TERMS = 8, FOUR = 4 };
static const double LOG_SQRT_2PI = 0x1.d67f1c864beb5p-1; /* log(2 pi) / 2 */
static const double JITTER = 1e-8;                       /* as in gp_model.c */

typedef double quad __attribute__((vector_size(32), aligned(8), may_alias));

/* Four lanes of row i. */
#define QUAD(v, i) (*(quad *)((v) + (size_t)(i)*GP_LANES))

void gp_block_init(struct gp_block *b, int d, int n_params, int cap)
{
    *b = (struct gp_block){ 0 };
    b->v = la_array((size_t)cap * GP_LANES, &b->room);
    b->x = mem_zalloc(((size_t)d * GP_LANES + 1) * sizeof *b->x);
    b->units = mem_array((size_t)n_params * GP_LANES + 1, sizeof *b->units);
}

void gp_block_fini(struct gp_block *b)
{
    mem_free(b->room);
    mem_free(b->x);
    mem_free(b->units);
    *b = (struct gp_block){ 0 };
}

void gp_block_put(struct gp_block *b, const struct gp_code *c, int lane, const double *x,
                  const double *unit, uint64_t hash)
{
    size_t n = (size_t)c->space->n;

    for (int k = 0; k < c->d; k++)
        b->x[k * GP_LANES + lane] = x[k];
    memcpy(b->units + (size_t)lane * n, unit, n * sizeof *unit);
    b->hash[lane] = hash;
}

void gp_block_copy(struct gp_block *to, int lane, const struct gp_block *from, int at, int d,
                   int n_params)
{
    size_t n = (size_t)n_params;

    for (int i = 0; i < from->rows; i++)
        to->v[i * GP_LANES + lane] = from->v[i * GP_LANES + at];
    for (int k = 0; k < d; k++)
        to->x[k * GP_LANES + lane] = from->x[k * GP_LANES + at];
    memcpy(to->units + (size_t)lane * n, from->units + (size_t)at * n, n * sizeof *to->units);
    to->rest[lane] = from->rest[at];
    to->score[lane] = from->score[at];
    to->hash[lane] = from->hash[at];
}

/* Writes the covariances of all lanes with the model's points from..to-1: first the distances. */
SIMD_BODY void covary_body(const struct gp_points *p, const struct gp_kernel *g, const double *x,
                           int from, int to, double *restrict v)
{
    double *restrict first = v + (size_t)from * GP_LANES;
    int n = (to - from) * GP_LANES;

    for (int i = from; i < to; i++) {
        double *restrict row = v + (size_t)i * GP_LANES;
        memset(row, 0, GP_LANES * sizeof *row);
        for (int k = 0; k < p->d; k++) {
            double at = p->x[(size_t)k * (size_t)p->cap + (size_t)i], weight = g->weight[k];
            const double *restrict lane = x + (size_t)k * GP_LANES;
            if (p->is_choice[k])
                for (int c = 0; c < GP_LANES; c++)
                    row[c] += lane[c] != at ? weight : 0;
            else
                for (int c = 0; c < GP_LANES; c++)
                    row[c] += weight * ((lane[c] - at) * (lane[c] - at));
        }
    }
    for (int c = 0; c < n; c++)
        first[c] = gp_matern(first[c], g->signal);
}

SIMD_KERNEL_STATIC(covary,
                   (const struct gp_points *p, const struct gp_kernel *g, const double *x, int from,
                    int to, double *v),
                   (p, g, x, from, to, v))

/* Row i of L v = k for four lanes, in place. */
SIMD_BODY void solve_row(const double *row, int i, double *v)
{
    quad sum = QUAD(v, i);

    for (int j = 0; j < i; j++)
        sum -= row[j] * QUAD(v, j);
    QUAD(v, i) = sum * (1 / row[i]);
}

/* The end of rows i..i+3 for four lanes: what each of them waits for. */
SIMD_BODY void solve_corner(const double *l, size_t stride, int i, const quad *s, double *v)
{
    const double *r0 = l + (size_t)i * stride + i, *r1 = r0 + stride, *r2 = r1 + stride,
                 *r3 = r2 + stride;
    quad a = s[0] * (1 / r0[0]), b = (s[1] - r1[0] * a) * (1 / r1[1]);
    quad c = (s[2] - r2[0] * a - r2[1] * b) * (1 / r2[2]);

    QUAD(v, i) = a;
    QUAD(v, i + 1) = b;
    QUAD(v, i + 2) = c;
    QUAD(v, i + 3) = (s[3] - r3[0] * a - r3[1] * b - r3[2] * c) * (1 / r3[3]);
}

/* Rows i..i+3 for eight lanes: they share the reading of the rows before. */
SIMD_BODY void solve_four(const double *l, size_t stride, int i, double *v)
{
    const double *r0 = l + (size_t)i * stride, *r1 = r0 + stride, *r2 = r1 + stride,
                 *r3 = r2 + stride;
    double *w = v + 4;
    quad s[4] = { QUAD(v, i), QUAD(v, i + 1), QUAD(v, i + 2), QUAD(v, i + 3) };
    quad t[4] = { QUAD(w, i), QUAD(w, i + 1), QUAD(w, i + 2), QUAD(w, i + 3) };

    for (int j = 0; j < i; j++) {
        quad x = QUAD(v, j), y = QUAD(w, j);
        s[0] -= r0[j] * x;
        t[0] -= r0[j] * y;
        s[1] -= r1[j] * x;
        t[1] -= r1[j] * y;
        s[2] -= r2[j] * x;
        t[2] -= r2[j] * y;
        s[3] -= r3[j] * x;
        t[3] -= r3[j] * y;
    }
    solve_corner(l, stride, i, s, v);
    solve_corner(l, stride, i, t, w);
}

/* Solves rows from..to-1 of L v = k in place. */
SIMD_BODY void solve_body(const double *l, size_t stride, int from, int to, double *v)
{
    int i = from;

    for (; i + FOUR <= to; i += FOUR) {
        for (int c = 0; c < GP_LANES; c += 8)
            solve_four(l, stride, i, v + c);
    }
    for (; i < to; i++) {
        for (int c = 0; c < GP_LANES; c += 4)
            solve_row(l + (size_t)i * stride, i, v + c);
    }
}

SIMD_KERNEL_STATIC(solve, (const double *l, size_t stride, int from, int to, double *v),
                   (l, stride, from, to, v))

SIMD_BODY void take_away_body(const double *restrict v, int from, int to, double *restrict rest)
{
    for (int i = from; i < to; i++)
        for (int c = 0; c < GP_LANES; c++)
            rest[c] -= v[i * GP_LANES + c] * v[i * GP_LANES + c];
}

SIMD_KERNEL_STATIC(take_away, (const double *v, int from, int to, double *rest),
                   (v, from, to, rest))

/* log(x) of a normal positive number, to about 1e-9, without a branch. */
SIMD_BODY double quick_log(double x)
{
    int64_t bits = 0, e = 0;
    double m = 0;

    memcpy(&bits, &x, sizeof bits);
    e = (bits - INT64_C(0x3fe6a09e667f3bcd)) >> 52; /* m is in [sqrt(1/2), sqrt(2)) */
    bits -= e * (INT64_C(1) << 52);
    memcpy(&m, &bits, sizeof m);
    double s = (m - 1) / (m + 1), s2 = s * s;
    double sum = 1.0 / 3 + s2 * (1.0 / 5 + s2 * (1.0 / 7 + s2 * (1.0 / 9 + s2 * (1.0 / 11))));
    return (double)(int)e * 0x1.62e42fefa39efp-1 + 2 * s * (1 + s2 * sum);
}

/* The logarithm of the expected improvement over 0 of a normal variable, to about 1e-3: all that a
 * comparison of points needs. The terms of its continued fraction k / (x + ..) beyond TERMS are
 * replaced by f of f = TERMS / (x + f), which they are close to. The fraction is a / b, because
 * divisions would take most of the time. */
SIMD_BODY double quick_log_ei(double mean, double sd)
{
    double z = mean / sd, x = fabs(z), a = 0.5 * (sqrt(x * x + 4 * TERMS - 2) - x), b = 1;

    for (int k = TERMS - 1; k >= 1; k--) {
        double whole = x * b + a;
        a = k * b;
        b = whole;
    }
    double share = a / (x * b + a) * sd, half = 0.5 * x * x + LOG_SQRT_2PI;
    double inside = z > 0 ? mean + share * gp_exp_minus(half) : share;
    double away = z > 0 ? 0 : half;
    return quick_log(inside) - away;
}

/* The log expected improvement of all lanes. Where results are noisy, what can improve is the model's
 * mean after one more result there, not the function: a result moves the mean by less than the
 * deviation, s^2 / sqrt(s^2 + noise) (Picheny, Ginsbourger, Richet and Caplin, Technometrics 2013: the
 * expected quantile improvement, equations 10-13, of the quantile 1/2). So a place far from all trials
 * is worth less the more noise there is. */
SIMD_BODY void improve_body(const struct gp_model *m, const double *restrict v,
                            const double *restrict rest, double best, double noise,
                            double *restrict score)
{
    double means[GP_LANES] = { 0 }, least = JITTER * m->kernel.signal;

    for (int c = 0; c < GP_LANES; c += 8) {
        quad a = { 0 }, b = { 0 };
        for (int i = 0; i < m->n_targets; i++) {
            a += m->alpha[i] * QUAD(v + c, i);
            b += m->alpha[i] * QUAD(v + c + 4, i);
        }
        memcpy(means + c, &a, sizeof a);
        memcpy(means + c + 4, &b, sizeof b);
    }
    for (int c = 0; c < GP_LANES; c++) {
        double variance = rest[c] > least ? rest[c] : least;
        double sd = variance / sqrt(variance + noise);
        score[c] = quick_log_ei(means[c] - best, sd);
    }
}

SIMD_KERNEL_STATIC(improve,
                   (const struct gp_model *m, const double *v, const double *rest, double best,
                    double noise, double *score),
                   (m, v, rest, best, noise, score))

void gp_block_cut(struct gp_block *b, int n)
{
    b->rows = MIN(b->rows, n);
}

void gp_block_score(struct gp_block *b, const struct gp_model *m, const struct gp_aim *aim)
{
    size_t stride = (size_t)m->points.cap;

    if (b->rows < m->n_rows) {
        covary(&m->points, &m->kernel, b->x, b->rows, m->n_rows, b->v);
        solve(m->chol, stride, b->rows, m->n_rows, b->v);
        b->rows = m->n_rows;
    }
    for (int c = 0; c < GP_LANES; c++)
        b->rest[c] = m->kernel.signal;
    take_away(b->v, 0, b->rows, b->rest);
    improve(m, b->v, b->rest, aim->best, aim->is_noisy ? m->kernel.noise : 0, b->score);
    for (int c = 0; c < GP_LANES; c++)
        b->score[c] = b->hash[c] ? b->score[c] : -INFINITY;
}
