/* net_device_score.c - predictions of held-out rows by the networks of a group. The first lane of a fold that asks has the
 * device score its rows by all lanes of the fold that stand at the same point, in the same launches; the others find their
 * scores ready. */
#include "ml/net/net_device_group.h"

#include "base/base.h"
#include "base/mem.h"

#include <string.h>

/* Scores that wait on the host until they are asked for. */
#define WAITING_BYTES (64LL << 20)

static bool scores_alike(const struct net_lane *a, const struct net_lane *b)
{
    return a->order_seed == b->order_seed && a->r.n_held == b->r.n_held &&
           (a->at > 0) == (b->at > 0);
}

static int64_t floats_of(const struct net_lane *l)
{
    return l->r.n_held * net_outputs(&l->head.net);
}

/* Marks the lanes that are scored together with lane l, itself included, and makes room for their scores. */
static int mark(struct net_group *v, const struct net_lane *l, struct err *err)
{
    int64_t most = WAITING_BYTES / (floats_of(l) * (int64_t)sizeof(float)), n = 1;

    for (int i = 0; i < v->in.slots; i++) {
        const struct net_lane *other = v->lanes[i];
        v->marks[i] = other == l || (other && !v->held[i] && n < most && scores_alike(other, l));
        if (!v->marks[i])
            continue;
        n += other != l;
        v->held[i] = mem_try_alloc((size_t)floats_of(l) * sizeof(float));
        if (!v->held[i])
            return err_set(err, ERR_NOMEM, "no memory for the scores of a fold");
    }
    return 0;
}

static int score(struct net_group *v, const struct net_lane *l, struct err *err)
{
    enum ml_net_when when = l->at > 0 ? ML_NET_KEPT : ML_NET_NOW;
    int64_t outputs = v->in.outputs, tile = v->in.score_rows;
    float *out = mem_try_alloc((size_t)(v->in.slots * tile * outputs) * sizeof *out);
    int rc = out ? 0 : err_set(err, ERR_NOMEM, "no memory for the scores of a group");

    for (int64_t from = 0; from < l->r.n_held && rc == 0; from += tile) {
        int64_t n = MIN(tile, l->r.n_held - from);
        rc = v->ops->feed_put(v->g, v->in.feeds - 1, l->r.held + from, NULL, n, err);
        rc = rc < 0 ? rc : v->ops->score(v->g, v->marks, when, v->in.feeds - 1, n, out, err);
        for (int i = 0; i < v->in.slots && rc == 0; i++) {
            if (v->marks[i])
                memcpy(v->held[i] + from * outputs, out + i * n * outputs,
                       (size_t)(n * outputs) * sizeof *out);
        }
    }
    mem_try_free(out);
    return rc;
}

void net_group_forget(struct net_group *v, int slot)
{
    mem_try_free(v->held[slot]);
    v->held[slot] = NULL;
}

int net_device_score(const struct net_lane *l, float *out, struct err *err)
{
    struct net_group *v = l->group;

    if (l->slot < 0 || l->r.n_held == 0)
        return 0;
    if (!v->held[l->slot]) {
        int rc = mark(v, l, err) < 0 ? -1 : score(v, l, err);
        for (int i = 0; i < v->in.slots && rc < 0; i++) {
            if (v->marks[i])
                net_group_forget(v, i);
        }
        if (rc < 0)
            return -1;
    }
    net_scores_out(&l->head, v->held[l->slot], net_outputs(&l->head.net), l->r.n_held, out);
    net_group_forget(v, l->slot);
    return 1;
}
