/* forest_device.c - trees of forests grown on a device (ml/ops/ops_forest.h): as many at once as
 * are wanted and fit there, kept there until they are taken one by one.
 *
 * A tree comes back in the device's order of nodes and is renumbered as the CPU would number it, so
 * that all that follows (cuts, bytes, scores) is the CPU's. What the device cannot take is grown on
 * the CPU. Called by forest_model.c. */
#include "ml/forest/forest_model.h"

#include "base/base.h"
#include "base/log.h"
#include "base/mem.h"
#include "ml/ops/ops.h"
#include "ml/ops/ops_forest.h"

#include <string.h>

enum { STACK = 4 * RF_MAX_DEPTH + 16, FINEST_BINS = 255 };

struct forest_device {
    const struct ml_forest_ops *ops;
    struct ml_forest *forest;
    bool is_refused;
    /* trees that are grown and still on the device */
    int first, n;
    int32_t n_nodes[ML_FOREST_TREES];
    uint64_t keys[ML_FOREST_TREES];
    uint16_t *weights; /* [trees at once][rows] */
};

void forest_device_free(struct forest_device *v)
{
    if (!v)
        return;
    if (v->forest)
        v->ops->close(v->forest);
    mem_try_free(v->weights);
    mem_free(v);
}

static bool can_grow(const struct ml_compute *on, const struct forest_work *w,
                     const struct forest_lane *l)
{
    return on && on->ops->forest && on->ops->boost && !l->up_to &&
           w->d.n_classes <= ML_FOREST_CLASSES && w->d.rows <= INT32_MAX / 4 &&
           l->p.max_depth <= RF_MAX_DEPTH;
}

/* 0, or -1: no memory there, or another error. */
static int device_open_at(struct forest_device *v, struct ml_data *d, const struct forest_work *w,
                          const struct forest_lane *l, int trees, const uint32_t *places,
                          struct err *err)
{
    const struct ml_compute *on = d->spec.device;
    const struct ml_forest_in in = {
        .criterion = l->p.criterion == RF_GINI      ? ML_FOREST_GINI
                     : l->p.criterion == RF_ENTROPY ? ML_FOREST_ENTROPY
                                                    : ML_FOREST_SQUARED,
        .n_classes = w->d.n_classes,
        .is_extra = l->p.is_extra,
        .n_visit = l->p.n_visit,
        .max_depth = l->p.max_depth,
        .min_split = l->p.min_split,
        .min_leaf = l->p.min_leaf,
        .at = w->d.at,
        .y = w->d.y,
        .places = places,
        .rows = w->d.rows,
        .trees = trees,
        .threads = on->threads,
    };
    struct ml_boost_table *table = ml_data_boost_table(d, l->fold, FINEST_BINS, err);

    v->ops = on->ops->forest;
    if (!table || v->ops->open(on->ctx, table, &in, &v->forest, err) < 0)
        return -1;
    v->weights =
        mem_try_alloc((size_t)v->ops->trees(v->forest) * (size_t)w->d.rows * sizeof *v->weights);
    return v->weights ? 0 : err_set(err, ERR_NOMEM, "forest: no memory for the draws of trees");
}

static int device_open(struct forest_device *v, struct ml_data *d, const struct forest_work *w,
                       const struct forest_lane *l, int trees, struct err *err)
{
    uint32_t *places = NULL;

    if (l->p.is_extra && rf_has_ranked(&w->d)) {
        places = mem_try_alloc((size_t)w->d.cols * (FINEST_BINS + 1) * sizeof *places);
        if (!places)
            return err_set(err, ERR_NOMEM, "forest: no memory for places of bins");
        rf_places(&w->d, places);
    }
    int rc = device_open_at(v, d, w, l, trees, places, err);
    mem_try_free(places);
    return rc;
}

/* The CPU grows depth first, left children first, and numbers children when their parent is
 * split. */
static int tree_take(const struct ml_forest_node *from, const float *values, int n, int outputs,
                     struct rf_tree *t)
{
    int stack[STACK][2], top = 1, n_sets = 0;

    memset(t, 0, sizeof *t);
    for (int i = 0; i < n; i++)
        n_sets += from[i].is_set;
    t->nodes = mem_try_alloc((size_t)n * sizeof *t->nodes);
    t->values = mem_try_alloc((size_t)n * (size_t)outputs * sizeof *t->values);
    t->sets = mem_try_alloc((size_t)(n_sets + 1) * sizeof *t->sets);
    if (!t->nodes || !t->values || !t->sets)
        return -1;
    t->n = 1;
    t->cap = n;
    t->sets_cap = n_sets + 1;
    stack[0][0] = stack[0][1] = 0;
    while (top > 0) {
        const struct ml_forest_node *f = &from[stack[--top][0]];
        int at = stack[top][1];
        t->nodes[at] = (struct rf_node){ .left = f->left ? t->n : 0,
                                         .rows = f->rows,
                                         .set = f->is_set ? t->n_sets : -1,
                                         .col = (uint32_t)f->col,
                                         .bin = (uint8_t)f->bin,
                                         .missing_left = (uint8_t)f->missing_left,
                                         .depth = (uint16_t)f->depth,
                                         .gain = f->gain };
        memcpy(t->values + (ptrdiff_t)at * outputs, values + (f - from) * outputs,
               (size_t)outputs * sizeof *values);
        if (f->is_set)
            memcpy(t->sets[t->n_sets++], f->set, sizeof f->set);
        for (int side = 1; side >= 0 && f->left; side--) {
            CHECK(top < STACK && t->n + 2 <= n);
            stack[top][0] = f->left + side;
            stack[top++][1] = t->n + side;
        }
        t->n += f->left ? 2 : 0;
    }
    return 0;
}

static int tree_get(struct forest_device *v, int i, int outputs, struct rf_tree *out,
                    struct err *err)
{
    size_t n = (size_t)v->n_nodes[i];
    struct ml_forest_node *nodes = mem_try_alloc(n * sizeof *nodes);
    float *values = mem_try_alloc(n * (size_t)outputs * sizeof *values);
    int rc = -1;

    if (!nodes || !values)
        err_set(err, ERR_NOMEM, "forest: no memory for a tree");
    else if (v->ops->get(v->forest, i, v->n_nodes[i], nodes, values, err) == 0)
        rc = tree_take(nodes, values, v->n_nodes[i], outputs, out);
    if (rc < 0 && !err->code)
        err_set(err, ERR_NOMEM, "forest: no memory for a tree");
    mem_try_free(nodes);
    mem_try_free(values);
    return rc;
}

static int trees_grow(struct forest_device *v, const struct forest_work *w,
                      const struct forest_lane *l, int until, struct err *err)
{
    int n = MIN(v->ops->trees(v->forest), until - l->n_trees);

    for (int i = 0; i < n; i++) {
        v->keys[i] = rf_root_key(l->seed, l->n_trees + i);
        rf_draw(&l->p, l->seed, l->n_trees + i, w->d.rows, v->weights + i * w->d.rows);
    }
    v->n = 0;
    if (v->ops->grow(v->forest, n, v->keys, v->weights, v->n_nodes, err) < 0)
        return -1;
    v->first = l->n_trees;
    v->n = n;
    return 0;
}

int forest_device_grow(struct forest_work *w, struct ml_data *d, const struct forest_lane *l,
                       int until, const struct ml_stop *stop, struct rf_tree *out, struct err *err)
{
    struct err why = { 0 };

    memset(out, 0, sizeof *out);
    if ((w->device && w->device->is_refused) || !can_grow(d->spec.device, w, l))
        return 2;
    if (!w->device) {
        w->device = mem_zalloc(sizeof *w->device);
        if (device_open(w->device, d, w, l, until - l->n_trees, &why) < 0) {
            if (why.code != ERR_NOMEM) {
                *err = why;
                return -1;
            }
            log_warn("forest.device err=\"its memory does not hold a tree: grown on the CPU\"");
            w->device->is_refused = true;
            return 2;
        }
    }
    struct forest_device *v = w->device;
    if (l->n_trees < v->first || l->n_trees >= v->first + v->n) {
        if (ml_stop_now(stop))
            return 0;
        if (trees_grow(v, w, l, until, err) < 0)
            return -1;
    }
    return tree_get(v, l->n_trees - v->first, rf_outputs(&w->d), out, err) < 0 ? -1 : 1;
}
