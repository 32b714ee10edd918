/* block_conv.c - a convolution of images: it reads h x w places and makes as many,
 *   z = conv(x, W) / sqrt(fan-in) + b,   out = drop(act(z)),
 * where zeros surround the image. With `adds` what it read is added, as by a dense layer. Each image is worked on alone, so
 * that a row's score does not depend on its neighbours. The gradient of the weights is one chain over rows and places,
 * ascending.
 *
 * A convolution before pooling for the largest value (`is_pooled`, block_pool.c) makes what the pooling makes, two lines at
 * a time: its activation never falls, so it is applied to the largest sums only, and the matrix of all places, which is by
 * far the largest of a small network, is never written. On the way back all derivatives but those of the largest places are
 * zero, and the full image of them is made for one row after another. */
#include "ml/net/net_private.h"

#include "base/base.h"
#include "ml/cpu/conv.h"
#include "ml/cpu/optim.h"

#include <math.h>
#include <string.h>

static int kernel_of(const struct net_block *b)
{
    return b->kind == NET_CONV3 ? 3 : 5;
}

static struct conv geometry(const struct net_block *b)
{
    return (struct conv){ b->from.h, b->from.w, b->from.c, kernel_of(b), b->to.pad };
}

/* How dL/dout becomes dL/din: a convolution, too. */
static struct conv geometry_back(const struct net_block *b)
{
    return (struct conv){ b->from.h, b->from.w, b->to.pad, kernel_of(b), b->from.pad };
}

static int conv_shape(struct net *n, struct net_block *b, struct err *err)
{
    int k = kernel_of(b);

    if (k > b->from.h || k > b->from.w)
        return err_set(err, ERR_ARG,
                       "a kernel of %d x %d is larger than the image of %d x %d that it reads", k,
                       k, b->from.w, b->from.h);
    if (b->adds && b->from.c != b->units)
        return err_set(err, ERR_ARG, "a network that adds %d channels to %d", b->from.c, b->units);
    b->to = (struct net_size){ b->from.h, b->from.w, b->units, net_padded(b->units) };
    if (net_floats(&b->to) > NET_MAX_UNITS * (int64_t)16)
        return err_set(err, ERR_ARG, "%d filters on an image of %d x %d are too many", b->units,
                       b->from.w, b->from.h);
    b->scale = (float)(1.0 / sqrt((double)k * k * b->from.c));
    b->at_scales = -1;
    b->at_weights = net_part_add(n, k * k * b->from.c, b->units, NET_WEIGHTS);
    b->at_bias = net_part_add(n, 1, b->units, NET_BIASES);
    return 0;
}

/* What a pass needs beside the matrices; floats of each, in this order. */
struct room {
    int64_t spread;   /* the image that is read, spread */
    int64_t lines;    /* two lines of sums, of a block that pools */
    int64_t largest;  /* their largest, for each row where it trains: then the slopes */
    int64_t d;        /* training only: dL/dout of one row, of a block that pools */
    int64_t d_spread; /* spread */
    int64_t turned;   /* the weights that lead back */
    int64_t kept;     /* dL/dout, of a block that adds */
};

static struct net_size pooled(const struct net_block *b)
{
    return (struct net_size){ (b->to.h + 1) / 2, (b->to.w + 1) / 2, b->to.c, b->to.pad };
}

static struct room room_of(const struct net_block *b, int64_t rows, bool trains)
{
    struct conv g = geometry(b), back = geometry_back(b);
    struct net_size top = pooled(b);
    struct room r = { .spread = conv_spread_floats(&g) };

    if (b->is_pooled) {
        r.lines = 2 * (int64_t)b->to.w * b->to.pad;
        r.largest = (trains ? rows : 1) * net_floats(&top);
        r.d = trains ? net_floats(&b->to) : 0;
    }
    if (trains) {
        r.d_spread = conv_spread_floats(&back);
        r.turned = (int64_t)g.k * g.k * g.pad * back.pad;
        r.kept = b->adds ? rows * net_floats(&b->to) : 0;
    }
    return r;
}

static int64_t conv_spare(const struct net_block *b, int64_t rows, bool trains)
{
    struct room r = room_of(b, rows, trains);

    return r.spread + r.lines + r.largest + r.d + r.d_spread + r.turned + r.kept;
}

static void conv_start(const struct net_block *b, struct rng *rng, float *w)
{
    int in = kernel_of(b) * kernel_of(b) * b->from.c;

    for (int i = 0; i < in; i++) {
        for (int j = 0; j < b->units; j++)
            w[b->at_weights + (int64_t)i * b->to.pad + j] = (float)rng_normal(rng);
    }
}

/* ---- forward ---- */

/* Sums of `places` places become what the block makes of them; z then holds the slopes where it trains. */
static void activate(const struct net_pass *p, const struct net_block *b, float *z, float *out,
                     int64_t places)
{
    const float *bias = p->w + b->at_bias;

    if (b->is_linear)
        layer_output(z, bias, b->scale, places, b->to.c, b->to.pad);
    else if (p->work->trains)
        layer_forward_slope(z, out, bias, b->scale, places, b->to.c, b->to.pad, b->act);
    else
        layer_forward(z, out, bias, b->scale, places, b->to.c, b->to.pad, b->act);
}

/* One row, as far as the pooling: out is of the block above. */
static void pooled_row(const struct net_pass *p, int i, const struct room *room, int64_t row,
                       float *out)
{
    const struct net_block *b = &p->net->block[i];
    struct conv g = geometry(b);
    struct net_size top = pooled(b);
    float *spread = p->work->spare[i], *lines = spread + room->spread,
          *largest = lines + room->lines + (p->work->trains ? row * net_floats(&top) : 0);
    uint8_t *which = net_pool_which(p, i + 1) + row * net_floats(&top);
    int64_t line = (int64_t)top.w * top.pad;

    for (int y = 0; y < b->to.h; y += 2) {
        int n = MIN(2, b->to.h - y);
        conv_lines(&g, spread, p->w + b->at_weights, y, n, lines);
        pool_max(lines, n, b->to.w, b->to.pad, largest + y / 2 * line, which + y / 2 * line);
    }
    activate(p, b, largest, out, (int64_t)top.h * top.w);
}

static void conv_pass(const struct net_pass *p, int i)
{
    const struct net_block *b = &p->net->block[i];
    struct conv g = geometry(b);
    struct room room = room_of(b, p->work->rows, p->work->trains);
    int64_t floats = net_floats(&b->to), from = net_floats(&b->from);
    struct net_size top = pooled(b);

    for (int64_t r = 0; r < p->rows; r++) {
        conv_spread(&g, net_input(p, i) + r * from, b->from.pad, p->work->spare[i]);
        if (b->is_pooled) {
            pooled_row(p, i, &room, r, p->work->out[i + 1] + r * net_floats(&top));
            continue;
        }
        float *z = p->work->z[i] + r * floats;
        conv_lines(&g, p->work->spare[i], p->w + b->at_weights, 0, b->to.h, z);
        activate(p, b, z, p->work->out[i] + r * floats, (int64_t)b->to.h * b->to.w);
    }
    net_drop_out(p, i);
    if (b->adds)
        optim_add(p->work->out[i], net_input(p, i), 1.0f, p->rows * floats);
}

/* ---- backward ---- */

/* From dL/dout to that of the sums, and the gradient of the biases. Returns where it is: for a block that pools, of the
 * largest places alone. */
static float *sums_backward(const struct net_pass *p, int i, const struct room *room, float *grad)
{
    const struct net_block *b = &p->net->block[i];
    int above = i + b->is_pooled;
    const float *slope =
        b->is_pooled ? p->work->spare[i] + room->spread + room->lines : p->work->z[i];
    float *d = p->work->out[above];
    const struct net_size *s = &p->net->block[above].to;
    int64_t all = p->rows * s->h * s->w;

    if (b->is_linear)
        layer_output_backward(d, b->scale, all, s->pad, grad + b->at_bias);
    else
        layer_backward(d, net_drops(p, above) ? p->work->keep[above] : NULL, slope, b->scale, all,
                       s->pad, grad + b->at_bias);
    return d;
}

static void conv_backward(const struct net_pass *p, int i, float *grad, float *below)
{
    const struct net_block *b = &p->net->block[i];
    struct conv g = geometry(b), back = geometry_back(b);
    struct room room = room_of(b, p->work->rows, true);
    float *spread = p->work->spare[i], *full = spread + room.spread + room.lines + room.largest,
          *d_spread = full + room.d, *turned = d_spread + room.d_spread,
          *kept = turned + room.turned;
    int64_t from = net_floats(&b->from), to = net_floats(&p->net->block[i + b->is_pooled].to);

    if (b->adds && below)
        memcpy(kept, p->work->out[i], (size_t)(p->rows * to) * sizeof *kept);
    const float *d = sums_backward(p, i, &room, grad);
    if (below)
        conv_turn(&g, p->w + b->at_weights, b->from.pad, turned);
    for (int64_t r = 0; r < p->rows; r++, d += to) {
        const float *of_row = b->is_pooled ? full : d;
        if (b->is_pooled)
            pool_max_backward(d, net_pool_which(p, i + 1) + r * to, b->to.h, b->to.w, b->to.pad,
                              full);
        conv_spread(&g, net_input(p, i) + r * from, b->from.pad, spread);
        conv_weights(&g, spread, of_row, r > 0, grad + b->at_weights);
        if (!below)
            continue;
        conv_spread(&back, of_row, b->to.pad, d_spread);
        conv_lines(&back, d_spread, turned, 0, b->from.h, below + r * from);
    }
    if (b->adds && below)
        optim_add(below, kept, 1.0f, p->rows * to);
}

const struct net_block_ops net_conv = {
    .shape = conv_shape,
    .spare = conv_spare,
    .start = conv_start,
    .forward = conv_pass,
    .backward = conv_backward,
};
