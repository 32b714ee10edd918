/* ridge.c - see ridge.h. Vectors of all fits stand side by side, SPARSE_WIDE floats a row. Sums of
 * squares are in double and in the order of the rows; no sum mixes two fits. */
#include "ml/text/ridge.h"

#include "base/mem.h"

#include <string.h>

enum { WIDE = SPARSE_WIDE };

/* The vectors of conjugate gradients: residual and product with the direction have one row for each
 * text, slope and direction one for each feature. */
struct work {
    const struct ridge *in;
    float *residual, *product, *slope, *direction, *w;
    double slope_squares[WIDE];
};

static void squares(const float *v, int64_t rows, double out[WIDE])
{
    for (int c = 0; c < WIDE; c++)
        out[c] = 0;
    for (int64_t i = 0; i < rows; i++, v += WIDE) {
        for (int c = 0; c < WIDE; c++)
            out[c] += (double)v[c] * (double)v[c];
    }
}

/* slope = trust X' residual - lambda u, where w = trust u */
static void find_slope(struct work *k)
{
    const struct sparse *x = k->in->x;
    const float *trust = k->in->trust;

    memset(k->slope, 0, (size_t)x->cols * WIDE * sizeof *k->slope);
    sparse_transposed_times(x, k->residual, WIDE, k->slope, WIDE);
    for (int64_t j = 0; j < x->cols * (int64_t)WIDE; j += WIDE) {
        for (int c = 0; c < WIDE; c++) {
            double up = (double)k->slope[j + c] * (trust ? (double)trust[j + c] : 1);
            k->slope[j + c] = (float)(up - k->in->lambda[c] * (double)k->w[j + c]);
        }
    }
}

/* to = trust from */
static void trusted(const struct work *k, const float *from, float *to)
{
    int64_t n = k->in->x->cols * (int64_t)WIDE;

    for (int64_t j = 0; j < n; j++)
        to[j] = k->in->trust ? from[j] * k->in->trust[j] : from[j];
}

/* How far to go along the direction: the minimum of each fit. */
static void find_length(const struct work *k, double out[WIDE])
{
    const struct ridge *in = k->in;
    double curve[WIDE] = { 0 }, length[WIDE];

    squares(k->direction, in->x->cols, length);
    for (int64_t i = 0; i < in->x->rows; i++) {
        const float *q = k->product + i * WIDE, *weight = in->weight + i * WIDE;
        for (int c = 0; c < WIDE; c++)
            curve[c] += (double)weight[c] * (double)q[c] * (double)q[c];
    }
    for (int c = 0; c < WIDE; c++) {
        double down = curve[c] + in->lambda[c] * length[c];
        out[c] = down > 0 ? k->slope_squares[c] / down : 0;
    }
}

static void step(struct work *k)
{
    const struct sparse *x = k->in->x;
    double length[WIDE], after[WIDE];
    float by[WIDE], keep[WIDE];

    trusted(k, k->direction, k->slope);
    sparse_times(x, k->slope, WIDE, k->product, WIDE);
    find_length(k, length);
    for (int c = 0; c < WIDE; c++)
        by[c] = (float)length[c];
    for (int64_t j = 0; j < x->cols * (int64_t)WIDE; j += WIDE) {
        for (int c = 0; c < WIDE; c++)
            k->w[j + c] += by[c] * k->direction[j + c];
    }
    for (int64_t i = 0; i < x->rows * WIDE; i += WIDE) {
        for (int c = 0; c < WIDE; c++)
            k->residual[i + c] -= by[c] * k->in->weight[i + c] * k->product[i + c];
    }
    find_slope(k);
    squares(k->slope, x->cols, after);
    for (int c = 0; c < WIDE; c++) {
        keep[c] = k->slope_squares[c] > 0 ? (float)(after[c] / k->slope_squares[c]) : 0;
        k->slope_squares[c] = after[c];
    }
    for (int64_t j = 0; j < x->cols * (int64_t)WIDE; j += WIDE) {
        for (int c = 0; c < WIDE; c++)
            k->direction[j + c] = k->slope[j + c] + keep[c] * k->direction[j + c];
    }
}

int ridge_fit(const struct ridge *in, float *w, struct err *err)
{
    size_t rows = (size_t)in->x->rows * WIDE * sizeof(float);
    size_t cols = (size_t)in->x->cols * WIDE * sizeof(float);
    struct work k = { .in = in,
                      .residual = mem_try_alloc(rows),
                      .product = mem_try_alloc(rows),
                      .slope = mem_try_alloc(cols),
                      .direction = mem_try_alloc(cols),
                      .w = w };
    int rc = -1;

    if (!k.residual || !k.product || !k.slope || !k.direction) {
        err_set(err, ERR_NOMEM, "no memory to score %lld texts", (long long)in->x->rows);
    } else {
        memset(w, 0, cols);
        memcpy(k.residual, in->sum, rows);
        find_slope(&k);
        memcpy(k.direction, k.slope, cols);
        squares(k.slope, in->x->cols, k.slope_squares);
        for (int i = 0; i < RIDGE_STEPS; i++)
            step(&k);
        trusted(&k, w, w);
        rc = 0;
    }
    mem_try_free(k.residual);
    mem_try_free(k.product);
    mem_try_free(k.slope);
    mem_try_free(k.direction);
    return rc;
}
