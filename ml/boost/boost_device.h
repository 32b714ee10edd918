/* boost_device.h - private to boost_device*.c: what the lanes that train together on a device
 * share.
 *
 * boost_device.c        which lanes share it, and the booster that holds them
 * boost_device_round.c  rounds: columns to the device, trees and scores back */
#ifndef ML_BOOST_BOOST_DEVICE_H
#define ML_BOOST_BOOST_DEVICE_H

#include "ml/boost/boost.h"
#include "ml/model/split.h"
#include "ml/ops/ops.h"
#include "ml/ops/ops_boost.h"

/* BOOST_LEVEL_BYTES: the draws of columns for each depth are made on the host, and a round may send
 * at most so many bytes of them. BOOST_BIN_KINDS: the choices of the parameter bins. */
enum { BOOST_LEVEL_BYTES = 16 << 20, BOOST_BIN_KINDS = 3 };
/* Bins differ by their number and, where the preparation depends on the fold, by fold. */
enum { BOOST_WORKS = BOOST_BIN_KINDS * (SPLIT_MAX_FOLDS + 1) };

/* A lane that the booster holds. */
struct device_lane {
    /* NULL = it has left */
    struct boost_lane *l;
    /* the workspace for its bins */
    struct boost_work *work;
    /* version of the scores that the device has of it */
    int64_t version;
    int n_cols;
};

struct boost_device {
    /* lanes that point here */
    int n_refs;
    const struct ml_compute *on;
    const struct ml_boost_ops *ops;
    struct ml_booster *booster;
    /* by their bins: small workspaces, which hold the drawn columns and the nodes from which
     * a tree is made */
    struct boost_work *works[BOOST_WORKS];
    /* lanes that the booster holds, and may hold */
    int n, lanes_most;
    struct device_lane *lanes;
    /* of the lane that has most of them */
    int n_cols, levels, n_nodes;
    int64_t *rounds;
    int32_t *cols;
    /* drawn: the columns of one depth */
    uint8_t *open, *drawn;
    struct ml_boost_tree *trees;
    struct ml_boost_node *nodes;
    int64_t bytes;
    /* the booster has the columns of an earlier round */
    bool has_columns;
    /* there was no memory on the device */
    bool is_refused;
};

/* boost_device.c: the device state of the lanes (the one that any of them has, else the first lane
 * makes one), and a booster that holds all of them: the one there is, or a new one. */
struct boost_device *boost_device_of(struct ml_data *d, struct lane *lanes, int n);
int boost_device_hold(struct ml_data *d, struct boost_device *v, struct lane *const *lanes, int n,
                      struct err *err);
/* depths that columns are drawn for */
int boost_device_levels(const struct boost_lane *l);
/* bytes of draws in a round */
int64_t boost_device_draws(const struct boost_lane *l);

#endif
