/* boost_device.c - rounds of boosting on a device (ml/ops_boost.h). Lanes of one trial that stand at the same round go on
 * together; trees come back after each round and join the lanes' forests, scores when the call ends, so that between
 * calls a lane is what it would be on the CPU, byte for byte, and may go on there. A loss, a constraint or a size that
 * the device has no form for is left to the CPU. Called by boost.c. */
#include "ml/boost.h"

#include "base/base.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/grad_math.h"
#include "ml/ops.h"
#include "ml/ops_boost.h"

#include <inttypes.h>
#include <string.h>

/* Draws of columns by depth come from the host: this many bytes of them a round, not more. */
enum { LEVEL_BYTES = 16 << 20 };

struct boost_device {
    const struct ml_compute *on;
    const struct ml_boost_ops *ops;
    struct ml_booster *booster;
    struct boost_work *work; /* columns, and nodes on their way to a tree */
    int n;
    struct boost_lane **lanes; /* that the booster holds */
    int64_t *versions;         /* of their scores there */
    int n_cols, levels, n_nodes;
    int32_t *cols;
    uint8_t *open, *drawn; /* drawn: of one depth */
    struct ml_boost_tree *trees;
    struct ml_boost_node *nodes;
    int64_t bytes;
    bool has_columns; /* the booster knows those of a round before */
    bool is_refused;  /* for want of memory there */
};

/* ---- what can go there ---- */

static int levels_of(const struct boost_lane *l)
{
    return l->p.col_level < 1.0 ? MIN(l->p.depth, boost_grow_leaves(l)) : 0;
}

static bool can_train(const struct ml_compute *on, const struct boost_lane *l, int n)
{
    int64_t draws = (int64_t)levels_of(l) * l->fine->cols * n * l->outputs;

    return on && on->ops->boost && !l->monotone && l->rows <= INT32_MAX && draws <= LEVEL_BYTES &&
           (l->loss == BOOST_LOGISTIC || l->loss == BOOST_SOFTMAX || l->loss == BOOST_SQUARED);
}

/* ---- the booster ---- */

static void booster_close(struct boost_device *v)
{
    if (v->booster)
        v->ops->close(v->booster);
    v->booster = NULL;
    mem_free(v->lanes);
    mem_free(v->versions);
    mem_free(v->cols);
    mem_free(v->open);
    mem_free(v->trees);
    mem_free(v->nodes);
    v->lanes = NULL;
    v->versions = NULL;
    v->cols = NULL;
    v->open = NULL;
    v->trees = NULL;
    v->nodes = NULL;
    v->has_columns = false;
    v->n = 0;
}

void boost_device_free(struct boost_device *v)
{
    if (!v)
        return;
    booster_close(v);
    boost_work_free(v->work);
    mem_free(v->drawn);
    mem_free(v);
}

int64_t boost_device_bytes(const struct boost_device *v)
{
    return v ? v->bytes + v->work->bytes : 0;
}

/* The trial's: whoever has one lends it, else the first lane makes one. */
static struct boost_device *device_of(struct ml_data *d, struct lane *lanes, int n, struct err *err)
{
    struct boost_lane *first = lanes[0].state;

    for (int i = 0; i < n; i++) {
        struct boost_lane *l = lanes[i].state;
        if (l->device)
            return l->device;
    }
    const struct prep_bins *b = ml_data_bins(d, first->p.max_bins, err);
    if (!b)
        return NULL;
    struct boost_device *v = first->device = mem_zalloc(sizeof *v);
    v->on = d->spec.device;
    v->ops = v->on->ops->boost;
    v->work = boost_work_small(b);
    v->drawn = mem_alloc((size_t)b->cols + 1);
    boost_grow_room(v->work, boost_grow_leaves(first));
    boost_grow_columns(v->work, first, 0); /* how many there are does not depend on the seed */
    for (int j = 0; j < v->work->n_cols; j++)
        v->n_cols += v->work->is_used[j];
    v->levels = levels_of(first);
    v->n_nodes = 2 * boost_grow_leaves(first) - 1;
    return v;
}

static void trial_fill(const struct boost_device *v, const struct boost_lane *l, int n,
                       struct ml_boost_in *in)
{
    *in = (struct ml_boost_in){
        .loss = l->loss == BOOST_LOGISTIC  ? ML_BOOST_LOGISTIC
                : l->loss == BOOST_SOFTMAX ? ML_BOOST_SOFTMAX
                                           : ML_BOOST_SQUARED,
        .outputs = l->outputs,
        .n_lanes = n,
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
        .n_cols = v->n_cols,
        .levels = v->levels,
        .threads = v->on->threads,
        .tile_rows = v->on->tile_rows,
        .batch = v->on->batch,
    };
}

static void lane_fill(const struct boost_lane *l, struct ml_boost_lane *out)
{
    float scale =
        l->loss == BOOST_SQUARED ? 1.0f : grad_scale(l->w_largest, l->w_sum, l->r.n_train);

    *out = (struct ml_boost_lane){
        .seed = l->seed,
        .y = l->y,
        .w = l->w,
        .train = l->r.train,
        .n_train = l->r.n_train,
        .g_scale = scale,
        .h_scale = scale,
        .thin = l->thin,
    };
}

static bool is_same_group(const struct boost_device *v, struct boost_lane *const *lanes, int n)
{
    bool is_same = v->booster && v->n == n;

    for (int i = 0; i < n && is_same; i++)
        is_same = v->lanes[i] == lanes[i];
    return is_same;
}

/* A booster for these lanes: the one there is, or a new one. */
static int booster_for(struct ml_data *d, struct boost_device *v, struct boost_lane *const *lanes,
                       int n, struct err *err)
{
    struct ml_boost_in in;
    size_t trees = (size_t)n * (size_t)lanes[0]->outputs;

    if (is_same_group(v, lanes, n))
        return 0;
    booster_close(v);
    struct ml_boost_table *table = ml_data_boost_table(d, lanes[0]->p.max_bins, err);
    if (!table)
        return -1;
    struct ml_boost_lane *each = mem_array((size_t)n, sizeof *each);
    trial_fill(v, lanes[0], n, &in);
    for (int i = 0; i < n; i++)
        lane_fill(lanes[i], &each[i]);
    int rc = v->ops->open(v->on->ctx, table, &in, each, &v->booster, err);
    mem_free(each);
    if (rc < 0)
        return -1;
    log_debug("boost.device lanes=%d outputs=%d bytes=%" PRId64, n, lanes[0]->outputs,
              v->ops->bytes(v->booster));
    v->n = n;
    v->lanes = mem_array((size_t)n, sizeof(void *));
    v->versions = mem_array((size_t)n, sizeof *v->versions);
    for (int i = 0; i < n; i++) {
        v->lanes[i] = lanes[i];
        v->versions[i] = -1;
    }
    v->cols = mem_array(trees * (size_t)v->n_cols + 1, sizeof *v->cols);
    v->open = mem_alloc(trees * (size_t)v->levels * (size_t)v->n_cols + 1);
    v->trees = mem_array(trees, sizeof *v->trees);
    v->nodes = mem_array(trees * (size_t)v->n_nodes, sizeof *v->nodes);
    v->bytes = (int64_t)(trees * ((size_t)v->n_cols * (size_t)(4 + v->levels) +
                                  (size_t)v->n_nodes * sizeof *v->nodes));
    return 0;
}

static int scores_put(struct boost_device *v, struct err *err)
{
    for (int i = 0; i < v->n; i++) {
        if (v->versions[i] == v->lanes[i]->f_version)
            continue;
        if (v->ops->scores_put(v->booster, i, v->lanes[i]->f, err) < 0)
            return -1;
        v->versions[i] = v->lanes[i]->f_version;
    }
    return 0;
}

static int scores_get(struct boost_device *v, struct err *err)
{
    for (int i = 0; i < v->n; i++) {
        if (v->ops->scores_get(v->booster, i, v->lanes[i]->f, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- a round ---- */

/* The columns that the tree scans, of all that the CPU keeps at hand, and which of them are open at each depth. */
static void columns_draw(struct boost_device *v, const struct boost_lane *l, uint64_t seed, int t)
{
    struct boost_work *wk = v->work;
    int32_t *cols = v->cols + (size_t)t * (size_t)v->n_cols;
    uint8_t *open = v->open + (size_t)t * (size_t)v->levels * (size_t)v->n_cols;
    int n = 0;

    boost_grow_columns(wk, l, seed);
    for (int j = 0; j < wk->n_cols; j++) {
        if (wk->is_used[j])
            cols[n++] = wk->cols[j];
    }
    CHECK(n == v->n_cols);
    for (int depth = 0; depth < v->levels; depth++) {
        boost_grow_level(wk, l, seed, depth, v->drawn);
        for (int j = 0; j < wk->n_cols; j++) {
            if (wk->is_used[j])
                *open++ = v->drawn[j];
        }
    }
}

static uint64_t tree_seed(const struct boost_lane *l, int64_t round, int output)
{
    return rng_mix(l->seed, (uint64_t)(round * l->outputs + output));
}

static void round_columns(struct boost_device *v, int64_t round, struct ml_boost_columns *out)
{
    const struct boost_lane *l = v->lanes[0];
    bool is_drawn = l->p.col_sample < 1.0 || v->levels > 0;

    *out = (struct ml_boost_columns){ 0 };
    if (!is_drawn && v->has_columns)
        return;
    v->has_columns = true;
    for (int t = 0; t < v->n * l->outputs; t++)
        columns_draw(v, v->lanes[t / l->outputs],
                     tree_seed(v->lanes[t / l->outputs], round, t % l->outputs), t);
    out->cols = v->cols;
    out->open = v->levels > 0 ? v->open : NULL;
}

/* Tree t of the round, as the CPU would have grown it. */
static int tree_take(struct boost_device *v, struct boost_lane *l, int t)
{
    struct boost_work *wk = v->work;
    const struct ml_boost_node *from = v->nodes + (size_t)t * (size_t)v->n_nodes;
    struct tree tree;

    wk->n_nodes = v->trees[t].n_nodes;
    wk->g_scale = v->trees[t].g_scale;
    wk->h_scale = v->trees[t].h_scale;
    CHECK(wk->n_nodes >= 1 && wk->n_nodes <= v->n_nodes);
    for (int i = 0; i < wk->n_nodes; i++) {
        struct grow_node *nd = &wk->nodes[i];
        *nd = (struct grow_node){ .n = from[i].n,
                                  .depth = from[i].depth,
                                  .kid = { from[i].kid[0], from[i].kid[1] },
                                  .gain = from[i].gain,
                                  .value = from[i].value };
        CHECK(nd->kid[0] < wk->n_nodes && nd->kid[1] < wk->n_nodes);
        nd->best.col = from[i].col;
        nd->best.bin = from[i].bin;
        nd->best.add = from[i].add;
        nd->best.is_categorical = from[i].is_categorical;
        memcpy(nd->best.left_set, from[i].left_set, sizeof nd->best.left_set);
    }
    return boost_grow_tree(wk, l, true, &tree) < 0 ? -1 : forest_add(&l->forest, &tree);
}

static int round_run(struct boost_device *v, struct lane *const *group, int64_t round,
                     struct err *err)
{
    struct ml_boost_columns columns;

    round_columns(v, round, &columns);
    if (v->ops->round(v->booster, round, &columns, v->trees, v->nodes, err) < 0)
        return -1;
    for (int i = 0; i < v->n; i++) {
        struct boost_lane *l = v->lanes[i];
        for (int k = 0; k < l->outputs && !group[i]->failed; k++) {
            if (tree_take(v, l, i * l->outputs + k) < 0) {
                group[i]->failed = true;
                err_set(&group[i]->why, ERR_NOMEM, "boost: no memory for more trees");
            }
        }
        group[i]->steps_done++;
    }
    return 0;
}

/* ---- lanes ---- */

static int64_t target_of(const struct lane *lane, int64_t steps)
{
    return lane->max_steps && steps > lane->max_steps ? lane->max_steps : steps;
}

/* The lanes that are furthest behind, and how far they go before others join them; 0 = all are there. */
static int group_pick(struct lane *lanes, int n, const int64_t *targets, struct lane **group,
                      int64_t *until)
{
    int64_t least = INT64_MAX;
    int m = 0;

    *until = INT64_MAX;
    for (int i = 0; i < n; i++) {
        if (!lanes[i].failed && !lanes[i].is_done && lanes[i].steps_done < targets[i])
            least = MIN(least, lanes[i].steps_done);
    }
    for (int i = 0; i < n; i++) {
        if (lanes[i].failed || lanes[i].is_done || lanes[i].steps_done >= targets[i])
            continue;
        if (lanes[i].steps_done == least) {
            group[m++] = &lanes[i];
            *until = MIN(*until, targets[i]);
        } else {
            *until = MIN(*until, lanes[i].steps_done);
        }
    }
    return m;
}

/* 1 there, 0 stopped, 2 no memory on the device, -1 error. */
static int group_run(struct ml_data *d, struct boost_device *v, struct lane **group, int n,
                     int64_t until, const struct ml_stop *stop, struct err *err)
{
    struct boost_lane **lanes = mem_array((size_t)n, sizeof(void *));
    struct err why = { 0 };
    int rc = 1;

    for (int i = 0; i < n; i++)
        lanes[i] = group[i]->state;
    if (booster_for(d, v, lanes, n, &why) < 0) {
        mem_free(lanes);
        if (why.code == ERR_NOMEM)
            return 2;
        if (err)
            *err = why;
        return -1;
    }
    mem_free(lanes);
    if (scores_put(v, err) < 0)
        return -1;
    while (group[0]->steps_done < until && rc > 0) {
        rc = ml_stop_now(stop) ? 0 : 1;
        if (rc > 0 && round_run(v, group, group[0]->steps_done, err) < 0)
            return -1;
    }
    return scores_get(v, err) < 0 ? -1 : rc;
}

int boost_device_advance(struct ml_data *d, struct lane *lanes, int n, int64_t steps,
                         const struct ml_stop *stop, struct err *err)
{
    int64_t *targets, until = 0;
    struct lane **group;
    struct boost_device *v;
    int m = 0, rc = 1;

    if (n < 1 || !lanes[0].state || !can_train(d->spec.device, lanes[0].state, n))
        return 0;
    v = device_of(d, lanes, n, err);
    if (!v)
        return -1;
    if (v->is_refused)
        return 0;
    targets = mem_array((size_t)n, sizeof *targets);
    group = mem_array((size_t)n, sizeof(void *));
    for (int i = 0; i < n; i++)
        targets[i] = target_of(&lanes[i], lanes[i].steps_done + steps);
    while (rc == 1 && (m = group_pick(lanes, n, targets, group, &until)) > 0)
        rc = group_run(d, v, group, m, until, stop, err);
    for (int i = 0; i < n; i++)
        lanes[i].is_done |= lanes[i].max_steps && lanes[i].steps_done >= lanes[i].max_steps;
    if (rc == 2) {
        log_warn("boost.device err=\"its memory does not hold the trial: trained on the CPU\"");
        v->is_refused = true;
    }
    mem_free(targets);
    mem_free(group);
    return rc == 2 ? 0 : rc < 0 ? -1 : 1;
}
