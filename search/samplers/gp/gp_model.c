/* gp_model.c - rows of covariances, the factor, and the posterior. The loops run along points, for
 * the vectoriser (base/simd.h). Sums keep one fixed order, so a seed gives the same bits on every
 * machine. */
#include "search/samplers/gp/gp_model.h"

#include "search/samplers/gp/gp_matern.h"
#include "search/samplers/gp/linalg.h"
#include "search/space/exact_math.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/simd.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Smallest pivot and smallest predicted variance, as a share of the signal variance. Two points may
 * be equal; without it the factor would divide by 0. */
static const double JITTER = 1e-8;

void gp_points_init(struct gp_points *p, int d, int cap)
{
    CHECK(d >= 0 && d <= GP_MAX_DIMS && cap % 8 == 0);
    *p = (struct gp_points){ .d = d, .cap = cap };
    for (int k = 0; k < d; k++)
        p->length[k] = gp_length_prior(d, false);
    p->x = mem_zalloc(((size_t)d * (size_t)cap + 1) * sizeof *p->x);
    p->share = mem_array((size_t)cap, sizeof *p->share);
}

void gp_points_fini(struct gp_points *p)
{
    mem_free(p->x);
    mem_free(p->share);
}

void gp_points_add(struct gp_points *p, const double *x)
{
    CHECK(p->n < p->cap);
    for (int k = 0; k < p->d; k++)
        p->x[k * p->cap + p->n] = x[k];
    p->share[p->n] = 1;
    p->n++;
}

SIMD_BODY void distance_add(double *restrict r2, const double *restrict x, double at, double weight,
                            int n)
{
    for (int i = 0; i < n; i++) {
        double delta = x[i] - at;
        r2[i] += weight * (delta * delta);
    }
}

SIMD_BODY void hamming_add(double *restrict r2, const double *restrict x, double at, double weight,
                           int n)
{
    for (int i = 0; i < n; i++)
        r2[i] += x[i] != at ? weight : 0;
}

void gp_kernel_set(struct gp_kernel *g, int d, const double *theta)
{
    double logs[GP_MAX_THETA], all[GP_MAX_THETA];

    for (int i = 0; i < d + GP_SCALE; i++)
        logs[i] = i < GP_SCALE ? theta[i] : -2 * theta[i];
    search_exp_each(logs, all, d + GP_SCALE);
    g->signal = all[GP_SIGNAL];
    g->noise = all[GP_NOISE];
    memcpy(g->weight, all + GP_SCALE, (size_t)d * sizeof *all);
    for (int k = 0; k < d; k++)
        g->single[k] = (float)g->weight[k];
}

SIMD_BODY void gp_covariance_body(const struct gp_points *p, const struct gp_kernel *g,
                                  const double *x, int n, double *restrict k,
                                  double *restrict slope)
{
    double signal = g->signal;

    memset(k, 0, (size_t)n * sizeof *k);
    for (int j = 0; j < p->d; j++) {
        if (p->is_choice[j])
            hamming_add(k, p->x + (size_t)j * (size_t)p->cap, x[j], g->weight[j], n);
        else
            distance_add(k, p->x + (size_t)j * (size_t)p->cap, x[j], g->weight[j], n);
    }
    for (int i = 0; slope && i < n; i++)
        k[i] = gp_matern_slope(k[i], signal, &slope[i]);
    for (int i = 0; !slope && i < n; i++)
        k[i] = gp_matern(k[i], signal);
}

SIMD_KERNEL(gp_covariance,
            (const struct gp_points *p, const struct gp_kernel *g, const double *x, int n,
             double *k, double *slope),
            (p, g, x, n, k, slope))

void gp_model_init(struct gp_model *m, int d, int cap)
{
    *m = (struct gp_model){ 0 };
    gp_points_init(&m->points, d, cap);
    m->chol = la_array((size_t)cap * (size_t)cap, &m->room);
    m->single = mem_alloc((size_t)cap * (size_t)cap * sizeof *m->single);
    m->alpha_single = mem_array((size_t)cap, sizeof *m->alpha_single);
    m->points_single = mem_array((size_t)cap * (size_t)d + 1, sizeof *m->points_single);
    m->alpha = mem_array((size_t)cap, sizeof *m->alpha);
    m->weight = mem_array((size_t)cap, sizeof *m->weight);
    m->row = mem_array((size_t)cap, sizeof *m->row);
}

void gp_model_fini(struct gp_model *m)
{
    gp_points_fini(&m->points);
    mem_free(m->room);
    mem_free(m->single);
    mem_free(m->alpha_single);
    mem_free(m->points_single);
    mem_free(m->alpha);
    mem_free(m->weight);
    mem_free(m->row);
}

void gp_model_clear(struct gp_model *m, const double *theta)
{
    gp_model_cut(m, 0);
    gp_kernel_set(&m->kernel, m->points.d, theta);
}

void gp_model_cut(struct gp_model *m, int n)
{
    CHECK(n <= m->n_rows);
    m->points.n = m->n_rows = n;
    m->n_targets = -1;
}

void gp_points_get(const struct gp_points *p, int i, double *x)
{
    for (int k = 0; k < p->d; k++)
        x[k] = p->x[k * p->cap + i];
}

/* Fills row i of the matrix. A believed value has no noise. */
static void row_fill(struct gp_model *m, int i, bool is_told)
{
    double x[GP_MAX_DIMS], *row = m->chol + (size_t)i * (size_t)m->points.cap;
    int d = m->points.d;

    gp_points_get(&m->points, i, x);
    for (int k = 0; k < d; k++)
        m->points_single[i * d + k] = (float)x[k];
    gp_covariance(&m->points, &m->kernel, x, i, row, NULL);
    row[i] = m->kernel.signal;
    if (is_told)
        row[i] += m->kernel.noise * m->points.share[i];
}

/* Factors the rows that are not factored yet, and makes alpha of the targets that it holds, unless it
 * is made. Nearly always one or two results have come, which are solved side by side. */
static void rows_factor(struct gp_model *m, bool has_alpha)
{
    double *chol = m->chol, least = JITTER * m->kernel.signal;
    int cap = m->points.cap, n = m->points.n, first = m->n_rows, solved = 0;
    double *row = chol + (size_t)first * (size_t)cap, *next = row + cap;

    if (n - first == 2) {
        la_solve_lower_two(chol, cap, first, row, next);
        la_cholesky_pivot(chol, cap, first, least);
        la_solve_lower(chol, cap, first, first + 1, next);
        la_cholesky_pivot(chol, cap, first + 1, least);
    } else if (n - first == 1 && !has_alpha && m->n_targets == n) {
        la_solve_lower_two(chol, cap, first, row, m->alpha);
        la_cholesky_pivot(chol, cap, first, least);
        solved = first;
    } else {
        la_cholesky_rows(chol, cap, first, n, least);
    }
    if (!has_alpha)
        la_solve_lower(chol, cap, solved, m->n_targets, m->alpha);
}

void gp_model_extend(struct gp_model *m, int n_targets, const double *targets)
{
    int cap = m->points.cap;
    bool is_told = m->n_targets >= 0;

    CHECK(!is_told || n_targets == m->n_targets);
    m->n_targets = n_targets;
    for (int i = m->n_rows; i < m->points.n; i++)
        row_fill(m, i, i < n_targets);
    if (!is_told)
        memcpy(m->alpha, targets, (size_t)n_targets * sizeof *targets);
    rows_factor(m, is_told);
    for (int i = m->n_rows; i < m->points.n; i++) {
        const double *row = m->chol + (size_t)i * (size_t)cap;
        float *single = m->single + (size_t)i * (size_t)cap;
        for (int j = 0; j <= i; j++)
            single[j] = (float)row[j];
    }
    if (!is_told) {
        memcpy(m->weight, m->alpha, (size_t)n_targets * sizeof *m->alpha);
        la_solve_lower_transposed(m->chol, cap, n_targets, m->weight);
        for (int i = 0; i < n_targets; i++)
            m->alpha_single[i] = (float)m->alpha[i];
    }
    m->n_rows = m->points.n;
}

double gp_mean(struct gp_model *m, const double *x)
{
    gp_covariance(&m->points, &m->kernel, x, m->n_rows, m->row, NULL);
    return la_dot(m->row, m->weight, m->n_targets);
}

void gp_predict(struct gp_model *m, const double *x, double *mean, double *sd)
{
    double least = JITTER * m->kernel.signal;

    *mean = gp_mean(m, x);
    la_solve_lower(m->chol, m->points.cap, 0, m->n_rows, m->row);
    double rest = m->kernel.signal - la_dot(m->row, m->row, m->n_rows);
    *sd = sqrt(rest > least ? rest : least);
}
