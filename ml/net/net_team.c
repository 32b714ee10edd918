/* net_team.c - one network trained by several ranks, each on its share of every batch, with the gradients summed over all
 * (ml/ops/ops_reduce.h). Here the ranks are threads. Every rank has a lane of its own, makes the same step from the same sum
 * and therefore has the same parameters at all times; the first one is the lane that the engine knows. A rank that is lost
 * fails that lane, with one message. */
#include "ml/net/net_lane.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/net/net_reduce.h"

#include <pthread.h>
#include <string.h>

/* A step takes milliseconds; a rank that needs so long is lost. */
enum { RANK_LIMIT_MS = 120000 };

struct member {
    struct lane lane;
    int64_t target;
    const struct ml_stop *stop;
    bool is_there;
};

struct net_team {
    int ranks;
    struct net_reduce *reduce;
    struct member *others; /* [ranks - 1] */
};

int net_team_open(struct ml_data *d, struct lane *lane, int ranks, struct err *err)
{
    struct net_lane *l = lane->state;
    struct net_team *t = mem_zalloc(sizeof *t);

    CHECK(ranks >= 2 && !l->team);
    t->ranks = ranks;
    t->reduce = net_reduce_new(ranks, RANK_LIMIT_MS);
    t->others = mem_zalloc((size_t)(ranks - 1) * sizeof *t->others);
    l->team = t;
    l->reduce = net_reduce_end(t->reduce, 0);
    for (int i = 1; i < ranks; i++) {
        struct lane *mine = &t->others[i - 1].lane;
        *mine = *lane;
        mine->state = NULL;
        mine->log = NULL; /* the first rank notes for all */
        mine->reduce = NULL;
        if (net_lane_open_rank(l->head.kind, d, mine, err) < 0) {
            net_team_close(l);
            return err_wrap(err, "rank %d of %d", i, ranks);
        }
        ((struct net_lane *)mine->state)->reduce = net_reduce_end(t->reduce, i);
    }
    return 0;
}

void net_team_close(struct net_lane *l)
{
    struct net_team *t = l->team;

    if (!t)
        return;
    l->team = NULL;
    l->reduce = NULL;
    for (int i = 0; i < t->ranks - 1; i++)
        net_lane_close(&t->others[i].lane);
    net_reduce_free(t->reduce);
    mem_free(t->others);
    mem_free(t);
}

int64_t net_team_bytes(const struct net_lane *l)
{
    int64_t sum = 0;

    for (int i = 0; l->team && i < l->team->ranks - 1; i++)
        sum += net_lane_bytes(&l->team->others[i].lane);
    return sum;
}

/* The lane may have been loaded from a checkpoint, or stand inside an epoch. */
static void follow(struct lane *to, const struct lane *from)
{
    struct net_lane *t = to->state;
    const struct net_lane *f = from->state;

    memcpy(t->now, f->now, (size_t)(NET_STATES * f->head.net.size) * sizeof *f->now);
    t->at = f->at;
    to->steps_done = from->steps_done;
    to->max_steps = from->max_steps;
    to->failed = false;
}

static void *member_run(void *arg)
{
    struct member *m = arg;

    net_train(m->lane.state, &m->lane, m->target, NULL);
    return NULL;
}

bool net_team_train(struct net_lane *l, struct lane *lane, int64_t target,
                    const struct ml_stop *stop)
{
    struct net_team *t = l->team;
    pthread_t thread[ML_REDUCE_RANKS];

    if (ml_stop_now(stop))
        return false;
    for (int i = 0; i < t->ranks - 1; i++) {
        struct member *m = &t->others[i];
        struct ml_reduce *end = net_reduce_end(t->reduce, i + 1);
        follow(&m->lane, lane);
        m->target = target;
        m->is_there = pthread_create(&thread[i], NULL, member_run, m) == 0;
        if (!m->is_there)
            end->ops->leave(end, "no thread for it");
    }
    bool is_through = net_train(l, lane, target, stop);
    for (int i = 0; i < t->ranks - 1; i++) {
        if (t->others[i].is_there)
            pthread_join(thread[i], NULL);
    }
    return is_through;
}
