/* block_pieces.c - the first block of a network on a table: the first `units` values of a row are numbers, and each becomes
 * itself and, for each of PIECES pieces of its range, how much of the piece lies below it, from 0 to 1: a piecewise-linear
 * embedding (Gorishniy et al., NeurIPS 2022, section 3.2). The values after the numbers are handed on. The edges of the pieces
 * are quantiles of the training rows (mlp_rows.c sets them once) and do not learn. */
#include "ml/net/net_private.h"

#include "base/base.h"

#include <string.h>

enum { PIECES = 16, OUT = PIECES + 1 };

static int pieces_shape(struct net *n, struct net_block *b, struct err *err)
{
    const struct net_size *from = &b->from;

    if (from->h != 1 || from->w != 1 || b->units > from->c || n->n > 0 || !b->is_linear)
        return err_set(err, ERR_ARG, "a network that embeds %d of %d numbers", b->units, from->c);
    int c = from->c + PIECES * b->units;
    b->to = (struct net_size){ 1, 1, c, net_padded(c) };
    b->at_scales = net_part_add(n, b->units, PIECES + 1, NET_FIXED);
    return 0;
}

static int64_t pieces_spare(const struct net_block *b, int64_t rows, bool trains)
{
    (void)b, (void)rows, (void)trains;
    return 0;
}

/* Equal pieces, until someone knows better. */
static void pieces_start(const struct net_block *b, struct rng *rng, float *w)
{
    (void)rng;
    for (int j = 0; j < b->units; j++) {
        for (int k = 0; k <= PIECES; k++)
            w[b->at_scales + (int64_t)j * net_padded(PIECES + 1) + k] =
                4.0f * (float)k / PIECES - 2.0f;
    }
}

static void number(const float *edge, float x, float *out)
{
    out[0] = x;
    for (int k = 0; k < PIECES; k++) {
        float wide = edge[k + 1] - edge[k], in = x - edge[k];
        out[1 + k] = in <= 0.0f ? 0.0f : in >= wide ? 1.0f : in / wide;
    }
}

static void pieces_forward(const struct net_pass *p, int i)
{
    const struct net_block *b = &p->net->block[i];
    const float *x = net_input(p, i), *edges = p->w + b->at_scales;
    float *out = p->work->out[i];
    int others = b->from.c - b->units;

    for (int64_t row = 0; row < p->rows; row++, x += b->from.pad, out += b->to.pad) {
        for (int j = 0; j < b->units; j++)
            number(edges + (int64_t)j * net_padded(PIECES + 1), x[j], out + (int64_t)j * OUT);
        memcpy(out + (int64_t)b->units * OUT, x + b->units, (size_t)others * sizeof *out);
    }
}

static void pieces_backward(const struct net_pass *p, int i, float *grad, float *below)
{
    const struct net_block *b = &p->net->block[i];

    CHECK(!below);
    memset(grad + b->at_scales, 0,
           (size_t)b->units * (size_t)net_padded(PIECES + 1) * sizeof *grad);
}

const struct net_block_ops net_pieces = {
    .shape = pieces_shape,
    .spare = pieces_spare,
    .start = pieces_start,
    .forward = pieces_forward,
    .backward = pieces_backward,
};
