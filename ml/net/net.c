/* net.c - see net.h. What all kinds of blocks share: the list of parts, the matrices of a batch, the order of the passes and
 * the draws of dropout. */
#include "ml/net/net.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/gemm.h"
#include "ml/net/net_private.h"

#include <inttypes.h>
#include <string.h>

/* Streams of a lane's seed. Dropout takes one for every (step, block), so the first parameters take one far away. */
enum { STREAM_START = 1, STREAM_NARROW = 2 };

uint64_t net_drop_stream(int64_t step)
{
    return (UINT64_C(1) << 32) + (uint64_t)step * NET_MAX_BLOCKS;
}

static const struct net_block_ops *const kinds[NET_BLOCK_KINDS] = {
    [NET_DENSE] = &net_dense,     [NET_CONV3] = &net_conv,      [NET_CONV5] = &net_conv,
    [NET_POOL_MAX] = &net_pool,   [NET_POOL_MEAN] = &net_pool,  [NET_POOL_ALL] = &net_pool,
    [NET_WAVES] = &net_waves,     [NET_MEMBERS] = &net_members, [NET_HEADS] = &net_heads,
    [NET_BATCH_NORM] = &net_norm, [NET_PIECES] = &net_pieces,   [NET_LAYER_NORM] = &net_layer_norm,
    [NET_EMBEDS] = &net_embeds,   [NET_CROSSES] = &net_crosses,
};

int net_padded(int width)
{
    return (width + GEMM_PAD - 1) / GEMM_PAD * GEMM_PAD;
}

int64_t net_floats(const struct net_size *s)
{
    return (int64_t)s->h * s->w * s->pad;
}

/* ---- the shape ---- */

void net_begin(struct net *n, int h, int w, int c)
{
    CHECK(h >= 1 && w >= 1 && c >= 1);
    memset(n, 0, sizeof *n);
    n->in = (struct net_size){ h, w, c, net_padded(c) };
}

int64_t net_part_add(struct net *n, int rows, int cols, enum net_role role)
{
    CHECK(n->n_parts < NET_MAX_PARTS && rows >= 1 && cols >= 1);
    struct net_part *p = &n->part[n->n_parts++];

    *p = (struct net_part){ n->size, rows, cols, net_padded(cols), role, n->n };
    n->size += (int64_t)rows * p->pad;
    return p->at;
}

int net_add(struct net *n, const struct net_block *asked, struct err *err)
{
    if (n->n == NET_MAX_BLOCKS)
        return err_set(err, ERR_ARG, "a network of more than %d blocks", NET_MAX_BLOCKS);
    if (asked->kind < 1 || asked->kind >= NET_BLOCK_KINDS || !kinds[asked->kind] ||
        asked->act >= LAYER_ACTS)
        return err_set(err, ERR_ARG, "a network with a block of an unknown kind");
    if (asked->units < 1 || asked->units > NET_MAX_UNITS)
        return err_set(err, ERR_ARG, "a network with a block of %d units, of at most %d",
                       asked->units, NET_MAX_UNITS);
    struct net_block b = { .kind = asked->kind,
                           .units = asked->units,
                           .act = asked->act,
                           .is_linear = asked->is_linear,
                           .drops = asked->drops,
                           .scales = asked->scales,
                           .each = asked->each,
                           .adds = asked->adds,
                           .mixes = asked->mixes,
                           .from = n->n > 0 ? n->block[n->n - 1].to : n->in };
    bool convolves = b.kind == NET_CONV3 || b.kind == NET_CONV5;
    if (convolves && n->n == 0)
        b.from.pad = n->in.pad = n->in.c;
    if (b.adds && b.kind != NET_DENSE && !(convolves && n->n > 0))
        return err_set(err, ERR_ARG, "a network with a block that cannot add what it read");
    if (kinds[b.kind]->shape(n, &b, err) < 0)
        return -1;
    n->block[n->n++] = b;
    return 0;
}

int net_code_width(const struct net *n)
{
    return n->codes.are_used ? n->codes.embeds + n->codes.crosses : 0;
}

int64_t net_parameters(const struct net *n)
{
    int64_t sum = 0;

    for (int i = 0; i < n->n_parts; i++)
        sum += (int64_t)n->part[i].rows * n->part[i].cols;
    return sum;
}

int net_outputs(const struct net *n)
{
    CHECK(n->n > 0);
    return n->block[n->n - 1].to.c;
}

int net_members_of(const struct net *n)
{
    const struct net_size *s = &n->block[n->n - 1].to;

    return s->h * s->w;
}

void net_start(const struct net *n, uint64_t seed, float *w)
{
    int last = n->n - 1 - (n->n > 1 && n->block[n->n - 1].kind == NET_CROSSES);
    struct rng rng;

    rng_init(&rng, seed, STREAM_START);
    memset(w, 0, (size_t)n->size * sizeof *w);
    for (int i = 0; i < last; i++)
        kinds[n->block[i].kind]->start(&n->block[i], &rng, w);
}

static void fill_evenly(const struct net_part *p, float most, struct rng *rng, float *w)
{
    for (int i = 0; i < p->rows; i++) {
        for (int j = 0; j < p->cols; j++)
            w[p->at + (int64_t)i * p->pad + j] = most * (float)(2.0 * rng_unit(rng) - 1.0);
    }
}

void net_start_narrow(const struct net *n, uint64_t seed, float *w)
{
    struct rng rng;

    net_start(n, seed, w);
    rng_init(&rng, seed, STREAM_NARROW);
    for (int i = 0; i < n->n_parts; i++) {
        const struct net_part *p = &n->part[i];
        const struct net_block *b = &n->block[p->block];
        bool is_layer = b->kind == NET_DENSE || b->kind == NET_HEADS || b->kind == NET_CONV3 ||
                        b->kind == NET_CONV5;
        if (is_layer && p->role == NET_WEIGHTS)
            fill_evenly(p, 1.0f, &rng, w);
        if (is_layer && p->role == NET_BIASES)
            fill_evenly(p, b->scale, &rng, w);
    }
}

/* ---- the matrices of a batch ---- */

static int take(struct net_work *k, int64_t floats, float **out)
{
    *out = mem_try_zalloc((size_t)floats * sizeof(float));
    k->bytes += floats * (int64_t)sizeof(float);
    return *out ? 0 : -1;
}

static int block_work(struct net_work *k, const struct net_block *b, int i, bool trains)
{
    int64_t floats = k->rows * net_floats(&b->to),
            spare = kinds[b->kind]->spare(b, k->rows, trains);

    if (!b->is_pooled && take(k, floats, &k->z[i]) < 0)
        return -1;
    if (b->is_linear || b->is_pooled)
        k->out[i] = k->z[i];
    else if (take(k, floats, &k->out[i]) < 0)
        return -1;
    if (b->drops && trains && take(k, floats, &k->keep[i]) < 0)
        return -1;
    return spare > 0 ? take(k, spare, &k->spare[i]) : 0;
}

int net_work_init(struct net_work *k, const struct net *n, int64_t rows, bool trains,
                  struct err *err)
{
    memset(k, 0, sizeof *k);
    k->rows = rows;
    k->trains = trains;
    int64_t codes = rows * net_code_width(n);
    int rc = take(k, rows * net_floats(&n->in), &k->x);
    if (rc == 0 && codes > 0) {
        k->codes = mem_try_zalloc((size_t)codes * sizeof *k->codes);
        k->bytes += codes * (int64_t)sizeof *k->codes;
        rc = k->codes ? 0 : -1;
    }
    for (int i = 0; i < n->n && rc == 0; i++)
        rc = block_work(k, &n->block[i], i, trains);
    if (rc == 0)
        return 0;
    net_work_fini(k);
    return err_set(err, ERR_NOMEM, "no memory for a batch of %" PRId64 " rows of a network", rows);
}

void net_work_fini(struct net_work *k)
{
    mem_try_free(k->x);
    mem_try_free(k->codes);
    for (int i = 0; i < NET_MAX_BLOCKS; i++) {
        if (k->out[i] != k->z[i])
            mem_try_free(k->out[i]);
        mem_try_free(k->z[i]);
        mem_try_free(k->keep[i]);
        mem_try_free(k->spare[i]);
    }
    memset(k, 0, sizeof *k);
}

float *net_scores(const struct net *n, const struct net_work *k)
{
    return k->out[n->n - 1];
}

/* ---- passes ---- */

float *net_input(const struct net_pass *p, int i)
{
    return i == 0 ? p->work->x : p->work->out[i - 1];
}

bool net_drops(const struct net_pass *p, int i)
{
    return p->net->block[i].drops && p->drop && p->drop->p > 0;
}

bool net_drop_out(const struct net_pass *p, int i)
{
    if (!net_drops(p, i))
        return false;
    int64_t row = net_floats(&p->net->block[i].to);
    struct layer_draws draws = { p->drop->p, p->drop->seed,
                                 net_drop_stream(p->drop->step) + (uint64_t)i,
                                 p->drop->from * row };
    layer_drop(p->work->out[i], p->work->keep[i], p->rows * row, &draws);
    return true;
}

void net_forward(const struct net *n, const float *w, struct net_work *k, int64_t rows,
                 const struct net_drop *drop)
{
    struct net_pass p = { n, w, k, rows, drop };

    CHECK(rows <= k->rows);
    for (int i = 0; i < n->n; i++)
        kinds[n->block[i].kind]->forward(&p, i);
}

void net_backward_block(const struct net *n, const float *w, struct net_work *k, int64_t rows,
                        const struct net_drop *drop, int block, float *grad)
{
    struct net_pass p = { n, w, k, rows, drop };

    CHECK(rows <= k->rows && k->trains);
    /* nothing below the first block learns */
    kinds[n->block[block].kind]->backward(&p, block, grad, block > 0 ? net_input(&p, block) : NULL);
}

void net_backward(const struct net *n, const float *w, struct net_work *k, int64_t rows,
                  const struct net_drop *drop, float *grad)
{
    for (int i = n->n - 1; i >= 0; i--)
        net_backward_block(n, w, k, rows, drop, i, grad);
}

int64_t net_block_floats(const struct net *n, int block, int64_t *at)
{
    int64_t sum = 0;

    for (int i = 0; i < n->n_parts; i++) {
        if (n->part[i].block != block)
            continue;
        if (sum == 0)
            *at = n->part[i].at;
        sum += (int64_t)n->part[i].rows * n->part[i].pad;
    }
    return sum;
}
