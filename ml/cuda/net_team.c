/* net_team.c - steps of a network that several ranks train (ops_net.h, team_steps): the launches of
 * a step, with the sums over the ranks between them. The gradient of a layer sets out as soon as it
 * is computed, while the layers below it are.
 *
 * Where the ranks' devices sum (NCCL), this thread only queues and waits at the end of the call.
 * Where their hosts do, gradients are copied there and back. There is no graph of launches, because
 * the sums are not launches; batches that are worth several devices take longer than their
 * launches. */
#include "ml/cuda/net_private.h"

#include <stdlib.h>

/* Where layer l begins among the parameters: the scales of the inputs belong to the first. */
static int64_t layer_at(const struct ml_net_lane *lane, int l)
{
    if (l == 0)
        return 0;
    if (l == lane->n_layers)
        return lane->size;
    const struct ml_net_layer *y = &lane->layer[l];
    return y->weights < y->bias ? y->weights : y->bias;
}

static int staged_open(struct ml_net_group *g, const struct ml_reduce *r, struct err *err)
{
    if (r->ops->on_device || g->staged)
        return 0;
    g->staged = malloc((size_t)(g->in.size + 1) * sizeof(*g->staged));
    return g->staged ? 0 : err_set(err, ERR_NOMEM, "no memory for gradients on their way");
}

/* Begins the sum of n floats of the device; on hosts, of their copy at staged. */
static int sum(struct ml_net_group *g, struct ml_reduce *r, float *x, float *staged, int64_t n,
               struct err *err)
{
    if (r->ops->on_device)
        return r->ops->sum(r, x, n, err);
    if (cuda_group_get(g, staged, x, (size_t)n * sizeof(*x), err) < 0 ||
        cuda_group_wait(g, err) < 0)
        return -1;
    return r->ops->sum(r, staged, n, err);
}

/* What is queued from now on sees the sums of this batch. */
static int sums_wait(struct ml_net_group *g, struct ml_reduce *r, struct err *err)
{
    size_t bytes = (size_t)g->lanes[0].size * sizeof(*g->staged);

    if (r->ops->wait(r, err) < 0)
        return -1;
    if (r->ops->on_device)
        return 0;
    if (cuda_group_put(g, g->v.grad, g->staged, bytes, err) < 0 ||
        cuda_group_put(g, &g->v.team->word, g->staged + g->in.size, sizeof(float), err) < 0)
        return -1;
    return cuda_group_wait(g, err);
}

static int layer_back(struct ml_net_group *g, struct ml_reduce *r, int l, int is_last,
                      struct err *err)
{
    const struct net_view *v = &g->v;
    int64_t from = layer_at(&g->lanes[0], l), to = layer_at(&g->lanes[0], l + 1);

    if (cuda_net_backward(g->c, v, l, err) < 0 || (l == 0 && cuda_net_scales(g->c, v, err) < 0) ||
        cuda_net_team_share(g->c, v, from, to, err) < 0)
        return -1;
    return is_last ? sum(g, r, v->grad + from, g->staged + from, to - from, err) : 0;
}

static int step(struct ml_net_group *g, struct ml_reduce *r, int is_last, struct err *err)
{
    const struct net_view *v = &g->v;

    for (int l = 0; l < v->layers; l++) {
        if (cuda_net_forward(g->c, v, l, err) < 0)
            return -1;
    }
    if (cuda_net_loss(g->c, v, err) < 0 || cuda_net_team_loss(g->c, v, err) < 0)
        return -1;
    for (int l = v->layers - 1; l >= 0; l--) {
        if (layer_back(g, r, l, is_last, err) < 0)
            return -1;
    }
    if (is_last &&
        (sum(g, r, &v->team->word, g->staged + g->in.size, 1, err) < 0 ||
         sums_wait(g, r, err) < 0 || cuda_net_team_end(g->c, v, err) < 0 ||
         (v->rates && cuda_net_norms(g->c, v, err) < 0) || cuda_net_optimise(g->c, v, err) < 0))
        return -1;
    return cuda_net_next(g->c, v, err);
}

int cuda_net_team_steps(struct ml_net_group *g, struct ml_reduce *r,
                        const struct ml_net_step *steps, int n, struct ml_net_end *ends,
                        struct ml_net_told *told, struct err *err)
{
    g->v.w = g->v.state;
    if (staged_open(g, r, err) < 0 || cuda_group_begin(g, steps, n, err) < 0)
        return -1;
    for (int i = 0; i < n; i++) {
        int part = steps[i].part;
        if (step(g, r, part == ML_NET_LAST_PART || part == ML_NET_ONLY_PART, err) < 0)
            return -1;
    }
    if (r->ops->on_device && cuda_nccl_ops.finish(r, err) < 0)
        return -1;
    return cuda_group_end(g, steps, n, ends, told, err);
}
