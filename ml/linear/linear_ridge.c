/* linear_ridge.c - ridge regression from Gram matrices.
 *
 * The Gram matrix of each part of the rows (fold_rows.h; a fold, mostly) is added up once for all
 * lanes of a trial. A lane's training matrix is the sum of the matrices of its parts, in order. Subtracting its own fold from the
 * total would be faster but would lose digits to cancellation, and a lane that trains alone must
 * get the same bits. Each penalty then costs one Cholesky factorisation of the centred matrix.
 * Called by linear.c. */
#include "ml/linear/linear.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/glm.h"
#include "ml/model/split.h"

#include <math.h>
#include <string.h>

void gram_set_free(struct gram_set *g)
{
    if (!g)
        return;
    for (int f = 0; f < g->parts; f++)
        mem_try_free(g->part_gram[f]);
    mem_try_free(g->tile);
    mem_free(g);
}

struct gram_set *gram_set_new(const struct ml_data *d, int cols, double share, struct err *err)
{
    struct gram_set *g = mem_zalloc(sizeof *g);
    bool ok;

    CHECK(row_parts(d) <= (int)ARRAY_LEN(g->part_gram));
    g->parts = row_parts(d);
    g->share = share;
    g->wide = glm_gram_width(cols);
    g->tile = mem_try_alloc((size_t)(GLM_TILE * g->wide) * sizeof *g->tile);
    ok = g->tile != NULL;
    for (int f = 0; f < g->parts; f++) {
        g->part_gram[f] = mem_try_zalloc((size_t)((cols + 2) * g->wide) * sizeof *g->tile);
        ok = ok && g->part_gram[f];
    }
    if (ok)
        return g;
    gram_set_free(g);
    err_set(err, ERR_NOMEM, "linear: no memory for a Gram matrix of %d columns", cols);
    return NULL;
}

/* The target is divided by l->unit (target_unit in linear.c), so that its squares cannot
 * overflow. */
int gram_set_run(struct gram_set *g, const struct ml_data *d, const struct linear_lane *l,
                 const struct ml_stop *stop)
{
    int32_t rows[GLM_TILE];
    double y[GLM_TILE], root[GLM_TILE];
    struct glm_rows r = {
        .x = l->x->x, .stride = l->x->stride, .cols = l->cols, .lanes = 1, .rows = rows
    };

    while (g->part < g->parts) {
        if (ml_stop_now(stop))
            return 0;
        for (r.n = 0; g->at < d->rows && r.n < GLM_TILE; g->at++) {
            if (row_part(d, g->at) == g->part && row_is_in_share(d, g->at, g->share)) {
                y[r.n] = d->y[g->at] / l->unit;
                root[r.n] = d->weight ? sqrt(d->weight[g->at]) : 1.0;
                rows[r.n++] = (int32_t)g->at;
            }
        }
        if (r.n)
            glm_gram(&r, y, d->weight ? root : NULL, g->tile, g->part_gram[g->part]);
        if (g->at == d->rows) {
            g->part++;
            g->at = 0;
        }
    }
    return 1;
}

int ridge_take_gram(const struct gram_set *g, const struct ml_data *d, int fold,
                    struct linear_lane *l, struct err *err)
{
    int64_t n = (l->cols + 2) * g->wide;

    l->gram = mem_try_zalloc((size_t)n * sizeof *l->gram);
    if (!l->gram)
        return err_set(err, ERR_NOMEM, "linear: no memory for a Gram matrix of %d columns",
                       l->cols);
    l->bytes += n * (int64_t)sizeof *l->gram;
    for (int f = 0; f < g->parts; f++) {
        if (!part_is_trained(d, f, fold))
            continue;
        for (int64_t i = 0; i < n; i++)
            l->gram[i] += g->part_gram[f][i];
    }
    return 0;
}

/* Solves a x = b for a symmetric positive matrix of n rows, `wide` doubles apart; only the lower
 * triangle is read. In place: a becomes its lower Cholesky factor and b the solution. A column that
 * is a combination of earlier ones leaves no pivot (at most 1e-11 of its diagonal element); its
 * pivot becomes infinite, which gives it the weight 0. */
static void cholesky(double *a, int n, int64_t wide, double *b)
{
    for (int j = 0; j < n; j++) {
        double *aj = a + j * wide, pivot = aj[j], least = 1e-11 * fabs(aj[j]) + 1e-300;
        for (int k = 0; k < j; k++)
            pivot -= aj[k] * aj[k];
        aj[j] = pivot > least ? sqrt(pivot) : INFINITY;
        for (int i = j + 1; i < n; i++) {
            double *ai = a + i * wide, s[4] = { 0 };
            int k = 0;
            for (; k + 4 <= j; k += 4) {
                for (int q = 0; q < 4; q++)
                    s[q] += ai[k + q] * aj[k + q];
            }
            for (; k < j; k++)
                s[0] += ai[k] * aj[k];
            ai[j] = (ai[j] - ((s[0] + s[1]) + (s[2] + s[3]))) / aj[j];
        }
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            b[i] -= a[i * wide + k] * b[k];
        b[i] /= a[i * wide + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            b[i] -= a[k * wide + i] * b[k];
        b[i] /= a[i * wide + i];
    }
}

int ridge_solve(const struct linear_lane *l, double c, double *w, struct err *err)
{
    int d = l->cols;
    int64_t wide = glm_gram_width(d);
    double *a = mem_try_alloc((size_t)(MAX(d, 1) * wide) * sizeof *a);

    if (!a)
        return err_set(err, ERR_NOMEM, "linear: no memory to solve %d columns", d);
    const double *g = l->gram;
    double n = g[(d + 1) * wide + d + 1]; /* the sum of the weights, or the number of rows */
    double y_mean = g[d * wide + d + 1] / n;
    for (int i = 0; i < d; i++) {
        double mi = g[i * wide + d + 1] / n;
        for (int j = 0; j <= i; j++) {
            double mj = g[j * wide + d + 1] / n;
            a[i * wide + j] = g[j * wide + i] - n * mi * mj + (i == j ? 1.0 / c : 0.0);
        }
        w[i] = g[i * wide + d] - n * mi * y_mean;
    }
    cholesky(a, d, wide, w);
    double intercept = y_mean;
    for (int i = 0; i < d; i++)
        intercept -= w[i] * g[i * wide + d + 1] / n;
    w[d] = intercept;
    mem_try_free(a);
    return 0;
}
