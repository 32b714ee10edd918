/* ridge.c - see ridge.h. Vectors of all fits stand side by side, `wide` floats a row. Sums of
 * squares are in double and in the order of the rows; no sum mixes two fits. */
#include "ml/text/ridge.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/simd.h"

#include <math.h>
#include <string.h>

enum { WIDE = SPARSE_WIDE, EIGHT = SPARSE_HALF };

typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));
typedef double eight_d __attribute__((vector_size(64), aligned(8), may_alias));

/* A step: the direction k, the one before and what becomes the next. */
struct work {
    const struct ridge *in;
    const float *before, *at;
    float *next;
    const float *product; /* of the direction */
    float *weighted;      /* [rows][wide] the product times the weights */
    float *trusted;       /* [cols][wide] the direction times trust; NULL where there is none */
    double main[WIDE], side[WIDE], squares[WIDE], by[WIDE];
};

/* Macros: functions of such vectors would change how they are passed with the instruction set. */
#define AT(v, c)   (*(const eight *)((v) + (c)))
#define AT_D(v, c) (*(const eight_d *)((v) + (c)))
#define PUT(v, c)  (*(eight *)((v) + (c)))
#define DOUBLED(x) __builtin_convertvector((x), eight_d)
#define SINGLE(x)  __builtin_convertvector((x), eight)

/* name(k) from name_of(k, groups of eight fits), which is compiled for both widths. */
#define RIDGE_KERNEL(name, type)               \
    SIMD_BODY void name##_body(type *k)        \
    {                                          \
        if (k->in->wide == WIDE)               \
            name##_of(k, WIDE / EIGHT);        \
        else                                   \
            name##_of(k, SPARSE_HALF / EIGHT); \
    }                                          \
    SIMD_KERNEL_STATIC(name, (type * k), (k))

/* weighted = weight product; main = sum of weight product^2 */
SIMD_BODY void weigh_of(struct work *k, const int groups)
{
    int64_t n = k->in->x->rows * (int64_t)(groups * EIGHT);
    eight_d sum[WIDE / EIGHT] = { { 0 } };

    for (int64_t i = 0; i < n; i += groups * EIGHT) {
        for (int g = 0, c = 0; g < groups; g++, c += EIGHT) {
            eight p = AT(k->product + i, c), q = AT(k->in->weight + i, c) * p;
            PUT(k->weighted + i, c) = q;
            sum[g] += DOUBLED(q) * DOUBLED(p);
        }
    }
    memcpy(k->main, sum, sizeof sum);
}
RIDGE_KERNEL(weigh, struct work)

/* next = trust next - main at - side before, and its squares */
SIMD_BODY void turn_of(struct work *k, const int groups)
{
    const struct ridge *in = k->in;
    int64_t n = in->x->cols * (int64_t)(groups * EIGHT);
    eight_d sum[WIDE / EIGHT] = { { 0 } };

    for (int64_t j = 0; j < n; j += groups * EIGHT) {
        for (int g = 0, c = 0; g < groups; g++, c += EIGHT) {
            eight_d x = DOUBLED(AT(k->next + j, c));
            if (in->trust)
                x *= DOUBLED(AT(in->trust + j, c));
            x -= AT_D(k->main, c) * DOUBLED(AT(k->at + j, c));
            x -= AT_D(k->side, c) * DOUBLED(AT(k->before + j, c));
            PUT(k->next + j, c) = SINGLE(x);
            sum[g] += x * x;
        }
    }
    memcpy(k->squares, sum, sizeof sum);
}
RIDGE_KERNEL(turn, struct work)

/* next *= by, which gives it length 1; trusted = trust next */
SIMD_BODY void scale_of(struct work *k, const int groups)
{
    const struct ridge *in = k->in;
    int64_t n = in->x->cols * (int64_t)(groups * EIGHT);

    for (int64_t j = 0; j < n; j += groups * EIGHT) {
        for (int g = 0, c = 0; g < groups; g++, c += EIGHT) {
            eight x = SINGLE(AT_D(k->by, c) * DOUBLED(AT(k->next + j, c)));
            PUT(k->next + j, c) = x;
            if (in->trust)
                PUT(k->trusted + j, c) = x * AT(in->trust + j, c);
        }
    }
}
RIDGE_KERNEL(scale, struct work)

/* next = X' rows */
static void back(struct work *k, const float *rows)
{
    const struct sparse *x = k->in->x;
    int wide = k->in->wide;

    if (k->in->columns) {
        sparse_columns_times(k->in->columns, wide, rows, wide, k->next, wide);
        return;
    }
    memset(k->next, 0, (size_t)x->cols * (size_t)wide * sizeof *k->next);
    sparse_transposed_times(x, wide, rows, wide, k->next, wide);
}

/* Makes the next direction of X' rows. A length that is nothing beside `least` is what rounding has
 * left: that fit has no further direction, and 0 stands for it. */
static void direct(struct work *k, const float *rows, const double least[WIDE], double length[WIDE])
{
    back(k, rows);
    turn(k);
    for (int c = 0; c < k->in->wide; c++) {
        length[c] = sqrt(k->squares[c]);
        if (!(length[c] > least[c]))
            length[c] = 0;
        k->by[c] = length[c] > 0 ? 1 / length[c] : 0;
    }
    scale(k);
}

static void lanczos(struct work *k, struct ridge_basis *b)
{
    const struct ridge *in = k->in;
    int64_t rows = b->rows * b->wide, cols = b->cols * b->wide;
    double least[WIDE] = { 0 };

    k->before = k->at = k->next = b->direction;
    direct(k, in->sum, least, b->length);
    for (int i = 0; i < b->steps; i++) {
        float *product = b->product + (in->keeps_products ? i * rows : 0);
        k->product = product;
        k->at = b->direction + i * cols;
        sparse_times(in->x, in->wide, k->trusted ? k->trusted : k->at, in->wide, product, in->wide);
        weigh(k);
        memcpy(b->main[i], k->main, sizeof k->main);
        if (i + 1 == b->steps)
            break;
        for (int c = 0; c < in->wide; c++)
            least[c] = 1e-6 * (k->main[c] + k->side[c]);
        k->next = b->direction + (i + 1) * cols;
        direct(k, k->weighted, least, b->side[i]);
        memcpy(k->side, b->side[i], sizeof k->side);
        k->before = k->at;
    }
}

int ridge_basis_make(const struct ridge *in, struct ridge_basis *out, struct err *err)
{
    size_t rows = (size_t)in->x->rows * (size_t)in->wide * sizeof(float);
    size_t cols = (size_t)in->x->cols * (size_t)in->wide * sizeof(float);
    size_t steps = (size_t)in->steps;
    struct work k = { .in = in, .weighted = mem_try_alloc(rows) };
    int rc = -1;

    CHECK(in->wide == SPARSE_WIDE || in->wide == SPARSE_HALF);
    CHECK(in->steps >= 1 && in->steps <= RIDGE_STEPS);
    *out =
        (struct ridge_basis){ .wide = in->wide,
                              .steps = in->steps,
                              .rows = in->x->rows,
                              .cols = in->x->cols,
                              .direction = mem_try_alloc(steps * cols),
                              .product = mem_try_alloc(in->keeps_products ? steps * rows : rows) };
    k.trusted = in->trust ? mem_try_alloc(cols) : NULL;
    if (k.weighted && out->direction && out->product && (!in->trust || k.trusted)) {
        lanczos(&k, out);
        rc = 0;
    } else {
        ridge_basis_fini(out);
        err_set(err, ERR_NOMEM, "no memory to score %lld texts", (long long)in->x->rows);
    }
    mem_try_free(k.weighted);
    mem_try_free(k.trusted);
    return rc;
}

void ridge_basis_fini(struct ridge_basis *b)
{
    mem_try_free(b->direction);
    mem_try_free(b->product);
    b->direction = b->product = NULL;
}

/* ---- one penalty ---- */

void ridge_place_of(const struct ridge_basis *b, double lambda, int steps, struct ridge_place *out)
{
    CHECK(steps >= 1 && steps <= b->steps);
    memset(out, 0, sizeof *out);
    out->steps = steps;
    for (int c = 0; c < b->wide; c++) {
        double down[RIDGE_STEPS], z[RIDGE_STEPS], at = 0;
        for (int i = 0; i < steps; i++) {
            double side = i > 0 ? b->side[i - 1][c] / down[i - 1] : 0;
            down[i] = b->main[i][c] + lambda - (i > 0 ? side * b->side[i - 1][c] : 0);
            z[i] = i > 0 ? -side * z[i - 1] : b->length[c];
        }
        for (int i = steps - 1; i >= 0; i--) {
            at = (z[i] - (i + 1 < steps ? b->side[i][c] * at : 0)) / down[i];
            out->along[i][c] = (float)at;
        }
    }
}

/* What the kernels below read and write: the places, of rows [from, to) of the vectors. */
struct solved {
    const struct ridge_basis *in;
    const struct ridge_place *at;
    const float *n, *sum, *trust;
    float *w;
    int64_t from, to;
    double along[WIDE], squares[WIDE];
};

SIMD_BODY void weights_of(struct solved *k, const int groups)
{
    int64_t n = k->in->cols * (int64_t)(groups * EIGHT);

    for (int64_t j = 0; j < n; j += groups * EIGHT) {
        for (int c = 0; c < groups * EIGHT; c += EIGHT) {
            eight w = { 0 };
            for (int i = 0; i < k->at->steps; i++)
                w += AT(k->at->along[i], c) * AT(k->in->direction + i * n + j, c);
            if (k->trust)
                w *= AT(k->trust + j, c);
            PUT(k->w + j, c) = w;
        }
    }
}
RIDGE_KERNEL(weights, struct solved)

/* Adds to along and squares. */
SIMD_BODY void gains_of(struct solved *k, const int groups)
{
    int64_t n = k->in->rows * (int64_t)(groups * EIGHT);
    eight_d along[WIDE / EIGHT], squares[WIDE / EIGHT];

    memcpy(along, k->along, sizeof along);
    memcpy(squares, k->squares, sizeof squares);
    for (int64_t t = k->from * groups * EIGHT; t < k->to * groups * EIGHT; t += groups * EIGHT) {
        for (int g = 0, c = 0; g < groups; g++, c += EIGHT) {
            eight x = { 0 };
            for (int i = 0; i < k->at->steps; i++)
                x += AT(k->at->along[i], c) * AT(k->in->product + i * n + t, c);
            eight_d score = DOUBLED(x);
            along[g] += score * DOUBLED(AT(k->sum + t, c));
            squares[g] += score * score * DOUBLED(AT(k->n + t, c));
        }
    }
    memcpy(k->along, along, sizeof along);
    memcpy(k->squares, squares, sizeof squares);
}
RIDGE_KERNEL(gains, struct solved)

void ridge_weights(const struct ridge_basis *b, const struct ridge_place *at, const float *trust,
                   float *w)
{
    struct solved k = { .in = b, .at = at, .trust = trust, .w = w };

    weights(&k);
}

void ridge_gains(const struct ridge_basis *b, const struct ridge_place *at, int places,
                 const float *n, const float *sum, double (*along)[SPARSE_WIDE],
                 double (*squares)[SPARSE_WIDE])
{
    enum { BLOCK = 64 }; /* rows whose products stay in the nearest cache */
    struct solved k[RIDGE_MOST_PLACES];

    CHECK(places <= RIDGE_MOST_PLACES);
    for (int l = 0; l < places; l++)
        k[l] = (struct solved){ .in = b, .at = &at[l], .n = n, .sum = sum };
    for (int64_t from = 0; from < b->rows; from += BLOCK) {
        for (int l = 0; l < places; l++) {
            k[l].from = from;
            k[l].to = MIN(from + BLOCK, b->rows);
            gains(&k[l]);
        }
    }
    for (int l = 0; l < places; l++) {
        memcpy(along[l], k[l].along, sizeof k[l].along);
        memcpy(squares[l], k[l].squares, sizeof k[l].squares);
    }
}
