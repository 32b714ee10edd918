/* boost.c - the host's side of boosting on a device (ml/ops/ops_boost.h): memory, and the launches
 * of a round in order. Plain C.
 *
 * A round is queued whole, as a graph that is made once: as many steps as trees usually take. The
 * host then looks once whether a tree is unfinished, queues more steps while there is one, and takes
 * the trees back. Everything
 * that a booster has on the device is one allocation. The number of launches of a round depends on
 * its largest tree, not on how many lanes grow. Called through the table of device.c. */
#include "ml/cuda/boost.h"

#include "ml/cuda/graph.h"
#include "ml/cuda/table.h"
#include "ml/math/grad_math.h"

#include <stdlib.h>
#include <string.h>

/* THREADS: threads of a block. PART_ROWS: rows of a tile when the rows of nodes are parted.
 * MORE_STEPS: steps queued between two looks for unfinished trees. BATCH_MOST: the most nodes of a
 * tree that one step splits. */
enum { THREADS = 256, PART_ROWS = 2048, MORE_STEPS = 4, BATCH_MOST = 512 };
/* TILE_LEAST: fewest rows of a histogram tile, because a block must clear and write back all of
 * its bins whatever its rows. BLOCKS_WANTED: blocks that a launch should have for each
 * multiprocessor. */
enum { TILE_LEAST = 2048, BLOCKS_WANTED = 12 };
/* The most memory for the best splits by column, one of the two arrays that grow with batch times
 * columns. */
#define FOUND_BYTES (64LL << 20)

struct ml_booster {
    struct ml_ctx *c;
    struct boost_view v;
    /* the rules of the lanes, as the device has them */
    struct boost_rule *rules;
    int64_t pool_words;
    unsigned char *memory;
    size_t bytes;
    /* the parts of a round; steps that its first part has */
    struct cuda_graph trees, more, leaves;
    int n_steps;
};

/* ---- the table ---- */

/* The bins of a table on the device: uploaded once, used by all boosters and forests on it. */
static void table_free(struct ml_boost_table *t)
{
    if (!t)
        return;
    cudaFree(t->bins);
    cudaFree(t->is_categorical);
    cudaFree(t->n_bins);
    free(t);
}

/* Copies n bytes to the device, through a stream that may still be running: the caller must keep
 * the source until the stream has been waited for. */
static int upload(struct ml_ctx *c, void **to, const void *from, size_t n, struct err *err)
{
    if (cuda_try(cudaMalloc(to, n ? n : 1), err) < 0)
        return -1;
    return cuda_try(cudaMemcpyAsync(*to, from, n, cudaMemcpyHostToDevice, c->stream), err);
}

/* Uploads the bins of a table. Waits for the copies, so that the caller may free its arrays. */
static int table_new(struct ml_ctx *c, const struct ml_boost_table_in *in,
                     struct ml_boost_table **out, struct err *err)
{
    struct ml_boost_table *t = calloc(1, sizeof(*t));

    if (!t)
        return err_set(err, ERR_NOMEM, "a table on the device");
    t->c = c;
    t->rows = in->rows;
    t->stride = in->stride;
    t->cols = in->cols;
    for (int j = 0; j < in->cols; j++)
        t->has_categorical |= in->is_categorical[j];
    if (upload(c, (void **)&t->bins, in->bins, (size_t)(in->rows * in->stride), err) < 0 ||
        upload(c, (void **)&t->is_categorical, in->is_categorical, (size_t)in->cols, err) < 0 ||
        upload(c, (void **)&t->n_bins, in->n_bins, (size_t)in->cols * sizeof(int32_t), err) < 0 ||
        cuda_try(cudaStreamSynchronize(c->stream), err) < 0) {
        table_free(t);
        return -1;
    }
    *out = t;
    return 0;
}

/* ---- memory of a booster ---- */

/* Arrays by lane, and the scores and probabilities by tree. Called twice: without memory to find
 * the size, then with it. */
static void place_lanes(struct boost_view *v, struct cuda_layout *l)
{
    int64_t lanes = v->in.n_lanes, trees = v->n_trees;

    v->rules = cuda_place(l, lanes, sizeof(*v->rules));
    v->round = cuda_place(l, lanes, sizeof(*v->round));
    v->seed = cuda_place(l, lanes, sizeof(*v->seed));
    v->train = cuda_place(l, lanes * v->n_train_most, sizeof(*v->train));
    v->n_train = cuda_place(l, lanes, sizeof(*v->n_train));
    v->scale = cuda_place(l, 3 * lanes, sizeof(*v->scale));
    v->y = cuda_place(l, lanes * v->rows, sizeof(*v->y));
    v->w = cuda_place(l, lanes * v->rows, sizeof(*v->w));
    v->f = cuda_place(l, trees * v->rows, sizeof(*v->f));
    v->p = v->is_number ? NULL : cuda_place(l, trees * v->rows, sizeof(*v->p));
    v->n_picked = cuda_place(l, lanes, sizeof(*v->n_picked));
    v->far = cuda_place(l, lanes, sizeof(*v->far));
    v->monotone = v->has_bounds ? cuda_place(l, lanes * v->table_cols, sizeof(*v->monotone)) : NULL;
    v->sizes = cuda_place(l, 4 * trees * v->size_blocks, sizeof(*v->sizes));
}

/* Whether a lane's loss needs a median or quantile of the residuals of each leaf. */
static int has_picks(const struct boost_view *v)
{
    return v->n_of_loss[ML_BOOST_QUANTILE] > 0 || v->n_of_loss[ML_BOOST_HUBER] > 0;
}

/* Arrays by tree: everything that growing needs. */
static void place_trees(struct boost_view *v, int64_t pool_words, struct cuda_layout *l)
{
    int64_t trees = v->n_trees, nodes = trees * v->node_cap, batch = trees * v->batch_cap;
    int64_t tiles = trees * (v->batch_cap + 1), out = trees * v->out_cap;

    v->trees = cuda_place(l, trees, sizeof(*v->trees));
    v->g = cuda_place(l, trees * v->rows, sizeof(*v->g));
    v->h = cuda_place(l, trees * v->rows, sizeof(*v->h));
    v->q = cuda_place(l, trees * v->rows, sizeof(*v->q));
    for (int i = 0; i < 2; i++)
        v->list[i] = cuda_place(l, trees * v->n_train_most, sizeof(*v->list[i]));
    v->leaf = cuda_place(l, trees * v->rows, sizeof(*v->leaf));
    v->nodes = cuda_place(l, nodes, sizeof(*v->nodes));
    v->by_order = cuda_place(l, nodes, sizeof(*v->by_order));
    v->batch = cuda_place(l, batch, sizeof(*v->batch));
    v->part_tiles = cuda_place(l, tiles, sizeof(*v->part_tiles));
    v->hist_tiles = cuda_place(l, tiles, sizeof(*v->hist_tiles));
    v->found = cuda_place(l, batch * 2 * v->cols_most, sizeof(*v->found));
    v->pool = cuda_place(l, pool_words, sizeof(*v->pool));
    v->cols = cuda_place(l, trees * v->cols_most, sizeof(*v->cols));
    v->open = cuda_place(l, trees * v->levels_most * v->cols_most, sizeof(*v->open));
    v->sums = cuda_place(l, 2 * out, sizeof(*v->sums));
    v->kid_sums = v->has_bounds ? cuda_place(l, 4 * batch, sizeof(*v->kid_sums)) : NULL;
    if (has_picks(v)) {
        v->picks = cuda_place(l, out, sizeof(*v->picks));
        v->digits = cuda_place(l, out * BOOST_BINS, sizeof(*v->digits));
    }
    v->out = cuda_place(l, out, sizeof(*v->out));
    v->out_trees = cuda_place(l, trees, sizeof(*v->out_trees));
    v->n_unfinished = cuda_place(l, 1, sizeof(*v->n_unfinished));
}

/* Splits of a tree. Leaf-wise as many again as the tree has, because leaves are split ahead of
 * need; never more than the rows allow: nodes of one depth share no row, and a node that is split
 * has at least two rows, and twice min_leaf. */
static int splits_of(const struct ml_boost_rule *r, int64_t n_train)
{
    int64_t splits = (int64_t)(r->leaves - 1) * (r->is_depth_wise ? 1 : 2);
    int64_t of_depth = n_train / (r->min_leaf > 1 ? 2 * (int64_t)r->min_leaf : 2);

    splits = splits < n_train - 1 ? splits : n_train - 1;
    splits = splits < of_depth * r->depth ? splits : of_depth * r->depth;
    return (int)(splits > 0 ? splits : 0);
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* Fills in the rules of one lane, and widens the view to the largest of all lanes. */
static void rule_init(struct ml_booster *b, const struct ml_boost_lane *l, struct boost_rule *r)
{
    struct boost_view *v = &b->v;

    *r = (struct boost_rule){
        .in = l->rule,
        .bins = l->table->bins,
        .n_bins = l->table->n_bins,
        .pool_at = b->pool_words,
        .slot_cap = 1 + splits_of(&l->rule, l->n_train),
        .row_limit = (unsigned)(l->rule.row_sample * 4294967295.0),
    };
    b->pool_words += (int64_t)v->in.outputs * r->slot_cap * l->rule.n_cols * BOOST_BINS;
    v->n_of_loss[l->rule.loss]++;
    v->is_sampled |= l->rule.row_sample < 1.0;
    v->has_bounds |= l->rule.is_monotone;
    v->leaves_most = most(v->leaves_most, l->rule.leaves);
    v->cols_most = most(v->cols_most, l->rule.n_cols);
    v->levels_most = most(v->levels_most, l->rule.levels);
    v->node_cap = most(v->node_cap, 2 * r->slot_cap - 1);
    v->n_train_most = l->n_train > v->n_train_most ? l->n_train : v->n_train_most;
}

/* Rows that a block adds into one histogram: as many as its 32-bit sums hold, fewer where the roots
 * alone would not keep the device busy. */
static int tile_rows(const struct ml_booster *b, const struct ml_boost_in *in)
{
    const struct boost_view *v = &b->v;
    int64_t groups = (v->cols_most + BOOST_GROUP - 1) / BOOST_GROUP;
    int64_t rows =
        v->n_train_most * groups * v->n_trees / (BLOCKS_WANTED * (int64_t)b->c->multiprocessors);

    rows = in->tile_rows > 0 ? in->tile_rows : rows < TILE_LEAST ? TILE_LEAST : rows;
    return (int)(rows < BOOST_HIST_ROWS ? rows : BOOST_HIST_ROWS);
}

/* The batch is as large as the memory for found splits allows, at most the leaves of the largest
 * tree. */
static void view_init(struct ml_booster *b, const struct ml_boost_in *in,
                      const struct ml_boost_lane *lanes)
{
    const struct ml_boost_table *t = lanes[0].table;
    struct boost_view *v = &b->v;

    v->in = *in;
    v->in.threads = in->threads > 0 ? in->threads : THREADS;
    v->n_trees = in->n_lanes * in->outputs;
    v->rows = t->rows;
    v->stride = t->stride;
    v->is_categorical = t->is_categorical;
    v->has_categorical = t->has_categorical;
    v->table_cols = t->cols;
    v->is_number = lanes[0].rule.loss >= ML_BOOST_SQUARED;
    v->part_rows = in->tile_rows > 0 ? in->tile_rows : PART_ROWS;
    v->size_blocks = (t->rows + GRAD_SIZE_ROWS - 1) / GRAD_SIZE_ROWS;
    for (int i = 0; i < in->n_lanes; i++)
        rule_init(b, &lanes[i], &b->rules[i]);
    v->hist_rows = tile_rows(b, in);
    v->out_cap = 2 * v->leaves_most - 1;
    int64_t batch =
        FOUND_BYTES / ((int64_t)sizeof(*v->found) * 2 * (v->cols_most + 1) * v->n_trees);
    batch = batch < v->leaves_most ? batch : v->leaves_most;
    batch = in->batch > 0 && in->batch < batch ? in->batch : batch;
    v->batch_cap = (int)(batch < 1 ? 1 : batch < BATCH_MOST ? batch : BATCH_MOST);
}

/* Copies what the host gives for a lane. The last wait makes sure that the caller's arrays may be
 * freed. */
static int lane_put(struct ml_booster *b, int i, const struct ml_boost_lane *l, struct err *err)
{
    const struct boost_view *v = &b->v;
    const struct {
        const void *to, *from;
        size_t n;
    } copies[] = {
        { v->rules + i, &b->rules[i], sizeof(b->rules[i]) },
        { v->seed + i, &l->seed, sizeof(l->seed) },
        { v->train + i * v->n_train_most, l->train, (size_t)l->n_train * sizeof(*l->train) },
        { v->n_train + i, &l->n_train, sizeof(l->n_train) },
        { v->scale + (int64_t)3 * i, &l->g_scale, sizeof(float) },
        { v->scale + (int64_t)3 * i + 1, &l->h_scale, sizeof(float) },
        { v->scale + (int64_t)3 * i + 2, &l->thin, sizeof(float) },
        { v->y + i * v->rows, l->y, (size_t)v->rows * sizeof(float) },
        { v->w + i * v->rows, l->w, (size_t)v->rows * sizeof(float) },
        { v->monotone + (int64_t)i * v->table_cols, l->monotone,
          l->rule.is_monotone ? (size_t)v->table_cols : 0 },
    };

    for (size_t k = 0; k < sizeof(copies) / sizeof(copies[0]); k++) {
        if (copies[k].n > 0 &&
            cuda_try(cudaMemcpyAsync((void *)(uintptr_t)copies[k].to, copies[k].from, copies[k].n,
                                     cudaMemcpyHostToDevice, b->c->stream),
                     err) < 0)
            return -1;
    }
    return cuda_try(cudaStreamSynchronize(b->c->stream), err);
}

static void booster_close(struct ml_booster *b)
{
    if (!b)
        return;
    cuda_graph_free(&b->trees);
    cuda_graph_free(&b->more);
    cuda_graph_free(&b->leaves);
    cudaFree(b->memory);
    free(b->rules);
    free(b);
}

/* The counts of digits must be zero before their first use; every use leaves them zero. Of the nodes
 * that go to the host all are copied, those that a small tree lacks too. */
static int arrays_clear(struct ml_booster *b, struct err *err)
{
    size_t nodes = (size_t)b->v.n_trees * (size_t)b->v.out_cap, n = nodes * BOOST_BINS;

    if (cuda_try(cudaMemsetAsync(b->v.out, 0, nodes * sizeof(*b->v.out), b->c->stream), err) < 0)
        return -1;
    if (!b->v.digits)
        return 0;
    return cuda_try(cudaMemsetAsync(b->v.digits, 0, n * sizeof(*b->v.digits), b->c->stream), err);
}

/* Lays out and takes the memory for lanes that train together, and uploads what they keep between
 * rounds: rules, training rows, targets, weights. All lanes have tables of the same rows and
 * columns (those of lanes[0] are used), and one loss kind: classes or numbers. */
static int booster_open(struct ml_ctx *c, const struct ml_boost_in *in,
                        const struct ml_boost_lane *lanes, struct ml_booster **out, struct err *err)
{
    struct ml_booster *b = calloc(1, sizeof(*b));
    struct cuda_layout l = { 0 };

    if (b)
        b->rules = calloc((size_t)in->n_lanes, sizeof(*b->rules));
    if (!b || !b->rules) {
        booster_close(b);
        return err_set(err, ERR_NOMEM, "a booster");
    }
    b->c = c;
    view_init(b, in, lanes);
    place_lanes(&b->v, &l);
    place_trees(&b->v, b->pool_words, &l);
    b->bytes = l.used;
    if (cuda_try(cudaMalloc((void **)&b->memory, l.used), err) < 0) {
        booster_close(b);
        return -1;
    }
    l = (struct cuda_layout){ .base = b->memory };
    place_lanes(&b->v, &l);
    place_trees(&b->v, b->pool_words, &l);
    int rc = arrays_clear(b, err);
    for (int i = 0; i < in->n_lanes && rc == 0; i++)
        rc = lane_put(b, i, &lanes[i], err);
    if (rc < 0) {
        booster_close(b);
        return -1;
    }
    *out = b;
    return 0;
}

static int64_t booster_bytes(const struct ml_booster *b)
{
    return (int64_t)b->bytes;
}

/* ---- scores ---- */

/* The scores of a lane, [outputs][rows] floats: put when the host changed them (a loaded model),
 * got when the host needs them (predictions of held-out rows). */
static int scores_put(struct ml_booster *b, int lane, const float *f, struct err *err)
{
    int64_t n = b->v.rows * b->v.in.outputs;

    if (cuda_try(cudaMemcpyAsync(b->v.f + lane * n, f, (size_t)n * sizeof(*f),
                                 cudaMemcpyHostToDevice, b->c->stream),
                 err) < 0)
        return -1;
    return cuda_try(cudaStreamSynchronize(b->c->stream), err);
}

static int scores_get(struct ml_booster *b, int lane, float *f, struct err *err)
{
    int64_t n = b->v.rows * b->v.in.outputs;

    if (cuda_try(cudaMemcpyAsync(f, b->v.f + lane * n, (size_t)n * sizeof(*f),
                                 cudaMemcpyDeviceToHost, b->c->stream),
                 err) < 0)
        return -1;
    return cuda_try(cudaStreamSynchronize(b->c->stream), err);
}

/* ---- a round ---- */

/* The columns that each tree of this round may use, and on which levels of the tree each is
 * open. */
static int columns_put(struct ml_booster *b, const struct ml_boost_columns *columns,
                       struct err *err)
{
    const struct boost_view *v = &b->v;
    size_t n = (size_t)v->n_trees * (size_t)v->cols_most;

    if (columns->cols &&
        cuda_try(cudaMemcpyAsync((void *)(uintptr_t)v->cols, columns->cols,
                                 n * sizeof(*columns->cols), cudaMemcpyHostToDevice, b->c->stream),
                 err) < 0)
        return -1;
    if (columns->open &&
        cuda_try(cudaMemcpyAsync((void *)(uintptr_t)v->open, columns->open,
                                 n * (size_t)v->levels_most, cudaMemcpyHostToDevice, b->c->stream),
                 err) < 0)
        return -1;
    return 0;
}

/* As many steps as most trees take. Depth-wise one step is a level. Leaf-wise the batch doubles
 * until half of the leaves are left to come. */
static int steps_of(const struct ml_boost_rule *r)
{
    int steps = 2;

    while (1 << (steps - 2) < r->leaves)
        steps++;
    return r->is_depth_wise && r->depth < steps ? r->depth + 1 : steps;
}

static int first_steps(const struct ml_booster *b, const int64_t *rounds)
{
    int steps = 0;

    for (int i = 0; i < b->v.in.n_lanes; i++)
        steps = rounds[i] < 0 ? steps : most(steps, steps_of(&b->rules[i].in));
    return steps;
}

/* One batch of nodes of every tree, from choosing them to the best splits of their children. */
static int step(struct ml_booster *b, struct err *err)
{
    if (cuda_boost_select(b->c, &b->v, err) < 0 || cuda_boost_partition(b->c, &b->v, err) < 0)
        return -1;
    if (b->v.has_bounds && cuda_boost_bounds(b->c, &b->v, err) < 0)
        return -1;
    return cuda_boost_scan(b->c, &b->v, err);
}

static int steps_queue(void *booster, int n, struct err *err)
{
    int rc = 0;

    for (int i = 0; i < n && rc == 0; i++)
        rc = step(booster, err);
    return rc;
}

/* The gradients, the roots, and the first n steps. */
static int trees_queue(void *booster, int n, struct err *err)
{
    struct ml_booster *b = booster;

    if (cuda_boost_gradients(b->c, &b->v, err) < 0 || cuda_boost_rows(b->c, &b->v, err) < 0 ||
        cuda_boost_root(b->c, &b->v, err) < 0 || cuda_boost_scan(b->c, &b->v, err) < 0)
        return -1;
    return steps_queue(b, n, err);
}

static int leaves_queue(void *booster, int none, struct err *err)
{
    struct ml_booster *b = booster;

    (void)none;
    return cuda_boost_leaves(b->c, &b->v, err);
}

/* Whether the last select found a tree unfinished: 1, 0, -1. */
static int is_unfinished(struct ml_booster *b, struct err *err)
{
    int32_t n = 0;

    if (cuda_try(
            cudaMemcpyAsync(&n, b->v.n_unfinished, sizeof(n), cudaMemcpyDeviceToHost, b->c->stream),
            err) < 0 ||
        cuda_try(cudaStreamSynchronize(b->c->stream), err) < 0)
        return -1;
    return n > 0;
}

/* Queues as many steps as the trees of the rounds so far needed, then looks whether any tree is
 * unfinished, and queues further ones until none is. */
static int grow(struct ml_booster *b, const int64_t *rounds, struct err *err)
{
    int rc;

    b->n_steps = most(b->n_steps, first_steps(b, rounds));
    rc = cuda_graph_run(b->c, &b->trees, b->n_steps, trees_queue, b, err);
    for (int n = b->n_steps; rc == 0 && (rc = is_unfinished(b, err)) > 0;) {
        b->n_steps = n += MORE_STEPS;
        rc = cuda_graph_run(b->c, &b->more, MORE_STEPS, steps_queue, b, err);
    }
    return rc;
}

/* One round of all lanes with rounds[lane] >= 0: uploads the round's numbers and columns, queues
 * the gradients, the roots, the steps and the leaves, and brings the finished trees back. nodes:
 * [trees] [out_cap]. Returns when the device is done. */
static int booster_round(struct ml_booster *b, const int64_t *rounds,
                         const struct ml_boost_columns *columns, struct ml_boost_tree *trees,
                         struct ml_boost_node *nodes, struct err *err)
{
    const struct boost_view *v = &b->v;
    size_t n_nodes = (size_t)v->n_trees * (size_t)v->out_cap;

    if (cuda_try(cudaMemcpyAsync((void *)(uintptr_t)v->round, rounds,
                                 (size_t)v->in.n_lanes * sizeof(*rounds), cudaMemcpyHostToDevice,
                                 b->c->stream),
                 err) < 0 ||
        columns_put(b, columns, err) < 0 || grow(b, rounds, err) < 0 ||
        cuda_graph_run(b->c, &b->leaves, 1, leaves_queue, b, err) < 0)
        return -1;
    if (cuda_try(cudaMemcpyAsync(trees, v->out_trees, (size_t)v->n_trees * sizeof(*trees),
                                 cudaMemcpyDeviceToHost, b->c->stream),
                 err) < 0 ||
        cuda_try(cudaMemcpyAsync(nodes, v->out, n_nodes * sizeof(*nodes), cudaMemcpyDeviceToHost,
                                 b->c->stream),
                 err) < 0)
        return -1;
    return cuda_try(cudaStreamSynchronize(b->c->stream), err);
}

const struct ml_boost_ops cuda_boost_ops = {
    .table_new = table_new,
    .table_free = table_free,
    .open = booster_open,
    .close = booster_close,
    .bytes = booster_bytes,
    .scores_put = scores_put,
    .scores_get = scores_get,
    .round = booster_round,
};
