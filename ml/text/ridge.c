/* ridge.c - see ridge.h. Vectors of all fits stand side by side, `wide` floats a row. Sums of
 * squares are in double and in the order of the rows; no sum mixes two fits. What a step does to
 * each element is done in as few readings of the vectors as its sums allow. */
#include "ml/text/ridge.h"

#include "base/mem.h"
#include "ml/cpu/simd.h"

#include <string.h>

enum { WIDE = SPARSE_WIDE, FOUR = 4 };

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
typedef double four_d __attribute__((vector_size(32), aligned(8), may_alias));

/* The vectors of conjugate gradients: residual and product with the direction have one row for each
 * text, slope and direction one for each feature. */
struct work {
    const struct ridge *in;
    float *residual, *product, *slope, *direction, *w;
    /* of a step: how far, and how much of the direction is kept */
    float by[WIDE], keep[WIDE];
    double slope_squares[WIDE], direction_squares[WIDE], curve[WIDE];
};

/* Macros: functions of such vectors would change how they are passed with the instruction set. */
#define AT(v, c)   (*(const four *)((v) + (c)))
#define PUT(v, c)  (*(four *)((v) + (c)))
#define DOUBLED(x) __builtin_convertvector((x), four_d)
#define SINGLE(x)  __builtin_convertvector((x), four)

/* name(k) from name_of(k, groups of four fits), which is compiled for both widths. */
#define RIDGE_KERNEL(name)                     \
    SIMD_BODY void name##_body(struct work *k) \
    {                                          \
        if (k->in->wide == WIDE)               \
            name##_of(k, WIDE / FOUR);         \
        else                                   \
            name##_of(k, SPARSE_HALF / FOUR);  \
    }                                          \
    SIMD_KERNEL_STATIC(name, (struct work * k), (k))

/* w += by direction; then slope = trust slope - lambda u, where w = trust u and slope comes as
 * X' residual; slope_squares. */
SIMD_BODY void slope_of(struct work *k, const int groups)
{
    const struct ridge *in = k->in;
    int64_t n = in->x->cols * (int64_t)(groups * FOUR);
    four_d sum[WIDE / FOUR] = { { 0 } };

    for (int64_t j = 0; j < n; j += groups * FOUR) {
        for (int g = 0, c = 0; g < groups; g++, c += FOUR) {
            four w = AT(k->w + j, c) + AT(k->by, c) * AT(k->direction + j, c);
            four_d up = DOUBLED(AT(k->slope + j, c));
            if (in->trust)
                up *= DOUBLED(AT(in->trust + j, c));
            four slope = SINGLE(up - *(const four_d *)(in->lambda + c) * DOUBLED(w));
            PUT(k->w + j, c) = w;
            PUT(k->slope + j, c) = slope;
            sum[g] += DOUBLED(slope) * DOUBLED(slope);
        }
    }
    memcpy(k->slope_squares, sum, sizeof sum);
}
RIDGE_KERNEL(slope)

/* direction = slope + keep direction, and its squares; then slope = trust direction, where fits
 * doubt. */
SIMD_BODY void direction_of(struct work *k, const int groups)
{
    const struct ridge *in = k->in;
    int64_t n = in->x->cols * (int64_t)(groups * FOUR);
    four_d sum[WIDE / FOUR] = { { 0 } };

    for (int64_t j = 0; j < n; j += groups * FOUR) {
        for (int g = 0, c = 0; g < groups; g++, c += FOUR) {
            four d = AT(k->slope + j, c) + AT(k->keep, c) * AT(k->direction + j, c);
            PUT(k->direction + j, c) = d;
            if (in->trust)
                PUT(k->slope + j, c) = d * AT(in->trust + j, c);
            sum[g] += DOUBLED(d) * DOUBLED(d);
        }
    }
    memcpy(k->direction_squares, sum, sizeof sum);
}
RIDGE_KERNEL(direction)

/* curve = sum of weight product^2 */
SIMD_BODY void curve_of(struct work *k, const int groups)
{
    int64_t n = k->in->x->rows * (int64_t)(groups * FOUR);
    four_d sum[WIDE / FOUR] = { { 0 } };

    for (int64_t i = 0; i < n; i += groups * FOUR) {
        for (int g = 0, c = 0; g < groups; g++, c += FOUR) {
            four_d q = DOUBLED(AT(k->product + i, c));
            sum[g] += DOUBLED(AT(k->in->weight + i, c)) * q * q;
        }
    }
    memcpy(k->curve, sum, sizeof sum);
}
RIDGE_KERNEL(curve)

/* residual -= by weight product */
SIMD_BODY void residual_of(struct work *k, const int groups)
{
    int64_t n = k->in->x->rows * (int64_t)(groups * FOUR);

    for (int64_t i = 0; i < n; i += groups * FOUR) {
        for (int g = 0, c = 0; g < groups; g++, c += FOUR)
            PUT(k->residual + i, c) -=
                AT(k->by, c) * AT(k->in->weight + i, c) * AT(k->product + i, c);
    }
}
RIDGE_KERNEL(residual)

/* slope = X' residual */
static void back(struct work *k)
{
    const struct sparse *x = k->in->x;
    int wide = k->in->wide;

    if (k->in->columns) {
        sparse_columns_times(k->in->columns, wide, k->residual, wide, k->slope, wide);
        return;
    }
    memset(k->slope, 0, (size_t)x->cols * (size_t)wide * sizeof *k->slope);
    sparse_transposed_times(x, wide, k->residual, wide, k->slope, wide);
}

static void step(struct work *k)
{
    const struct ridge *in = k->in;
    double before[WIDE];

    sparse_times(in->x, in->wide, in->trust ? k->slope : k->direction, in->wide, k->product,
                 in->wide);
    curve(k);
    /* the minimum of each fit along its direction */
    for (int c = 0; c < in->wide; c++) {
        double down = k->curve[c] + in->lambda[c] * k->direction_squares[c];
        k->by[c] = (float)(down > 0 ? k->slope_squares[c] / down : 0);
    }
    residual(k);
    memcpy(before, k->slope_squares, sizeof before);
    back(k);
    slope(k);
    for (int c = 0; c < in->wide; c++)
        k->keep[c] = before[c] > 0 ? (float)(k->slope_squares[c] / before[c]) : 0;
    direction(k);
}

int ridge_fit(const struct ridge *in, float *w, struct err *err)
{
    size_t rows = (size_t)in->x->rows * (size_t)in->wide * sizeof(float);
    size_t cols = (size_t)in->x->cols * (size_t)in->wide * sizeof(float);
    struct work k = { .in = in,
                      .residual = mem_try_alloc(rows),
                      .product = mem_try_alloc(rows),
                      .slope = mem_try_alloc(cols),
                      .direction = mem_try_zalloc(cols),
                      .w = w };
    int rc = -1;

    CHECK(in->wide == SPARSE_WIDE || in->wide == SPARSE_HALF);
    if (!k.residual || !k.product || !k.slope || !k.direction) {
        err_set(err, ERR_NOMEM, "no memory to score %lld texts", (long long)in->x->rows);
    } else {
        memset(w, 0, cols);
        memcpy(k.residual, in->sum, rows);
        back(&k);
        slope(&k);
        direction(&k);
        for (int i = 0; i < in->steps; i++)
            step(&k);
        for (int64_t j = 0; in->trust && j < in->x->cols * (int64_t)in->wide; j++)
            w[j] *= in->trust[j];
        rc = 0;
    }
    mem_try_free(k.residual);
    mem_try_free(k.product);
    mem_try_free(k.slope);
    mem_try_free(k.direction);
    return rc;
}
