/* forest.c - the host's side of forests on a device (ml/ops/ops_forest.h): memory, uploads, and the
 * launches of a call. Plain C; called through the table of device.c.
 *
 * A call grows up to `trees` trees level by level. Levels are queued LEVELS_AHEAD at a time,
 * because looking whether a node is still open means waiting for the device; a level without open
 * nodes costs one empty launch. All arrays are one allocation. */
#include "ml/cuda/forest.h"

#include "ml/cuda/table.h"

#include <stdlib.h>
#include <string.h>

/* SHARED_BYTES: shared memory of a block that needs no opting in; 4 KiB of it are left to the
 * kernel's own variables. */
enum { LEVELS_AHEAD = 8, SHARED_BYTES = 48 << 10 };

struct ml_forest {
    struct ml_ctx *c;
    struct rf_view v;
    /* trees that grow at once */
    int trees;
    unsigned char *memory;
};

/* Called without memory to find the size for so many trees, then with it. */
static void place_all(struct rf_view *v, int64_t trees, struct cuda_layout *l)
{
    v->at = cuda_place(l, v->rows, sizeof(*v->at));
    v->y = cuda_place(l, v->rows, sizeof(*v->y));
    v->xlogx =
        v->in.criterion == ML_FOREST_ENTROPY ? cuda_place(l, v->rows + 2, sizeof(*v->xlogx)) : NULL;
    v->places = v->in.places ? cuda_place(l, (int64_t)v->cols * RF_BINS, sizeof(*v->places)) : NULL;
    v->weights = cuda_place(l, trees * v->rows, sizeof(*v->weights));
    v->keys = cuda_place(l, trees, sizeof(*v->keys));
    for (int i = 0; i < 2; i++) {
        v->list[i] = cuda_place(l, trees * v->rows, sizeof(*v->list[i]));
        v->word[i] = cuda_place(l, trees * v->rows, sizeof(*v->word[i]));
        v->queue[i] = cuda_place(l, trees * v->rows, sizeof(*v->queue[i]));
    }
    v->trees = cuda_place(l, trees, sizeof(*v->trees));
    v->nodes = cuda_place(l, trees * v->node_cap, sizeof(*v->nodes));
    v->values = cuda_place(l, trees * v->node_cap * v->outputs, sizeof(*v->values));
    v->count = cuda_place(l, RF_LEVELS + 2, sizeof(*v->count));
    v->perm = cuda_place(l, (int64_t)v->blocks * v->cols, sizeof(*v->perm));
    v->swaps = cuda_place(l, (int64_t)v->blocks * v->cols, sizeof(*v->swaps));
}

/* As many warps to a block as their shared memory allows, at most RF_WARPS. */
static void view_init(struct rf_view *v, const struct ml_ctx *c, const struct ml_boost_table *t,
                      const struct ml_forest_in *in)
{
    v->in = *in;
    v->kind = in->n_classes == 0 ? RF_NUMBER : in->n_classes == 2 ? RF_TWO : RF_MANY;
    v->outputs = in->n_classes > 2 ? in->n_classes : 1;
    v->cols = t->cols;
    v->has_categorical = t->has_categorical;
    v->rows = in->rows;
    v->stride = t->stride;
    v->node_cap = 2 * in->rows;
    v->bins = t->bins;
    v->is_categorical = t->is_categorical;
    v->n_bins = t->n_bins;
    v->blocks = 16 * c->multiprocessors;
    v->warps = in->threads > 0 ? (in->threads + 31) / 32 : RF_WARPS;
    v->warps = v->warps < RF_WARPS ? v->warps : RF_WARPS;
    while (v->warps > 1 && (size_t)v->warps * cuda_forest_area(v) > SHARED_BYTES - 4096)
        v->warps--;
}

/* n log n of whole numbers, in the very bits of ml/forest/forest_work.c. */
static int xlogx_put(struct ml_forest *f, struct err *err)
{
    int64_t n = f->v.rows + 2;
    double *x = malloc((size_t)n * sizeof(*x));

    if (!x)
        return err_set(err, ERR_NOMEM, "a table of logarithms");
    x[0] = 0.0;
    for (int64_t i = 1; i < n; i++)
        x[i] = (double)i * fm_log_d((double)i);
    int rc = cuda_try(cudaMemcpyAsync((void *)(uintptr_t)f->v.xlogx, x, (size_t)n * sizeof(*x),
                                      cudaMemcpyHostToDevice, f->c->stream),
                      err);
    if (rc == 0)
        rc = cuda_try(cudaStreamSynchronize(f->c->stream), err);
    free(x);
    return rc;
}

static void forest_close(struct ml_forest *f)
{
    if (!f)
        return;
    cudaFree(f->memory);
    free(f);
}

/* Takes memory for as many trees as are wanted and half of the free memory holds; the other half is
 * left to further trials. */
static int memory_take(struct ml_forest *f, struct err *err)
{
    size_t free_bytes = 0, total_bytes = 0;
    struct cuda_layout l = { 0 };

    if (cuda_try(cudaMemGetInfo(&free_bytes, &total_bytes), err) < 0)
        return -1;
    place_all(&f->v, f->trees, &l);
    while (f->trees > 1 && l.used > free_bytes / 2) {
        f->trees = (f->trees + 1) / 2;
        l.used = 0;
        place_all(&f->v, f->trees, &l);
    }
    if (cuda_try(cudaMalloc((void **)&f->memory, l.used), err) < 0)
        return -1;
    l = (struct cuda_layout){ .base = f->memory };
    place_all(&f->v, f->trees, &l);
    return 0;
}

/* Takes the memory and uploads what all trees share: the rows' numbers in the table (at), their
 * targets, and for extra trees the places of the bins' edges. t must live as long as the forest. */
static int forest_open(struct ml_ctx *c, struct ml_boost_table *t, const struct ml_forest_in *in,
                       struct ml_forest **out, struct err *err)
{
    struct ml_forest *f = calloc(1, sizeof(*f));
    size_t bytes = (size_t)in->rows * sizeof(int32_t),
           places = (size_t)t->cols * RF_BINS * sizeof(uint32_t);

    if (!f)
        return err_set(err, ERR_NOMEM, "a forest");
    f->c = c;
    view_init(&f->v, c, t, in);
    f->trees = in->trees < 1 ? 1 : in->trees < ML_FOREST_TREES ? in->trees : ML_FOREST_TREES;
    if (memory_take(f, err) < 0 ||
        cuda_try(cudaMemcpyAsync((void *)(uintptr_t)f->v.at, in->at, bytes, cudaMemcpyHostToDevice,
                                 c->stream),
                 err) < 0 ||
        cuda_try(cudaMemcpyAsync((void *)(uintptr_t)f->v.y, in->y, bytes, cudaMemcpyHostToDevice,
                                 c->stream),
                 err) < 0 ||
        (in->places && cuda_try(cudaMemcpyAsync((void *)(uintptr_t)f->v.places, in->places, places,
                                                cudaMemcpyHostToDevice, c->stream),
                                err) < 0) ||
        cuda_try(cudaStreamSynchronize(c->stream), err) < 0 ||
        (f->v.xlogx && xlogx_put(f, err) < 0)) {
        forest_close(f);
        return -1;
    }
    *out = f;
    return 0;
}

/* How many trees forest_grow may be asked for at once: fewer than wanted where memory is short. */
static int forest_trees(const struct ml_forest *f)
{
    return f->trees;
}

/* Grows all levels. A tree deeper than RF_LEVELS is an error. */
static int levels_run(struct ml_forest *f, struct err *err)
{
    int32_t n_open = 1;

    for (int level = 0; n_open > 0 && level < RF_LEVELS; level++) {
        if (cuda_forest_level(f->c, &f->v, level, err) < 0)
            return -1;
        if (level % LEVELS_AHEAD != LEVELS_AHEAD - 1 && level + 1 < RF_LEVELS)
            continue;
        if (cuda_try(cudaMemcpyAsync(&n_open, f->v.count + level + 1, sizeof(n_open),
                                     cudaMemcpyDeviceToHost, f->c->stream),
                     err) < 0 ||
            cuda_try(cudaStreamSynchronize(f->c->stream), err) < 0)
            return -1;
    }
    return n_open > 0 ? err_set(err, ERR_TOOBIG, "a tree deeper than %d", RF_LEVELS) : 0;
}

/* Grows n trees from their keys and their rows' weights ([n][rows]: how often each row was drawn)
 * and returns their numbers of nodes. The trees stay on the device until the next call. */
static int forest_grow(struct ml_forest *f, int n, const uint64_t *keys, const uint16_t *weights,
                       int32_t *n_nodes, struct err *err)
{
    struct rf_tree_state states[ML_FOREST_TREES];

    f->v.n_trees = n;
    if (cuda_try(cudaMemcpyAsync((void *)(uintptr_t)f->v.keys, keys, (size_t)n * sizeof(*keys),
                                 cudaMemcpyHostToDevice, f->c->stream),
                 err) < 0 ||
        cuda_try(cudaMemcpyAsync((void *)(uintptr_t)f->v.weights, weights,
                                 (size_t)n * (size_t)f->v.rows * sizeof(*weights),
                                 cudaMemcpyHostToDevice, f->c->stream),
                 err) < 0 ||
        cuda_forest_start(f->c, &f->v, err) < 0 || levels_run(f, err) < 0 ||
        cuda_try(cudaMemcpyAsync(states, f->v.trees, (size_t)n * sizeof(*states),
                                 cudaMemcpyDeviceToHost, f->c->stream),
                 err) < 0 ||
        cuda_try(cudaStreamSynchronize(f->c->stream), err) < 0)
        return -1;
    for (int i = 0; i < n; i++)
        n_nodes[i] = states[i].n_nodes;
    return 0;
}

/* Copies tree i of the last call to the host. */
static int forest_get(struct ml_forest *f, int i, int n_nodes, struct ml_forest_node *nodes,
                      float *values, struct err *err)
{
    const struct rf_view *v = &f->v;
    int64_t at = i * v->node_cap;

    if (cuda_try(cudaMemcpyAsync(nodes, v->nodes + at, (size_t)n_nodes * sizeof(*nodes),
                                 cudaMemcpyDeviceToHost, f->c->stream),
                 err) < 0 ||
        cuda_try(cudaMemcpyAsync(values, v->values + at * v->outputs,
                                 (size_t)n_nodes * (size_t)v->outputs * sizeof(*values),
                                 cudaMemcpyDeviceToHost, f->c->stream),
                 err) < 0)
        return -1;
    return cuda_try(cudaStreamSynchronize(f->c->stream), err);
}

const struct ml_forest_ops cuda_forest_ops = {
    .open = forest_open,
    .close = forest_close,
    .trees = forest_trees,
    .grow = forest_grow,
    .get = forest_get,
};
