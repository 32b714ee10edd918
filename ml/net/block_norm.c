/* block_norm.c - layer norm of every place (ml/cpu/layer_norm.h). Batch norm of images is in block_batch.c. */
#include "ml/net/net_private.h"

#include "ml/cpu/layer_norm.h"

static int norm_shape(struct net *n, struct net_block *b, struct err *err)
{
    if (!b->is_linear || b->units != b->from.c)
        return err_set(err, ERR_ARG, "a network with a norm of %d of %d values", b->units,
                       b->from.c);
    b->to = b->from;
    b->at_scales = net_part_add(n, 1, b->from.c, NET_BIASES); /* gamma; slow, as beta is */
    b->at_bias = net_part_add(n, 1, b->from.c, NET_BIASES);
    return 0;
}

static int64_t places(const struct net_block *b)
{
    return (int64_t)b->from.h * b->from.w;
}

static int64_t norm_spare(const struct net_block *b, int64_t rows, bool trains)
{
    (void)trains;
    return 2 * rows * places(b);
}

static void norm_start(const struct net_block *b, struct rng *rng, float *w)
{
    (void)rng;
    for (int j = 0; j < b->from.c; j++)
        w[b->at_scales + j] = 1.0f;
}

static void norm_forward(const struct net_pass *p, int i)
{
    const struct net_block *b = &p->net->block[i];

    layer_norm(net_input(p, i), p->rows * places(b), b->from.c, b->from.pad, p->w + b->at_scales,
               p->w + b->at_bias, p->work->spare[i], p->work->out[i]);
}

static void norm_backward(const struct net_pass *p, int i, float *grad, float *below)
{
    const struct net_block *b = &p->net->block[i];

    layer_norm_backward(p->work->out[i], net_input(p, i), p->rows * places(b), b->from.c,
                        b->from.pad, p->w + b->at_scales, p->work->spare[i], grad + b->at_scales,
                        grad + b->at_bias, below);
}

const struct net_block_ops net_layer_norm = {
    .shape = norm_shape,
    .spare = norm_spare,
    .start = norm_start,
    .forward = norm_forward,
    .backward = norm_backward,
};
