/* block_dense.c - a dense layer: with x what it reads and s its learned scales, if it has them,
 *   z = W^T (s * x) / sqrt(fan-in) + b,   out = drop(act(z)).
 * The scales are multiplied into the weights before the product, so that they cost nothing per row, and their gradient comes
 * from that of the scaled weights: a block with scales needs no gradient of what it reads. The forward pass is one product,
 * the backward pass two: the gradient of the weights, and that of what the block read. A block that reads several places
 * takes them, padding included, as one long row of values; with `each` it treats every place as a row of its own. With `adds`
 * what it read is added: out = x + drop(act(z)), and so is its gradient on the way back. */
#include "ml/net/net_private.h"

#include "base/base.h"
#include "ml/cpu/gemm.h"
#include "ml/cpu/optim.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static int fan_in(const struct net_block *b)
{
    return b->each || (b->from.h == 1 && b->from.w == 1) ? b->from.c : (int)net_floats(&b->from);
}

static int64_t row_floats(const struct net_block *b)
{
    return b->each ? b->from.pad : net_floats(&b->from);
}

/* Rows of the products. */
static int64_t rows_of(const struct net_pass *p, const struct net_block *b)
{
    return b->each ? p->rows * b->from.h * b->from.w : p->rows;
}

static int dense_shape(struct net *n, struct net_block *b, struct err *err)
{
    int in = fan_in(b);

    if (net_floats(&b->from) > NET_MAX_UNITS * (int64_t)16)
        return err_set(err, ERR_ARG, "a network with a dense block that reads more than %d values",
                       NET_MAX_UNITS * 16);
    if (b->adds &&
        (b->is_linear || b->from.c != b->units || (!b->each && (b->from.h != 1 || b->from.w != 1))))
        return err_set(err, ERR_ARG, "a network that adds %d values to %d", b->from.c, b->units);
    b->to = (struct net_size){ b->each ? b->from.h : 1, b->each ? b->from.w : 1, b->units,
                               net_padded(b->units) };
    b->scale = (float)(1.0 / sqrt((double)in));
    b->at_scales = b->scales ? net_part_add(n, 1, in, NET_SCALES) : -1;
    b->at_weights = net_part_add(n, in, b->units, NET_WEIGHTS);
    b->at_bias = net_part_add(n, 1, b->units, NET_BIASES);
    return 0;
}

/* The scaled weights, then the transposed ones, then what comes back past the layer. */
static int64_t scaled_floats(const struct net_block *b)
{
    return b->scales ? (int64_t)fan_in(b) * b->to.pad : 0;
}

static int64_t dense_spare(const struct net_block *b, int64_t rows, bool trains)
{
    int64_t kept = b->adds ? rows * net_floats(&b->to) : 0;

    return scaled_floats(b) + (trains ? b->to.c * row_floats(b) + kept : 0);
}

static void dense_start(const struct net_block *b, struct rng *rng, float *w)
{
    int in = fan_in(b);

    for (int i = 0; i < in && b->scales; i++)
        w[b->at_scales + i] = 1.0f;
    for (int i = 0; i < in; i++) {
        for (int j = 0; j < b->units; j++)
            w[b->at_weights + (int64_t)i * b->to.pad + j] = (float)rng_normal(rng);
    }
    for (int j = 0; j < b->units; j++)
        w[b->at_bias + j] = (float)rng_normal(rng);
}

static const float *weights(const struct net_pass *p, int i)
{
    const struct net_block *b = &p->net->block[i];
    const float *from = p->w + b->at_weights, *scales = p->w + b->at_scales;
    float *to = p->work->spare[i];

    if (!b->scales)
        return from;
    for (int j = 0; j < fan_in(b); j++) {
        for (int k = 0; k < b->to.pad; k++)
            to[(int64_t)j * b->to.pad + k] = scales[j] * from[(int64_t)j * b->to.pad + k];
    }
    return to;
}

static void dense_forward(const struct net_pass *p, int i)
{
    const struct net_block *b = &p->net->block[i];
    float *z = p->work->z[i];
    struct gemm g = { .m = rows_of(p, b),
                      .n = b->to.pad,
                      .k = fan_in(b),
                      .a = net_input(p, i),
                      .a_row = row_floats(b),
                      .a_col = 1,
                      .b = weights(p, i),
                      .b_row = b->to.pad,
                      .c = z,
                      .c_row = b->to.pad };

    gemm(&g);
    if (b->is_linear)
        layer_output(z, p->w + b->at_bias, b->scale, rows_of(p, b), b->to.c, b->to.pad);
    else if (p->work->trains)
        layer_forward_slope(z, p->work->out[i], p->w + b->at_bias, b->scale, rows_of(p, b), b->to.c,
                            b->to.pad, b->act);
    else
        layer_forward(z, p->work->out[i], p->w + b->at_bias, b->scale, rows_of(p, b), b->to.c,
                      b->to.pad, b->act);
    net_drop_out(p, i);
    if (b->adds)
        optim_add(p->work->out[i], net_input(p, i), 1.0f, p->rows * net_floats(&b->to));
}

/* grad of the weights holds x^T d; from it come the gradients of the scales and of the weights. */
static void unscale(const struct net_pass *p, const struct net_block *b, float *grad)
{
    const float *scales = p->w + b->at_scales, *from = p->w + b->at_weights;
    int in = fan_in(b);

    for (int j = 0; j < in; j++, from += b->to.pad) {
        float *g = grad + b->at_weights + (int64_t)j * b->to.pad, sum = 0;
        for (int k = 0; k < b->to.c; k++)
            sum += from[k] * g[k];
        for (int k = 0; k < b->to.pad; k++)
            g[k] *= scales[j];
        grad[b->at_scales + j] = sum;
    }
    for (int j = in; j < net_padded(in); j++)
        grad[b->at_scales + j] = 0;
}

static void input_gradient(const struct net_pass *p, int i, float *below)
{
    const struct net_block *b = &p->net->block[i];
    const float *w = b->scales ? p->work->spare[i] : p->w + b->at_weights;
    float *turned = p->work->spare[i] + scaled_floats(b);

    gemm_transpose(w, fan_in(b), b->to.c, b->to.pad, turned, row_floats(b));
    struct gemm g = { .m = rows_of(p, b),
                      .n = row_floats(b),
                      .k = b->to.c,
                      .a = p->work->out[i],
                      .a_row = b->to.pad,
                      .a_col = 1,
                      .b = turned,
                      .b_row = row_floats(b),
                      .c = below,
                      .c_row = row_floats(b) };
    gemm(&g);
}

static void dense_backward(const struct net_pass *p, int i, float *grad, float *below)
{
    const struct net_block *b = &p->net->block[i];
    float *d = p->work->out[i],
          *kept = p->work->spare[i] + scaled_floats(b) + b->to.c * row_floats(b);
    int64_t all = p->rows * net_floats(&b->to);

    if (b->adds && below)
        memcpy(kept, d, (size_t)all * sizeof *d);
    if (b->is_linear)
        layer_output_backward(d, b->scale, rows_of(p, b), b->to.pad, grad + b->at_bias);
    else
        layer_backward(d, net_drops(p, i) ? p->work->keep[i] : NULL, p->work->z[i], b->scale,
                       rows_of(p, b), b->to.pad, grad + b->at_bias);
    struct gemm g = { .m = fan_in(b),
                      .n = b->to.pad,
                      .k = rows_of(p, b),
                      .a = net_input(p, i),
                      .a_row = 1,
                      .a_col = row_floats(b),
                      .b = d,
                      .b_row = b->to.pad,
                      .c = grad + b->at_weights,
                      .c_row = b->to.pad };
    gemm(&g);
    if (b->scales)
        unscale(p, b, grad);
    if (below)
        input_gradient(p, i, below);
    if (b->adds && below)
        optim_add(below, kept, 1.0f, all);
}

const struct net_block_ops net_dense = {
    .shape = dense_shape,
    .spare = dense_spare,
    .start = dense_start,
    .forward = dense_forward,
    .backward = dense_backward,
};
