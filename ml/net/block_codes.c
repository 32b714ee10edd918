/* block_codes.c - blocks that read the whole numbers of a row (struct net_codes). NET_EMBEDS gives each embedded category a
 * learned vector of net_vector floats and puts the vectors in the place of its columns. NET_CROSSES is the wide part of wide &
 * deep networks (Cheng et al. 2016): the last block, which adds to every score of the network before it the sum of the weights
 * of the buckets of the row, over the square root of their number, so that many crosses do not step too far together. Both are trained with the network; gradients are added row by row in ascending order. */
#include "ml/net/net_private.h"

#include "base/base.h"
#include "ml/cpu/gemm.h"
#include "ml/math/fmath.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* ---- categories as vectors ---- */

/* Floats of the vector of a category with so many levels: the rule of fast.ai (Howard and Gugger 2020). */
static int vector_of(int levels)
{
    int d = (int)(1.6 * fm_exp_d(0.56 * fm_log_d((double)levels)) + 0.5);

    return MIN(d, 100);
}

/* Floats of all vectors of a row; *all: of all tables. d: those of each category. */
static int vectors(const struct net_codes *c, int *d, int64_t *all)
{
    int width = 0;

    *all = 0;
    for (int i = 0; i < c->embeds; i++) {
        d[i] = vector_of(c->levels[i]);
        width += d[i];
        *all += (int64_t)c->levels[i] * d[i];
    }
    return width;
}

static int embeds_shape(struct net *n, struct net_block *b, struct err *err)
{
    const struct net_codes *c = &n->codes;
    const struct net_size *from = &b->from;
    int d[NET_MAX_EMBEDS];
    int64_t all = 0;

    if (b->units != c->embeds || c->embeds < 1 || from->h != 1 || from->w != 1 || !b->is_linear ||
        c->dropped > from->c)
        return err_set(err, ERR_ARG, "a network with vectors for %d of %d categories", b->units,
                       c->embeds);
    int width = from->c - c->dropped + vectors(c, d, &all);
    b->to = (struct net_size){ 1, 1, width, net_padded(width) };
    b->n_weights = all;
    b->at_weights = net_part_add(n, 1, (int)all, NET_VECTORS);
    n->codes.are_used = true;
    return 0;
}

static int64_t no_spare(const struct net_block *b, int64_t rows, bool trains)
{
    (void)b, (void)rows, (void)trains;
    return 0;
}

static void embeds_start(const struct net_block *b, struct rng *rng, float *w)
{
    for (int64_t i = 0; i < b->n_weights; i++)
        w[b->at_weights + i] = (float)rng_normal(rng);
}

static void embeds_forward(const struct net_pass *p, int i)
{
    const struct net_block *b = &p->net->block[i];
    const struct net_codes *c = &p->net->codes;
    const int32_t *code = p->work->codes;
    const float *x = net_input(p, i);
    float *out = p->work->out[i];
    int kept = b->from.c - c->dropped, d[NET_MAX_EMBEDS];
    int64_t all;

    vectors(c, d, &all);
    for (int64_t row = 0; row < p->rows; row++, x += b->from.pad, out += b->to.pad) {
        const float *table = p->w + b->at_weights;
        float *to = out + kept;
        memcpy(out, x, (size_t)kept * sizeof *out);
        for (int k = 0; k < c->embeds; k++) {
            memcpy(to, table + (int64_t)code[k] * d[k], (size_t)d[k] * sizeof *to);
            table += (int64_t)c->levels[k] * d[k];
            to += d[k];
        }
        code += net_code_width(p->net);
    }
}

static void embeds_backward(const struct net_pass *p, int i, float *grad, float *below)
{
    const struct net_block *b = &p->net->block[i];
    const struct net_codes *c = &p->net->codes;
    const int32_t *code = p->work->codes;
    const float *from = p->work->out[i];
    int kept = b->from.c - c->dropped, d[NET_MAX_EMBEDS];
    int64_t all;

    vectors(c, d, &all);
    memset(grad + b->at_weights, 0, (size_t)net_padded((int)all) * sizeof *grad);
    for (int64_t row = 0; row < p->rows; row++, from += b->to.pad) {
        float *table = grad + b->at_weights;
        const float *of = from + kept;
        for (int k = 0; k < c->embeds; k++) {
            float *to = table + (int64_t)code[k] * d[k];
            for (int j = 0; j < d[k]; j++)
                to[j] += of[j];
            table += (int64_t)c->levels[k] * d[k];
            of += d[k];
        }
        code += net_code_width(p->net);
        if (!below)
            continue;
        float *to = below + row * b->from.pad;
        memcpy(to, from, (size_t)kept * sizeof *to);
        memset(to + kept, 0, (size_t)(b->from.pad - kept) * sizeof *to);
    }
}

const struct net_block_ops net_embeds = {
    .shape = embeds_shape,
    .spare = no_spare,
    .start = embeds_start,
    .forward = embeds_forward,
    .backward = embeds_backward,
};

/* ---- crosses beside the network ---- */

/* `units` buckets, each with a weight for every output. */
static int crosses_shape(struct net *n, struct net_block *b, struct err *err)
{
    int outputs = b->from.c;

    if (n->n < 1 || !b->is_linear || n->codes.crosses < 1 || b->units % GEMM_PAD != 0 ||
        (int64_t)b->units * outputs > INT_MAX)
        return err_set(err, ERR_ARG, "a network with %d crosses in %d buckets", n->codes.crosses,
                       b->units);
    b->to = b->from;
    b->scale = (float)(1.0 / sqrt((double)n->codes.crosses));
    b->n_weights = (int64_t)b->units * outputs;
    b->at_weights = net_part_add(n, (int)(b->n_weights / GEMM_PAD), GEMM_PAD, NET_SPARSE);
    n->codes.are_used = true;
    return 0;
}

static void crosses_start(const struct net_block *b, struct rng *rng, float *w)
{
    (void)b, (void)rng, (void)w; /* 0 */
}

/* The weights of the bucket of code k of a row. */
static int64_t bucket(const struct net_pass *p, const struct net_block *b, int64_t row, int k)
{
    const struct net_codes *c = &p->net->codes;
    int32_t code = p->work->codes[row * net_code_width(p->net) + c->embeds + k];

    return b->at_weights + (int64_t)(code % b->units) * b->to.c;
}

static void crosses_forward(const struct net_pass *p, int i)
{
    const struct net_block *b = &p->net->block[i];
    const float *in = net_input(p, i);
    float *out = p->work->out[i];
    int places = b->to.h * b->to.w, pad = b->to.pad;

    for (int64_t row = 0; row < p->rows; row++, in += places * pad, out += places * pad) {
        memcpy(out, in, (size_t)(places * pad) * sizeof *out);
        for (int k = 0; k < p->net->codes.crosses; k++) {
            const float *w = p->w + bucket(p, b, row, k);
            for (int m = 0; m < places; m++) {
                for (int j = 0; j < b->to.c; j++)
                    out[m * pad + j] += b->scale * w[j];
            }
        }
    }
}

static void crosses_backward(const struct net_pass *p, int i, float *grad, float *below)
{
    const struct net_block *b = &p->net->block[i];
    const float *d = p->work->out[i];
    int places = b->to.h * b->to.w, pad = b->to.pad;

    CHECK(below);
    memset(grad + b->at_weights, 0, (size_t)b->n_weights * sizeof *grad);
    memcpy(below, d, (size_t)(p->rows * places * pad) * sizeof *d);
    for (int64_t row = 0; row < p->rows; row++, d += places * pad) {
        for (int k = 0; k < p->net->codes.crosses; k++) {
            float *g = grad + bucket(p, b, row, k);
            for (int m = 0; m < places; m++) {
                for (int j = 0; j < b->to.c; j++)
                    g[j] += b->scale * d[m * pad + j];
            }
        }
    }
}

const struct net_block_ops net_crosses = {
    .shape = crosses_shape,
    .spare = no_spare,
    .start = crosses_start,
    .forward = crosses_forward,
    .backward = crosses_backward,
};
