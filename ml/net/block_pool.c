/* block_pool.c - pooling of images: of 2 x 2 places, which halves both sides, and of all places. Where the largest of 2 x 2
 * follows a convolution, that block does the work of both (block_conv.c). */
#include "ml/net/net_private.h"

#include "base/base.h"
#include "ml/cpu/conv.h"

#include <string.h>

static int places(const struct net_size *s)
{
    return s->h * s->w;
}

/* The largest of some values through an activation that never falls is the activation of the largest. */
static bool never_falls(enum layer_act act)
{
    return act == LAYER_RELU || act == LAYER_ELU || act == LAYER_SELU || act == LAYER_TANH;
}

static bool is_conv_to_pool(const struct net_block *b)
{
    return (b->kind == NET_CONV3 || b->kind == NET_CONV5) && !b->is_linear && !b->drops &&
           !b->adds && never_falls(b->act);
}

static bool is_done_below(const struct net_pass *p, int i)
{
    return i > 0 && p->net->block[i - 1].is_pooled;
}

static int pool_shape(struct net *n, struct net_block *b, struct err *err)
{
    if (b->from.h == 1 && b->from.w == 1)
        return err_set(
            err, ERR_ARG,
            "pooling of an image that is down to one place: fewer blocks, or larger images");
    bool all = b->kind == NET_POOL_ALL;
    b->is_linear = true;
    b->units = b->from.c;
    b->to = (struct net_size){ all ? 1 : (b->from.h + 1) / 2, all ? 1 : (b->from.w + 1) / 2,
                               b->from.c, b->from.pad };
    b->at_scales = b->at_weights = b->at_bias = -1;
    if (b->kind == NET_POOL_MAX && n->n > 0 && is_conv_to_pool(&n->block[n->n - 1]))
        n->block[n->n - 1].is_pooled = true;
    return 0;
}

/* Which place was the largest, a byte for each value. */
static int64_t pool_spare(const struct net_block *b, int64_t rows, bool trains)
{
    (void)trains;
    return b->kind == NET_POOL_MAX ? (rows * net_floats(&b->to) + 3) / 4 : 0;
}

static void pool_start(const struct net_block *b, struct rng *rng, float *w)
{
    (void)b, (void)rng, (void)w;
}

uint8_t *net_pool_which(const struct net_pass *p, int i)
{
    return (uint8_t *)p->work->spare[i];
}

static void mean_of_all(const float *in, const struct net_size *s, float *out)
{
    float share = 1.0f / (float)places(s);

    memset(out, 0, (size_t)s->pad * sizeof *out);
    for (int64_t at = 0; at < places(s); at++) {
        for (int c = 0; c < s->pad; c++)
            out[c] += in[at * s->pad + c];
    }
    for (int c = 0; c < s->pad; c++)
        out[c] *= share;
}

static void pool_forward(const struct net_pass *p, int i)
{
    const struct net_block *b = &p->net->block[i];
    int64_t from = net_floats(&b->from), to = net_floats(&b->to);

    for (int64_t r = 0; r < p->rows && !is_done_below(p, i); r++) {
        const float *in = net_input(p, i) + r * from;
        float *out = p->work->out[i] + r * to;
        if (b->kind == NET_POOL_MAX)
            pool_max(in, b->from.h, b->from.w, b->from.pad, out, net_pool_which(p, i) + r * to);
        else if (b->kind == NET_POOL_MEAN)
            pool_mean(in, b->from.h, b->from.w, b->from.pad, out);
        else
            mean_of_all(in, &b->from, out);
    }
    net_drop_out(p, i);
}

static void pool_backward(const struct net_pass *p, int i, float *grad, float *below)
{
    const struct net_block *b = &p->net->block[i];
    int64_t from = net_floats(&b->from), to = net_floats(&b->to);

    (void)grad;
    for (int64_t r = 0; r < p->rows && below && !is_done_below(p, i); r++) {
        float *d = p->work->out[i] + r * to, *under = below + r * from;
        if (net_drops(p, i)) {
            const float *keep = p->work->keep[i] + r * to;
            for (int64_t j = 0; j < to; j++)
                d[j] *= keep[j];
        }
        if (b->kind == NET_POOL_MAX) {
            pool_max_backward(d, net_pool_which(p, i) + r * to, b->from.h, b->from.w, b->from.pad,
                              under);
        } else if (b->kind == NET_POOL_MEAN) {
            pool_mean_backward(d, b->from.h, b->from.w, b->from.pad, under);
        } else {
            for (int64_t j = 0; j < from; j++)
                under[j] = d[j % b->from.pad] / (float)places(&b->from);
        }
    }
}

const struct net_block_ops net_pool = {
    .shape = pool_shape,
    .spare = pool_spare,
    .start = pool_start,
    .forward = pool_forward,
    .backward = pool_backward,
};
