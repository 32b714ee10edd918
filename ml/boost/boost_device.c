/* boost_device.c - which lanes train together on a device (ml/ops/ops_boost.h), and the booster
 * that holds them there.
 *
 * Lanes share what they have on the device (boost_lane.device, counted by n_refs): it is freed when
 * the last of them closes. Lanes with a constraint or a size that the device cannot handle train on
 * the CPU. Called by boost.c and boost_device_round.c. */
#include "ml/boost/boost_device.h"

#include "base/base.h"
#include "base/log.h"
#include "base/mem.h"
#include "ml/math/grad_math.h"

#include <inttypes.h>
#include <string.h>

enum { LANES_MOST = 256 };

/* ---- what can go there ---- */

static const enum ml_boost_loss loss_of[BOOST_LOSSES] = {
    [BOOST_ABSOLUTE] = ML_BOOST_QUANTILE, [BOOST_HUBER] = ML_BOOST_HUBER,
    [BOOST_SQUARED] = ML_BOOST_SQUARED,   [BOOST_QUANTILE] = ML_BOOST_QUANTILE,
    [BOOST_POISSON] = ML_BOOST_POISSON,   [BOOST_LOGISTIC] = ML_BOOST_LOGISTIC,
    [BOOST_SOFTMAX] = ML_BOOST_SOFTMAX,
};

int boost_device_levels(const struct boost_lane *l)
{
    return l->p.col_level < 1.0 ? MIN(l->p.depth, boost_grow_leaves(l)) : 0;
}

int64_t boost_device_draws(const struct boost_lane *l)
{
    return (int64_t)boost_device_levels(l) * l->fine->cols * l->outputs;
}

/* Bounds of a node come from the values of its children, and for quantile and Huber losses these
 * are known at the end of a tree only: such lanes stay on the CPU. So do lanes whose rows have weights,
 * because the device scales second derivatives as if each of them counted a row. */
bool boost_device_suits(const struct ml_data *d, const struct boost_lane *l)
{
    const struct ml_compute *on = d->spec.device;

    return on && on->ops->boost && !l->is_weighted && l->rows <= INT32_MAX &&
           l->outputs <= ML_BOOST_TREES && boost_device_draws(l) <= BOOST_LEVEL_BYTES &&
           !(l->device && l->device->is_refused) &&
           !(l->monotone && loss_of[l->loss] >= ML_BOOST_QUANTILE && l->loss != BOOST_POISSON);
}

/* ---- the booster ---- */

static void booster_close(struct boost_device *v)
{
    if (v->booster)
        v->ops->close(v->booster);
    v->booster = NULL;
    mem_free(v->lanes);
    mem_free(v->rounds);
    mem_free(v->cols);
    mem_free(v->open);
    mem_free(v->trees);
    mem_free(v->nodes);
    v->lanes = NULL;
    v->rounds = NULL;
    v->cols = NULL;
    v->open = NULL;
    v->trees = NULL;
    v->nodes = NULL;
    v->has_columns = false;
    v->bytes = 0;
    v->n = v->n_cols = v->levels = v->n_nodes = 0;
}

void boost_device_leave(struct boost_lane *l)
{
    struct boost_device *v = l->device;

    l->device = NULL;
    if (!v)
        return;
    for (int i = 0; i < v->n; i++) {
        if (v->lanes[i].l == l)
            v->lanes[i].l = NULL;
    }
    if (--v->n_refs > 0)
        return;
    booster_close(v);
    for (int i = 0; i < BOOST_WORKS; i++)
        boost_work_free(v->works[i]);
    mem_free(v->drawn);
    mem_free(v);
}

/* The lane leaves the device state that it may have had, and takes this one. */
static void device_join(struct boost_device *v, struct boost_lane *l)
{
    if (l->device == v)
        return;
    boost_device_leave(l);
    l->device = v;
    v->n_refs++;
}

/* One lane's share of the host memory that the lanes of a device use together. */
int64_t boost_device_bytes(const struct boost_device *v)
{
    int64_t bytes = v ? v->bytes : 0;

    for (int i = 0; v && i < BOOST_WORKS; i++)
        bytes += v->works[i] ? v->works[i]->bytes : 0;
    return v ? bytes / v->n_refs : 0;
}

struct boost_device *boost_device_of(struct ml_data *d, struct lane *lanes, int n)
{
    struct boost_lane *first = lanes[0].state;

    for (int i = 0; i < n; i++) {
        struct boost_lane *l = lanes[i].state;
        if (l->device)
            return l->device;
    }
    struct boost_device *v = mem_zalloc(sizeof *v);
    v->on = d->spec.device;
    v->ops = v->on->ops->boost;
    v->lanes_most = LANES_MOST;
    v->drawn = mem_alloc((size_t)first->fine->cols + 1);
    device_join(v, first);
    return v;
}

/* The workspace for the lane's bins, with room for its trees. */
static struct boost_work *work_of(struct ml_data *d, struct boost_device *v,
                                  const struct boost_lane *l, struct err *err)
{
    const struct prep_bins *b = ml_data_bins(d, l->fold, l->p.max_bins, err);
    int at = 0;

    if (!b)
        return NULL;
    while (at < BOOST_WORKS && v->works[at] && v->works[at]->bins != b)
        at++;
    CHECK(at < BOOST_WORKS);
    if (!v->works[at])
        v->works[at] = boost_work_small(b);
    boost_grow_room(v->works[at], boost_grow_leaves(l));
    return v->works[at];
}

/* Prepares a lane for the booster, and widens the shared sizes to what it needs. */
static int lane_init(struct ml_data *d, struct boost_device *v, struct device_lane *to,
                     struct boost_lane *l, struct err *err)
{
    *to = (struct device_lane){ .l = l, .work = work_of(d, v, l, err), .version = -1 };
    if (!to->work)
        return -1;
    /* the number of columns does not depend on the seed */
    boost_grow_columns(to->work, l, 0);
    for (int j = 0; j < to->work->n_cols; j++)
        to->n_cols += to->work->is_used[j];
    v->n_cols = MAX(v->n_cols, to->n_cols);
    v->levels = MAX(v->levels, boost_device_levels(l));
    v->n_nodes = MAX(v->n_nodes, 2 * boost_grow_leaves(l) - 1);
    return 0;
}

/* The lane's parameters in the form of the device's contract. */
static void rule_fill(const struct device_lane *from, struct ml_boost_rule *out)
{
    const struct boost_lane *l = from->l;

    *out = (struct ml_boost_rule){
        .loss = loss_of[l->loss],
        .alpha = l->alpha,
        .is_monotone = l->monotone != NULL,
        .leaves = boost_grow_leaves(l),
        .depth = l->p.depth,
        .min_leaf = l->p.min_leaf,
        .max_onehot = l->p.max_onehot,
        .is_depth_wise = l->p.is_depth_wise,
        .is_random = l->p.is_random,
        .rate = l->p.learning_rate,
        .l1 = l->p.l1,
        .l2 = l->p.l2,
        .min_hessian = l->p.min_hessian,
        .cat_smooth = l->p.cat_smooth,
        .row_sample = l->p.row_sample,
        .h_factor = boost_loss_h_factor(l),
        .n_cols = from->n_cols,
        .levels = boost_device_levels(l),
    };
}

static int lane_fill(struct ml_data *d, const struct device_lane *from, struct ml_boost_lane *out,
                     struct err *err)
{
    const struct boost_lane *l = from->l;
    float scale =
        l->task == ML_REGRESSION ? 1.0f : grad_scale(l->w_largest, l->w_sum, l->r.n_train);

    *out = (struct ml_boost_lane){
        .table = ml_data_boost_table(d, l->fold, l->p.max_bins, err),
        .monotone = l->monotone,
        .seed = l->seed,
        .y = l->y,
        .w = l->w,
        .train = l->r.train,
        .n_train = l->r.n_train,
        .g_scale = scale,
        .h_scale = scale,
        .thin = l->thin,
    };
    rule_fill(from, &out->rule);
    return out->table ? 0 : -1;
}

/* Host arrays for what goes to and from the device in a round. */
static void rooms_take(struct boost_device *v, int outputs)
{
    size_t trees = (size_t)v->n * (size_t)outputs;

    v->rounds = mem_array((size_t)v->n, sizeof *v->rounds);
    v->cols = mem_array(trees * (size_t)v->n_cols + 1, sizeof *v->cols);
    v->open = mem_alloc(trees * (size_t)v->levels * (size_t)v->n_cols + 1);
    v->trees = mem_array(trees, sizeof *v->trees);
    v->nodes = mem_array(trees * (size_t)v->n_nodes, sizeof *v->nodes);
    v->bytes = (int64_t)(trees * ((size_t)v->n_cols * (size_t)(4 + v->levels) +
                                  (size_t)v->n_nodes * sizeof *v->nodes));
    memset(v->cols, 0, trees * (size_t)v->n_cols * sizeof *v->cols);
    memset(v->open, 0, trees * (size_t)v->levels * (size_t)v->n_cols);
}

static bool is_held(const struct boost_device *v, const struct boost_lane *l)
{
    for (int i = 0; i < v->n; i++) {
        if (v->lanes[i].l == l)
            return true;
    }
    return false;
}

int boost_device_hold(struct ml_data *d, struct boost_device *v, struct lane *const *lanes, int n,
                      struct err *err)
{
    const struct boost_lane *first = lanes[0]->state;
    struct ml_boost_in in = { .outputs = first->outputs,
                              .n_lanes = n,
                              .threads = v->on->threads,
                              .tile_rows = v->on->tile_rows,
                              .batch = v->on->batch };
    int n_held = 0, rc = 0;

    for (int i = 0; i < n; i++)
        n_held += is_held(v, lanes[i]->state);
    if (v->booster && n_held == n)
        return 0;
    booster_close(v);
    struct ml_boost_lane *each = mem_array((size_t)n, sizeof *each);
    v->lanes = mem_array((size_t)n, sizeof *v->lanes);
    v->n = n;
    for (int i = 0; i < n; i++)
        v->lanes[i] = (struct device_lane){ 0 };
    for (int i = 0; i < n && rc == 0; i++) {
        device_join(v, lanes[i]->state);
        rc = lane_init(d, v, &v->lanes[i], lanes[i]->state, err) < 0 ||
                     lane_fill(d, &v->lanes[i], &each[i], err) < 0
                 ? -1
                 : 0;
    }
    rc = rc < 0 ? rc : v->ops->open(v->on->ctx, &in, each, &v->booster, err);
    mem_free(each);
    if (rc < 0) {
        booster_close(v);
        return -1;
    }
    rooms_take(v, first->outputs);
    log_debug("boost.device lanes=%d outputs=%d bytes=%" PRId64, n, first->outputs,
              v->ops->bytes(v->booster));
    return 0;
}
