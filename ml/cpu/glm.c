/* glm.c - products, losses and Gram matrices of linear models (glm.h).
 *
 * Blocks of four rows share each load of the weights. Loops run over eight fixed lanes, so that
 * they become vector code. */
#include "ml/cpu/glm.h"

#include "ml/cpu/simd.h"
#include "ml/math/fmath.h"

#include <stdbool.h>
#include <string.h>

enum { ROWS = 4, LANES = 8, NARROW = 64 };

/* Four doubles; the compiler maps them to the registers of the instruction set. */
typedef double four __attribute__((vector_size(32)));

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
 * place of the others. Vectors are named one by one and hold four doubles, because gcc keeps arrays of
 * wider ones in memory where registers have four, which takes four times as long. */
SIMD_BODY void scores_eight(const struct glm_rows *r, int64_t i, int n, const double *w, double *z)
{
    const float *a = row_at(r, i), *b = row_at(r, n > 1 ? i + 1 : i),
                *c = row_at(r, n > 2 ? i + 2 : i), *d = row_at(r, n > 3 ? i + 3 : i);
    four lo, hi;

    memcpy(&lo, w + (int64_t)r->cols * r->lanes, sizeof lo);
    memcpy(&hi, w + (int64_t)r->cols * r->lanes + 4, sizeof hi);
    four alo = lo, ahi = hi, blo = lo, bhi = hi, clo = lo, chi = hi, dlo = lo, dhi = hi;
    for (int j = 0; j < r->cols; j++, w += r->lanes) {
        memcpy(&lo, w, sizeof lo);
        memcpy(&hi, w + 4, sizeof hi);
        alo += (double)a[j] * lo;
        ahi += (double)a[j] * hi;
        blo += (double)b[j] * lo;
        bhi += (double)b[j] * hi;
        clo += (double)c[j] * lo;
        chi += (double)c[j] * hi;
        dlo += (double)d[j] * lo;
        dhi += (double)d[j] * hi;
    }
    four lows[ROWS] = { alo, blo, clo, dlo }, highs[ROWS] = { ahi, bhi, chi, dhi };
    for (int k = 0; k < n; k++) {
        memcpy(z + (i + k) * r->lanes, &lows[k], sizeof lo);
        memcpy(z + (i + k) * r->lanes + 4, &highs[k], sizeof hi);
    }
}

/* Derivatives of a row for four outputs; 0 past the last row. */
SIMD_BODY void slopes_at(const struct glm_rows *r, const double *dz, int64_t i, int k, four *out)
{
    if (i < r->n)
        memcpy(out, dz + i * r->lanes + k, sizeof *out);
    else
        *out = (four){ 0 };
}

SIMD_BODY void add_to(double *to, const four *sum)
{
    four g;

    memcpy(&g, to, sizeof g);
    g += *sum;
    memcpy(to, &g, sizeof g);
}

/* Gradient of eight outputs, four rows at a time; rows past the last count 0. */
SIMD_BODY void gradient_eight(const struct glm_rows *r, const double *dz, double *grad)
{
    for (int64_t i = 0; i < r->n; i += ROWS) {
        const float *a = row_at(r, i), *b = row_at(r, i + 1 < r->n ? i + 1 : i),
                    *c = row_at(r, i + 2 < r->n ? i + 2 : i),
                    *d = row_at(r, i + 3 < r->n ? i + 3 : i);
        four alo, ahi, blo, bhi, clo, chi, dlo, dhi, lo, hi;
        slopes_at(r, dz, i, 0, &alo);
        slopes_at(r, dz, i, 4, &ahi);
        slopes_at(r, dz, i + 1, 0, &blo);
        slopes_at(r, dz, i + 1, 4, &bhi);
        slopes_at(r, dz, i + 2, 0, &clo);
        slopes_at(r, dz, i + 2, 4, &chi);
        slopes_at(r, dz, i + 3, 0, &dlo);
        slopes_at(r, dz, i + 3, 4, &dhi);
        double *to = grad;
        for (int j = 0; j < r->cols; j++, to += r->lanes) {
            double p = a[j], q = b[j], u = c[j], v = d[j];
            lo = (p * alo + q * blo) + (u * clo + v * dlo);
            hi = (p * ahi + q * bhi) + (u * chi + v * dhi);
            add_to(to, &lo);
            add_to(to + 4, &hi);
        }
        lo = (alo + blo) + (clo + dlo);
        hi = (ahi + bhi) + (chi + dhi);
        add_to(to, &lo);
        add_to(to + 4, &hi);
    }
}

SIMD_BODY void glm_scores_body(const struct glm_rows *r, const double *w, double *z)
{
    if (r->lanes == 1) {
        scores_one(r, w, z);
        return;
    }
    /* The weights of eight outputs stay in the first cache while all rows pass. */
    for (int k = 0; k < r->lanes; k += LANES) {
        for (int64_t i = 0; i < r->n; i += ROWS)
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

SIMD_BODY double largest_of(const double *p, int n)
{
    double top[4] = { p[0], p[0], p[0], p[0] };
    int k = 0;

    for (; k + 4 <= n; k += 4) {
        for (int a = 0; a < 4; a++)
            top[a] = p[k + a] > top[a] ? p[k + a] : top[a];
    }
    for (; k < n; k++)
        top[0] = p[k] > top[0] ? p[k] : top[0];
    double x = top[0] > top[1] ? top[0] : top[1], y = top[2] > top[3] ? top[2] : top[3];
    return x > y ? x : y;
}

/* Sums of n <= ROWS rows, each in the order of its outputs. Four rows are added side by side,
 * because every addition waits for the one before it in its row. */
SIMD_BODY void sum_rows(const double *z, int n, int outputs, int lanes, double *all)
{
    const double *a = z, *b = a + lanes, *c = b + lanes, *d = c + lanes;
    double sa = 0, sb = 0, sc = 0, sd = 0;

    if (n == ROWS) {
        for (int k = 0; k < outputs; k++) {
            sa += a[k];
            sb += b[k];
            sc += c[k];
            sd += d[k];
        }
        all[0] = sa;
        all[1] = sb;
        all[2] = sc;
        all[3] = sd;
        return;
    }
    for (int i = 0; i < n; i++) {
        all[i] = 0;
        for (int k = 0; k < outputs; k++)
            all[i] += z[i * lanes + k];
    }
}

/* Scores of n <= ROWS rows to probabilities; top, all: of each row the largest score and the sum of
 * the exponentials. The largest score is taken off before the exponentials, so that none overflows.
 * Lanes past the last output hold whatever padding weights gave; they get no share of the sum and
 * end as 0. */
SIMD_BODY void softmax_rows(double *z, int n, int outputs, int lanes, double *top, double *all)
{
    for (int i = 0; i < n; i++) {
        double *p = z + i * lanes, most = largest_of(p, outputs);
        for (int k = 0; k < lanes; k++)
            p[k] = fm_exp_d(p[k] - most);
        top[i] = most;
    }
    sum_rows(z, n, outputs, lanes, all);
    for (int i = 0; i < n; i++) {
        double *p = z + i * lanes, sum = all[i];
        for (int k = 0; k < outputs; k++)
            p[k] /= sum;
        for (int k = outputs; k < lanes; k++)
            p[k] = 0;
    }
}

SIMD_BODY void glm_probabilities_body(double *z, int64_t n, int outputs, int lanes)
{
    double top[ROWS], all[ROWS];

    if (outputs == 1) {
        for (int64_t i = 0; i < n; i++)
            z[i] = fm_sigmoid_d(z[i]);
        return;
    }
    for (int64_t i = 0; i < n; i += ROWS)
        softmax_rows(z + i * lanes, n - i < ROWS ? (int)(n - i) : ROWS, outputs, lanes, top, all);
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
    for (int64_t i = 0; i < n; i += ROWS) {
        double mine[ROWS], top[ROWS], all[ROWS], *p = z + i * lanes;
        int m = n - i < ROWS ? (int)(n - i) : ROWS;
        for (int a = 0; a < m; a++)
            mine[a] = p[a * lanes + y[i + a]];
        softmax_rows(p, m, outputs, lanes, top, all);
        for (int a = 0; a < m; a++) {
            p[a * lanes + y[i + a]] -= 1.0;
            sum += fm_log_d(all[a]) + top[a] - mine[a];
        }
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
 * columns share each load, and their eight sums fit the registers of AVX2. */
SIMD_BODY void pairs_lines(const double *tile, int64_t n, int64_t wide, const int64_t *line,
                           int lines, int64_t k, double *gram)
{
    for (; k < wide; k += LANES) {
        const double *row = tile;
        four alo = { 0 }, ahi = { 0 }, blo = { 0 }, bhi = { 0 }, clo = { 0 }, chi = { 0 },
             dlo = { 0 }, dhi = { 0 }, lo, hi;
        for (int64_t i = 0; i < n; i++, row += wide) {
            memcpy(&lo, row + k, sizeof lo);
            memcpy(&hi, row + k + 4, sizeof hi);
            alo += row[line[0]] * lo;
            ahi += row[line[0]] * hi;
            blo += row[line[1]] * lo;
            bhi += row[line[1]] * hi;
            clo += row[line[2]] * lo;
            chi += row[line[2]] * hi;
            dlo += row[line[3]] * lo;
            dhi += row[line[3]] * hi;
        }
        four lows[ROWS] = { alo, blo, clo, dlo }, highs[ROWS] = { ahi, bhi, chi, dhi };
        for (int q = 0; q < lines; q++) {
            add_to(gram + line[q] * wide + k, &lows[q]);
            add_to(gram + line[q] * wide + k + 4, &highs[q]);
        }
    }
}

/* The lines of a wide tile are a page apart, which costs more than the products. So eight columns lie
 * together in it, row after row. */
SIMD_BODY int64_t place(int64_t n, int64_t i, int64_t j)
{
    return (j / LANES * n + i) * LANES + j % LANES;
}

/* The same as pairs_lines for such a tile, bit for bit. */
SIMD_BODY void pairs_lines_wide(const double *tile, int64_t n, int64_t wide, const int64_t *line,
                                int lines, int64_t k, double *gram)
{
    const double *a = tile + place(n, 0, line[0]), *b = tile + place(n, 0, line[1]),
                 *c = tile + place(n, 0, line[2]), *d = tile + place(n, 0, line[3]);

    for (; k < wide; k += LANES) {
        const double *x = tile + place(n, 0, k);
        four alo = { 0 }, ahi = { 0 }, blo = { 0 }, bhi = { 0 }, clo = { 0 }, chi = { 0 },
             dlo = { 0 }, dhi = { 0 }, lo, hi;
        for (int64_t i = 0; i < n * LANES; i += LANES) {
            memcpy(&lo, x + i, sizeof lo);
            memcpy(&hi, x + i + 4, sizeof hi);
            alo += a[i] * lo;
            ahi += a[i] * hi;
            blo += b[i] * lo;
            bhi += b[i] * hi;
            clo += c[i] * lo;
            chi += c[i] * hi;
            dlo += d[i] * lo;
            dhi += d[i] * hi;
        }
        four lows[ROWS] = { alo, blo, clo, dlo }, highs[ROWS] = { ahi, bhi, chi, dhi };
        for (int q = 0; q < lines; q++) {
            add_to(gram + line[q] * wide + k, &lows[q]);
            add_to(gram + line[q] * wide + k + 4, &highs[q]);
        }
    }
}

/* The tile of glm_gram where it is wide. */
SIMD_BODY void tile_fill_wide(const struct glm_rows *r, const double *y, const double *root,
                              int64_t wide, double *tile)
{
    for (int64_t i = 0; i < r->n; i++) {
        const float *x = row_at(r, i);
        int j = 0;
        for (; j + LANES <= r->cols; j += LANES) {
            double *t = tile + place(r->n, i, j);
            for (int k = 0; k < LANES; k++)
                t[k] = (double)x[j + k];
        }
        for (; j < r->cols; j++)
            tile[place(r->n, i, j)] = (double)x[j];
        tile[place(r->n, i, r->cols)] = y[i];
        tile[place(r->n, i, r->cols + 1)] = 1.0;
        for (int64_t k = r->cols + 2; k < wide; k++)
            tile[place(r->n, i, k)] = 0;
        for (int64_t k = 0; root && k < r->cols + 2; k++)
            tile[place(r->n, i, k)] *= root[i];
    }
}

/* The tile of glm_gram where it is narrow. */
SIMD_BODY void tile_fill(const struct glm_rows *r, const double *y, const double *root,
                         int64_t wide, double *tile)
{
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
}

/* The tile is converted to doubles once, with the target and a column of ones appended, so that one
 * product gives X'X, X'y and the sums of all columns. Only blocks of eight columns that reach the
 * diagonal or lie right of it are computed: the matrix is symmetric. */
SIMD_BODY void glm_gram_body(const struct glm_rows *r, const double *y, const double *root,
                             double *tile, double *gram)
{
    int64_t wide = ((int64_t)r->cols + 2 + 7) / 8 * 8, all = r->cols + 2;

    if (wide > NARROW)
        tile_fill_wide(r, y, root, wide, tile);
    else
        tile_fill(r, y, root, wide, tile);
    for (int64_t j = 0; j < all; j += ROWS) {
        int64_t line[ROWS];
        for (int64_t q = 0; q < ROWS; q++)
            line[q] = j + q < all ? j + q : j;
        int lines = (int)(all - j < ROWS ? all - j : ROWS);
        if (wide > NARROW)
            pairs_lines_wide(tile, r->n, wide, line, lines, j / LANES * LANES, gram);
        else
            pairs_lines(tile, r->n, wide, line, lines, j / LANES * LANES, gram);
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
        bool is_wide = p->wide > NARROW;
        double *t = tile + i * p->wide;
        for (int j = 0; j < p->n; j++) {
            double by = p->root ? p->root[i * p->roots + (p->which ? p->which[j] : 0)] : 1.0;
            *(is_wide ? tile + place(r->n, i, j) : t + j) =
                p->col[j] < r->cols ? by * (double)x[p->col[j]] : by;
        }
        for (int64_t j = p->n; j < p->wide; j++)
            *(is_wide ? tile + place(r->n, i, j) : t + j) = 0;
    }
    for (int j = 0; j < p->n_lines; j += ROWS) {
        int64_t line[ROWS], k = (p->first             ? p->first[j]
                                 : p->n_lines == p->n ? j
                                                      : 0) /
                                LANES * LANES;
        for (int q = 0; q < ROWS; q++)
            line[q] = p->line[j + q < p->n_lines ? j + q : j];
        int lines = p->n_lines - j < ROWS ? p->n_lines - j : ROWS;
        if (p->wide > NARROW)
            pairs_lines_wide(tile, r->n, p->wide, line, lines, k, gram);
        else
            pairs_lines(tile, r->n, p->wide, line, lines, k, gram);
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
