/* mlp_file.c - networks as bytes. A model: the format, its kind, the shape, the scale of a numeric target, the parameters
 * without their padding. A checkpoint: the same, then the moments of the optimiser, the epochs done, and the parameters of
 * the best epoch when one was kept. Bytes may come from a stranger: counts are compared with what the preparation expects
 * before memory is taken, and every number must be finite. */
#include "ml/net/mlp_private.h"

#include "base/base.h"
#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MLP_FORMAT = 1, KIND_MODEL = 1, KIND_TRAINING = 2 };

/* ---- writing ---- */

static int floats_save(const struct net *n, const float *w, struct buf *out, struct err *err)
{
    for (int j = 0; j < n->layer[0].in; j++) {
        if (buf_put_f32(out, w[j], err) < 0)
            return -1;
    }
    for (int l = 0; l < n->n; l++) {
        const struct net_layer *y = &n->layer[l];
        for (int i = 0; i <= y->in; i++) { /* the row after the weights is the biases */
            for (int j = 0; j < y->out; j++) {
                if (buf_put_f32(out, w[y->weights + (int64_t)i * y->pad + j], err) < 0)
                    return -1;
            }
        }
    }
    return 0;
}

static int head_save(const struct mlp_head *h, uint32_t kind, struct buf *out, struct err *err)
{
    const struct net *n = &h->net;
    uint32_t words[] = { MLP_FORMAT,
                         kind,
                         (uint32_t)n->layer[0].in,
                         (uint32_t)n->layer[n->n - 1].out,
                         (uint32_t)n->n - 1,
                         (uint32_t)n->layer[0].out,
                         (uint32_t)n->act };
    double scale[] = { h->mean, h->spread, h->lo, h->hi };

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (buf_put_u32(out, words[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(scale); i++) {
        if (buf_put_f64(out, scale[i], err) < 0)
            return -1;
    }
    return 0;
}

int mlp_save(const struct lane *lane, int64_t steps, struct buf *out, struct err *err)
{
    const struct mlp_lane *l = lane->state;

    CHECK(steps >= 1 && steps <= lane->steps_done);
    if (head_save(&l->head, KIND_MODEL, out, err) < 0)
        return -1;
    return floats_save(&l->head.net, mlp_weights_at(l, lane, steps), out, err);
}

int mlp_save_training(const struct lane *lane, struct buf *out, struct err *err)
{
    const struct mlp_lane *l = lane->state;
    const float *state = l->at > 0 ? l->whole : l->now;

    if (head_save(&l->head, KIND_TRAINING, out, err) < 0 ||
        buf_put_u64(out, (uint64_t)lane->steps_done, err) < 0 ||
        buf_put_u64(out, (uint64_t)l->best_step, err) < 0)
        return -1;
    for (int i = 0; i < 3; i++) {
        if (floats_save(&l->head.net, state + i * l->head.net.size, out, err) < 0)
            return -1;
    }
    return l->best_step > 0 ? floats_save(&l->head.net, l->best, out, err) : 0;
}

/* ---- reading ---- */

static int float_load(struct view *in, float *w, struct err *err)
{
    if (view_f32(in, w, err) < 0)
        return -1;
    return isfinite(*w) ? 0 : err_set(err, ERR_ARG, "mlp: a weight is not a finite number");
}

static int floats_load(const struct net *n, struct view *in, float *w, struct err *err)
{
    memset(w, 0, (size_t)n->size * sizeof *w);
    for (int j = 0; j < n->layer[0].in; j++) {
        if (float_load(in, &w[j], err) < 0)
            return -1;
    }
    for (int l = 0; l < n->n; l++) {
        const struct net_layer *y = &n->layer[l];
        for (int i = 0; i <= y->in; i++) {
            for (int j = 0; j < y->out; j++) {
                if (float_load(in, &w[y->weights + (int64_t)i * y->pad + j], err) < 0)
                    return -1;
            }
        }
    }
    return 0;
}

struct words {
    uint32_t format, kind, inputs, outputs, hidden, width, act;
};

static int words_load(struct view *in, struct words *w, struct err *err)
{
    uint32_t *all[] = { &w->kind, &w->inputs, &w->outputs, &w->hidden, &w->width, &w->act };

    if (view_u32(in, &w->format, err) < 0)
        return -1;
    if (w->format != MLP_FORMAT)
        return err_set(err, ERR_VERSION, "mlp: format %" PRIu32 ", this program reads %d",
                       w->format, MLP_FORMAT);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (view_u32(in, all[i], err) < 0)
            return -1;
    }
    return 0;
}

/* The shape must be one that a space allows, and fit the preparation. */
static int head_load(struct view *in, int inputs, int outputs, uint32_t kind, struct mlp_head *h,
                     struct err *err)
{
    struct words w = { 0 };
    double *scale[] = { &h->mean, &h->spread, &h->lo, &h->hi };

    if (words_load(in, &w, err) < 0)
        return -1;
    if (w.kind != kind)
        return err_set(err, ERR_ARG, "mlp: %s, expected %s",
                       w.kind == KIND_MODEL ? "a model" : "not a model",
                       kind == KIND_MODEL ? "a model" : "a checkpoint");
    if (w.inputs != (uint32_t)inputs || w.outputs != (uint32_t)outputs)
        return err_set(err, ERR_ARG,
                       "mlp: a network of %" PRIu32 " inputs and %" PRIu32
                       " outputs, expected %d and %d",
                       w.inputs, w.outputs, inputs, outputs);
    if (w.hidden < 1 || w.hidden >= NET_MAX_LAYERS || w.width < 1 || w.width > MLP_MOST_WIDTH ||
        w.act >= LAYER_ACTS)
        return err_set(err, ERR_ARG, "mlp: a broken head");
    for (size_t i = 0; i < ARRAY_LEN(scale); i++) {
        if (view_f64(in, scale[i], err) < 0)
            return -1;
        if (!isfinite(*scale[i]))
            return err_set(err, ERR_ARG, "mlp: a broken head");
    }
    net_shape(&h->net, inputs, outputs, (int)w.hidden, (int)w.width, (enum layer_act)w.act);
    return 0;
}

static bool same_shape(const struct net *a, const struct net *b)
{
    return a->n == b->n && a->size == b->size && a->act == b->act;
}

int mlp_load(struct ml_data *d, struct lane *lane, struct view *in, struct err *err)
{
    struct mlp_lane *l = lane->state;
    const struct net *n = &l->head.net;
    struct mlp_head h = { .task = l->head.task };
    uint64_t steps = 0, best = 0;

    (void)d;
    if (head_load(in, n->layer[0].in, n->layer[n->n - 1].out, KIND_TRAINING, &h, err) < 0 ||
        view_u64(in, &steps, err) < 0 || view_u64(in, &best, err) < 0)
        return -1;
    if (!same_shape(n, &h.net) || steps > (uint64_t)lane->params[MLP_EPOCHS] || best > steps)
        return err_set(err, ERR_ARG, "mlp: a checkpoint of another network");
    for (int i = 0; i < 3; i++) {
        if (floats_load(n, in, l->now + i * n->size, err) < 0)
            return -1;
    }
    if (best > 0) {
        if (!l->best)
            l->best = mem_try_zalloc((size_t)n->size * sizeof *l->best);
        if (!l->best)
            return err_set(err, ERR_NOMEM, "mlp: no memory to keep the best epoch");
        l->bytes += n->size * (int64_t)sizeof *l->best;
        if (floats_load(n, in, l->best, err) < 0)
            return -1;
    }
    l->best_step = (int64_t)best;
    l->at = 0;
    l->has_whole = false;
    lane->steps_done = (int64_t)steps;
    lane->is_done = false;
    return 0;
}

/* ---- inference ---- */

struct predictor {
    struct mlp_head head;
    float *w;
};

void mlp_predictor_free(struct predictor *p)
{
    if (!p)
        return;
    mem_try_free(p->w);
    mem_free(p);
}

struct predictor *mlp_predictor_load(const struct prep *prep, int n_outputs, enum ml_task task,
                                     struct view *in, struct err *err)
{
    struct predictor *p = mem_zalloc(sizeof *p);

    p->head.task = task;
    if (head_load(in, prep_width(prep), n_outputs, KIND_MODEL, &p->head, err) < 0)
        goto fail;
    if ((int64_t)(in->len - in->pos) / 4 < net_parameters(&p->head.net)) {
        err_set(err, ERR_ARG, "mlp: the model is cut short");
        goto fail;
    }
    p->w = mem_try_alloc((size_t)p->head.net.size * sizeof *p->w);
    if (!p->w) {
        err_set(err, ERR_NOMEM, "mlp: no memory for %" PRId64 " parameters", p->head.net.size);
        goto fail;
    }
    if (floats_load(&p->head.net, in, p->w, err) == 0)
        return p;
fail:
    mlp_predictor_free(p);
    return NULL;
}

int mlp_predictor_predict(const struct predictor *p, const struct prep_view *v, int64_t from,
                          int64_t n, float *out, struct err *err)
{
    int outputs = p->head.net.layer[p->head.net.n - 1].out;

    for (int64_t at = 0; at < n; at += MLP_TILE) {
        int64_t m = MIN(MLP_TILE, n - at);
        struct prep_dense x = { 0 };
        if (prep_dense_make(v, from + at, m, &x, err) < 0)
            return -1;
        int rc = mlp_predict(&p->head, p->w, &x, NULL, m, out + at * outputs, err);
        prep_dense_fini(&x);
        if (rc < 0)
            return -1;
    }
    return 0;
}
