/* cross_screen.c - see cross_screen.h. The cost is bounded by the numbers below whatever the table.
 * All sums run in row order, so that equal rows give equal answers on every machine. */
#include "ml/prep/cross_screen.h"

#include "base/base.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 20000, LEAST_ROWS = 500, MOST_COLS = 16, PASSES = 3, ROOM = CROSS_MOST_CELLS };
/* What the combinations must explain of the rest that the levels leave: a share, and in standard
 * errors. SHRINK: rows of a mean of 0 that each mean is drawn by. */
#define LEAST_OF_REST 0.02
#define LEAST_ERRORS  4.0
#define SHRINK        3.0

struct screen {
    int n, n_cols;
    /* [n_cols][n] level, missing = the last one */
    uint8_t *level;
    int size[MOST_COLS];
    /* [n] the target about its mean, less the effects of the levels; the cells of a pair */
    double *rest;
    uint16_t *cell;
    double *sum, *count;
};

/* The means of the rest by cell, over the even rows, in s->sum. */
static void means_take(struct screen *s, int cells, double shrink)
{
    memset(s->sum, 0, (size_t)cells * sizeof *s->sum);
    memset(s->count, 0, (size_t)cells * sizeof *s->count);
    for (int i = 0; i < s->n; i += 2) {
        s->sum[s->cell[i]] += s->rest[i];
        s->count[s->cell[i]]++;
    }
    for (int k = 0; k < cells; k++)
        s->sum[k] /= MAX(s->count[k] + shrink, 1);
}

static void effects_off(struct screen *s)
{
    for (int pass = 0; pass < PASSES; pass++) {
        for (int c = 0; c < s->n_cols; c++) {
            for (int i = 0; i < s->n; i++)
                s->cell[i] = s->level[(ptrdiff_t)c * s->n + i];
            means_take(s, s->size[c], 0);
            for (int i = 0; i < s->n; i++)
                s->rest[i] -= s->sum[s->cell[i]];
        }
    }
}

/* By how much the squared rest of the odd rows falls; 0 = not enough. */
static double gain_of(struct screen *s, int a, int b)
{
    const uint8_t *x = s->level + (ptrdiff_t)a * s->n, *y = s->level + (ptrdiff_t)b * s->n;
    double gain = 0, square = 0, rest = 0;

    for (int i = 0; i < s->n; i++)
        s->cell[i] = (uint16_t)(x[i] * s->size[b] + y[i]);
    means_take(s, s->size[a] * s->size[b], SHRINK);
    for (int i = 1; i < s->n; i += 2) {
        double r = s->rest[i], left = r - s->sum[s->cell[i]], d = r * r - left * left;
        rest += r * r;
        gain += d;
        square += d * d;
    }
    return gain > LEAST_OF_REST * rest && gain > LEAST_ERRORS * sqrt(square) ? gain : 0;
}

struct found {
    struct cross cross;
    double gain;
};

/* Keeps the best, the best first. */
static void found_add(struct found *list, int *n, struct found f)
{
    int at = *n;

    if (!(f.gain > 0))
        return;
    while (at > 0 && list[at - 1].gain < f.gain)
        at--;
    if (at == CROSS_MOST)
        return;
    *n = MIN(*n + 1, CROSS_MOST);
    for (int i = *n - 1; i > at; i--)
        list[i] = list[i - 1];
    list[at] = f;
}

static void target_take(struct screen *s, const struct prep_spec *spec, const int64_t *rows)
{
    double top = 0, mean = 0;

    for (int i = 0; i < s->n; i++) {
        s->rest[i] = spec->target->y[rows[i]];
        top = fmax(top, fabs(s->rest[i]));
    }
    for (int i = 0; i < s->n; i++) {
        s->rest[i] /= top > 0 ? top : 1;
        mean += s->rest[i] / s->n;
    }
    for (int i = 0; i < s->n; i++)
        s->rest[i] -= mean;
}

static int screen_run(struct screen *s, const struct prep_spec *spec, const int *cols,
                      const int64_t *rows, struct cross out[CROSS_MOST])
{
    struct found best[CROSS_MOST];
    int n = 0;

    for (int c = 0; c < s->n_cols; c++) {
        s->size[c] = spec->frame->cols[cols[c]].n_levels + 1;
        for (int i = 0; i < s->n; i++) {
            int32_t code;
            frame_codes(spec->frame, cols[c], rows[i], 1, &code);
            s->level[(ptrdiff_t)c * s->n + i] = (uint8_t)(code < 0 ? s->size[c] - 1 : code);
        }
    }
    target_take(s, spec, rows);
    effects_off(s);
    for (int a = 0; a < s->n_cols; a++) {
        for (int b = a + 1; b < s->n_cols; b++) {
            if (s->size[a] * s->size[b] <= CROSS_MOST_CELLS)
                found_add(best, &n, (struct found){ { cols[a], cols[b] }, gain_of(s, a, b) });
        }
    }
    for (int i = 0; i < n; i++)
        out[i] = best[i].cross;
    return n;
}

int cross_screen(const struct prep_spec *spec, const int *cols, int n, struct cross out[CROSS_MOST])
{
    int64_t *rows = mem_array(2 * (size_t)MOST_ROWS + 1, sizeof *rows),
            step = 1 + spec->frame->rows / MOST_ROWS;
    struct screen s = { .n_cols = MIN(n, MOST_COLS) };
    int found = 0;

    for (int64_t i = 0; i < spec->frame->rows; i += step) {
        if (!spec->use || spec->use[i])
            rows[s.n++] = i;
    }
    if (s.n >= LEAST_ROWS && n >= 2) {
        size_t room = (size_t)s.n;
        s.level = mem_array(room * (size_t)s.n_cols, 1);
        s.rest = mem_array(room + 2 * (size_t)ROOM, sizeof *s.rest);
        s.sum = s.rest + room;
        s.count = s.sum + ROOM;
        s.cell = mem_array(room, sizeof *s.cell);
        found = screen_run(&s, spec, cols, rows, out);
    }
    mem_free(s.level);
    mem_free(s.rest);
    mem_free(s.cell);
    mem_free(rows);
    return found;
}
