/* prep_dense.c - rows as standardised float32, for linear models.
 *
 * Arithmetic is in double with one rounding at the end. Values are held to DENSE_LIMIT standard
 * deviations on either side, so that a wild value in a row to predict cannot overflow a model.
 * Padding up to the stride is 0. Called by ml/model/data.c for a whole table, and by the linear
 * predictor for any rows. */
#include "base/mem.h"
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
        out[0] = held((v - c->mean) / c->sd);
        if (c->has_missing)
            out[1] = is_missing ? one : zero;
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

int prep_dense_make(const struct prep_view *v, int64_t from, int64_t n, struct prep_dense *out,
                    struct err *err)
{
    const struct prep *p = v->prep;

    *out = (struct prep_dense){ .rows = n, .cols = p->width };
    out->stride = (p->width + DENSE_STRIDE - 1) / DENSE_STRIDE * DENSE_STRIDE;
    out->x = mem_try_zalloc((size_t)n * (size_t)out->stride * sizeof(float));
    if (!out->x)
        return err_set(err, ERR_NOMEM, "no memory for %lld x %d numbers", (long long)n, p->width);
    double *x = mem_alloc(PREP_BLOCK * sizeof(*x));
    int32_t *level = mem_alloc(PREP_BLOCK * sizeof(*level));
    for (int64_t at = 0; at < n; at += PREP_BLOCK) {
        int64_t rows = MIN(n - at, PREP_BLOCK);
        for (int c = 0; c < p->n_cols; c++) {
            const struct prep_col *col = &p->cols[c];
            float *to = out->x + at * out->stride + col->dense_at;
            if (col->type == FRAME_NUMERIC) {
                prep_view_numbers(v, c, from + at, rows, x);
                dense_numbers(col, x, rows, to, out->stride);
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
