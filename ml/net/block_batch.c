/* block_batch.c - batch norm of images, channel by channel:
 *   out = drop(act(gamma (x - mean) / sqrt(variance) + beta)).
 * While a network trains, mean and variance are those of the rows that go through together: the one exception from the rule
 * that a row's result depends on that row alone. A network that predicts uses averages of them, which follow the batches
 * (NET_RUNNING). */
#include "ml/net/net_private.h"

#include "base/base.h"
#include "ml/cpu/conv.h"

#include <string.h>

static int places(const struct net_size *s)
{
    return s->h * s->w;
}

static int norm_shape(struct net *n, struct net_block *b, struct err *err)
{
    (void)err;
    b->units = b->from.c;
    b->to = b->from;
    b->at_scales = net_part_add(n, 1, b->from.c, NET_BIASES); /* gamma; slow, as beta is */
    b->at_bias = net_part_add(n, 1, b->from.c, NET_BIASES);
    b->at_weights = net_part_add(n, 2, b->from.c, NET_RUNNING); /* mean, variance */
    return 0;
}

static int64_t norm_spare(const struct net_block *b, int64_t rows, bool trains)
{
    (void)rows, (void)trains;
    return 8 * (int64_t)b->from.pad;
}

static void norm_start(const struct net_block *b, struct rng *rng, float *w)
{
    (void)rng;
    for (int j = 0; j < b->from.c; j++)
        w[b->at_scales + j] = w[b->at_weights + b->from.pad + j] = 1.0f;
}

static struct norm norm_of(const struct net_pass *p, int i)
{
    float *spare = p->work->spare[i];
    int64_t pad = p->net->block[i].from.pad;

    return (struct norm){ spare, spare + pad, spare + 2 * pad, (double *)(void *)(spare + 4 * pad),
                          (double *)(void *)(spare + 6 * pad) };
}

static void norm_pass(const struct net_pass *p, int i)
{
    const struct net_block *b = &p->net->block[i];
    const float *in = net_input(p, i), *beta = p->w + b->at_bias;
    float *z = p->work->z[i], *out = p->work->out[i];
    int64_t all = p->rows * places(&b->to), pad = b->to.pad;
    struct norm m = norm_of(p, i);

    if (p->work->trains) {
        norm_measure(in, all, pad, &m);
    } else {
        memcpy(m.mean, p->w + b->at_weights, (size_t)pad * sizeof *m.mean);
        memcpy(m.variance, p->w + b->at_weights + pad, (size_t)pad * sizeof *m.variance);
        norm_invert(&m, pad);
    }
    norm_forward(in, all, pad, &m, p->w + b->at_scales, z);
    if (b->is_linear)
        layer_output(z, beta, 1.0f, all, b->to.c, pad);
    else if (p->work->trains)
        layer_forward_slope(z, out, beta, 1.0f, all, b->to.c, pad, b->act);
    else
        layer_forward(z, out, beta, 1.0f, all, b->to.c, pad, b->act);
    net_drop_out(p, i);
}

static void norm_back(const struct net_pass *p, int i, float *grad, float *below)
{
    const struct net_block *b = &p->net->block[i];
    int64_t all = p->rows * places(&b->to), pad = b->to.pad;
    float *d = p->work->out[i];
    struct norm m = norm_of(p, i);

    if (b->is_linear)
        layer_output_backward(d, 1.0f, all, pad, grad + b->at_bias);
    else
        layer_backward(d, net_drops(p, i) ? p->work->keep[i] : NULL, p->work->z[i], 1.0f, all, pad,
                       grad + b->at_bias);
    memcpy(grad + b->at_weights, m.mean, (size_t)pad * sizeof *grad);
    memcpy(grad + b->at_weights + pad, m.variance, (size_t)pad * sizeof *grad);
    /* The matrix that was read takes its own gradient; of the first block nobody wants it. */
    norm_backward(d, all, pad, &m, p->w + b->at_scales, grad + b->at_scales,
                  below ? below : net_input(p, i));
}

const struct net_block_ops net_norm = {
    .shape = norm_shape,
    .spare = norm_spare,
    .start = norm_start,
    .forward = norm_pass,
    .backward = norm_back,
};
