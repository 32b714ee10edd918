/* block_members.c - an ensemble that shares its matrices (TabM, Gorishniy et al., ICLR 2025; its "mini" form). NET_MEMBERS
 * makes one place for each of `units` members of what a row is: member m reads r_m * x, with factors r_m of its own. The
 * dense blocks after it treat the places alike, and NET_HEADS gives every member weights of its own to its scores. The loss
 * is the mean over the members, the prediction the mean of what they predict. */
#include "ml/net/net_private.h"

#include "base/base.h"
#include "ml/cpu/gemm.h"

#include <math.h>

/* ---- the places ---- */

static int members_shape(struct net *n, struct net_block *b, struct err *err)
{
    if (b->from.h != 1 || b->from.w != 1 || b->units > NET_MAX_MEMBERS)
        return err_set(err, ERR_ARG, "a network with %d members, of at most %d", b->units,
                       NET_MAX_MEMBERS);
    b->to = (struct net_size){ b->units, 1, b->from.c, b->from.pad };
    b->at_scales = net_part_add(n, b->units, b->from.c, NET_ADAPTERS);
    return 0;
}

static int64_t members_spare(const struct net_block *b, int64_t rows, bool trains)
{
    (void)b, (void)rows, (void)trains;
    return 0;
}

static void members_start(const struct net_block *b, struct rng *rng, float *w)
{
    for (int m = 0; m < b->units; m++) {
        for (int j = 0; j < b->from.c; j++)
            w[b->at_scales + (int64_t)m * b->from.pad + j] = (float)rng_normal(rng);
    }
}

static void members_forward(const struct net_pass *p, int i)
{
    const struct net_block *b = &p->net->block[i];
    const float *x = net_input(p, i);
    float *out = p->work->out[i];
    int64_t pad = b->from.pad;

    for (int64_t row = 0; row < p->rows; row++, x += pad) {
        const float *r = p->w + b->at_scales;
        for (int m = 0; m < b->units; m++, r += pad, out += pad) {
            for (int64_t j = 0; j < pad; j++)
                out[j] = r[j] * x[j];
        }
    }
}

static void members_backward(const struct net_pass *p, int i, float *grad, float *below)
{
    const struct net_block *b = &p->net->block[i];
    const float *x = net_input(p, i), *d = p->work->out[i];
    int64_t pad = b->from.pad;

    for (int64_t j = 0; j < b->units * pad; j++)
        grad[b->at_scales + j] = 0;
    for (int64_t row = 0; row < p->rows; row++, x += pad) {
        const float *r = p->w + b->at_scales, *from = d;
        float *g = grad + b->at_scales;
        for (int m = 0; m < b->units; m++, g += pad, d += pad) {
            for (int64_t j = 0; j < pad; j++)
                g[j] += d[j] * x[j];
        }
        if (!below)
            continue;
        float *to = below + row * pad;
        for (int64_t j = 0; j < pad; j++)
            to[j] = 0;
        for (int m = 0; m < b->units; m++, r += pad, from += pad) {
            for (int64_t j = 0; j < pad; j++)
                to[j] += from[j] * r[j];
        }
    }
}

const struct net_block_ops net_members = {
    .shape = members_shape,
    .spare = members_spare,
    .start = members_start,
    .forward = members_forward,
    .backward = members_backward,
};

/* ---- the heads ---- */

static int heads_shape(struct net *n, struct net_block *b, struct err *err)
{
    if (b->from.h > NET_MAX_MEMBERS || b->from.w != 1 || !b->is_linear)
        return err_set(err, ERR_ARG, "a network with heads for %d x %d places", b->from.h,
                       b->from.w);
    b->to = (struct net_size){ b->from.h, 1, b->units, net_padded(b->units) };
    b->scale = (float)(1.0 / sqrt((double)b->from.c));
    b->at_weights = net_part_add(n, b->from.h * b->from.c, b->units, NET_WEIGHTS);
    b->at_bias = net_part_add(n, b->from.h, b->units, NET_BIASES);
    return 0;
}

static int64_t heads_spare(const struct net_block *b, int64_t rows, bool trains)
{
    (void)rows;
    return trains ? (int64_t)b->to.c * b->from.pad : 0;
}

static void heads_start(const struct net_block *b, struct rng *rng, float *w)
{
    for (int64_t i = 0; i < (int64_t)b->from.h * b->from.c; i++) {
        for (int j = 0; j < b->units; j++)
            w[b->at_weights + i * b->to.pad + j] = (float)rng_normal(rng);
    }
}

static void heads_forward(const struct net_pass *p, int i)
{
    const struct net_block *b = &p->net->block[i];
    int64_t row = net_floats(&b->from), to_row = net_floats(&b->to);
    float *z = p->work->out[i];

    for (int m = 0; m < b->from.h; m++) {
        struct gemm g = { .m = p->rows,
                          .n = b->to.pad,
                          .k = b->from.c,
                          .a = net_input(p, i) + (int64_t)m * b->from.pad,
                          .a_row = row,
                          .a_col = 1,
                          .b = p->w + b->at_weights + (int64_t)m * b->from.c * b->to.pad,
                          .b_row = b->to.pad,
                          .c = z + (int64_t)m * b->to.pad,
                          .c_row = to_row };
        gemm(&g);
    }
    for (int64_t at = 0; at < p->rows; at++, z += to_row) {
        for (int64_t j = 0; j < to_row; j++)
            z[j] = b->scale * z[j] + p->w[b->at_bias + j];
    }
}

static void head_backward(const struct net_pass *p, int i, int m, float *grad, float *below)
{
    const struct net_block *b = &p->net->block[i];
    int64_t row = net_floats(&b->from), to_row = net_floats(&b->to);
    int64_t weights = b->at_weights + (int64_t)m * b->from.c * b->to.pad;
    const float *d = p->work->out[i] + (int64_t)m * b->to.pad;
    struct gemm of_weights = { .m = b->from.c,
                               .n = b->to.pad,
                               .k = p->rows,
                               .a = net_input(p, i) + (int64_t)m * b->from.pad,
                               .a_row = 1,
                               .a_col = row,
                               .b = d,
                               .b_row = to_row,
                               .c = grad + weights,
                               .c_row = b->to.pad };
    struct gemm of_input = { .m = p->rows,
                             .n = b->from.pad,
                             .k = b->to.c,
                             .a = d,
                             .a_row = to_row,
                             .a_col = 1,
                             .b = p->work->spare[i],
                             .b_row = b->from.pad,
                             .c = below + (int64_t)m * b->from.pad,
                             .c_row = row };

    gemm(&of_weights);
    gemm_transpose(p->w + weights, b->from.c, b->to.c, b->to.pad, p->work->spare[i], b->from.pad);
    gemm(&of_input);
}

static void heads_backward(const struct net_pass *p, int i, float *grad, float *below)
{
    const struct net_block *b = &p->net->block[i];
    int64_t to_row = net_floats(&b->to);
    float *d = p->work->out[i];

    CHECK(below);
    for (int64_t j = 0; j < to_row; j++)
        grad[b->at_bias + j] = 0;
    for (int64_t at = 0; at < p->rows; at++, d += to_row) {
        for (int64_t j = 0; j < to_row; j++) {
            grad[b->at_bias + j] += d[j];
            d[j] *= b->scale;
        }
    }
    for (int m = 0; m < b->from.h; m++)
        head_backward(p, i, m, grad, below);
}

const struct net_block_ops net_heads = {
    .shape = heads_shape,
    .spare = heads_spare,
    .start = heads_start,
    .forward = heads_forward,
    .backward = heads_backward,
};
