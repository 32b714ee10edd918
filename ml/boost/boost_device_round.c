/* boost_device_round.c - rounds of boosting on a device.
 *
 * All lanes of a call advance together, whatever their trials and rounds. After each round its
 * trees are copied to the lanes' forests; the scores are copied when the call ends. So between
 * calls a lane is what it would be on the CPU, byte for byte, and may continue there. Where the
 * device's memory does not hold all lanes of a call, they train in parts, one part after another.
 * Called by boost.c. */
#include "ml/boost/boost_device.h"

#include "base/base.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"

#include <string.h>

/* Puts the scores of the lanes that advance in this call onto the device, where it has older
 * ones. */
static int scores_put(struct boost_device *v, struct err *err)
{
    for (int i = 0; i < v->n; i++) {
        struct device_lane *to = &v->lanes[i];
        if (v->rounds[i] < 0 || to->version == to->l->f_version)
            continue;
        if (v->ops->scores_put(v->booster, i, to->l->f, err) < 0)
            return -1;
        to->version = to->l->f_version;
    }
    return 0;
}

static int scores_get(struct boost_device *v, struct lane *const *by, struct err *err)
{
    for (int i = 0; i < v->n; i++) {
        if (by[i] && v->ops->scores_get(v->booster, i, v->lanes[i].l->f, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- a round ---- */

/* Draws tree t's columns as the CPU does (boost_grow.c), and those that are open at each depth. The
 * CPU's list may have columns that it only adds up; the device gets those that are scanned. */
static void columns_draw(struct boost_device *v, const struct device_lane *from, uint64_t seed,
                         int t)
{
    struct boost_work *wk = from->work;
    int32_t *cols = v->cols + (size_t)t * (size_t)v->n_cols;
    uint8_t *open = v->open + (size_t)t * (size_t)v->levels * (size_t)v->n_cols;
    int n = 0;

    boost_grow_columns(wk, from->l, seed);
    for (int j = 0; j < wk->n_cols; j++) {
        if (wk->is_used[j])
            cols[n++] = wk->cols[j];
    }
    CHECK(n == from->n_cols);
    for (int depth = 0; depth < boost_device_levels(from->l); depth++, open += v->n_cols) {
        int k = 0;
        boost_grow_level(wk, from->l, seed, depth, v->drawn);
        for (int j = 0; j < wk->n_cols; j++) {
            if (wk->is_used[j])
                open[k++] = v->drawn[j];
        }
    }
}

static uint64_t tree_seed(const struct boost_lane *l, int64_t round, int output)
{
    return rng_mix(l->seed, (uint64_t)(round * l->outputs + output));
}

/* The columns of the round's trees. Nothing is sent where no lane that advances draws columns anew:
 * the device keeps those of the round before. */
static void round_columns(struct boost_device *v, struct ml_boost_columns *out)
{
    bool is_new = !v->has_columns;

    for (int i = 0; i < v->n; i++) {
        const struct device_lane *from = &v->lanes[i];
        if (!from->l)
            continue;
        bool is_drawn = from->l->p.col_sample < 1.0 || boost_device_levels(from->l) > 0;
        if (v->has_columns && (v->rounds[i] < 0 || !is_drawn))
            continue;
        is_new = true;
        for (int k = 0; k < from->l->outputs; k++)
            columns_draw(v, from, tree_seed(from->l, MAX(v->rounds[i], 0), k),
                         i * from->l->outputs + k);
    }
    v->has_columns = true;
    out->cols = is_new ? v->cols : NULL;
    out->open = is_new && v->levels > 0 ? v->open : NULL;
}

/* Adds tree t of the round to the lane's forest, in the bytes that the CPU would have given it. */
static int tree_take(struct boost_device *v, const struct device_lane *to, int t)
{
    struct boost_work *wk = to->work;
    struct boost_lane *l = to->l;
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

/* by[i]: the lane that is number i of the booster; NULL = none of this call. */
static int round_run(struct boost_device *v, struct lane *const *by, struct err *err)
{
    struct ml_boost_columns columns;

    round_columns(v, &columns);
    if (v->ops->round(v->booster, v->rounds, &columns, v->trees, v->nodes, err) < 0)
        return -1;
    for (int i = 0; i < v->n; i++) {
        if (v->rounds[i] < 0)
            continue;
        int outputs = v->lanes[i].l->outputs;
        for (int k = 0; k < outputs && !by[i]->failed; k++) {
            if (tree_take(v, &v->lanes[i], i * outputs + k) < 0) {
                by[i]->failed = true;
                err_set(&by[i]->why, ERR_NOMEM, "boost: no memory for more trees");
            }
        }
        by[i]->steps_done++;
    }
    return 0;
}

/* ---- lanes ---- */

static int64_t target_of(const struct lane *lane, int64_t steps)
{
    return lane->max_steps && steps > lane->max_steps ? lane->max_steps : steps;
}

static bool is_behind(const struct lane *lane, int64_t target)
{
    return !lane->failed && !lane->is_done && lane->steps_done < target;
}

/* Lanes of a call that train together. */
struct part {
    struct lane **lanes;
    const int64_t *targets;
    int n;
    /* as in round_run */
    struct lane **by;
    /* the step that each of them advances to */
    int64_t *until;
};

static void part_place(const struct boost_device *v, struct part *p)
{
    for (int i = 0; i < v->n; i++) {
        p->by[i] = NULL;
        for (int k = 0; k < p->n; k++) {
            if (v->lanes[i].l && v->lanes[i].l == p->lanes[k]->state &&
                is_behind(p->lanes[k], p->targets[k])) {
                p->by[i] = p->lanes[k];
                p->until[i] = p->targets[k];
            }
        }
    }
}

/* The round that each lane does next; false = all of them have arrived. */
static bool rounds_next(struct boost_device *v, const struct part *p)
{
    bool is_any = false;

    for (int i = 0; i < v->n; i++) {
        bool moves = p->by[i] && is_behind(p->by[i], p->until[i]);
        v->rounds[i] = moves ? p->by[i]->steps_done : -1;
        is_any = is_any || moves;
    }
    return is_any;
}

/* Trains the lanes of a part up to their targets. 1 = all of them are there, 0 = asked to stop, 2 =
 * the device has not enough memory, -1 = error. */
static int part_run(struct ml_data *d, struct boost_device *v, struct part *p,
                    const struct ml_stop *stop, struct err *err)
{
    struct err why = { 0 };
    bool is_any = false;
    int rc = 1;

    for (int i = 0; i < p->n; i++)
        is_any = is_any || is_behind(p->lanes[i], p->targets[i]);
    if (!is_any)
        return 1;
    if (boost_device_hold(d, v, p->lanes, p->n, &why) < 0) {
        if (why.code == ERR_NOMEM)
            return 2;
        if (err)
            *err = why;
        return -1;
    }
    p->by = mem_array((size_t)v->n, sizeof(void *));
    p->until = mem_array((size_t)v->n, sizeof *p->until);
    part_place(v, p);
    bool is_first = true;
    while (rc > 0 && rounds_next(v, p)) {
        if (is_first && scores_put(v, err) < 0)
            rc = -1;
        else if (ml_stop_now(stop))
            rc = 0;
        else if (round_run(v, p->by, err) < 0)
            rc = -1;
        is_first = false;
    }
    if (rc >= 0 && scores_get(v, p->by, err) < 0)
        rc = -1;
    mem_free(p->by);
    mem_free(p->until);
    return rc;
}

/* How many of the lanes from here on train together: as many as the limits of the contract, of the
 * device's memory (lanes_most, halved when memory was short) and of column draws allow. */
static int part_size(const struct boost_device *v, struct lane *const *lanes, int n)
{
    const struct boost_lane *first = lanes[0]->state;
    int64_t most = 0;
    int m = 0;

    n = MIN(n, MAX(ML_BOOST_TREES / first->outputs, 1));
    while (m < MIN(n, v->lanes_most)) {
        most = MAX(most, boost_device_draws(lanes[m]->state));
        if (m > 0 && most * (m + 1) > BOOST_LEVEL_BYTES)
            break;
        m++;
    }
    return m;
}

/* Trains all lanes, part by part; a part for which memory is short is halved. Returns as part_run
 * does; 2 = not even one lane fits. */
static int parts_run(struct ml_data *d, struct boost_device *v, struct lane **behind,
                     const int64_t *targets, int n, const struct ml_stop *stop, struct err *err)
{
    for (int from = 0, rc = 1; from < n;) {
        struct part p = { behind + from, targets + from, part_size(v, behind + from, n - from),
                          NULL, NULL };
        rc = part_run(d, v, &p, stop, err);
        if (rc == 2 && p.n > 1) {
            v->lanes_most = (p.n + 1) / 2;
            continue;
        }
        if (rc != 1)
            return rc;
        from += p.n;
    }
    return 1;
}

int boost_device_advance(struct ml_data *d, struct lane *lanes, int n, int64_t steps,
                         const struct ml_stop *stop, struct err *err)
{
    int m = 0, rc = 1;

    for (int i = 0; i < n; i++) {
        if (!lanes[i].state || !boost_device_suits(d, lanes[i].state))
            return 0;
    }
    if (n < 1)
        return 0;
    struct boost_device *v = boost_device_of(d, lanes, n);
    int64_t *targets = mem_array((size_t)n, sizeof *targets);
    struct lane **here = mem_array((size_t)n, sizeof(void *));
    for (int i = 0; i < n; i++) {
        if (lanes[i].failed)
            continue;
        targets[m] = target_of(&lanes[i], lanes[i].steps_done + steps);
        here[m++] = &lanes[i];
    }
    rc = parts_run(d, v, here, targets, m, stop, err);
    for (int i = 0; i < n; i++)
        lanes[i].is_done |= lanes[i].max_steps && lanes[i].steps_done >= lanes[i].max_steps;
    if (rc == 2) {
        log_warn("boost.device err=\"its memory does not hold the trial: trained on the CPU\"");
        v->is_refused = true;
    }
    mem_free(targets);
    mem_free(here);
    return rc == 2 ? 0 : rc < 0 ? -1 : 1;
}
