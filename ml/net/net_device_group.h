/* net_device_group.h - private to net_device*.c: lanes that share the launches of a device.
 *
 * net_device.c        which lanes can go, the group that holds them, fetching
 * net_device_train.c  epochs: orders and steps to the device, losses back
 * net_device_score.c  predictions of the held rows
 * net_device_team.c   a lane that other ranks train as well, each on its device */
#ifndef ML_NET_NET_DEVICE_GROUP_H
#define ML_NET_NET_DEVICE_GROUP_H

#include "ml/net/net_lane.h"
#include "ml/ops/ops.h"
#include "ml/ops/ops_net.h"

/* An order of rows that the device holds: that of an epoch of a fold. */
struct net_feed {
    uint64_t order_seed;
    int64_t epoch, rows;
    /* lanes of the current round read it */
    bool is_in_use;
};

struct net_group {
    /* lanes that point here, and calls that are using it */
    int n_refs;
    const struct ml_compute *on;
    const struct ml_net_ops *ops;
    /* the first matrix of all rows, made for lanes of this source */
    struct ml_net_table *table;
    struct net_source source;
    /* NULL = none is open; `in` is what it was opened for */
    struct ml_net_group *g;
    struct ml_net_in in;
    /* [in.slots] NULL = the slot is free */
    struct net_lane **lanes;
    /* lanes that the device's memory holds at once, as far as is known */
    int lanes_most;
    /* [in.feeds - 1]; the last feed is for rows that are scored */
    struct net_feed *feeds;
    /* [in.feed_rows] on their way to a feed */
    int32_t *rows, *targets;
    /* [in.steps][in.slots] */
    struct ml_net_step *steps;
    struct ml_net_told *told;
    /* [in.slots] */
    struct ml_net_end *ends;
    uint8_t *marks;
    int *feed_of;
    /* of the call: the lane in a slot, NULL where it has none there, and how far it goes */
    struct lane **by;
    int64_t *until;
    /* of a lane that other ranks train as well: between their hosts; between their devices, NULL =
     * not met; the one of the two that sums gradients. NULL where there are no other ranks. */
    struct ml_reduce *hosts, *devices, *team;
    /* [in.slots] scores of the held rows by the lane as it stands, not asked for yet; NULL = none */
    float **held;
    int64_t bytes;
};

/* net_device_score.c: scores of a lane that is about to change. */
void net_group_forget(struct net_group *v, int slot);
/* net_device.c: closes the group on the device; lanes must have been fetched. */
void net_group_close(struct net_group *v);
/* net_device_train.c: brings each lane in `by` to `until`. 1 = all are there, 0 = stopped, -1 = error. */
int net_group_train(struct net_group *v, const struct ml_stop *stop, struct err *err);

/* net_device_team.c: a lane of several ranks has a group of its own, with one slot. All ranks make
 * the same calls, and so come to the same answers. */
/* Whether the lane's batches have rows for every rank. */
bool net_team_suits(const struct net_lane *l);
/* After this rank has opened its group (rc 0), or could not (rc -1, *err says why): whether all
 * ranks have, and how gradients are summed. -1 with ERR_NOMEM: the CPUs have to do it. */
int net_team_meet(struct net_group *v, int rc, struct err *err);
void net_team_part(struct net_group *v);
/* Whether any rank wants to stop; -1 = a rank is lost. */
int net_team_agrees(struct net_group *v, bool stops, struct err *err);
/* This rank's rows of a batch: the first one and their number. */
int64_t net_team_rows(const struct net_group *v, int64_t batch_rows, int64_t *from);
/* Batches that one call of the device takes: the same on all ranks. */
int64_t net_team_batches(const struct net_group *v, const struct net_lane *l);

#endif
