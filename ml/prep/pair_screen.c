/* pair_screen.c - combinations of two columns (pair_screen.h). The cost is bounded by the numbers
 * below whatever the table: about a quarter of a second. All sums run in row order, so that equal
 * rows give equal answers on every machine. Called by step.c. */
#include "ml/prep/pair_screen.h"

#include "base/mem.h"
#include "ml/math/sort.h"
#include "ml/prep/key_bins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ROWS = 6000,
    LEAST_ROWS = 500,
    /* more columns are not looked at at all; of them those that say most are tried in pairs */
    MOST_COLS = 200,
    MOST_TRIED = 20,
    /* bins of a column or a combination; a side of the grid; one bin more is for missing values */
    BINS = KEY_BINS,
    SIDE = 6,
    GROUPS = SIDE * SIDE + 1,
    PASSES = 3,
    /* about so many rows tell where bins of a combination end */
    CUT_ROWS = 1500
};
/* A fit's groupings: the one on trial, and the bins of both columns. */
enum { OWN, ONE, TWO, GROUPINGS };
/* What a combination must explain more than the grid: as a share of the rest, as a share of the
 * whole target, and in standard errors. */
#define LEAST_OF_REST  0.02
#define LEAST_OF_WHOLE 0.002
#define LEAST_ERRORS   5.0
#define MORE_EASE      3.0
/* Combinations are made of pairs whose cells differ by more. Of seven that tables had, the least differed
 * by 17.7; of pairs that say nothing nine in ten are left out. */
#define LEAST_TOLD 1.0

/* Rows of values by group: the group of each, and how many rows it has. */
struct grouping {
    const uint8_t *of;
    double rows[GROUPS];
};

/* The rest of the target predicted by three groupings at once. */
struct fitted {
    struct grouping own;
    const struct grouping *by[GROUPINGS];
    /* of the rest, by group; what the prediction adds for it */
    double sum[GROUPINGS][GROUPS], mean[GROUPINGS][GROUPS];
    /* rows that a group of the one shares with a group of the other */
    float own_one[GROUPS][GROUPS], own_two[GROUPS][GROUPS], one_two[GROUPS][GROUPS];
};

struct screen {
    int n, n_cols;
    /* by which all of these are divided */
    double ease;
    /* [n] target about its mean; the rest of it */
    double *y, *rest;
    /* [n_cols][n] values, and the bins of the column */
    double *x;
    uint8_t *bin;
    /* [n_cols] by these bins; [n_cols][GROUPS] the rest's sums in them */
    struct grouping *alone;
    double *sum;
    /* [MOST_TRIED][n] the column's side of the grid, of the columns that are tried in pairs */
    uint8_t *side;
    /* [n] working room */
    double *value;
    uint8_t *cell, *now;
    struct fitted *grid, *bins;
    uint32_t *key, *order, *room;
    int64_t *count;
};

/* Bins of about equal rows, in the order of the value; a frequent value has its own. Missing values
 * have bin `bins`. Where they end is told from all rows, or from evenly spaced ones where there are
 * twice as many as `most`. */
static void bins_take(struct screen *s, const double *x, int bins, int64_t most, uint8_t *out)
{
    int64_t last[BINS] = { 0 }, n = 0, m = 0, d = -1, step = 0;
    uint32_t cut[KEY_BINS];

    for (int i = 0; i < s->n; i++) {
        if (!isnan(x[i]))
            s->key[n++] = ml_key_f32((float)x[i]);
    }
    step = MAX(n / most, 1);
    for (int64_t i = 0; i < n; i += step)
        s->order[m++] = s->key[i];
    ml_sort_u32(s->order, s->room, (size_t)m);
    for (int64_t i = 0; i < m; i++) {
        bool is_new = i == 0 || s->order[i] != s->order[d];
        d += is_new;
        s->order[d] = s->order[i];
        s->count[d] = is_new ? 1 : s->count[d] + 1;
    }
    int n_bins = MAX(prep_cut(s->count, d + 1, bins, last), 1);
    for (int b = 0; b < KEY_BINS; b++)
        cut[b] = b < n_bins - 1 ? s->order[last[b]] : UINT32_MAX;
    for (int i = 0, k = 0; i < s->n; i++)
        out[i] = isnan(x[i]) ? (uint8_t)bins : key_bin(cut, s->key[k++]);
}

static void grouping_take(const struct screen *s, const uint8_t *group, struct grouping *out)
{
    *out = (struct grouping){ .of = group };
    for (int i = 0; i < s->n; i++)
        out->rows[group[i]]++;
}

/* Sums become means with a weight of 4 rows on 0. */
static void means_make(const struct grouping *by, double sum[GROUPS])
{
    for (int g = 0; g < GROUPS; g++)
        sum[g] /= by->rows[g] + 4;
}

/* Takes from x what the mean of its group says; adds the means to effect. */
static void means_off(const struct screen *s, const struct grouping *by, double *x, double *effect)
{
    double sum[GROUPS] = { 0 };

    for (int i = 0; i < s->n; i++)
        sum[by->of[i]] += x[i];
    means_make(by, sum);
    for (int g = 0; g < GROUPS; g++)
        effect[g] += sum[g];
    for (int i = 0; i < s->n; i++)
        x[i] -= sum[by->of[i]];
}

static void meet_count(const struct grouping *one, const struct grouping *two, int n,
                       float both[GROUPS][GROUPS])
{
    memset(both, 0, sizeof(float[GROUPS][GROUPS]));
    for (int i = 0; i < n; i++)
        both[one->of[i]][two->of[i]] += 1;
}

/* Takes from each group of the one grouping what the means of the other one say about its rows. */
static void rows_off(float both[GROUPS][GROUPS], const double *mean, double *sum)
{
    for (int g = 0; g < GROUPS; g++) {
        double part[4] = { 0 };
        for (int k = 0; k + 4 <= GROUPS; k += 4) {
            for (int j = 0; j < 4; j++)
                part[j] += (double)both[g][k + j] * mean[k + j];
        }
        for (int k = GROUPS / 4 * 4; k < GROUPS; k++)
            part[k % 4] += (double)both[g][k] * mean[k];
        sum[g] -= (part[0] + part[1]) + (part[2] + part[3]);
    }
}

/* The same where the other one is the first index. */
static void columns_off(float both[GROUPS][GROUPS], const double *mean, double *sum)
{
    for (int k = 0; k < GROUPS; k++) {
        for (int g = 0; g < GROUPS; g++)
            sum[g] -= (double)both[k][g] * mean[k];
    }
}

/* What the means of all three groupings leave of the sums of the rest in the groups of one. */
static void left_in(struct fitted *f, int which, double left[GROUPS])
{
    for (int g = 0; g < GROUPS; g++)
        left[g] = f->sum[which][g] - f->by[which]->rows[g] * f->mean[which][g];
    if (which == OWN) {
        rows_off(f->own_one, f->mean[ONE], left);
        rows_off(f->own_two, f->mean[TWO], left);
    } else if (which == ONE) {
        columns_off(f->own_one, f->mean[OWN], left);
        rows_off(f->one_two, f->mean[TWO], left);
    } else {
        columns_off(f->own_two, f->mean[OWN], left);
        columns_off(f->one_two, f->mean[ONE], left);
    }
}

/* Predicts the rest of each row by its group and, anew, by the two columns alone, in a few passes
 * over the three groupings. The sums of squares that are left. A pass needs no rows: how many rows
 * two groups share says what the means of the one leave in the other. The grid and the bins have
 * about as many groups, so that neither fits noise better than the other. */
static double fitted_make(const struct screen *s, struct fitted *f, double rest)
{
    double left[GROUPS], all = rest;

    memset(f->mean, 0, sizeof f->mean);
    memset(f->sum[OWN], 0, sizeof f->sum[OWN]);
    for (int i = 0; i < s->n; i++)
        f->sum[OWN][f->own.of[i]] += s->rest[i];
    meet_count(&f->own, f->by[ONE], s->n, f->own_one);
    meet_count(&f->own, f->by[TWO], s->n, f->own_two);
    for (int k = 0; k < PASSES * GROUPINGS; k++) {
        int which = k % GROUPINGS;
        left_in(f, which, left);
        means_make(f->by[which], left);
        for (int g = 0; g < GROUPS; g++)
            f->mean[which][g] += left[g];
    }
    /* |rest - p|^2 = rest^2 - p (rest + (rest - p)), and p is a sum of means by group */
    for (int which = 0; which < GROUPINGS; which++) {
        left_in(f, which, left);
        for (int g = 0; g < GROUPS; g++)
            all -= f->mean[which][g] * (f->sum[which][g] + left[g]);
    }
    return all;
}

static double error_at(const struct screen *s, const struct fitted *f, int i)
{
    double e = s->rest[i] - f->mean[OWN][f->own.of[i]] - f->mean[ONE][f->by[ONE]->of[i]] -
               f->mean[TWO][f->by[TWO]->of[i]];

    return e * e;
}

/* Frees the target of what the columns say alone, in a few passes over the columns. effect:
 * [n_cols][GROUPS]. */
static void rest_take(struct screen *s, double *effect)
{
    memcpy(s->rest, s->y, (size_t)s->n * sizeof *s->y);
    for (int pass = 0; pass < PASSES; pass++) {
        for (int c = 0; c < s->n_cols; c++)
            means_off(s, &s->alone[c], s->rest, effect + (ptrdiff_t)c * GROUPS);
    }
}

struct tried {
    int col;
    double worth;
};

static int by_worth(const void *va, const void *vb)
{
    const struct tried *a = va, *b = vb;

    if (a->worth != b->worth)
        return a->worth > b->worth ? -1 : 1;
    return a->col - b->col;
}

static int by_col(const void *va, const void *vb)
{
    const struct tried *a = va, *b = vb;

    return a->col - b->col;
}

/* The columns to try in pairs: those whose own effects vary most. */
static int tried_take(const struct screen *s, const double *effect, struct tried *out)
{
    for (int c = 0; c < s->n_cols; c++) {
        const double *e = effect + (ptrdiff_t)c * GROUPS;
        double square = 0;
        for (int i = 0; i < s->n; i++)
            square += e[s->bin[(ptrdiff_t)c * s->n + i]] * e[s->bin[(ptrdiff_t)c * s->n + i]];
        out[c] = (struct tried){ c, square };
    }
    int n = MIN(s->n_cols, MOST_TRIED);
    qsort(out, (size_t)s->n_cols, sizeof *out, by_worth);
    qsort(out, (size_t)n, sizeof *out, by_col);
    return n;
}

struct found {
    struct pair pair;
    double worth;
};

/* The standard error of the difference of both sums of squares. */
static double error_of_gain(const struct screen *s)
{
    double square = 0;

    for (int i = 0; i < s->n; i++) {
        double d = error_at(s, s->grid, i) - error_at(s, s->bins, i);
        square += d * d;
    }
    return sqrt(square);
}

/* The columns a and b of both fits: how the rows of their bins meet is the same for all groupings
 * of their pair. */
static void fits_start(struct screen *s, int a, int b)
{
    struct fitted *fits[] = { s->grid, s->bins };

    for (int k = 0; k < (int)ARRAY_LEN(fits); k++) {
        struct fitted *f = fits[k];
        f->by[OWN] = &f->own;
        f->by[ONE] = &s->alone[a];
        f->by[TWO] = &s->alone[b];
        memcpy(f->sum[ONE], s->sum + (ptrdiff_t)a * GROUPS, sizeof f->sum[ONE]);
        memcpy(f->sum[TWO], s->sum + (ptrdiff_t)b * GROUPS, sizeof f->sum[TWO]);
    }
    meet_count(s->grid->by[ONE], s->grid->by[TWO], s->n, s->grid->one_two);
    memcpy(s->bins->one_two, s->grid->one_two, sizeof s->bins->one_two);
}

/* How far the rest differs between cells of the two columns' bins, two by two, in standard deviations of
 * what chance makes of a target without outliers. */
static double pair_tells(const struct screen *s, int a, int b)
{
    enum { CELLS = BINS / 2 + 1 };
    const uint8_t *one = s->alone[a].of, *two = s->alone[b].of;
    double sum[CELLS * CELLS] = { 0 }, rows[CELLS * CELLS] = { 0 }, square = 0, between = 0;
    int n = 0;

    for (int i = 0; i < s->n; i++) {
        int cell = one[i] / 2 * CELLS + two[i] / 2;
        sum[cell] += s->rest[i];
        rows[cell] += 1;
        square += s->rest[i] * s->rest[i];
    }
    for (int c = 0; c < CELLS * CELLS; c++) {
        between += rows[c] > 0 ? sum[c] * sum[c] / rows[c] : 0;
        n += rows[c] > 0;
    }
    return square > 0 ? (between * s->n / square - n) / sqrt(2.0 * n) : 0;
}

/* The best combination of the tried columns at places `at` and `with`; worth 0 = none is good
 * enough. */
static struct found pair_best(struct screen *s, const struct tried *tried, int at, int with,
                              double whole, double rest)
{
    int a = tried[at].col, b = tried[with].col;
    const double *xa = s->x + (ptrdiff_t)a * s->n, *xb = s->x + (ptrdiff_t)b * s->n;
    const uint8_t *one = s->side + (ptrdiff_t)at * s->n, *two = s->side + (ptrdiff_t)with * s->n;
    struct found best = { { a, b, PAIR_SUM }, 0 };

    fits_start(s, a, b);
    for (int i = 0; i < s->n; i++)
        s->cell[i] =
            (uint8_t)(one[i] == SIDE || two[i] == SIDE ? SIDE * SIDE : one[i] * SIDE + two[i]);
    grouping_take(s, s->cell, &s->grid->own);
    double grid = MIN(fitted_make(s, s->grid, rest), rest);
    for (int op = 0; op < PAIR_OPS; op++) {
        for (int i = 0; i < s->n; i++)
            s->value[i] = pair_value((enum pair_op)op, xa[i], xb[i]);
        bins_take(s, s->value, BINS, CUT_ROWS, s->now);
        grouping_take(s, s->now, &s->bins->own);
        double gain = grid - fitted_make(s, s->bins, rest);
        if (gain > best.worth && gain * s->ease > LEAST_OF_REST * rest &&
            gain * s->ease > LEAST_OF_WHOLE * whole &&
            gain * s->ease > LEAST_ERRORS * error_of_gain(s))
            best = (struct found){ { a, b, (enum pair_op)op }, gain };
    }
    return best;
}

/* Keeps the best pairs, the best first. */
static void found_add(struct found *list, int *n, struct found f)
{
    int at = *n;

    if (!(f.worth > 0))
        return;
    while (at > 0 && list[at - 1].worth < f.worth)
        at--;
    if (at == PAIR_MOST)
        return;
    *n = MIN(*n + 1, PAIR_MOST);
    for (int i = *n - 1; i > at; i--)
        list[i] = list[i - 1];
    list[at] = f;
}

/* The target about its mean, in units of its largest distance. */
static double target_take(const struct prep_spec *spec, const int64_t *rows, struct screen *s)
{
    double mean = 0, top = 0, square = 0;

    for (int i = 0; i < s->n; i++) {
        double y = spec->target->y[rows[i]];
        s->y[i] = y;
        top = fmax(top, fabs(s->y[i]));
    }
    for (int i = 0; i < s->n; i++) {
        s->y[i] /= top > 0 ? top : 1;
        mean += s->y[i] / s->n;
    }
    for (int i = 0; i < s->n; i++) {
        s->y[i] -= mean;
        square += s->y[i] * s->y[i];
    }
    return square;
}

static int screen_run(const struct prep_spec *spec, const int *cols, const int64_t *rows,
                      struct screen *s, struct pair out[PAIR_MOST])
{
    double *effect = mem_array((size_t)s->n_cols * GROUPS, sizeof *effect), rest = 0;
    struct tried *tried = mem_array((size_t)s->n_cols, sizeof *tried);
    struct found best[PAIR_MOST];
    int n_best = 0;

    for (int c = 0; c < s->n_cols; c++) {
        frame_numbers_at(spec->frame, cols[c], rows, s->n, s->x + (ptrdiff_t)c * s->n);
        bins_take(s, s->x + (ptrdiff_t)c * s->n, BINS, MOST_ROWS, s->bin + (ptrdiff_t)c * s->n);
        grouping_take(s, s->bin + (ptrdiff_t)c * s->n, &s->alone[c]);
    }
    double whole = target_take(spec, rows, s);
    rest_take(s, effect);
    for (int i = 0; i < s->n; i++)
        rest += s->rest[i] * s->rest[i];
    for (int c = 0; c < s->n_cols; c++) {
        for (int i = 0; i < s->n; i++)
            s->sum[(ptrdiff_t)c * GROUPS + s->alone[c].of[i]] += s->rest[i];
    }
    int n = tried_take(s, effect, tried);
    for (int c = 0; c < n; c++)
        bins_take(s, s->x + (ptrdiff_t)tried[c].col * s->n, SIDE, MOST_ROWS,
                  s->side + (ptrdiff_t)c * s->n);
    for (int a = 0; a < n; a++) {
        for (int b = a + 1; b < n; b++)
            if (s->ease > 1 || pair_tells(s, tried[a].col, tried[b].col) > LEAST_TOLD)
                found_add(best, &n_best, pair_best(s, tried, a, b, whole, rest));
    }
    for (int i = 0; i < n_best; i++)
        out[i] = (struct pair){ cols[best[i].pair.a], cols[best[i].pair.b], best[i].pair.op };
    mem_free(effect);
    mem_free(tried);
    return n_best;
}

int pair_screen(const struct prep_spec *spec, const int *cols, int n, bool more,
                struct pair out[PAIR_MOST])
{
    int64_t *rows = mem_array(2 * (size_t)MOST_ROWS + 1, sizeof *rows),
            step = 1 + spec->frame->rows / MOST_ROWS;
    struct screen s = { .n_cols = n, .ease = more ? MORE_EASE : 1 };
    int found = 0;

    for (int64_t i = 0; i < spec->frame->rows; i += step) {
        if (!spec->use || spec->use[i])
            rows[s.n++] = i;
    }
    if (s.n >= LEAST_ROWS && n >= 2 && n <= MOST_COLS) {
        size_t room = (size_t)s.n;
        s.y = mem_array(room * 3, sizeof *s.y);
        s.rest = s.y + room;
        s.value = s.rest + room;
        s.x = mem_array(room * (size_t)n, sizeof *s.x);
        s.bin = mem_array(room * (size_t)n, 1);
        s.alone = mem_array((size_t)n, sizeof *s.alone);
        s.sum = mem_zalloc((size_t)n * GROUPS * sizeof *s.sum);
        s.side = mem_array(room * MOST_TRIED, 1);
        s.cell = mem_array(room * 2, 1);
        s.now = s.cell + room;
        s.grid = mem_array(2, sizeof *s.grid);
        s.bins = s.grid + 1;
        s.key = mem_array(room * 3, sizeof *s.key);
        s.order = s.key + room;
        s.room = s.order + room;
        s.count = mem_array(room, sizeof *s.count);
        found = screen_run(spec, cols, rows, &s, out);
    }
    mem_free(s.y);
    mem_free(s.x);
    mem_free(s.bin);
    mem_free(s.alone);
    mem_free(s.sum);
    mem_free(s.side);
    mem_free(s.cell);
    mem_free(s.grid);
    mem_free(s.key);
    mem_free(s.count);
    mem_free(rows);
    return found;
}
