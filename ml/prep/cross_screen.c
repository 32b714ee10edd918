/* cross_screen.c - see cross_screen.h. The cost is bounded by the numbers below whatever the table.
 * All sums run in row order, so that equal rows give equal answers on every machine. */
#include "ml/prep/cross_screen.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/prep/code_screen.h"
#include "ml/prep/level_means.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ROWS = 40000,
    LEAST_ROWS = 500,
    LEAST_ROWS_OF_NUMBERS = 1000,
    MOST_COLS = 24,
    PASSES = 3,
    HALVES = 2,
    ROOM = CROSS_MOST_CELLS
};
/* What the combinations must explain of the rest that the levels leave: a share, and in standard
 * errors. SHRINK: rows of a mean of 0 that each mean is drawn by. */
#define LEAST_OF_REST 0.02
#define LEAST_ERRORS  4.0
#define SHRINK        3.0
/* Numbers are in pairs of columns that have so many levels each: where one has fewer, trees find what a
 * threshold of the other means for each of them in as many splits. */
#define LEAST_OF_NUMBERS 4
/* Where a pair explains more of the rest than this, trees split by it early, and means of some rows each
 * are noise beside what they learn: then numbers are in no pair. */
#define MOST_OF_REST 0.1

struct screen {
    /* columns of categories come first */
    int n, n_cols, n_categories;
    /* [n] the rows of the sample */
    int64_t *rows;
    /* [n_cols] the column of the frame; how many levels it has, missing = the last one */
    int col[MOST_COLS], size[MOST_COLS];
    /* [n_cols][n] */
    uint8_t *level;
    /* [HALVES][n] the target about its mean, less what is known: the effects of the levels and of the
     * pairs that are taken, fitted to the rows i with i % HALVES == half */
    double *rest[HALVES];
    /* [n] the cells of a pair */
    uint16_t *cell;
    double *sum, *count;
};

/* The means of the rest by cell, over the rows of a half, in s->sum. */
static void means_take(struct screen *s, int half, int cells, double shrink)
{
    const double *rest = s->rest[half];

    memset(s->sum, 0, (size_t)cells * sizeof *s->sum);
    memset(s->count, 0, (size_t)cells * sizeof *s->count);
    for (int i = half; i < s->n; i += HALVES) {
        s->sum[s->cell[i]] += rest[i];
        s->count[s->cell[i]]++;
    }
    for (int k = 0; k < cells; k++)
        s->sum[k] /= fmax(s->count[k] + shrink, 1);
}

static void means_off(struct screen *s, int half, int cells, double shrink)
{
    means_take(s, half, cells, shrink);
    for (int i = 0; i < s->n; i++)
        s->rest[half][i] -= s->sum[s->cell[i]];
}

static void effects_off(struct screen *s, int half)
{
    for (int pass = 0; pass < PASSES; pass++) {
        for (int c = 0; c < s->n_cols; c++) {
            for (int i = 0; i < s->n; i++)
                s->cell[i] = s->level[(ptrdiff_t)c * s->n + i];
            means_off(s, half, s->size[c], 0);
        }
    }
}

/* Takes the cells of two columns; returns their number. */
static int cells_take(struct screen *s, int a, int b)
{
    const uint8_t *x = s->level + (ptrdiff_t)a * s->n, *y = s->level + (ptrdiff_t)b * s->n;

    for (int i = 0; i < s->n; i++)
        s->cell[i] = (uint16_t)(x[i] * s->size[b] + y[i]);
    return s->size[a] * s->size[b];
}

/* The share by which the squared rest of each half falls with the means of the other; 0 = not enough. */
static double gain_of(struct screen *s, int a, int b)
{
    int cells = cells_take(s, a, b);
    double gain = 0, square = 0, rest = 0;

    for (int half = 0; half < HALVES; half++) {
        means_take(s, half, cells, SHRINK);
        for (int i = 1 - half; i < s->n; i += HALVES) {
            double r = s->rest[half][i], left = r - s->sum[s->cell[i]], d = r * r - left * left;
            rest += r * r;
            gain += d;
            square += d * d;
        }
    }
    return gain > LEAST_OF_REST * rest && gain > LEAST_ERRORS * sqrt(square) ? gain / rest : 0;
}

static bool is_pair(const struct screen *s, int a, int b)
{
    bool has_numbers = b >= s->n_categories; /* a < b */

    return s->size[a] * s->size[b] <= CROSS_MOST_CELLS &&
           (!has_numbers || MIN(s->size[a], s->size[b]) > LEAST_OF_NUMBERS);
}

/* The best pair, as places in s->col; returns its share, 0 = none is good enough. */
static double best_take(struct screen *s, struct cross *best)
{
    double most = 0;

    for (int a = 0; a < s->n_cols; a++) {
        for (int b = a + 1; b < s->n_cols; b++) {
            double gain = is_pair(s, a, b) ? gain_of(s, a, b) : 0;
            if (gain > most) {
                most = gain;
                *best = (struct cross){ a, b };
            }
        }
    }
    return most;
}

static void target_take(struct screen *s, const struct prep_spec *spec)
{
    double top = 0, mean = 0;

    for (int i = 0; i < s->n; i++) {
        s->rest[0][i] = spec->target->y[s->rows[i]];
        top = fmax(top, fabs(s->rest[0][i]));
    }
    for (int i = 0; i < s->n; i++) {
        s->rest[0][i] /= top > 0 ? top : 1;
        mean += s->rest[0][i] / s->n;
    }
    for (int i = 0; i < s->n; i++)
        s->rest[1][i] = s->rest[0][i] = s->rest[0][i] - mean;
}

/* Adds a column of the frame, where it has few levels. */
static void col_take(struct screen *s, const struct prep_spec *spec, int col)
{
    const struct frame_col *c = &spec->frame->cols[col];
    bool has_numbers = c->type == FRAME_NUMERIC;
    uint8_t *level = s->level + (ptrdiff_t)s->n_cols * s->n;
    double *value = NULL;

    if (has_numbers && s->n < LEAST_ROWS_OF_NUMBERS)
        return;
    int n = has_numbers ? code_values(spec, col, CROSS_MOST_LEVELS - 1, &value) : c->n_levels;

    for (int i = 0; i < s->n && n >= 2 && n < CROSS_MOST_LEVELS; i++) {
        int32_t code = -1;
        double x;
        if (has_numbers) {
            frame_numbers(spec->frame, col, s->rows[i], 1, &x);
            levels_of_numbers(value, n, &x, 1, &code);
        } else {
            frame_codes(spec->frame, col, s->rows[i], 1, &code);
        }
        level[i] = (uint8_t)(code < 0 ? n : code);
    }
    if (n >= 2 && n < CROSS_MOST_LEVELS) {
        s->col[s->n_cols] = col;
        s->n_categories += !has_numbers;
        s->size[s->n_cols++] = n + 1;
    }
    mem_try_free(value);
}

/* What the levels leave of the target. */
static void rest_take(struct screen *s, const struct prep_spec *spec)
{
    target_take(s, spec);
    for (int half = 0; half < HALVES; half++)
        effects_off(s, half);
}

static int screen_run(struct screen *s, const struct prep_spec *spec, struct cross out[CROSS_MOST])
{
    struct cross best = { 0, 0 };
    int n = 0;

    rest_take(s, spec);
    double share = best_take(s, &best);
    if (share > MOST_OF_REST && s->n_cols > s->n_categories) {
        s->n_cols = s->n_categories;
        rest_take(s, spec);
        share = best_take(s, &best);
    }
    while (n < CROSS_MOST && share > 0) {
        out[n++] = (struct cross){ s->col[best.a], s->col[best.b] };
        int cells = cells_take(s, best.a, best.b);
        for (int half = 0; half < HALVES; half++)
            means_off(s, half, cells, SHRINK);
        share = best_take(s, &best);
    }
    return n;
}

int cross_screen(const struct prep_spec *spec, const int *cols, int n, struct cross out[CROSS_MOST])
{
    struct screen s = { .rows = mem_array(2 * (size_t)MOST_ROWS + 1, sizeof *s.rows) };
    int64_t step = 1 + spec->frame->rows / MOST_ROWS;
    int found = 0;

    for (int64_t i = 0; i < spec->frame->rows; i += step) {
        if (!spec->use || spec->use[i])
            s.rows[s.n++] = i;
    }
    if (s.n >= LEAST_ROWS) {
        size_t room = (size_t)s.n;
        s.level = mem_array(room * MOST_COLS, 1);
        s.rest[0] = mem_array(2 * room + 2 * (size_t)ROOM, sizeof *s.rest[0]);
        s.rest[1] = s.rest[0] + room;
        s.sum = s.rest[1] + room;
        s.count = s.sum + ROOM;
        s.cell = mem_array(room, sizeof *s.cell);
        for (int i = 0; i < n && s.n_cols < MOST_COLS; i++)
            col_take(&s, spec, cols[i]);
        found = screen_run(&s, spec, out);
    }
    mem_free(s.level);
    mem_free(s.rest[0]);
    mem_free(s.cell);
    mem_free(s.rows);
    return found;
}
