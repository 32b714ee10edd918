/* pool_margins.c - draws rows and takes their margins (pool_margins.h). */
#include "ml/ensemble/pool_margins.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/adjust/pool.h"
#include "ml/math/fmath.h"

#include <math.h>
#include <string.h>

/* READS: probabilities that are read to find the classes that are kept, which takes a nanosecond for
 * each. LEAST_ROWS: of so many rows all are looked at, however many their classes are. */
enum { READS = 10000000, LEAST_ROWS = 300 };

/* ---- rows ---- */

/* Which rows are looked at; returns their number. */
static int64_t rows_draw(const struct pool_fit *f, int64_t most, int64_t *rows)
{
    const struct predictions *p = f->models[0];
    int64_t all = 0, n = 0;
    struct rng rng;

    for (int64_t i = 0; i < p->held.n; i++)
        all += !f->use || f->use[i];
    rng_init(&rng, f->seed, 2);
    for (int64_t i = 0; i < p->held.n; i++) {
        if (f->use && !f->use[i])
            continue;
        if (all <= most || rng_unit(&rng) < (double)most / (double)all)
            rows[n++] = i;
    }
    return n;
}

/* By the metric: log loss by class weights counts all classes alike. */
static void rows_weigh(struct margins *m, const struct predictions *p)
{
    double *size = mem_zalloc((size_t)MAX(p->classes, 2) * sizeof *size), all = 0;

    for (int64_t i = 0; i < m->n; i++) {
        m->weight[i] = p->held.weight ? p->held.weight[m->rows[i]] : 1;
        size[(int)p->held.y[m->rows[i]]] += m->weight[i];
    }
    for (int64_t i = 0; i < m->n; i++) {
        if (p->metric == METRIC_BALANCED_LOGLOSS)
            m->weight[i] /= size[(int)p->held.y[m->rows[i]]];
        all += m->weight[i];
    }
    for (int64_t i = 0; i < m->n; i++)
        m->weight[i] *= (double)m->n / all;
    mem_free(size);
}

/* ---- margins ---- */

/* As pool_log, but of floats and many at once. */
static void logs_take(const float *restrict q, int n, float *restrict log)
{
    for (int c = 0; c < n; c++)
        log[c] = fm_log(q[c] < (float)POOL_LEAST_P ? (float)POOL_LEAST_P : q[c]);
}

/* Those of one model, of at most POOL_WIDE classes: x[others]. */
static void margins_of_row(const struct predictions *p, int64_t row, float *x)
{
    const float *q = p->held.p + row * p->outputs;
    int came = (int)p->held.y[row];

    if (p->outputs == 1) {
        double odds = pool_log((double)q[0]) - pool_log(1 - (double)q[0]);
        x[0] = (float)(came ? -odds : odds);
        return;
    }
    float log[POOL_WIDE];
    logs_take(q, p->outputs, log);
    for (int c = 0; c < p->outputs; c++) {
        if (c != came)
            *x++ = log[c] - log[came];
    }
}

/* Scratch of a row of many classes. */
struct wide {
    int outputs, came;
    float *log; /* [n_models][outputs] margins of all classes, 0 of the one that came */
    float *z;   /* [outputs] */
    int kept[POOL_KEPT];
};

static void wide_take(struct wide *w, const struct margins *m, int64_t row, const double *weight)
{
    int k = w->outputs;

    w->came = (int)m->f->models[0]->held.y[row];
    memset(w->z, 0, (size_t)k * sizeof *w->z);
    for (int a = 0; a < m->n_models; a++) {
        const float *q = m->f->models[m->which[a]]->held.p + row * k;
        float *log = w->log + a * k, by = (float)weight[a];
        logs_take(q, k, log);
        float base = log[w->came];
        for (int c = 0; c < k; c++) {
            log[c] -= base;
            w->z[c] += by * log[c];
        }
    }
}

/* The classes of the largest z beside the one that came; of equal ones the first. */
static void wide_keep(struct wide *w)
{
    int n = 0;

    for (int c = 0; c < w->outputs; c++) {
        int at = n;
        if (c == w->came || (n == POOL_KEPT && !(w->z[c] > w->z[w->kept[n - 1]])))
            continue;
        for (; at > 0 && w->z[w->kept[at - 1]] < w->z[c]; at--) {
            if (at < POOL_KEPT)
                w->kept[at] = w->kept[at - 1];
        }
        w->kept[at] = c;
        n = MIN(n + 1, POOL_KEPT);
    }
}

/* x[n_models][others] and the shift of one row. Takes the kept classes out of w->z. */
static void wide_margins(struct wide *w, const struct margins *m, const double *weight, float *x,
                         double *shift)
{
    int k = w->outputs;
    float top = -INFINITY;
    double sum = 0, linear = 0;

    w->z[w->came] = -INFINITY;
    for (int j = 0; j < POOL_KEPT; j++)
        w->z[w->kept[j]] = -INFINITY;
    for (int c = 0; c < k; c++)
        top = w->z[c] > top ? w->z[c] : top;
    for (int c = 0; c < k; c++)
        w->z[c] = fm_exp(w->z[c] - top);
    for (int c = 0; c < k; c++)
        sum += (double)w->z[c];
    for (int a = 0; a < m->n_models; a++, x += m->others) {
        const float *log = w->log + a * k;
        double mean = 0;
        for (int j = 0; j < POOL_KEPT; j++)
            x[j] = log[w->kept[j]];
        for (int c = 0; c < k; c++)
            mean += (double)(w->z[c] * log[c]);
        x[POOL_KEPT] = (float)(mean / sum);
        linear += weight[a] * (double)x[POOL_KEPT];
    }
    *shift = (double)top + fm_log_d(sum) - linear;
}

void margins_move(struct margins *m, const double *weight)
{
    size_t k = (size_t)m->f->models[0]->outputs;
    struct wide w = { .outputs = (int)k };

    if (!m->shift)
        return;
    w.log = mem_array(k * (size_t)m->n_models, sizeof *w.log);
    w.z = mem_array(k, sizeof *w.z);
    for (int64_t i = 0; i < m->n; i++) {
        wide_take(&w, m, m->rows[i], weight);
        wide_keep(&w);
        wide_margins(&w, m, weight, m->x + i * m->n_models * m->others, &m->shift[i]);
    }
    mem_free(w.log);
    mem_free(w.z);
}

/* ---- the prior ---- */

static double log_of_right(const struct predictions *p, int64_t row)
{
    const float *q = p->held.p + row * p->outputs;
    int came = (int)p->held.y[row];

    return pool_log(p->outputs > 1 ? (double)q[came] : came ? (double)q[0] : 1 - (double)q[0]);
}

/* Of each model one row more is counted, with a loss of 1. */
static void prior_make(struct margins *m)
{
    double all = 0;

    for (int a = 0; a < m->n_models; a++) {
        double loss = 1, rows = 1;
        for (int64_t i = 0; i < m->n; i++) {
            double by = m->weight ? m->weight[i] : 1;
            loss -= by * log_of_right(m->f->models[m->which[a]], m->rows[i]);
            rows += by;
        }
        m->prior[a] = rows * rows / (loss * loss);
        all += m->prior[a];
    }
    for (int a = 0; a < m->n_models; a++)
        m->prior[a] /= all;
}

int margins_init(struct margins *m, const struct pool_fit *f, const int *which, int n, int most,
                 struct err *err)
{
    const struct predictions *p = f->models[0];
    bool is_wide = p->outputs > POOL_WIDE;
    int others = is_wide ? POOL_KEPT + 1 : MAX(p->outputs - 1, 1);
    bool weighs = p->held.weight || p->metric == METRIC_BALANCED_LOGLOSS;
    int64_t rows =
        is_wide ? MIN(most / (others * n), READS / ((int64_t)p->outputs * n)) : most / (others * n);

    *m = (struct margins){ .n_models = n, .others = others, .f = f, .which = which };
    m->rows = mem_try_alloc((size_t)(p->held.n + 1) * sizeof *m->rows);
    if (m->rows) {
        m->n = rows_draw(f, MAX(rows, LEAST_ROWS), m->rows);
        m->x = mem_try_alloc((size_t)(m->n * others * n + 1) * sizeof *m->x);
        m->weight = weighs ? mem_try_alloc((size_t)(m->n + 1) * sizeof *m->weight) : NULL;
        m->shift = is_wide ? mem_try_alloc((size_t)(m->n + 1) * sizeof *m->shift) : NULL;
    }
    if (!m->rows || !m->x || (weighs && !m->weight) || (is_wide && !m->shift))
        return err_set(err, ERR_NOMEM, "no memory to combine %d models", n);
    m->z = mem_array((size_t)others, sizeof *m->z);
    if (weighs)
        rows_weigh(m, p);
    prior_make(m);
    margins_move(m, m->prior);
    for (int64_t i = 0; i < m->n && !is_wide; i++) {
        for (int k = 0; k < n; k++)
            margins_of_row(f->models[which[k]], m->rows[i], m->x + (i * n + k) * others);
    }
    return 0;
}

void margins_fini(struct margins *m)
{
    mem_try_free(m->x);
    mem_try_free(m->shift);
    mem_try_free(m->weight);
    mem_try_free(m->rows);
    mem_free(m->z);
    *m = (struct margins){ 0 };
}
