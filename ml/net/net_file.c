/* net_file.c - networks as bytes. A model: the format, its kind, the inputs, the blocks as they were asked for, the scale of
 * a numeric target, the parameters without their padding. A checkpoint: the same, then the moments of the optimiser, the
 * epochs done, and the parameters of the best epoch when one was kept. Bytes may come from a stranger: the blocks must make a
 * network, counts are compared with what the preparation expects and with the bytes that follow before memory is taken, and
 * every number must be finite. */
#include "ml/net/net_lane.h"

#include "base/base.h"
#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { NET_FORMAT = 3, KIND_MODEL = 1, KIND_TRAINING = 2 };
enum {
    FLAG_LINEAR = 1,
    FLAG_DROPS = 2,
    FLAG_SCALES = 4,
    FLAG_EACH = 8,
    FLAG_ADDS = 16,
    FLAG_MIXES = 32,
    FLAGS = 63
};

static const char *name_of(const struct net_head *h)
{
    return h->kind->family->name;
}

/* ---- writing ---- */

static int words_save(const uint32_t *words, size_t n, struct buf *out, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (buf_put_u32(out, words[i], err) < 0)
            return -1;
    }
    return 0;
}

/* Of a part of which most are 0: how many are not, then the place and the value of each, in ascending order. */
static int sparse_save(const float *w, int64_t n, struct buf *out, struct err *err)
{
    uint32_t there = 0;

    for (int64_t i = 0; i < n; i++)
        there += w[i] != 0.0f;
    if (buf_put_u32(out, there, err) < 0)
        return -1;
    for (int64_t i = 0; i < n; i++) {
        if (w[i] != 0.0f &&
            (buf_put_u32(out, (uint32_t)i, err) < 0 || buf_put_f32(out, w[i], err) < 0))
            return -1;
    }
    return 0;
}

static int floats_save(const struct net *n, const float *w, struct buf *out, struct err *err)
{
    for (int i = 0; i < n->n_parts; i++) {
        const struct net_part *p = &n->part[i];
        bool is_sparse = p->role == NET_SPARSE;
        if (is_sparse && sparse_save(w + p->at, (int64_t)p->rows * p->pad, out, err) < 0)
            return -1;
        for (int64_t r = 0; r < p->rows && !is_sparse; r++) {
            for (int c = 0; c < p->cols; c++) {
                if (buf_put_f32(out, w[p->at + r * p->pad + c], err) < 0)
                    return -1;
            }
        }
    }
    return 0;
}

static int head_save(const struct net_head *h, uint32_t kind, struct buf *out, struct err *err)
{
    const struct net *n = &h->net;
    uint32_t words[] = { NET_FORMAT,        kind,          (uint32_t)n->in.h, (uint32_t)n->in.w,
                         (uint32_t)n->in.c, (uint32_t)n->n };
    double scale[] = { h->mean, h->spread, h->lo, h->hi };

    if (words_save(words, ARRAY_LEN(words), out, err) < 0)
        return -1;
    for (int i = 0; i < n->n; i++) {
        const struct net_block *b = &n->block[i];
        uint32_t asked[] = { b->kind, (uint32_t)b->units, b->act,
                             (b->is_linear ? FLAG_LINEAR : 0U) | (b->drops ? FLAG_DROPS : 0U) |
                                 (b->scales ? FLAG_SCALES : 0U) | (b->each ? FLAG_EACH : 0U) |
                                 (b->adds ? FLAG_ADDS : 0U) | (b->mixes ? FLAG_MIXES : 0U) };
        if (words_save(asked, ARRAY_LEN(asked), out, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(scale); i++) {
        if (buf_put_f64(out, scale[i], err) < 0)
            return -1;
    }
    return 0;
}

int net_lane_save(const struct lane *lane, int64_t steps, struct buf *out, struct err *err)
{
    struct net_lane *l = lane->state;

    CHECK(steps >= 1 && steps <= lane->steps_done);
    if (net_device_fetch(l, false, err) < 0 || head_save(&l->head, KIND_MODEL, out, err) < 0)
        return -1;
    return floats_save(&l->head.net, net_weights_at(l, lane, steps), out, err);
}

int net_lane_save_training(const struct lane *lane, struct buf *out, struct err *err)
{
    struct net_lane *l = lane->state;
    const float *state = l->at > 0 ? l->whole : l->now;

    if (net_device_fetch(l, true, err) < 0 || head_save(&l->head, KIND_TRAINING, out, err) < 0 ||
        buf_put_u64(out, (uint64_t)lane->steps_done, err) < 0 ||
        buf_put_u64(out, (uint64_t)l->best_step, err) < 0)
        return -1;
    for (int i = 0; i < NET_STATES; i++) {
        if (floats_save(&l->head.net, state + i * l->head.net.size, out, err) < 0)
            return -1;
    }
    return l->best_step > 0 ? floats_save(&l->head.net, l->best, out, err) : 0;
}

/* ---- reading ---- */

static int sparse_load(const struct net_head *h, struct view *in, float *w, int64_t n,
                       struct err *err)
{
    int64_t before = -1;
    uint32_t there = 0, at = 0;

    if (view_u32(in, &there, err) < 0)
        return -1;
    for (uint32_t i = 0; i < there; i++, before = at) {
        if (view_u32(in, &at, err) < 0 || (int64_t)at <= before || (int64_t)at >= n ||
            view_f32(in, &w[at], err) < 0 || !isfinite(w[at]))
            return err_set(err, ERR_ARG, "%s: broken weights of crosses", name_of(h));
    }
    return 0;
}

/* Of the parts of which every number is stored. */
static int64_t dense_parameters(const struct net *n)
{
    int64_t sum = net_parameters(n);

    for (int i = 0; i < n->n_parts; i++)
        sum -= n->part[i].role == NET_SPARSE ? (int64_t)n->part[i].rows * n->part[i].cols : 0;
    return sum;
}

static int floats_load(const struct net_head *h, struct view *in, float *w, struct err *err)
{
    const struct net *n = &h->net;

    memset(w, 0, (size_t)n->size * sizeof *w);
    for (int i = 0; i < n->n_parts; i++) {
        const struct net_part *p = &n->part[i];
        bool is_sparse = p->role == NET_SPARSE;
        if (is_sparse && sparse_load(h, in, w + p->at, (int64_t)p->rows * p->pad, err) < 0)
            return -1;
        for (int64_t r = 0; r < p->rows && !is_sparse; r++) {
            for (int c = 0; c < p->cols; c++) {
                float *to = &w[p->at + r * p->pad + c];
                if (view_f32(in, to, err) < 0)
                    return -1;
                if (!isfinite(*to))
                    return err_set(err, ERR_ARG, "%s: a weight is not a finite number", name_of(h));
            }
        }
    }
    return 0;
}

static int words_load(struct view *in, uint32_t *words, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (view_u32(in, &words[i], err) < 0)
            return -1;
    }
    return 0;
}

static int blocks_load(struct view *in, uint32_t blocks, struct net *n, struct err *err)
{
    for (uint32_t i = 0; i < blocks; i++) {
        uint32_t w[4];
        if (words_load(in, w, ARRAY_LEN(w), err) < 0)
            return -1;
        if (w[0] >= NET_BLOCK_KINDS || w[1] > NET_MAX_UNITS || w[2] >= LAYER_ACTS || w[3] > FLAGS)
            return err_set(err, ERR_ARG, "a block that no family has");
        struct net_block b = { .kind = (enum net_block_kind)w[0],
                               .units = (int)w[1],
                               .act = (enum layer_act)w[2],
                               .is_linear = w[3] & FLAG_LINEAR,
                               .drops = w[3] & FLAG_DROPS,
                               .scales = w[3] & FLAG_SCALES,
                               .each = w[3] & FLAG_EACH,
                               .adds = w[3] & FLAG_ADDS,
                               .mixes = w[3] & FLAG_MIXES };
        if (net_add(n, &b, err) < 0)
            return -1;
    }
    return 0;
}

/* The network must begin as `empty` does and have `outputs` outputs. */
static int head_load(struct view *in, const struct net *empty, int outputs, uint32_t kind,
                     struct net_head *h, struct err *err)
{
    const struct net_size *size = &empty->in;
    uint32_t format = 0, w[5];
    double *scale[] = { &h->mean, &h->spread, &h->lo, &h->hi };

    if (view_u32(in, &format, err) < 0)
        return -1;
    if (format != NET_FORMAT)
        return err_set(err, ERR_VERSION, "%s: format %" PRIu32 ", this program reads %d",
                       name_of(h), format, NET_FORMAT);
    if (words_load(in, w, ARRAY_LEN(w), err) < 0)
        return -1;
    if (w[0] != kind)
        return err_set(err, ERR_ARG, "%s: %s, expected %s", name_of(h),
                       w[0] == KIND_MODEL ? "a model" : "not a model",
                       kind == KIND_MODEL ? "a model" : "a checkpoint");
    if (w[1] != (uint32_t)size->h || w[2] != (uint32_t)size->w || w[3] != (uint32_t)size->c)
        return err_set(err, ERR_ARG,
                       "%s: a network of %" PRIu32 " x %" PRIu32 " x %" PRIu32
                       " inputs, expected %d x %d x %d",
                       name_of(h), w[1], w[2], w[3], size->h, size->w, size->c);
    net_begin(&h->net, size->h, size->w, size->c);
    h->net.codes = empty->codes;
    if (blocks_load(in, w[4], &h->net, err) < 0)
        return -1;
    if (h->net.n == 0 || net_outputs(&h->net) != outputs || !h->net.block[h->net.n - 1].is_linear)
        return err_set(err, ERR_ARG, "%s: a network that does not end in %d outputs", name_of(h),
                       outputs);
    for (size_t i = 0; i < ARRAY_LEN(scale); i++) {
        if (view_f64(in, scale[i], err) < 0)
            return -1;
        if (!isfinite(*scale[i]))
            return err_set(err, ERR_ARG, "%s: a broken head", name_of(h));
    }
    return 0;
}

static bool same_shape(const struct net *a, const struct net *b)
{
    bool same = a->n == b->n && a->size == b->size;

    for (int i = 0; i < a->n && same; i++) {
        const struct net_block *x = &a->block[i], *y = &b->block[i];
        same = x->kind == y->kind && x->units == y->units && x->act == y->act &&
               x->is_linear == y->is_linear && x->drops == y->drops && x->scales == y->scales &&
               x->each == y->each && x->adds == y->adds && x->mixes == y->mixes;
    }
    return same;
}

static int best_load(struct net_lane *l, struct view *in, struct err *err)
{
    int64_t size = l->head.net.size;

    if (!l->best) {
        l->best = mem_try_zalloc((size_t)size * sizeof *l->best);
        if (!l->best)
            return err_set(err, ERR_NOMEM, "%s: no memory to keep the best epoch",
                           name_of(&l->head));
        l->bytes += size * (int64_t)sizeof *l->best;
    }
    return floats_load(&l->head, in, l->best, err);
}

int net_lane_load(struct ml_data *d, struct lane *lane, struct view *in, struct err *err)
{
    struct net_lane *l = lane->state;
    const struct net *n = &l->head.net;
    struct net_head h = { .kind = l->head.kind, .task = l->head.task };
    uint64_t steps = 0, best = 0;

    (void)d;
    if (head_load(in, n, net_outputs(n), KIND_TRAINING, &h, err) < 0 ||
        view_u64(in, &steps, err) < 0 || view_u64(in, &best, err) < 0)
        return -1;
    if (!same_shape(n, &h.net) || steps > (uint64_t)l->recipe.epochs || best > steps)
        return err_set(err, ERR_ARG, "%s: a checkpoint of another network", name_of(&h));
    net_device_leave(l);
    for (int i = 0; i < NET_STATES; i++) {
        if (floats_load(&h, in, l->now + i * n->size, err) < 0)
            return -1;
    }
    if (best > 0 && best_load(l, in, err) < 0)
        return -1;
    l->best_step = (int64_t)best;
    l->at = l->part_at = 0;
    l->has_whole = false;
    lane->steps_done = (int64_t)steps;
    lane->is_done = false;
    return 0;
}

/* ---- inference ---- */

struct predictor {
    struct net_head head;
    const struct prep *prep; /* of the model file, which outlives this */
    float *w;
};

void net_predictor_free(struct predictor *p)
{
    if (!p)
        return;
    mem_try_free(p->w);
    mem_free(p);
}

struct predictor *net_predictor_load(const struct net_kind *kind, const struct prep *prep,
                                     int n_outputs, enum ml_task task, struct view *in,
                                     struct err *err)
{
    struct predictor *p = mem_zalloc(sizeof *p);
    struct net empty;

    p->head.kind = kind;
    p->head.task = task;
    p->prep = prep;
    if (kind->input(prep, &empty, err) < 0 ||
        head_load(in, &empty, n_outputs, KIND_MODEL, &p->head, err) < 0)
        goto fail;
    if ((int64_t)(in->len - in->pos) / 4 < dense_parameters(&p->head.net)) {
        err_set(err, ERR_ARG, "%s: the model is cut short", name_of(&p->head));
        goto fail;
    }
    p->w = mem_try_alloc((size_t)p->head.net.size * sizeof *p->w);
    if (!p->w) {
        err_set(err, ERR_NOMEM, "%s: no memory for %" PRId64 " parameters", name_of(&p->head),
                p->head.net.size);
        goto fail;
    }
    if (floats_load(&p->head, in, p->w, err) == 0)
        return p;
fail:
    net_predictor_free(p);
    return NULL;
}

int net_predictor_predict(const struct predictor *p, const struct prep_view *v, int64_t from,
                          int64_t n, float *out, struct err *err)
{
    int outputs = net_outputs(&p->head.net);

    for (int64_t at = 0; at < n; at += NET_TILE) {
        int64_t m = MIN(NET_TILE, n - at);
        struct net_source tile = { 0 };
        if (p->head.kind->tile(v, p->prep, &p->head.net, from + at, m, &tile, err) < 0)
            return -1;
        int rc = net_predict(&p->head, p->w, &tile, NULL, m, out + at * outputs, err);
        net_source_fini(&tile);
        if (rc < 0)
            return -1;
    }
    return 0;
}
