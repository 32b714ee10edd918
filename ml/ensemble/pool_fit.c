/* pool_fit.c - fits the weights of a pool by Newton's method (pool_fit.h) on margins (pool_margins.h). */
#include "ml/ensemble/pool_fit.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/adjust/pool.h"
#include "ml/math/fmath.h"

#include <math.h>
#include <string.h>

/* VALUES: margins that are looked at, which bounds memory and time: a step takes some nanoseconds for
 * each. FEW: as many tell which models are given up. ROUNDS: steps at most; HALVES: how often one that
 * does not help is halved. MOVES: how often the rest of many classes is taken anew. */
enum {
    VALUES = 2000000,
    FEW = 500000,
    ROUNDS = 16,
    HALVES = 6,
    MOVES = 1,
    MOST = POOL_MOST_MODELS
};
#define PENALTY 10.0
/* a step that moves no weight by more is the last */
#define STILL 1e-3
/* a class with less of the probability adds next to nothing to the curvature */
#define LEAST_SHARE 1e-4

/* The loss near a point: slope downhill, and curvature. */
struct bend {
    double loss, slope[MOST], curve[MOST][MOST];
};

/* ---- the loss ---- */

/* Fills m->z with the shares of the classes that did not come; returns the loss of the row. */
static double row_shares(struct margins *m, int64_t row, const double *weight)
{
    const float *x = m->x + row * m->others * m->n_models;
    double *restrict z = m->z, top = 0, sum;
    int others = m->others;

    for (int k = 0; k < others; k++)
        z[k] = 0;
    if (m->shift)
        z[others - 1] = m->shift[row];
    for (int a = 0; a < m->n_models; a++, x += others) {
        for (int k = 0; k < others; k++)
            z[k] += weight[a] * (double)x[k];
    }
    for (int k = 0; k < others; k++)
        top = z[k] > top ? z[k] : top;
    for (int k = 0; k < others; k++)
        z[k] = fm_exp_d(z[k] - top);
    sum = fm_exp_d(-top);
    for (int k = 0; k < others; k++)
        sum += z[k];
    for (int k = 0; k < others; k++)
        z[k] /= sum;
    return top + fm_log_d(sum);
}

static double penalty(const struct margins *m, const double *weight)
{
    double sum = 0;

    for (int a = 0; a < m->n_models; a++)
        sum += (weight[a] - m->prior[a]) * (weight[a] - m->prior[a]);
    return PENALTY / 2 * sum;
}

/* Adds what a row says, its shares being in m->z. */
static void row_bend(const struct margins *m, const float *x, double by, struct bend *b)
{
    double mean[MOST];
    int n = m->n_models, others = m->others;

    for (int a = 0; a < n; a++) {
        mean[a] = 0;
        for (int k = 0; k < others; k++)
            mean[a] += m->z[k] * (double)x[a * others + k];
        b->slope[a] -= by * mean[a];
        for (int c = 0; c <= a; c++)
            b->curve[a][c] -= by * mean[a] * mean[c];
    }
    for (int k = 0; k < others; k++) {
        double share = by * m->z[k];
        if (m->z[k] < LEAST_SHARE)
            continue;
        for (int a = 0; a < n; a++) {
            double one = share * (double)x[a * others + k];
            for (int c = 0; c <= a; c++)
                b->curve[a][c] += one * (double)x[c * others + k];
        }
    }
}

static void bend_at(struct margins *m, const double *weight, struct bend *b)
{
    int n = m->n_models;

    memset(b, 0, sizeof *b);
    b->loss = penalty(m, weight);
    for (int a = 0; a < n; a++) {
        b->slope[a] = -PENALTY * (weight[a] - m->prior[a]);
        b->curve[a][a] = PENALTY;
    }
    for (int64_t i = 0; i < m->n; i++) {
        const float *x = m->x + i * m->others * n;
        double by = m->weight ? m->weight[i] : 1;
        b->loss += by * row_shares(m, i, weight);
        row_bend(m, x, by, b);
    }
    for (int a = 0; a < n; a++) {
        for (int c = 0; c < a; c++)
            b->curve[c][a] = b->curve[a][c];
    }
}

/* ---- the least ---- */

/* The inverse of the positive definite a[n][n] in its place, by Gauss and Jordan without exchanges. */
static void invert(double a[MOST][MOST], int n)
{
    for (int k = 0; k < n; k++) {
        double by = 1 / a[k][k];
        a[k][k] = 1;
        for (int c = 0; c < n; c++)
            a[k][c] *= by;
        for (int r = 0; r < n; r++) {
            double take = a[r][k];
            if (r == k)
                continue;
            a[r][k] = 0;
            for (int c = 0; c < n; c++)
                a[r][c] -= take * a[k][c];
        }
    }
}

/* From these weights to those of the least loss. b->curve becomes the inverse of the curvature there. A
 * step that does not help is halved. */
static void solve(struct margins *m, double *weight, struct bend *b, struct bend *next)
{
    int n = m->n_models;

    bend_at(m, weight, b);
    for (int round = 0; round < ROUNDS; round++) {
        double step[MOST], far = 0;
        invert(b->curve, n);
        for (int a = 0; a < n; a++) {
            step[a] = 0;
            for (int c = 0; c < n; c++)
                step[a] += b->curve[a][c] * b->slope[c];
            far = fmax(far, fabs(step[a]));
        }
        double by = 1;
        for (int half = 0; half <= HALVES; half++, by /= 2) {
            double to[MOST];
            for (int a = 0; a < n; a++)
                to[a] = fmin(fmax(weight[a] + by * step[a], -POOL_MOST_WEIGHT), POOL_MOST_WEIGHT);
            if (far > STILL)
                bend_at(m, to, next);
            if (far <= STILL || next->loss <= b->loss || half == HALVES) {
                memcpy(weight, to, (size_t)n * sizeof *weight);
                break;
            }
        }
        if (far <= STILL)
            return;
        *b = *next;
    }
    invert(b->curve, n);
}

/* The weights of the least loss. Fills b as solve does. */
static void solve_all(struct margins *m, double *weight, struct bend *b, struct bend *next)
{
    memcpy(weight, m->prior, (size_t)m->n_models * sizeof *weight);
    solve(m, weight, b, next);
    for (int k = 0; k < MOVES && m->shift; k++) {
        margins_move(m, weight);
        solve(m, weight, b, next);
    }
}

/* Gives up models until `most` are left. which: their places, of which *n stay. */
static void give_up(struct bend *b, double *weight, int *which, int *n, int most)
{
    while (*n > most) {
        int least = 0, last = *n - 1;
        double(*v)[MOST] = b->curve;
        for (int a = 1; a < *n; a++) {
            if (weight[a] * weight[a] * v[least][least] < weight[least] * weight[least] * v[a][a])
                least = a;
        }
        double by = weight[least] / v[least][least];
        for (int a = 0; a < *n; a++)
            weight[a] -= by * v[a][least];
        /* the inverse without the row and the column of the one that goes */
        for (int a = 0; a < *n; a++) {
            double take = v[a][least] / v[least][least];
            for (int c = 0; c < *n && a != least; c++)
                v[a][c] -= take * v[least][c];
        }
        for (int a = least; a < last; a++) {
            weight[a] = weight[a + 1];
            which[a] = which[a + 1];
            memcpy(v[a], v[a + 1], sizeof v[a]);
        }
        for (int a = 0; a < last; a++)
            memmove(&v[a][least], &v[a][least + 1], (size_t)(last - least) * sizeof v[a][0]);
        *n = last;
    }
}

int pool_fit(const struct pool_fit *f, double *weight, struct err *err)
{
    int which[MOST], n = MIN(f->n_models, MOST), rc = 0;
    struct bend *b = mem_array(2, sizeof *b);
    struct margins m = { 0 };
    double w[MOST];

    CHECK(f->n_models >= 1 && f->most >= 1 && f->models[0]->task != ML_REGRESSION);
    memset(weight, 0, (size_t)f->n_models * sizeof *weight);
    for (int a = 0; a < n; a++)
        which[a] = a;
    if (n > f->most) {
        rc = margins_init(&m, f, which, n, FEW, err);
        if (rc == 0) {
            solve_all(&m, w, &b[0], &b[1]);
            give_up(&b[0], w, which, &n, f->most);
        }
        margins_fini(&m);
    }
    if (rc == 0)
        rc = margins_init(&m, f, which, n, VALUES, err);
    if (rc == 0) {
        solve_all(&m, w, &b[0], &b[1]);
        for (int a = 0; a < n; a++)
            weight[which[a]] = w[a];
    }
    margins_fini(&m);
    mem_free(b);
    return rc;
}
