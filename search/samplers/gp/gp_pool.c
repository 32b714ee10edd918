/* gp_pool.c - candidates side by side; see gp_pool.h. Every sum goes row by row in one order, so a
 * candidate's numbers are the same bits however often its rows were cut and added again. */
#include "search/samplers/gp/gp_pool.h"

#include "search/samplers/gp/gp_matern.h"
#include "search/samplers/gp/linalg.h"

#include "base/mem.h"
#include "base/simd.h"

#include <math.h>
#include <string.h>

/* TERMS of the continued fraction in quick_log_ei. FOUR rows are solved side by side, for all lanes,
 * which are two vectors. */
enum { TERMS = 8, FOUR = 4, EIGHT = GP_LANES / 2 };
static const double LOG_SQRT_2PI = 0x1.d67f1c864beb5p-1; /* log(2 pi) / 2 */
/* The smallest variance, as a share of the signal: what single precision can tell from 0. */
static const double JITTER = 1e-6;

typedef la_octo octo;

/* Eight lanes of row i. */
#define OCTO(v, i) (*(octo *)((v) + (size_t)(i)*GP_LANES))

void gp_block_init(struct gp_block *b, int d, int n_params, int cap)
{
    *b = (struct gp_block){ 0 };
    size_t rows = (size_t)cap + (size_t)d;
    b->v = la_floats(rows * GP_LANES, &b->room);
    b->x = b->v + (size_t)cap * GP_LANES;
    memset(b->x, 0, (size_t)d * GP_LANES * sizeof *b->x);
    b->units = mem_array((size_t)n_params * GP_LANES + 1, sizeof *b->units);
}

void gp_block_fini(struct gp_block *b)
{
    mem_free(b->room);
    mem_free(b->units);
    *b = (struct gp_block){ 0 };
}

void gp_block_put(struct gp_block *b, const struct gp_code *c, int lane, const double *x,
                  const double *unit, uint64_t hash)
{
    size_t n = (size_t)c->space->n;

    for (int k = 0; k < c->d; k++)
        b->x[k * GP_LANES + lane] = (float)x[k];
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
    to->square[lane] = from->square[at];
    to->score[lane] = from->score[at];
    to->hash[lane] = from->hash[at];
}

/* Adds w times the squared distances of eight lanes from `at` along one dimension. */
SIMD_BODY void distances_add(const float *x, float at, bool is_choice, float weight, octo *sum)
{
    octo delta = LA_OCTO(x) - at, w = (octo){ 0 } + weight;

    if (is_choice)
        *sum += (octo)((la_octo_mask)w & (delta != 0));
    else
        *sum += w * (delta * delta);
}

/* Writes the covariances of all lanes with the model's points from..to-1: first the distances. */
SIMD_BODY void covary_body(const struct gp_model *m, const float *x, int from, int to,
                           float *restrict v)
{
    float *restrict first = v + (size_t)from * GP_LANES, signal = (float)m->kernel.signal;
    const struct gp_points *p = &m->points;
    int n = (to - from) * GP_LANES;

    for (int i = from; i < to; i++) {
        octo a = { 0 }, b = { 0 };
        for (int k = 0; k < p->d; k++) {
            float at = m->points_single[i * p->d + k], weight = m->kernel.single[k];
            const float *lane = x + (size_t)k * GP_LANES;
            distances_add(lane, at, p->is_choice[k], weight, &a);
            distances_add(lane + EIGHT, at, p->is_choice[k], weight, &b);
        }
        OCTO(v, i) = a;
        OCTO(v + EIGHT, i) = b;
    }
    for (int c = 0; c < n; c++)
        first[c] = gp_matern_single(first[c], signal);
}

/* The same for the first eight lanes, EIGHT rows side by side. */
SIMD_BODY void covary_half_body(const struct gp_model *m, const float *x, int from, int to,
                                float *restrict v)
{
    float signal = (float)m->kernel.signal, near[EIGHT * EIGHT];
    const struct gp_points *p = &m->points;

    for (int first = from; first < to; first += EIGHT) {
        int n = to - first < EIGHT ? to - first : EIGHT;
        memset(near, 0, sizeof near);
        for (int i = 0; i < n; i++) {
            octo a = { 0 };
            for (int k = 0; k < p->d; k++)
                distances_add(x + (size_t)k * GP_LANES, m->points_single[(first + i) * p->d + k],
                              p->is_choice[k], m->kernel.single[k], &a);
            memcpy(near + i * EIGHT, &a, sizeof a);
        }
        for (int c = 0; c < EIGHT * EIGHT; c++)
            near[c] = gp_matern_single(near[c], signal);
        for (int i = 0; i < n; i++)
            OCTO(v, first + i) = LA_OCTO(near + i * EIGHT);
    }
}

SIMD_KERNEL_STATIC(covary_half,
                   (const struct gp_model *m, const float *x, int from, int to, float *v),
                   (m, x, from, to, v))
SIMD_KERNEL_STATIC(covary, (const struct gp_model *m, const float *x, int from, int to, float *v),
                   (m, x, from, to, v))

/* Sums of the rows of v of all lanes by the points' weights. */
SIMD_BODY void weigh_body(const struct gp_model *m, const float *v, float sum[GP_LANES])
{
    octo a = { 0 }, b = { 0 };

    for (int i = 0; i < m->n_targets; i++) {
        float weight = (float)m->weight[i];
        a += weight * LA_OCTO(v + (size_t)i * GP_LANES);
        b += weight * LA_OCTO(v + (size_t)i * GP_LANES + EIGHT);
    }
    memcpy(sum, &a, sizeof a);
    memcpy(sum + EIGHT, &b, sizeof b);
}

SIMD_KERNEL_STATIC(weigh, (const struct gp_model *m, const float *v, float *sum), (m, v, sum))

void gp_block_means(struct gp_block *b, const struct gp_model *m, const double *x, int n,
                    double *means)
{
    int d = m->points.d;
    float sum[GP_LANES];

    gp_block_cut(b, 0);
    for (int at = 0; at < n; at += GP_LANES) {
        int lanes = MIN(n - at, (int)GP_LANES);
        for (int l = 0; l < lanes; l++) {
            for (int k = 0; k < d; k++)
                b->x[k * GP_LANES + l] = (float)x[(at + l) * d + k];
        }
        if (lanes <= EIGHT)
            covary_half(m, b->x, 0, m->n_targets, b->v);
        else
            covary(m, b->x, 0, m->n_targets, b->v);
        weigh(m, b->v, sum);
        for (int l = 0; l < lanes; l++)
            means[at + l] = (double)sum[l];
    }
}

/* Row i of L v = k, in place. */
SIMD_BODY void solve_row(const float *row, int i, float *v)
{
    octo a = OCTO(v, i), b = OCTO(v + EIGHT, i);

    for (int j = 0; j < i; j++) {
        a -= row[j] * OCTO(v, j);
        b -= row[j] * OCTO(v + EIGHT, j);
    }
    OCTO(v, i) = a * (1 / row[i]);
    OCTO(v + EIGHT, i) = b * (1 / row[i]);
}

/* The end of rows i..i+3 for eight lanes: what each of them waits for. */
SIMD_BODY void solve_corner(const float *l, size_t stride, int i, const octo *s, float *v)
{
    const float *r0 = l + (size_t)i * stride + i, *r1 = r0 + stride, *r2 = r1 + stride,
                *r3 = r2 + stride;
    octo a = s[0] * (1 / r0[0]), b = (s[1] - r1[0] * a) * (1 / r1[1]);
    octo c = (s[2] - r2[0] * a - r2[1] * b) * (1 / r2[2]);

    OCTO(v, i) = a;
    OCTO(v, i + 1) = b;
    OCTO(v, i + 2) = c;
    OCTO(v, i + 3) = (s[3] - r3[0] * a - r3[1] * b - r3[2] * c) * (1 / r3[3]);
}

/* Rows i..i+3: they share the reading of the rows before. */
SIMD_BODY void solve_four(const float *l, size_t stride, int i, float *v)
{
    const float *r0 = l + (size_t)i * stride, *r1 = r0 + stride, *r2 = r1 + stride,
                *r3 = r2 + stride;
    float *w = v + EIGHT;
    octo s[4] = { OCTO(v, i), OCTO(v, i + 1), OCTO(v, i + 2), OCTO(v, i + 3) };
    octo t[4] = { OCTO(w, i), OCTO(w, i + 1), OCTO(w, i + 2), OCTO(w, i + 3) };

    for (int j = 0; j < i; j++) {
        octo x = OCTO(v, j), y = OCTO(w, j);
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
SIMD_BODY void solve_body(const float *l, size_t stride, int from, int to, float *v)
{
    int i = from;

    for (; i + FOUR <= to; i += FOUR)
        solve_four(l, stride, i, v);
    for (; i < to; i++)
        solve_row(l + (size_t)i * stride, i, v);
}

/* Row i of the first eight lanes. */
SIMD_BODY void solve_row_half(const float *row, int i, float *v)
{
    octo a = OCTO(v, i);

    for (int j = 0; j < i; j++)
        a -= row[j] * OCTO(v, j);
    OCTO(v, i) = a * (1 / row[i]);
}

/* Rows i..i+7 of the first eight lanes. */
SIMD_BODY void solve_eight_half(const float *l, size_t stride, int i, float *v)
{
    const float *row = l + (size_t)i * stride;
    octo s[EIGHT];

#pragma GCC unroll 8
    for (int r = 0; r < EIGHT; r++)
        s[r] = OCTO(v, i + r);
    for (int j = 0; j < i; j++) {
        octo x = OCTO(v, j);
#pragma GCC unroll 8
        for (int r = 0; r < EIGHT; r++)
            s[r] -= row[(size_t)r * stride + (size_t)j] * x;
    }
#pragma GCC unroll 8
    for (int r = 0; r < EIGHT; r++) {
        s[r] *= 1 / row[(size_t)r * stride + (size_t)(i + r)];
#pragma GCC unroll 8
        for (int q = r + 1; q < EIGHT; q++)
            s[q] -= row[(size_t)q * stride + (size_t)(i + r)] * s[r];
        OCTO(v, i + r) = s[r];
    }
}

SIMD_BODY void solve_half_body(const float *l, size_t stride, int from, int to, float *v)
{
    int i = from;

    for (; i + EIGHT <= to; i += EIGHT)
        solve_eight_half(l, stride, i, v);
    for (; i < to; i++)
        solve_row_half(l + (size_t)i * stride, i, v);
}

SIMD_KERNEL_STATIC(solve_half, (const float *l, size_t stride, int from, int to, float *v),
                   (l, stride, from, to, v))
SIMD_KERNEL_STATIC(solve, (const float *l, size_t stride, int from, int to, float *v),
                   (l, stride, from, to, v))

/* Row i of all lanes of GP_BLOCKS blocks, whose rows before are solved: so many sums that none waits for
 * its own additions. */
SIMD_BODY void add_row_body(const struct gp_model *m, int i, struct gp_block *blocks)
{
    const float *row = m->single + (size_t)i * (size_t)m->points.cap;
    float near[GP_BLOCKS * GP_LANES], signal = (float)m->kernel.signal, *v[GP_BLOCKS];
    octo s[2 * GP_BLOCKS] = { 0 };

    for (int k = 0; k < m->points.d; k++) {
        float at = m->points_single[i * m->points.d + k], weight = m->kernel.single[k];
#pragma GCC unroll 12
        for (int q = 0; q < 2 * GP_BLOCKS; q++)
            distances_add(blocks[q / 2].x + k * GP_LANES + q % 2 * EIGHT, at,
                          m->points.is_choice[k], weight, &s[q]);
    }
    memcpy(near, s, sizeof near);
    for (int c = 0; c < GP_BLOCKS * GP_LANES; c++)
        near[c] = gp_matern_single(near[c], signal);
    memcpy(s, near, sizeof near);
    for (int b = 0; b < GP_BLOCKS; b++)
        v[b] = blocks[b].v;
    for (int j = 0; j < i; j++) {
#pragma GCC unroll 12
        for (int q = 0; q < 2 * GP_BLOCKS; q++)
            s[q] -= row[j] * OCTO(v[q / 2] + q % 2 * EIGHT, j);
    }
    float reciprocal = 1 / row[i];
#pragma GCC unroll 12
    for (int q = 0; q < 2 * GP_BLOCKS; q++)
        OCTO(v[q / 2] + q % 2 * EIGHT, i) = s[q] * reciprocal;
}

SIMD_KERNEL_STATIC(add_row, (const struct gp_model *m, int i, struct gp_block *blocks),
                   (m, i, blocks))

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
SIMD_BODY void improve_lanes(const struct gp_model *m, const float *means, const float *squares,
                             double best, double noise, double *restrict score)
{
    double least = JITTER * m->kernel.signal;

    for (int c = 0; c < GP_LANES; c++) {
        double rest = m->kernel.signal - (double)squares[c];
        double variance = rest > least ? rest : least;
        double sd = variance / sqrt(variance + noise);
        score[c] = quick_log_ei((double)means[c] - best, sd);
    }
}

/* Adds the squares of the rows that came. */
SIMD_BODY void add_squares(struct gp_block *b, int to)
{
    octo first = LA_OCTO(b->square), second = LA_OCTO(b->square + EIGHT);

    for (int i = b->n_squares; i < to; i++) {
        first += OCTO(b->v, i) * OCTO(b->v, i);
        second += OCTO(b->v + EIGHT, i) * OCTO(b->v + EIGHT, i);
    }
    *(octo *)b->square = first;
    *(octo *)(b->square + EIGHT) = second;
    b->n_squares = to;
}

SIMD_BODY void improve_body(const struct gp_model *m, struct gp_block *b, double best, double noise)
{
    octo mean[2] = { 0 };
    float means[GP_LANES];

    for (int i = 0; i < m->n_targets; i++) {
        mean[0] += m->alpha_single[i] * OCTO(b->v, i);
        mean[1] += m->alpha_single[i] * OCTO(b->v + EIGHT, i);
    }
    memcpy(means, mean, sizeof means);
    add_squares(b, m->n_rows);
    improve_lanes(m, means, b->square, best, noise, b->score);
}

SIMD_BODY void improve_all_body(const struct gp_model *m, struct gp_block *blocks, double best,
                                double noise)
{
    octo mean[2 * GP_BLOCKS] = { 0 };
    float means[GP_BLOCKS * GP_LANES], *v[GP_BLOCKS];

    for (int b = 0; b < GP_BLOCKS; b++)
        v[b] = blocks[b].v;
    for (int i = 0; i < m->n_targets; i++) {
        float alpha = m->alpha_single[i];
#pragma GCC unroll 12
        for (int q = 0; q < 2 * GP_BLOCKS; q++)
            mean[q] += alpha * OCTO(v[q / 2] + q % 2 * EIGHT, i);
    }
    memcpy(means, mean, sizeof means);
    for (int b = 0; b < GP_BLOCKS; b++) {
        add_squares(&blocks[b], m->n_rows);
        improve_lanes(m, means + b * GP_LANES, blocks[b].square, best, noise, blocks[b].score);
    }
}

SIMD_KERNEL_STATIC(improve,
                   (const struct gp_model *m, struct gp_block *b, double best, double noise),
                   (m, b, best, noise))
SIMD_KERNEL_STATIC(improve_all,
                   (const struct gp_model *m, struct gp_block *blocks, double best, double noise),
                   (m, blocks, best, noise))

static void squares_clear(struct gp_block *b)
{
    b->n_squares = 0;
    memset(b->square, 0, sizeof b->square);
}

void gp_block_cut(struct gp_block *b, int n)
{
    b->rows = MIN(b->rows, n);
    if (b->rows < b->n_squares)
        squares_clear(b);
}

static void add_rows(struct gp_block *b, const struct gp_model *m)
{
    size_t stride = (size_t)m->points.cap;

    if (b->rows == m->n_rows)
        return;
    (b->is_half ? covary_half : covary)(m, b->x, b->rows, m->n_rows, b->v);
    (b->is_half ? solve_half : solve)(m->single, stride, b->rows, m->n_rows, b->v);
    b->rows = m->n_rows;
}

/* Without a candidate there is no score. */
static void scores_mask(struct gp_block *b)
{
    for (int c = 0; c < GP_LANES; c++)
        b->score[c] = b->hash[c] ? b->score[c] : -INFINITY;
}

static double noise_of(const struct gp_model *m, const struct gp_aim *aim)
{
    return aim->is_noisy ? m->kernel.noise : 0;
}

void gp_block_score(struct gp_block *b, const struct gp_model *m, const struct gp_aim *aim)
{
    add_rows(b, m);
    improve(m, b, aim->best, noise_of(m, aim));
    scores_mask(b);
}

/* Whether all blocks have as many rows, and a few less than the model. */
static bool are_few_new(const struct gp_block *blocks, const struct gp_model *m)
{
    bool is_so = m->n_rows - blocks[0].rows < FOUR;

    for (int b = 1; b < GP_BLOCKS; b++)
        is_so = is_so && blocks[b].rows == blocks[0].rows;
    return is_so;
}

void gp_blocks_score(struct gp_block *blocks, const struct gp_model *m, const struct gp_aim *aim)
{
    bool are_few = are_few_new(blocks, m);

    for (int i = blocks[0].rows; i < m->n_rows && are_few; i++)
        add_row(m, i, blocks);
    for (int b = 0; b < GP_BLOCKS; b++) {
        if (are_few)
            blocks[b].rows = m->n_rows;
        add_rows(&blocks[b], m);
    }
    improve_all(m, blocks, aim->best, noise_of(m, aim));
    for (int b = 0; b < GP_BLOCKS; b++)
        scores_mask(&blocks[b]);
}
