/* glm_pairs.c - products of pairs of columns in single precision (glm.h).
 *
 * Rows of the tile are brought together by sixteen columns, so that the inner loop reads two short
 * stretches of memory from end to end; those of 256 rows stay in the first cache. */
#include "ml/cpu/glm.h"

#include "base/base.h"
#include "ml/cpu/simd.h"

#include <string.h>

enum { LINES = 4, WIDTH = 16, DEEP = 256 };

/* Eight floats; the compiler maps them to the registers of the instruction set. */
typedef float eight __attribute__((vector_size(32)));

/* Up to sixteen columns of a row, times the roots of their weights; zeros past the last. */
SIMD_BODY void panel_row(const struct glm_rows *r, const struct glm_pairs *p, int j, const float *x,
                         const double *root, float *restrict to)
{
    const int32_t *col = p->col + j, *which = p->which ? p->which + j : NULL;
    int cols = MIN(WIDTH, p->n - j);
    float one = root ? (float)root[0] : 1.0f;

    if (root && which) {
        for (int q = 0; q < cols; q++)
            to[q] = (float)root[which[q]] * (col[q] < r->cols ? x[col[q]] : 1.0f);
    } else {
        for (int q = 0; q < cols; q++)
            to[q] = one * (col[q] < r->cols ? x[col[q]] : 1.0f);
    }
    for (int q = cols; q < WIDTH; q++)
        to[q] = 0;
}

/* The rows' columns as [panel][row][WIDTH]. */
SIMD_BODY void panels_fill(const struct glm_rows *r, const struct glm_pairs *p, int64_t from,
                           int64_t n, float *tile)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t row = r->rows ? r->rows[from + i] : from + i;
        const double *root = p->root ? p->root + (from + i) * p->roots : NULL;
        for (int j = 0; j < p->n; j += WIDTH)
            panel_row(r, p, j, r->x + row * r->stride, root, tile + (j * n + i * WIDTH));
    }
}

SIMD_BODY void add_eight(double *to, const eight *sum)
{
    for (int k = 0; k < 8; k++)
        to[k] += (double)(*sum)[k];
}

/* Products of up to four columns with sixteen: a to d and x are their values, WIDTH floats from row
 * to row. Only `cols` of the sixteen have a place in the matrix, 8 or 16. */
SIMD_BODY void panel_lines(const float *const *line, const float *x, int64_t n, int lines,
                           int64_t cols, double *const *to)
{
    const float *a = line[0], *b = line[1], *c = line[2], *d = line[3];
    eight alo = { 0 }, ahi = { 0 }, blo = { 0 }, bhi = { 0 }, clo = { 0 }, chi = { 0 }, dlo = { 0 },
          dhi = { 0 }, lo, hi;

    for (int64_t i = 0; i < n * WIDTH; i += WIDTH) {
        memcpy(&lo, x + i, sizeof lo);
        memcpy(&hi, x + i + 8, sizeof hi);
        alo += a[i] * lo;
        ahi += a[i] * hi;
        blo += b[i] * lo;
        bhi += b[i] * hi;
        clo += c[i] * lo;
        chi += c[i] * hi;
        dlo += d[i] * lo;
        dhi += d[i] * hi;
    }
    eight lows[LINES] = { alo, blo, clo, dlo }, highs[LINES] = { ahi, bhi, chi, dhi };
    for (int q = 0; q < lines; q++) {
        add_eight(to[q], &lows[q]);
        if (cols > 8)
            add_eight(to[q] + 8, &highs[q]);
    }
}

SIMD_BODY void glm_pairs_single_body(const struct glm_rows *r, const struct glm_pairs *p,
                                     float *tile, double *gram)
{
    for (int64_t from = 0; from < r->n; from += DEEP) {
        int64_t n = MIN(DEEP, r->n - from);
        panels_fill(r, p, from, n, tile);
        for (int j = 0; j < p->n_lines; j += LINES) {
            int lines = MIN(LINES, p->n_lines - j);
            int64_t k = (p->first ? p->first[j] : p->n_lines == p->n ? j : 0) / WIDTH * WIDTH;
            const float *line[LINES];
            double *to[LINES];
            for (int q = 0; q < LINES; q++) {
                int64_t at = p->line[j + q < p->n_lines ? j + q : j];
                line[q] = tile + at / WIDTH * n * WIDTH + at % WIDTH;
                to[q] = gram + at * p->wide + k;
            }
            for (; k < p->n; k += WIDTH) {
                panel_lines(line, tile + k * n, n, lines, p->wide - k, to);
                for (int q = 0; q < LINES; q++)
                    to[q] += WIDTH;
            }
        }
    }
}
SIMD_KERNEL(glm_pairs_single,
            (const struct glm_rows *r, const struct glm_pairs *p, float *tile, double *gram),
            (r, p, tile, gram))
