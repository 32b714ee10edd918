/* chol.c - a Cholesky factor whose lines come and go (chol.h).
 *
 * New columns are factored in blocks of 64 lines; the products of blocks, which are nearly all of the
 * work, keep four lines by eight columns in registers. */
#include "ml/cpu/chol.h"

#include "base/base.h"
#include "ml/cpu/simd.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 64, LINES = 4, LANES = 8, PANEL = 32 };

/* Four doubles; the compiler maps them to the registers of the instruction set. */
typedef double four __attribute__((vector_size(32)));

SIMD_BODY void take_off(double *to, const four *sum)
{
    four now;

    memcpy(&now, to, sizeof now);
    now -= *sum;
    memcpy(to, &now, sizeof now);
}

/* to[q][k] -= sum_i a[i][q] b[i][k] for four lines q, `wide` apart, and eight columns k. */
SIMD_BODY void four_lines(const double *a, const double *b, int64_t n, int64_t wide, double *to)
{
    four alo = { 0 }, ahi = { 0 }, blo = { 0 }, bhi = { 0 }, clo = { 0 }, chi = { 0 }, dlo = { 0 },
         dhi = { 0 }, lo, hi;

    for (int64_t i = 0; i < n; i++, a += LINES, b += LANES) {
        memcpy(&lo, b, sizeof lo);
        memcpy(&hi, b + 4, sizeof hi);
        alo += a[0] * lo;
        ahi += a[0] * hi;
        blo += a[1] * lo;
        bhi += a[1] * hi;
        clo += a[2] * lo;
        chi += a[2] * hi;
        dlo += a[3] * lo;
        dhi += a[3] * hi;
    }
    take_off(to, &alo);
    take_off(to + 4, &ahi);
    take_off(to + wide, &blo);
    take_off(to + wide + 4, &bhi);
    take_off(to + 2 * wide, &clo);
    take_off(to + 2 * wide + 4, &chi);
    take_off(to + 3 * wide, &dlo);
    take_off(to + 3 * wide + 4, &dhi);
}

/* The same for fewer lines. */
SIMD_BODY void few_lines(const double *a, const double *b, int64_t n, int64_t wide, int64_t lines,
                         double *to)
{
    for (int64_t q = 0; q < lines; q++) {
        double sum[LANES] = { 0 };
        for (int64_t i = 0; i < n; i++) {
            for (int k = 0; k < LANES; k++)
                sum[k] += a[i * LINES + q] * b[i * LANES + k];
        }
        for (int k = 0; k < LANES; k++)
            to[q * wide + k] -= sum[k];
    }
}

/* Lines at to at + m - 1 of the columns from `from` on lose the products of the BLOCK lines from i on,
 * R[i.., at..]' R[i.., from..]. Elements below the diagonal and right of the last column change, too.
 * What is multiplied is brought together before, because its lines lie a page apart. */
SIMD_BODY void minus_body(double *r, int64_t wide, int64_t i, int64_t at, int64_t m, int64_t from,
                          int64_t end)
{
    double a[BLOCK / LINES][BLOCK][LINES], b[BLOCK][LANES];
    const double *lines = r + i * wide;

    for (int64_t k = 0; k < BLOCK; k++) {
        const double *from_line = lines + k * wide + at;
        for (int64_t q = 0; q < m; q += LINES)
            memcpy(a[q / LINES][k], from_line + q, sizeof a[0][0]);
    }
    for (int64_t k = from; k < end; k += LANES) {
        double *to = r + at * wide + k;
        for (int64_t l = 0; l < BLOCK; l++)
            memcpy(b[l], lines + l * wide + k, sizeof b[l]);
        int64_t q = 0;
        for (; q + LINES <= m; q += LINES)
            four_lines(a[q / LINES][0], b[0], BLOCK, wide, to + q * wide);
        if (q < m)
            few_lines(a[q / LINES][0], b[0], BLOCK, wide, m - q, to + q * wide);
    }
}
SIMD_KERNEL_STATIC(minus,
                   (double *r, int64_t wide, int64_t i, int64_t at, int64_t m, int64_t from,
                    int64_t end),
                   (r, wide, i, at, m, from, end))

/* The lines of a block from the top, in the columns from `from` to `end`: each is divided by its
 * pivot, and taken off those below it. */
SIMD_BODY void lines_body(double *r, int64_t wide, int64_t at, int64_t m, int64_t from, int64_t end)
{
    for (int64_t j = at; j < at + m; j++) {
        double *line = r + j * wide, by = 1 / line[j];
        for (int64_t k = from; k < end; k++)
            line[k] *= by;
        for (int64_t l = j + 1; l < at + m; l++) {
            double *to = r + l * wide, f = line[l];
            for (int64_t k = from; k < end; k++)
                to[k] -= f * line[k];
        }
    }
}
SIMD_KERNEL_STATIC(lines,
                   (double *r, int64_t wide, int64_t at, int64_t m, int64_t from, int64_t end),
                   (r, wide, at, m, from, end))

/* The same for the block's own columns, those from `from` on, with their pivots. was: the block's
 * elements of A on the diagonal. */
SIMD_BODY void corner_body(double *r, int64_t wide, int64_t at, int64_t m, int64_t from,
                           const double *was, double least, bool *ok)
{
    for (int64_t j = at; j < at + m; j++) {
        double *line = r + j * wide;
        if (j >= from && !(line[j] > least * was[j - at])) {
            *ok = false;
            return;
        }
        line[j] = j >= from ? sqrt(line[j]) : line[j];
        double by = 1 / line[j];
        for (int64_t k = MAX(j + 1, from); k < at + m; k++)
            line[k] *= by;
        for (int64_t l = j + 1; l < at + m; l++) {
            double *to = r + l * wide, f = line[l];
            for (int64_t k = MAX(l, from); k < at + m; k++)
                to[k] -= f * line[k];
        }
    }
}
SIMD_KERNEL_STATIC(corner,
                   (double *r, int64_t wide, int64_t at, int64_t m, int64_t from, const double *was,
                    double least, bool *ok),
                   (r, wide, at, m, from, was, least, ok))

bool chol_append(struct chol *c, int64_t more, double least)
{
    int64_t end = c->n + more;
    double was[BLOCK];
    bool ok = true;

    for (int64_t at = 0; at < end; at += BLOCK) {
        int64_t m = MIN(BLOCK, end - at), from = MAX(at, c->n);
        for (int64_t j = at; j < at + m; j++)
            was[j - at] = c->r[j * c->wide + j];
        for (int64_t i = 0; i < at; i += BLOCK)
            minus(c->r, c->wide, i, at, m, from, end);
        corner(c->r, c->wide, at, m, from, was, least, &ok);
        if (!ok)
            return false;
        for (int64_t k = MAX(from, at + m); k < end; k += PANEL)
            lines(c->r, c->wide, at, m, k, MIN(k + PANEL, end));
    }
    c->n = end;
    return true;
}

/* A line of the factor and the line v, rotated so that v loses its first element; the line moves up
 * and left. */
SIMD_BODY void rotate_body(const double *line, double *to, double *v, double cosine, double sine,
                           int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        double a = line[k], b = v[k];
        to[k] = cosine * a + sine * b;
        v[k] = cosine * b - sine * a;
    }
}
SIMD_KERNEL_STATIC(rotate,
                   (const double *line, double *to, double *v, double cosine, double sine,
                    int64_t n),
                   (line, to, v, cosine, sine, n))

void chol_delete(struct chol *c, int64_t q, double *scratch)
{
    int64_t left = c->n - q - 1;
    double *line = c->r + q * c->wide + q;

    for (int64_t i = 0; i < q; i++) {
        double *tail = c->r + i * c->wide + q;
        memmove(tail, tail + 1, (size_t)left * sizeof *tail);
    }
    memcpy(scratch, line + 1, (size_t)left * sizeof *line);
    for (int64_t j = 0; j < left; j++) {
        const double *next = line + c->wide + 1;
        double length = sqrt(next[0] * next[0] + scratch[j] * scratch[j]);
        rotate(next, line, scratch + j, next[0] / length, scratch[j] / length, left - j);
        line += c->wide + 1;
    }
    c->n--;
}

SIMD_BODY void solve_body(const double *r, int64_t wide, int64_t n, double *b)
{
    for (int64_t j = 0; j < n; j++) {
        const double *line = r + j * wide;
        double x = b[j] / line[j];
        b[j] = x;
        for (int64_t k = j + 1; k < n; k++)
            b[k] -= x * line[k];
    }
    for (int64_t j = n - 1; j >= 0; j--) {
        const double *line = r + j * wide;
        double sum[LANES] = { 0 };
        int64_t k = j + 1;
        for (; k + LANES <= n; k += LANES) {
            for (int l = 0; l < LANES; l++)
                sum[l] += line[k + l] * b[k + l];
        }
        for (int64_t l = 0; k + l < n; l++)
            sum[l] += line[k + l] * b[k + l];
        b[j] = (b[j] - (((sum[0] + sum[1]) + (sum[2] + sum[3])) +
                        ((sum[4] + sum[5]) + (sum[6] + sum[7])))) /
               line[j];
    }
}
SIMD_KERNEL_STATIC(solve, (const double *r, int64_t wide, int64_t n, double *b), (r, wide, n, b))

void chol_solve(const struct chol *c, double *b)
{
    solve(c->r, c->wide, c->n, b);
}
