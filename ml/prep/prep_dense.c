/* prep_dense.c - rows as standardised float32, for linear models.
 *
 * Arithmetic is in double with one rounding at the end. Values are held to DENSE_LIMIT standard
 * deviations on either side, so that a wild value in a row to predict cannot overflow a model.
 * Padding up to the stride is 0. Called by ml/model/data.c for a whole table, and by the linear
 * predictor for any rows. */
#include "base/mem.h"
#include "ml/math/fmath.h"
#include "ml/prep/prep_private.h"

#include <math.h>
#include <string.h>

enum { DENSE_STRIDE = 16 };
#define DENSE_LIMIT 1e5

void prep_dense_fini(struct prep_dense *d)
{
    mem_try_free(d->x);
    *d = (struct prep_dense){ 0 };
}

static float held(double z)
{
    return (float)(z > DENSE_LIMIT ? DENSE_LIMIT : z < -DENSE_LIMIT ? -DENSE_LIMIT : z);
}

static float number_of(const struct prep_col *c, double v)
{
    return held((prep_scaled(c, v) - c->mean) / c->sd);
}

void prep_edges_make(struct prep_col *c)
{
    mem_free(c->edges);
    c->edges = mem_array((size_t)MAX(c->n_bins, 1) + 1, sizeof *c->edges);
    c->edges[0] = number_of(c, c->lo);
    for (int b = 0; b + 1 < c->n_bins; b++)
        c->edges[b + 1] = MAX(number_of(c, (double)c->cuts[b]), c->edges[b]);
    c->edges[MAX(c->n_bins, 1)] = MAX(number_of(c, c->hi), c->edges[MAX(c->n_bins, 1) - 1]);
}

float prep_dense_place(const struct prep *p, int input, float z)
{
    CHECK(input >= 0 && input < p->n_cols && p->cols[input].type == FRAME_NUMERIC);
    const struct prep_col *c = &p->cols[input];
    int bins = MAX(c->n_bins, 1), low = 0, high = bins - 1;

    while (low < high) {
        int mid = (low + high) / 2;
        if (z <= c->edges[mid + 1])
            high = mid;
        else
            low = mid + 1;
    }
    float from = c->edges[low], to = c->edges[low + 1];
    float part = to > from ? (MIN(MAX(z, from), to) - from) / (to - from) : 0.5F;
    return ((float)low + part) / (float)bins;
}

/* Of a number: the dense columns behind its value. */
static void number_term(const struct prep_col *c, int at, struct prep_term *out)
{
    int wave = at - 1 - c->has_missing;

    if (at == 0) {
        out->kind = c->scale == PREP_LOG         ? TERM_LOG
                    : c->scale == PREP_MAGNITUDE ? TERM_MAGNITUDE
                                                 : TERM_NUMBER;
        out->mean = c->mean;
        out->sd = c->sd;
    } else if (wave < 0) {
        out->kind = TERM_MISSING;
        out->mean = c->hot_mean[0];
        out->sd = c->hot_sd[0];
    } else {
        out->kind = wave % 2 ? TERM_SIN : TERM_COS;
        out->turn = wave / 2 + 1;
        out->mean = c->wave_mean[wave];
        out->sd = c->wave_sd[wave];
    }
}

void prep_dense_term(const struct prep *p, int column, struct prep_term *out)
{
    int i = 0;

    CHECK(column >= 0 && column < p->width);
    while (column >= p->cols[i].dense_at + p->cols[i].dense_n)
        i++;
    const struct prep_col *c = &p->cols[i];
    int at = column - c->dense_at;
    *out = (struct prep_term){ .input = i };
    if (c->type == FRAME_NUMERIC) {
        number_term(c, at, out);
    } else {
        out->kind = at < c->n_hot                    ? TERM_LEVEL
                    : at == c->n_hot && c->has_other ? TERM_OTHERS
                                                     : TERM_MISSING;
        out->level = at < c->n_hot ? c->levels[at] : NULL;
        out->mean = c->hot_mean[at];
        out->sd = c->hot_sd[at];
    }
    out->sd = out->sd > 0 ? out->sd : 1;
}

/* The two values of a standardised 0/1 column. */
static void hot_values(const struct prep_col *c, int i, float *zero, float *one)
{
    double sd = c->hot_sd[i] > 0 ? c->hot_sd[i] : 1;

    *zero = held((0 - c->hot_mean[i]) / sd);
    *one = held((1 - c->hot_mean[i]) / sd);
}

static void dense_numbers(const struct prep_col *c, const double *x, int64_t n, float *out,
                          int64_t stride)
{
    float zero = 0, one = 0;

    if (c->has_missing)
        hot_values(c, 0, &zero, &one);
    for (int64_t i = 0; i < n; i++, out += stride) {
        bool is_missing = isnan(x[i]);
        double v = is_missing ? c->median : isinf(x[i]) ? (x[i] > 0 ? c->hi : c->lo) : x[i];
        out[0] = number_of(c, v);
        if (c->has_missing)
            out[1] = is_missing ? one : zero;
    }
}

void prep_waves(double cycle, double x, double out[2 * PREP_WAVES])
{
    for (int k = 0; k < PREP_WAVES; k++) {
        double turns = x / cycle * (k + 1);
        out[2 * k] = fm_cos_turns_d(turns);
        out[2 * k + 1] = fm_cos_turns_d(turns - 0.25);
    }
}

/* The waves of a number that repeats; 0, their mean, where it is missing. */
static void dense_waves(const struct prep_col *c, const double *x, int64_t n, float *out,
                        int64_t stride)
{
    double wave[2 * PREP_WAVES];

    for (int64_t i = 0; i < n; i++, out += stride) {
        memset(out, 0, sizeof(float) * 2 * PREP_WAVES);
        if (!(fabs(x[i]) < 1e9))
            continue;
        prep_waves(c->cycle, x[i], wave);
        for (int k = 0; k < 2 * PREP_WAVES; k++)
            out[k] = held((wave[k] - c->wave_mean[k]) / c->wave_sd[k]);
    }
}

/* The dense column of the input that a level sets; -1 = there is none for it. */
static int hot_column(const struct prep_col *c, int32_t level)
{
    if (level >= 0 && level < c->n_hot)
        return level;
    if (level >= 0 && c->has_other)
        return c->n_hot;
    if (level < 0 && c->has_missing)
        return c->n_hot + c->has_other;
    return -1;
}

static void dense_levels(const struct prep_col *c, const int32_t *level, int64_t n, float *out,
                         int64_t stride)
{
    float zero[PREP_MAX_HOT + 2] = { 0 }, one[PREP_MAX_HOT + 2] = { 0 };

    for (int i = 0; i < c->dense_n; i++)
        hot_values(c, i, &zero[i], &one[i]);
    for (int64_t i = 0; i < n; i++, out += stride) {
        int at = hot_column(c, level[i]);
        for (int j = 0; j < c->dense_n; j++)
            out[j] = at < 0 ? 0 : zero[j];
        if (at >= 0)
            out[at] = one[at];
    }
}

static int dense_make(const struct prep_view *v, const struct prep_dense *like, int64_t from,
                      int64_t n, struct prep_dense *out, struct err *err)
{
    const struct prep *p = v->prep;

    *out = (struct prep_dense){ .rows = n, .cols = p->width };
    out->stride = (p->width + DENSE_STRIDE - 1) / DENSE_STRIDE * DENSE_STRIDE;
    out->x = mem_try_zalloc((size_t)n * (size_t)out->stride * sizeof(float));
    if (!out->x)
        return err_set(err, ERR_NOMEM, "no memory for %lld x %d numbers", (long long)n, p->width);
    if (like)
        memcpy(out->x, like->x, (size_t)n * (size_t)out->stride * sizeof(float));
    double *x = mem_alloc(PREP_BLOCK * sizeof(*x));
    int32_t *level = mem_alloc(PREP_BLOCK * sizeof(*level));
    for (int64_t at = 0; at < n; at += PREP_BLOCK) {
        int64_t rows = MIN(n - at, PREP_BLOCK);
        for (int c = 0; c < p->n_cols; c++) {
            const struct prep_col *col = &p->cols[c];
            float *to = out->x + at * out->stride + col->dense_at;
            if (like && !prep_input_is_by_fold(p, c))
                continue;
            if (col->type == FRAME_NUMERIC) {
                prep_view_numbers(v, c, from + at, rows, x);
                dense_numbers(col, x, rows, to, out->stride);
                if (col->cycle > 0)
                    dense_waves(col, x, rows, to + 1 + col->has_missing, out->stride);
            } else {
                prep_view_levels(v, c, from + at, rows, level);
                dense_levels(col, level, rows, to, out->stride);
            }
        }
    }
    mem_free(x);
    mem_free(level);
    return 0;
}

int prep_dense_make(const struct prep_view *v, int64_t from, int64_t n, struct prep_dense *out,
                    struct err *err)
{
    return dense_make(v, NULL, from, n, out, err);
}

int prep_dense_make_like(const struct prep_view *v, const struct prep_dense *like, int64_t rows,
                         struct prep_dense *out, struct err *err)
{
    CHECK(!like || (like->rows == rows && like->cols == v->prep->width));
    return dense_make(v, like, 0, rows, out, err);
}
