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
    PASSES = 3
};
/* What a combination must explain more than the grid: as a share of the rest, as a share of the
 * whole target, and in standard errors. */
#define LEAST_OF_REST  0.02
#define LEAST_OF_WHOLE 0.002
#define LEAST_ERRORS   5.0
#define MORE_EASE      3.0

/* Rows of values by group: the group of each, and how many rows it has. */
struct grouping {
    const uint8_t *of;
    double rows[GROUPS];
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
    struct grouping *alone; /* [n_cols] by these bins */
    /* [MOST_TRIED][n] the column's side of the grid, of the columns that are tried in pairs */
    uint8_t *side;
    /* [n] working room */
    double *value, *error[2];
    uint8_t *now;
    uint32_t *key, *order, *room;
    int64_t *count;
};

/* Bins of about equal rows, in the order of the value; a frequent value has its own. Missing values
 * have bin `bins`. */
static void bins_take(struct screen *s, const double *x, int bins, uint8_t *out)
{
    int64_t last[BINS] = { 0 }, m = 0, d = -1;
    uint32_t cut[KEY_BINS];

    for (int i = 0; i < s->n; i++) {
        if (!isnan(x[i]))
            s->key[m++] = ml_key_f32((float)x[i]);
    }
    memcpy(s->order, s->key, (size_t)m * sizeof *s->key);
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

/* Squared errors when the rest of each row is predicted by its group and, anew, by the columns a and
 * b alone. Returns their sum. The grid and the bins have about as many groups, so that neither fits
 * noise better than the other. What one grouping says is taken off while the next one's sums are
 * made. */
static double errors_of(const struct screen *s, const uint8_t *group, int a, int b, double *error)
{
    double mean[GROUPS] = { 0 }, sum[GROUPS] = { 0 }, all = 0;
    struct grouping own;

    grouping_take(s, group, &own);
    const struct grouping *by[] = { &own, &s->alone[a], &s->alone[b] }, *before = NULL;
    for (int k = 0; k < PASSES * (int)ARRAY_LEN(by); k++) {
        const struct grouping *now = by[k % (int)ARRAY_LEN(by)];
        for (int i = 0; i < s->n; i++) {
            error[i] = before ? error[i] - mean[before->of[i]] : s->rest[i];
            sum[now->of[i]] += error[i];
        }
        means_make(now, sum);
        memcpy(mean, sum, sizeof mean);
        memset(sum, 0, sizeof sum);
        before = now;
    }
    for (int i = 0; i < s->n; i++) {
        error[i] -= mean[before->of[i]];
        error[i] *= error[i];
        all += error[i];
    }
    return all;
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

/* The best combination of the tried columns at places `at` and `with`; worth 0 = none is good
 * enough. */
static struct found pair_best(struct screen *s, const struct tried *tried, int at, int with,
                              double whole, double rest)
{
    int a = tried[at].col, b = tried[with].col;
    const double *xa = s->x + (ptrdiff_t)a * s->n, *xb = s->x + (ptrdiff_t)b * s->n;
    const uint8_t *one = s->side + (ptrdiff_t)at * s->n, *two = s->side + (ptrdiff_t)with * s->n;
    struct found best = { { a, b, PAIR_SUM }, 0 };

    for (int i = 0; i < s->n; i++)
        s->now[i] =
            (uint8_t)(one[i] == SIDE || two[i] == SIDE ? SIDE * SIDE : one[i] * SIDE + two[i]);
    double grid = MIN(errors_of(s, s->now, a, b, s->error[0]), rest);
    for (int op = 0; op < PAIR_OPS; op++) {
        double square = 0;
        for (int i = 0; i < s->n; i++)
            s->value[i] = pair_value((enum pair_op)op, xa[i], xb[i]);
        bins_take(s, s->value, BINS, s->now);
        double left = errors_of(s, s->now, a, b, s->error[1]), gain = grid - left;
        for (int i = 0; i < s->n; i++) {
            double d = s->error[0][i] - s->error[1][i];
            square += d * d;
        }
        if (gain > best.worth && gain * s->ease > LEAST_OF_REST * rest &&
            gain * s->ease > LEAST_OF_WHOLE * whole && gain * s->ease > LEAST_ERRORS * sqrt(square))
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
        bins_take(s, s->x + (ptrdiff_t)c * s->n, BINS, s->bin + (ptrdiff_t)c * s->n);
        grouping_take(s, s->bin + (ptrdiff_t)c * s->n, &s->alone[c]);
    }
    double whole = target_take(spec, rows, s);
    rest_take(s, effect);
    for (int i = 0; i < s->n; i++)
        rest += s->rest[i] * s->rest[i];
    int n = tried_take(s, effect, tried);
    for (int c = 0; c < n; c++)
        bins_take(s, s->x + (ptrdiff_t)tried[c].col * s->n, SIDE, s->side + (ptrdiff_t)c * s->n);
    for (int a = 0; a < n; a++) {
        for (int b = a + 1; b < n; b++)
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
        s.y = mem_array(room * 5, sizeof *s.y);
        s.rest = s.y + room;
        s.value = s.rest + room;
        for (size_t k = 0; k < ARRAY_LEN(s.error); k++)
            s.error[k] = s.value + (k + 1) * room;
        s.x = mem_array(room * (size_t)n, sizeof *s.x);
        s.bin = mem_array(room * (size_t)n, 1);
        s.alone = mem_array((size_t)n, sizeof *s.alone);
        s.side = mem_array(room * MOST_TRIED, 1);
        s.now = mem_array(room, 1);
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
    mem_free(s.side);
    mem_free(s.now);
    mem_free(s.key);
    mem_free(s.count);
    mem_free(rows);
    return found;
}
