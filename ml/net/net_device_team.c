/* net_device_team.c - a network that several ranks train, each on a device of its own and on its share of every batch. The
 * arithmetic is that of ranks on CPUs (net_train.c), bit for bit. The ranks' hosts know each other (ml/ops/ops_reduce.h, over
 * TCP as a rule); through them the devices meet, and through them ranks agree on when to stop. The gradients are summed between
 * the devices by NCCL; where it is not installed on all machines, between the hosts. */
#include "ml/net/net_device_group.h"
#include "ml/ops/ops_reduce.h"

#include "base/base.h"
#include "base/log.h"

#include <inttypes.h>

bool net_team_suits(const struct net_lane *l)
{
    return !l->team && l->r.n_train / l->batches >= l->reduce->ranks;
}

int64_t net_team_rows(const struct net_group *v, int64_t batch_rows, int64_t *from)
{
    int rank = v->hosts->rank, ranks = v->hosts->ranks;

    *from = batch_rows * rank / ranks;
    return batch_rows * (rank + 1) / ranks - *from;
}

static int64_t rows_most(const struct net_lane *l, int ranks)
{
    int64_t batch = (l->r.n_train + l->batches - 1) / l->batches;

    return (batch + ranks - 1) / ranks;
}

int64_t net_team_batches(const struct net_group *v, const struct net_lane *l)
{
    return MAX(v->in.steps / net_parts(rows_most(l, v->hosts->ranks)), 1);
}

/* ---- meeting ---- */

/* What each rank says, as numbers that are added up: whether its device holds the network, whether it has NCCL, and rank 0 the
 * bytes of the id. */
enum { SAYS_ROOM, SAYS_NCCL, SAYS_ID, SAYS = SAYS_ID + ML_NCCL_ID_BYTES };

static const struct ml_nccl_ops *nccl_of(const struct net_group *v)
{
    return v->on->ops->nccl;
}

static int devices_open(struct net_group *v, const float *says, struct err *err)
{
    struct ml_nccl_id id;

    for (int i = 0; i < ML_NCCL_ID_BYTES; i++)
        id.bytes[i] = (char)(unsigned char)says[SAYS_ID + i];
    v->devices = nccl_of(v)->open(v->on->ctx, &id, v->hosts, v->in.size, err);
    if (!v->devices)
        return err_wrap(err, "rank %d of %d", v->hosts->rank, v->hosts->ranks);
    return 0;
}

int net_team_meet(struct net_group *v, int rc, struct err *err)
{
    struct ml_reduce *r = v->hosts;
    struct ml_nccl_id id = { { 0 } };
    struct err why = { 0 };
    float says[SAYS] = { 0 };

    says[SAYS_ROOM] = rc == 0 ? 1.0f : 0.0f;
    if (nccl_of(v) && nccl_of(v)->is_there(&why) == 0 &&
        (r->rank > 0 || nccl_of(v)->id(&id, &why) == 0))
        says[SAYS_NCCL] = 1.0f;
    for (int i = 0; i < ML_NCCL_ID_BYTES; i++)
        says[SAYS_ID + i] = (float)(unsigned char)id.bytes[i];
    if (r->ops->sum(r, says, SAYS, err) < 0 || r->ops->wait(r, err) < 0)
        return -1;
    if (says[SAYS_ROOM] < (float)r->ranks)
        return rc < 0 ? -1
                      : err_set(err, ERR_NOMEM, "the device of another rank has no room for it");
    v->team = r;
    if (says[SAYS_NCCL] == (float)r->ranks) {
        if (!v->devices && devices_open(v, says, err) < 0)
            return -1;
        v->team = v->devices;
    }
    log_info("net.team rank=%d ranks=%d sums=%s parameters=%" PRId64 " without_nccl=\"%s\"",
             r->rank, r->ranks, v->team->ops->backend, v->in.size, why.text);
    return 0;
}

void net_team_part(struct net_group *v)
{
    if (v->devices)
        nccl_of(v)->close(v->devices);
    v->devices = v->team = NULL;
}

int net_team_agrees(struct net_group *v, bool stops, struct err *err)
{
    float word = stops ? 1.0f : 0.0f;

    if (!v->hosts)
        return stops;
    if (v->hosts->ops->sum(v->hosts, &word, 1, err) < 0 || v->hosts->ops->wait(v->hosts, err) < 0)
        return -1;
    return word > 0.0f;
}
