/* block_waves.c - the first block of a network on a table: the first `units` values of a row are numbers, and each becomes
 * itself and three mixtures of waves (ml/cpu/waves.h); the values after them are handed on. Frequencies start as normals of
 * deviation FREQUENCY, phases all around the circle. */
#include "ml/net/net_private.h"

#include "base/base.h"
#include "ml/cpu/waves.h"

/* Turns per unit of a standardised number: RealMLP's (Holzmueller et al., NeurIPS 2024, table B.1). */
#define FREQUENCY 0.1

static int waves_shape(struct net *n, struct net_block *b, struct err *err)
{
    const struct net_size *from = &b->from;

    if (from->h != 1 || from->w != 1 || b->units > from->c || n->n > 0)
        return err_set(err, ERR_ARG, "a network that embeds %d of %d numbers", b->units, from->c);
    int c = from->c + (WAVES_OUT - 1) * b->units;
    b->to = (struct net_size){ 1, 1, c, net_padded(c) };
    b->at_scales = net_part_add(n, 1, 2 * b->units * WAVES, NET_FREQUENCIES);
    b->at_weights = net_part_add(n, 1, b->units * WAVES_MIXED * WAVES, NET_WEIGHTS);
    b->at_bias = net_part_add(n, 1, b->units * WAVES_MIXED, NET_BIASES);
    return 0;
}

static int64_t waves_spare(const struct net_block *b, int64_t rows, bool trains)
{
    (void)b, (void)rows, (void)trains;
    return 0;
}

static struct waves at(const struct net_block *b, float *w)
{
    return (struct waves){ .n = b->units,
                           .frequency = w + b->at_scales,
                           .phase = w + b->at_scales + (int64_t)b->units * WAVES,
                           .mix = w + b->at_weights,
                           .bias = w + b->at_bias };
}

static void waves_start(const struct net_block *b, struct rng *rng, float *w)
{
    struct waves p = at(b, w);

    for (int64_t i = 0; i < b->units * WAVES; i++) {
        p.frequency[i] = (float)(FREQUENCY * rng_normal(rng));
        p.phase[i] = (float)rng_unit(rng) - 0.5f;
    }
    for (int64_t i = 0; i < b->units * WAVES_MIXED * WAVES; i++)
        p.mix[i] = (float)rng_normal(rng);
}

static void waves_forward_pass(const struct net_pass *p, int i)
{
    const struct net_block *b = &p->net->block[i];
    struct waves w = at(b, (float *)p->w);

    waves_forward(&w, net_input(p, i), b->from.pad, b->from.c - b->units, p->rows, p->work->out[i],
                  b->to.pad);
}

static void waves_backward_pass(const struct net_pass *p, int i, float *grad, float *below)
{
    const struct net_block *b = &p->net->block[i];
    struct waves w = at(b, (float *)p->w), g = at(b, grad);

    CHECK(!below);
    memset(g.bias, 0, (size_t)net_padded(b->units * WAVES_MIXED) * sizeof *g.bias);
    waves_backward(&w, net_input(p, i), b->from.pad, p->work->out[i], b->to.pad, p->rows, &g);
}

const struct net_block_ops net_waves = {
    .shape = waves_shape,
    .spare = waves_spare,
    .start = waves_start,
    .forward = waves_forward_pass,
    .backward = waves_backward_pass,
};
