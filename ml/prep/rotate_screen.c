/* rotate_screen.c - see rotate_screen.h. The cost is bounded by the numbers below whatever the table.
 * All sums run in row order, so that equal rows give equal answers on every machine. */
#include "ml/prep/rotate_screen.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/math/sort.h"
#include "ml/prep/key_bins.h"
#include "ml/text/svd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* PASSES: after three, what columns say alone was not parted from what their pairs say, and a
 * direction near a column was found for the remainder. */
enum { MOST_ROWS = 12000, LEAST_ROWS = 800, BINS = KEY_BINS, PASSES = 6 };
/* What a direction must explain of the rest that the columns leave: a share, and in standard errors.
 * LONGEST: a direction with such a weight is the column itself. CLIP: in spreads, for the fit. */
#define LEAST_OF_REST 0.005
#define LEAST_ERRORS  3.0
#define LONGEST       0.97
#define CLIP          5.0

/* The bins of a value, and how many rows of each half have them. */
struct bins {
    uint8_t *of; /* [n] */
    double count[2][BINS];
};

/* What is known of the target is taken off again and again: values, bins and counts are made once. */
struct screen {
    int n, n_cols;
    /* [n_cols][n] values about their means, missing = 0; their means and spreads */
    double *x, mean[ROTATE_MOST_COLS], sd[ROTATE_MOST_COLS];
    /* [n_cols][n] along the components in units of spreads; the sums of their squares by half */
    double *along, square[ROTATE_MOST_COLS][2];
    /* [n_cols][n_cols] of the values in units of spreads, clipped */
    double *covariance;
    /* [2][n] the target about its mean, less what the columns say alone: by the half of the rows
     * that says it. rest: of this half (0: the even rows) */
    double *rests, *rest;
    int half;
    double *value; /* [n] a direction */
    /* of the columns and the pairs [n_known]; of a direction */
    struct bins *known, now;
    int n_known;
    uint32_t *key, *order, *room;
};

/* ---- what a value says of the rest ---- */

static void bins_take(struct screen *s, const double *x, struct bins *out)
{
    uint32_t cut[KEY_BINS];

    memset(out->count, 0, sizeof out->count);

    for (int i = 0; i < s->n; i++)
        s->order[i] = s->key[i] = ml_key_f32((float)x[i]);
    ml_sort_u32(s->order, s->room, (size_t)s->n);
    for (int b = 0; b < KEY_BINS; b++)
        cut[b] = b < BINS - 1 ? s->order[((int64_t)b + 1) * s->n / BINS - 1] : UINT32_MAX;
    for (int i = 0; i < s->n; i++) {
        out->of[i] = key_bin(cut, s->key[i]);
        out->count[i & 1][out->of[i]]++;
    }
}

/* Takes the half that effects are fitted on; the other one judges them. */
static void half_take(struct screen *s, int half)
{
    s->half = half;
    s->rest = s->rests + (ptrdiff_t)half * s->n;
}

/* The means of the rest by bin, over the half. */
static void means_take(const struct screen *s, const struct bins *bins, double mean[BINS])
{
    memset(mean, 0, BINS * sizeof *mean);
    for (int i = s->half; i < s->n; i += 2)
        mean[bins->of[i]] += s->rest[i];
    for (int b = 0; b < BINS; b++)
        mean[b] /= MAX(bins->count[s->half][b], 1);
}

/* Frees the rest of what a value says alone. */
static void effect_off(struct screen *s, const struct bins *bins)
{
    double mean[BINS];

    means_take(s, bins, mean);
    for (int i = 0; i < s->n; i++)
        s->rest[i] -= mean[bins->of[i]];
}

/* The values along a direction. */
static void direction_take(const struct screen *s, const double *weight, double *out)
{
    memset(out, 0, (size_t)s->n * sizeof *out);
    for (int c = 0; c < s->n_cols; c++) {
        const double *x = s->x + (ptrdiff_t)c * s->n;
        for (int i = 0; i < s->n; i++)
            out[i] += weight[c] * x[i];
    }
}

/* Frees the rest of its linear part along component d. */
static void line_off(struct screen *s, int d)
{
    const double *value = s->along + (ptrdiff_t)d * s->n;
    double dot = 0, square = s->square[d][s->half];

    for (int i = s->half; i < s->n; i += 2)
        dot += value[i] * s->rest[i];
    for (int i = 0; i < s->n && square > 0; i++)
        s->rest[i] -= dot / square * value[i];
}

/* s->value: the combination of two columns that pair_screen.h has found. */
static void pair_take(struct screen *s, const int *cols, const struct pair *pair)
{
    int a = 0, b = 0;

    while (cols[a] != pair->a)
        a++;
    while (cols[b] != pair->b)
        b++;
    for (int i = 0; i < s->n; i++) {
        double v = pair_value(pair->op, s->x[(ptrdiff_t)a * s->n + i] + s->mean[a],
                              s->x[(ptrdiff_t)b * s->n + i] + s->mean[b]);
        s->value[i] = isnan(v) ? 0 : v;
    }
}

/* By how much the squared rest of each half falls when a direction's means, of the other half, are
 * taken off; 0 = not enough. */
static double gain_of(struct screen *s, const double *weight)
{
    double mean[BINS], gain = 0, square = 0, rest = 0;

    direction_take(s, weight, s->value);
    bins_take(s, s->value, &s->now);
    for (int half = 0; half < 2; half++) {
        half_take(s, half);
        means_take(s, &s->now, mean);
        for (int i = 1 - half; i < s->n; i += 2) {
            double r = s->rest[i], left = r - mean[s->now.of[i]], d = r * r - left * left;
            rest += r * r;
            gain += d;
            square += d * d;
        }
    }
    return gain > LEAST_OF_REST * rest && gain > LEAST_ERRORS * sqrt(square) ? gain : 0;
}

/* ---- the components ---- */

static double clipped(double v)
{
    return v > CLIP ? CLIP : v < -CLIP ? -CLIP : v;
}

/* In units of spreads, from clipped values, so that a few outliers do not name the directions. */
static void covariance_take(struct screen *s)
{
    double *clip = mem_array((size_t)s->n * (size_t)s->n_cols, sizeof *clip);
    int p = s->n_cols;

    for (int c = 0; c < p; c++) {
        const double *x = s->x + (ptrdiff_t)c * s->n;
        for (int i = 0; i < s->n; i++)
            clip[(ptrdiff_t)c * s->n + i] = clipped(x[i] / s->sd[c]);
    }
    for (int a = 0; a < p; a++) {
        for (int b = a; b < p; b++) {
            const double *x = clip + (ptrdiff_t)a * s->n, *y = clip + (ptrdiff_t)b * s->n;
            double sum = 0;
            for (int i = 0; i < s->n; i++)
                sum += x[i] * y[i];
            s->covariance[a * p + b] = s->covariance[b * p + a] = sum / s->n;
        }
    }
    mem_free(clip);
}

/* The components, as rows of v. */
static void set_take(const struct screen *s, bool in_spreads, double (*v)[ROTATE_MOST_COLS])
{
    double a[ROTATE_MOST_COLS * ROTATE_MOST_COLS], axes[ROTATE_MOST_COLS * ROTATE_MOST_COLS],
        stretch[ROTATE_MOST_COLS];
    int p = s->n_cols;

    memcpy(a, s->covariance, (size_t)(p * p) * sizeof *a);
    for (int i = 0; i < p && !in_spreads; i++) {
        for (int j = 0; j < p; j++)
            a[i * p + j] *= s->sd[i] * s->sd[j];
    }
    svd_eigen(a, p, stretch, axes);
    for (int d = 0; d < p; d++) {
        for (int c = 0; c < p; c++)
            v[d][c] = axes[c * p + d] / (in_spreads ? s->sd[c] : 1);
    }
}

/* What known_off takes off: bins of the columns and of the pairs that are inputs already, and the
 * components. */
static void known_take(struct screen *s, const int *cols, const struct pair *pairs)
{
    double v[ROTATE_MOST_COLS][ROTATE_MOST_COLS] = { { 0 } };

    covariance_take(s);
    set_take(s, true, v);
    for (int d = 0; d < s->n_cols; d++) {
        double *along = s->along + (ptrdiff_t)d * s->n;
        direction_take(s, v[d], along);
        for (int i = 0; i < s->n; i++)
            s->square[d][i & 1] += along[i] * along[i];
        bins_take(s, s->x + (ptrdiff_t)d * s->n, &s->known[d]);
    }
    for (int k = s->n_cols; k < s->n_known; k++) {
        pair_take(s, cols, &pairs[k - s->n_cols]);
        bins_take(s, s->value, &s->known[k]);
    }
}

/* Frees the rest of what the columns say one by one and in the pairs that are inputs already, and of
 * a sum of the columns: the components are at right angles, so that their lines part it. */
static void known_off(struct screen *s)
{
    for (int pass = 0; pass < PASSES; pass++) {
        for (int d = 0; d < s->n_cols; d++)
            line_off(s, d);
        for (int k = 0; k < s->n_known; k++)
            effect_off(s, &s->known[k]);
    }
}

struct found {
    double gain;
    int axis;
};

static int by_gain(const void *va, const void *vb)
{
    const struct found *a = va, *b = vb;

    if (a->gain != b->gain)
        return a->gain > b->gain ? -1 : 1;
    return a->axis - b->axis;
}

/* Whether the direction is hardly more than one of the columns. */
static bool is_column(const struct screen *s, const double *weight)
{
    double longest = 0, square = 0;

    for (int c = 0; c < s->n_cols; c++) {
        double w = fabs(weight[c] * s->sd[c]);
        longest = fmax(longest, w);
        square += w * w;
    }
    return longest > LONGEST * sqrt(square);
}

/* The directions of one set that are worth it; the sum of their gains. */
static double set_try(struct screen *s, bool in_spreads, struct rotation *out)
{
    double v[ROTATE_MOST_COLS][ROTATE_MOST_COLS] = { { 0 } }, sum = 0;
    struct found found[ROTATE_MOST_COLS];
    int n = 0;

    set_take(s, in_spreads, v);
    for (int d = 0; d < s->n_cols; d++) {
        double gain = is_column(s, v[d]) ? 0 : gain_of(s, v[d]);
        if (gain > 0)
            found[n++] = (struct found){ gain, d };
        sum += gain;
    }
    qsort(found, (size_t)n, sizeof *found, by_gain);
    out->n_cols = s->n_cols;
    out->n = MIN(n, ROTATE_MOST);
    memcpy(out->mean, s->mean, sizeof out->mean);
    for (int i = 0; i < out->n; i++)
        memcpy(out->weight[i], v[found[i].axis], sizeof out->weight[i]);
    return sum;
}

/* A column's values about their mean, and its spread. False = it does not vary. */
static bool column_take(struct screen *s, const struct prep_spec *spec, int col,
                        const int64_t *rows, int c)
{
    double *x = s->x + (ptrdiff_t)c * s->n, sum = 0, square = 0;
    int n = 0;

    frame_numbers_at(spec->frame, col, rows, s->n, x);
    for (int i = 0; i < s->n; i++) {
        if (isfinite(x[i])) {
            sum += x[i];
            n++;
        }
    }
    s->mean[c] = sum / MAX(n, 1);
    for (int i = 0; i < s->n; i++) {
        x[i] = isfinite(x[i]) ? x[i] - s->mean[c] : 0;
        square += x[i] * x[i];
    }
    s->sd[c] = sqrt(square / s->n);
    return s->sd[c] > 1e-100 && s->sd[c] < 1e100;
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
    memcpy(s->rests + s->n, s->rests, (size_t)s->n * sizeof *s->rests);
}

static bool screen_run(struct screen *s, const struct prep_spec *spec, const struct rotate_of *of,
                       const int64_t *rows, struct rotation *out)
{
    struct rotation other;

    for (int c = 0; c < s->n_cols; c++) {
        if (!column_take(s, spec, of->cols[c], rows, c))
            return false;
    }
    half_take(s, 0);
    target_take(s, spec, rows);
    known_take(s, of->cols, of->pairs);
    for (int half = 0; half < 2; half++) {
        half_take(s, half);
        known_off(s);
    }
    double as_is = set_try(s, false, out), in_spreads = set_try(s, true, &other);
    if (in_spreads > as_is)
        *out = other;
    return out->n > 0;
}

static void screen_room(struct screen *s, int n_known)
{
    size_t n = (size_t)s->n, cols = (size_t)s->n_cols;

    s->x = mem_array(n * (2 * cols + 3) + cols * cols, sizeof *s->x);
    s->along = s->x + n * cols;
    s->rests = s->along + n * cols;
    s->value = s->rests + 2 * n;
    s->covariance = s->value + n;
    s->now.of = mem_array(n * ((size_t)n_known + 1), 1);
    s->known = mem_array((size_t)n_known, sizeof *s->known);
    s->n_known = n_known;
    for (int k = 0; k < n_known; k++)
        s->known[k].of = s->now.of + n * ((size_t)k + 1);
    s->key = mem_array(n * 3, sizeof *s->key);
    s->order = s->key + n;
    s->room = s->order + n;
}

bool rotate_screen(const struct prep_spec *spec, const struct rotate_of *of, struct rotation *out)
{
    int n = of->n;
    int64_t *rows = mem_array((size_t)MOST_ROWS + 1, sizeof *rows),
            step = (spec->frame->rows + MOST_ROWS - 1) / MOST_ROWS;
    struct screen s = { .n_cols = n };
    bool found = false;

    *out = (struct rotation){ 0 };
    for (int64_t i = 0; i < spec->frame->rows; i += step) {
        if (!spec->use || spec->use[i])
            rows[s.n++] = i;
    }
    if (s.n >= LEAST_ROWS && n >= ROTATE_LEAST_COLS && n <= ROTATE_MOST_COLS) {
        screen_room(&s, n + of->n_pairs);
        found = screen_run(&s, spec, of, rows, out);
    }
    mem_free(s.x);
    mem_free(s.now.of);
    mem_free(s.known);
    mem_free(s.key);
    mem_free(rows);
    return found;
}
