/* boost_device.h - private to boost_device*.c: what the lanes that train together on a device share there.
 *
 * boost_device.c        who shares it, and the booster that holds them
 * boost_device_round.c  rounds: columns there, trees and scores back */
#ifndef ML_BOOST_BOOST_DEVICE_H
#define ML_BOOST_BOOST_DEVICE_H

#include "ml/boost/boost.h"
#include "ml/ops/ops.h"
#include "ml/ops/ops_boost.h"

/* Draws of columns by depth come from the host: this many bytes of them a round, not more. */
enum { BOOST_LEVEL_BYTES = 16 << 20, BOOST_BIN_KINDS = 3 };

struct device_lane {
    struct boost_lane *l;    /* NULL: it left */
    struct boost_work *work; /* of its bins */
    int64_t version;         /* of its scores there */
    int n_cols;
};

struct boost_device {
    int n_refs; /* lanes that point here */
    const struct ml_compute *on;
    const struct ml_boost_ops *ops;
    struct ml_booster *booster;
    struct boost_work
        *works[BOOST_BIN_KINDS]; /* by bins: columns, and nodes on their way to a tree */
    int n, lanes_most;           /* that the booster holds; that it may */
    struct device_lane *lanes;
    int n_cols, levels, n_nodes; /* of the lane that has most */
    int64_t *rounds;
    int32_t *cols;
    uint8_t *open, *drawn; /* drawn: of one depth */
    struct ml_boost_tree *trees;
    struct ml_boost_node *nodes;
    int64_t bytes;
    bool has_columns; /* the booster knows those of a round before */
    bool is_refused;  /* for want of memory there */
};

/* boost_device.c: that of the lanes (whoever has one lends it, else the first lane makes one), and a booster that holds all
 * of them: the one there is, or a new one. */
struct boost_device *boost_device_of(struct ml_data *d, struct lane *lanes, int n);
int boost_device_hold(struct ml_data *d, struct boost_device *v, struct lane *const *lanes, int n,
                      struct err *err);
int boost_device_levels(const struct boost_lane *l);    /* depths that columns are drawn for */
int64_t boost_device_draws(const struct boost_lane *l); /* so many bytes in a round */

#endif
