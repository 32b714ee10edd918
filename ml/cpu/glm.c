/* glm.c - products, losses and Gram matrices of linear models (glm.h).
 *
 * Blocks of four rows share each load of the weights. Loops run over eight fixed lanes, so that
 * they become vector code. */
#include "ml/cpu/glm.h"

#include "ml/cpu/simd.h"
#include "ml/math/fmath.h"

#include <string.h>

enum { ROWS = 4, LANES = 8 };

/* Eight doubles; the compiler maps them to the registers of the instruction set. */
typedef double eight __attribute__((vector_size(64)));

/* Row i of the tile, wherever the table holds it. */
SIMD_BODY const float *row_at(const struct glm_rows *r, int64_t i)
{
    return r->x + (r->rows ? r->rows[i] : i) * r->stride;
}

/* ---- one output ---- */

/* Eight interleaved sums over the columns, added up in a fixed order. */
SIMD_BODY void scores_one(const struct glm_rows *r, const double *w, double *z)
{
    int whole = r->cols / LANES * LANES;

    for (int64_t i = 0; i < r->n; i++) {
        const float *x = row_at(r, i);
        double acc[LANES] = { 0 };
        for (int j = 0; j < whole; j += LANES) {
            for (int k = 0; k < LANES; k++)
                acc[k] += (double)x[j + k] * w[j + k];
        }
        for (int j = whole; j < r->cols; j++)
            acc[j - whole] += (double)x[j] * w[j];
        z[i] = w[r->cols] +
               (((acc[0] + acc[1]) + (acc[2] + acc[3])) + ((acc[4] + acc[5]) + (acc[6] + acc[7])));
    }
}

/* Four rows are added up before they go to the gradient: a quarter of the loads and stores. */
SIMD_BODY void gradient_one(const struct glm_rows *r, const double *dz, double *grad)
{
    int64_t i = 0;

    for (; i + ROWS <= r->n; i += ROWS) {
        const float *a = row_at(r, i), *b = row_at(r, i + 1), *c = row_at(r, i + 2),
                    *d = row_at(r, i + 3);
        double da = dz[i], db = dz[i + 1], dc = dz[i + 2], dd = dz[i + 3];
        for (int j = 0; j < r->cols; j++)
            grad[j] +=
                ((double)a[j] * da + (double)b[j] * db) + ((double)c[j] * dc + (double)d[j] * dd);
        grad[r->cols] += (da + db) + (dc + dd);
    }
    for (; i < r->n; i++) {
        const float *a = row_at(r, i);
        for (int j = 0; j < r->cols; j++)
            grad[j] += (double)a[j] * dz[i];
        grad[r->cols] += dz[i];
    }
}

/* ---- several outputs: eight lanes at a time ---- */

/* Scores of up to four rows for eight outputs. Where fewer rows are left, the first one takes the
 * place of the others. */
SIMD_BODY void scores_eight(const struct glm_rows *r, int64_t i, int n, const double *w, double *z)
{
    const float *x[ROWS];
    eight acc[ROWS], wj;

    memcpy(&wj, w + (int64_t)r->cols * r->lanes, sizeof wj);
    for (int a = 0; a < ROWS; a++) {
        x[a] = row_at(r, a < n ? i + a : i);
        acc[a] = wj;
    }
    for (int j = 0; j < r->cols; j++, w += r->lanes) {
        memcpy(&wj, w, sizeof wj);
        for (int a = 0; a < ROWS; a++)
            acc[a] += (double)x[a][j] * wj;
    }
    for (int a = 0; a < n; a++)
        memcpy(z + (i + a) * r->lanes, &acc[a], sizeof acc[a]);
}

/* Gradient of eight outputs, four rows at a time; rows past the last count 0. */
SIMD_BODY void gradient_eight(const struct glm_rows *r, const double *dz, double *grad)
{
    for (int64_t i = 0; i < r->n; i += ROWS) {
        const float *x[ROWS];
        eight d[ROWS], g;
        for (int a = 0; a < ROWS; a++) {
            int is_row = i + a < r->n;
            x[a] = row_at(r, is_row ? i + a : i);
            memcpy(&d[a], dz + (is_row ? i + a : i) * r->lanes, sizeof d[a]);
            d[a] = d[a] * (is_row ? 1.0 : 0.0);
        }
        double *to = grad;
        for (int j = 0; j < r->cols; j++, to += r->lanes) {
            memcpy(&g, to, sizeof g);
            g += ((double)x[0][j] * d[0] + (double)x[1][j] * d[1]) +
                 ((double)x[2][j] * d[2] + (double)x[3][j] * d[3]);
            memcpy(to, &g, sizeof g);
        }
        memcpy(&g, to, sizeof g);
        g += (d[0] + d[1]) + (d[2] + d[3]);
        memcpy(to, &g, sizeof g);
    }
}

SIMD_BODY void glm_scores_body(const struct glm_rows *r, const double *w, double *z)
{
    if (r->lanes == 1) {
        scores_one(r, w, z);
        return;
    }
    for (int64_t i = 0; i < r->n; i += ROWS) {
        for (int k = 0; k < r->lanes; k += LANES)
            scores_eight(r, i, r->n - i < ROWS ? (int)(r->n - i) : ROWS, w + k, z + k);
    }
}
SIMD_KERNEL(glm_scores, (const struct glm_rows *r, const double *w, double *z), (r, w, z))

SIMD_BODY void glm_gradient_body(const struct glm_rows *r, const double *dz, double *grad)
{
    if (r->lanes == 1) {
        gradient_one(r, dz, grad);
        return;
    }
    for (int k = 0; k < r->lanes; k += LANES)
        gradient_eight(r, dz + k, grad + k);
}
SIMD_KERNEL(glm_gradient, (const struct glm_rows *r, const double *dz, double *grad), (r, dz, grad))

/* ---- link and loss ---- */

/* The largest score is taken off before the exponentials, so that none overflows. Lanes past the
 * last output hold whatever padding weights gave; they get no share of the sum and end as 0. */
SIMD_BODY void glm_probabilities_body(double *z, int64_t n, int outputs, int lanes)
{
    if (outputs == 1) {
        for (int64_t i = 0; i < n; i++)
            z[i] = fm_sigmoid_d(z[i]);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double *p = z + i * lanes, top = p[0], sum = 0;
        for (int k = 1; k < outputs; k++)
            top = p[k] > top ? p[k] : top;
        for (int k = 0; k < lanes; k++)
            p[k] = fm_exp_d(p[k] - top);
        for (int k = 0; k < outputs; k++)
            sum += p[k];
        for (int k = 0; k < outputs; k++)
            p[k] /= sum;
        for (int k = outputs; k < lanes; k++)
            p[k] = 0;
    }
}
SIMD_KERNEL(glm_probabilities, (double *z, int64_t n, int outputs, int lanes),
            (z, n, outputs, lanes))

/* Two classes: with t = -z for a row of class 1 and t = z otherwise, the loss is log(1 + e^t) =
 * max(t, 0) + log(1 + e^-|t|). More classes: log(sum e^z) - z of the row's own class, with the
 * largest score taken off first. Both forms are exact for scores of any size, because no
 * exponential is of a positive number. */
SIMD_BODY void log_loss_body(double *z, const int32_t *y, int64_t n, int outputs, int lanes,
                             double *loss)
{
    double sum = 0;

    if (outputs == 1) {
        double own[GLM_TILE];
        for (int64_t i = 0; i < n; i++) {
            /* loss = log(1 + e^t) */
            double t = y[i] ? -z[i] : z[i];
            double e = fm_exp_d(t > 0 ? -t : t);
            own[i] = (t > 0 ? t : 0) + fm_log_d(1.0 + e);
            /* the probability given to the wrong class */
            double p = (t > 0 ? 1.0 : e) / (1.0 + e);
            z[i] = y[i] ? -p : p;
        }
        for (int64_t i = 0; i < n; i++)
            sum += own[i];
        *loss = sum;
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double *p = z + i * lanes, top = p[0], all = 0, mine = p[y[i]];
        for (int k = 1; k < outputs; k++)
            top = p[k] > top ? p[k] : top;
        for (int k = 0; k < lanes; k++)
            p[k] = fm_exp_d(p[k] - top);
        for (int k = 0; k < outputs; k++)
            all += p[k];
        for (int k = 0; k < outputs; k++)
            p[k] /= all;
        for (int k = outputs; k < lanes; k++)
            p[k] = 0;
        p[y[i]] -= 1.0;
        sum += fm_log_d(all) + top - mine;
    }
    *loss = sum;
}
SIMD_KERNEL_STATIC(log_loss,
                   (double *z, const int32_t *y, int64_t n, int outputs, int lanes, double *loss),
                   (z, y, n, outputs, lanes, loss))

double glm_log_loss(double *z, const int32_t *y, int64_t n, int outputs, int lanes)
{
    double loss;

    log_loss(z, y, n, outputs, lanes, &loss);
    return loss;
}

/* ---- Gram ---- */

int64_t glm_gram_width(int cols)
{
    return ((int64_t)cols + 2 + 7) / 8 * 8;
}

/* Adds the products of up to four columns of the tile with the columns from k on to their lines of
 * the matrix, eight at a time. Each pair is one sum over the rows of the tile, in their order; four
 * columns share each load, and the four sums of eight fit the registers of AVX2. */
SIMD_BODY void pairs_lines(const double *tile, int64_t n, int64_t wide, const int64_t *line,
                           int lines, int64_t k, double *gram)
{
    for (; k < wide; k += LANES) {
        eight a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 }, t;
        for (int64_t i = 0; i < n; i++) {
            const double *row = tile + i * wide;
            memcpy(&t, row + k, sizeof t);
            a += row[line[0]] * t;
            b += row[line[1]] * t;
            c += row[line[2]] * t;
            d += row[line[3]] * t;
        }
        eight sum[ROWS] = { a, b, c, d };
        for (int q = 0; q < lines; q++) {
            memcpy(&t, gram + line[q] * wide + k, sizeof t);
            t += sum[q];
            memcpy(gram + line[q] * wide + k, &t, sizeof t);
        }
    }
}

/* The tile is converted to doubles once, with the target and a column of ones appended, so that one
 * product gives X'X, X'y and the sums of all columns. Only blocks of eight columns that reach the
 * diagonal or lie right of it are computed: the matrix is symmetric. */
SIMD_BODY void glm_gram_body(const struct glm_rows *r, const double *y, const double *root,
                             double *tile, double *gram)
{
    int64_t wide = ((int64_t)r->cols + 2 + 7) / 8 * 8, all = r->cols + 2;

    for (int64_t i = 0; i < r->n; i++) {
        const float *x = row_at(r, i);
        double *t = tile + i * wide;
        for (int j = 0; j < r->cols; j++)
            t[j] = (double)x[j];
        t[r->cols] = y[i];
        t[r->cols + 1] = 1.0;
        for (int64_t j = r->cols + 2; j < wide; j++)
            t[j] = 0;
        for (int64_t j = 0; root && j < r->cols + 2; j++)
            t[j] *= root[i];
    }
    for (int64_t j = 0; j < all; j += ROWS) {
        int64_t line[ROWS];
        for (int64_t q = 0; q < ROWS; q++)
            line[q] = j + q < all ? j + q : j;
        pairs_lines(tile, r->n, wide, line, (int)(all - j < ROWS ? all - j : ROWS),
                    j / LANES * LANES, gram);
    }
}
SIMD_KERNEL(glm_gram,
            (const struct glm_rows *r, const double *y, const double *root, double *tile,
             double *gram),
            (r, y, root, tile, gram))

SIMD_BODY void glm_pairs_body(const struct glm_rows *r, const struct glm_pairs *p, double *tile,
                              double *gram)
{
    for (int64_t i = 0; i < r->n; i++) {
        const float *x = row_at(r, i);
        double *t = tile + i * p->wide;
        for (int j = 0; j < p->n; j++) {
            double by = p->root ? p->root[i * p->roots + (p->which ? p->which[j] : 0)] : 1.0;
            t[j] = p->col[j] < r->cols ? by * (double)x[p->col[j]] : by;
        }
        for (int64_t j = p->n; j < p->wide; j++)
            t[j] = 0;
    }
    for (int j = 0; j < p->n_lines; j += ROWS) {
        int64_t line[ROWS], k = p->n_lines == p->n ? j / LANES * LANES : 0;
        for (int q = 0; q < ROWS; q++)
            line[q] = p->line[j + q < p->n_lines ? j + q : j];
        pairs_lines(tile, r->n, p->wide, line, p->n_lines - j < ROWS ? p->n_lines - j : ROWS, k,
                    gram);
    }
}
SIMD_KERNEL(glm_pairs,
            (const struct glm_rows *r, const struct glm_pairs *p, double *tile, double *gram),
            (r, p, tile, gram))

SIMD_BODY void glm_add_two_body(double *to, const double *x, double a, const double *y, double b,
                                int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += a * x[i] + b * y[i];
}
SIMD_KERNEL(glm_add_two,
            (double *to, const double *x, double a, const double *y, double b, int64_t n),
            (to, x, a, y, b, n))
