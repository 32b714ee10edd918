/* net.c - the host's side of networks on a device (ml/ops/ops_net.h): memory of a group, and the
 * launches of a step in order. Plain C.
 *
 * Everything that a group has on the device is one allocation. The launches of a step are recorded
 * once as a graph, because a step of small networks takes less time than its launches would; what
 * changes from step to step lies in the device's memory, and `at` says which step is made. With
 * ASSAY_CUDA_TRACE set there is no graph, because each launch is then waited for. Called through
 * the table of device.c. */
#include "ml/cuda/net_private.h"

#include "ml/cuda/trace.h"

#include <stdlib.h>
#include <string.h>

/* LINE: floats of 128 bytes. */
enum { LINE = 32 };

/* ---- the table ---- */

static void table_free(struct ml_net_table *t)
{
    if (!t)
        return;
    cudaFree(t->x);
    free(t);
}

static int table_new(struct ml_ctx *c, const float *x, int64_t rows, int64_t stride,
                     struct ml_net_table **out, struct err *err)
{
    struct ml_net_table *t = calloc(1, sizeof(*t));
    size_t bytes = (size_t)(rows * stride) * sizeof(*x);

    if (!t)
        return err_set(err, ERR_NOMEM, "a table on the device");
    t->rows = rows;
    t->stride = stride;
    if (cuda_try(cudaMalloc((void **)&t->x, bytes ? bytes : 1), err) < 0 ||
        cuda_try(cudaMemcpyAsync(t->x, x, bytes, cudaMemcpyHostToDevice, c->stream), err) < 0 ||
        cuda_try(cudaStreamSynchronize(c->stream), err) < 0) {
        table_free(t);
        return -1;
    }
    *out = t;
    return 0;
}

/* ---- memory of a group ---- */

/* Places the arrays of a group; returns the room for scores. */
static float *place(struct net_view *v, const struct ml_net_in *in, struct cuda_layout *l)
{
    int64_t slots = in->slots;

    v->lanes = cuda_place(l, slots, sizeof(*v->lanes));
    v->steps = cuda_place(l, slots * in->steps, sizeof(*v->steps));
    v->at = cuda_place(l, 1, sizeof(*v->at));
    v->diverged = cuda_place(l, slots, sizeof(*v->diverged));
    v->broken = cuda_place(l, slots, sizeof(*v->broken));
    v->marks = cuda_place(l, slots, sizeof(*v->marks));
    v->told = cuda_place(l, slots * in->steps, sizeof(*v->told));
    v->state = cuda_place(l, slots * 3 * v->stride, sizeof(*v->state));
    v->kept = cuda_place(l, slots * 3 * v->stride, sizeof(*v->kept));
    v->grad = cuda_place(l, slots * v->stride, sizeof(*v->grad));
    v->sum = in->has_parts ? cuda_place(l, slots * v->stride, sizeof(*v->sum)) : NULL;
    v->clip = in->has_norms ? cuda_place(l, slots, sizeof(*v->clip)) : NULL;
    v->rates = in->has_norms ? cuda_place(l, slots * ML_NET_LAYERS, sizeof(*v->rates)) : NULL;
    v->team = in->is_team ? cuda_place(l, 1, sizeof(*v->team)) : NULL;
    for (int i = 0; i < in->layers; i++) {
        int64_t n = slots * in->batch * in->pad[i + 1];
        v->z[i] = cuda_place(l, n, sizeof(*v->z[i]));
        v->h[i] = i + 1 < in->layers ? cuda_place(l, n, sizeof(*v->h[i])) : NULL;
    }
    v->feed_row = cuda_place(l, in->feeds * in->feed_rows, sizeof(*v->feed_row));
    v->feed_y = cuda_place(l, in->feeds * in->feed_rows, sizeof(*v->feed_y));
    return cuda_place(l, slots * in->score_rows * in->outputs, sizeof(float));
}

static void view_init(struct net_view *v, const struct ml_net_in *in)
{
    memset(v, 0, sizeof(*v));
    v->slots = in->slots;
    v->layers = in->layers;
    v->batch = in->batch;
    v->stride = (in->size + LINE - 1) / LINE * LINE;
    memcpy(v->pad, in->pad, sizeof(v->pad));
    v->feed_rows = in->feed_rows;
}

static int64_t group_bytes(const struct ml_net_in *in)
{
    struct cuda_layout l = { 0 };
    struct net_view v;

    view_init(&v, in);
    place(&v, in, &l);
    return (int64_t)l.used;
}

static void group_close(struct ml_net_group *g)
{
    if (!g)
        return;
    cuda_graph_free(&g->graph);
    cudaFree(g->memory);
    free(g->scoring);
    free(g->lanes);
    free(g->staged);
    free(g);
}

static int group_open(struct ml_ctx *c, const struct ml_net_in *in, struct ml_net_group **out,
                      struct err *err)
{
    struct ml_net_group *g = calloc(1, sizeof(*g));
    struct cuda_layout l = { 0 };

    if (g) {
        g->scoring = calloc((size_t)in->slots, sizeof(*g->scoring));
        g->lanes = calloc((size_t)in->slots, sizeof(*g->lanes));
    }
    if (!g || !g->scoring || !g->lanes) {
        group_close(g);
        return err_set(err, ERR_NOMEM, "a group of networks");
    }
    g->c = c;
    g->in = *in;
    view_init(&g->v, in);
    place(&g->v, in, &l);
    if (cuda_try(cudaMalloc((void **)&g->memory, l.used), err) < 0) {
        group_close(g);
        return -1;
    }
    l = (struct cuda_layout){ .base = g->memory };
    g->scores = place(&g->v, in, &l);
    g->v.w = g->v.state;
    g->v.x = in->table->x;
    g->v.x_stride = in->table->stride;
    /* An empty slot has a network of no parameters. */
    if (cuda_try(cudaMemsetAsync((void *)(uintptr_t)g->v.lanes, 0,
                                 (size_t)in->slots * sizeof(*g->v.lanes), c->stream),
                 err) < 0 ||
        cuda_try(cudaStreamSynchronize(c->stream), err) < 0) {
        group_close(g);
        return -1;
    }
    *out = g;
    return 0;
}

/* ---- copies ---- */

int cuda_group_put(struct ml_net_group *g, const void *to, const void *from, size_t n,
                   struct err *err)
{
    return cuda_try(
        cudaMemcpyAsync((void *)(uintptr_t)to, from, n, cudaMemcpyHostToDevice, g->c->stream), err);
}

int cuda_group_get(struct ml_net_group *g, void *to, const void *from, size_t n, struct err *err)
{
    return cuda_try(cudaMemcpyAsync(to, from, n, cudaMemcpyDeviceToHost, g->c->stream), err);
}

int cuda_group_wait(struct ml_net_group *g, struct err *err)
{
    return cuda_try(cudaStreamSynchronize(g->c->stream), err);
}

static int state_put(struct ml_net_group *g, float *to, int slot, const float *from,
                     struct err *err)
{
    int64_t size = g->lanes[slot].size;

    for (int64_t i = 0; i < 3; i++) {
        if (cuda_group_put(g, to + (3 * slot + i) * g->v.stride, from + i * size,
                           (size_t)size * sizeof(*from), err) < 0)
            return -1;
    }
    return 0;
}

static int lane_put(struct ml_net_group *g, int slot, const struct ml_net_lane *lane,
                    const float *state, const float *kept, struct err *err)
{
    g->lanes[slot] = *lane;
    if (cuda_group_put(g, g->v.lanes + slot, lane, sizeof(*lane), err) < 0 ||
        state_put(g, g->v.state, slot, state, err) < 0 ||
        (kept && state_put(g, g->v.kept, slot, kept, err) < 0))
        return -1;
    return cuda_group_wait(g, err);
}

static int lane_get(struct ml_net_group *g, int slot, enum ml_net_when when, int copies,
                    float *state, struct err *err)
{
    const float *from = when == ML_NET_NOW ? g->v.state : g->v.kept;
    int64_t size = g->lanes[slot].size;

    for (int64_t i = 0; i < copies; i++) {
        if (cuda_group_get(g, state + i * size, from + (3 * (int64_t)slot + i) * g->v.stride,
                           (size_t)size * sizeof(*state), err) < 0)
            return -1;
    }
    return cuda_group_wait(g, err);
}

static int feed_put(struct ml_net_group *g, int feed, const int32_t *rows, const void *y, int64_t n,
                    struct err *err)
{
    size_t bytes = (size_t)n * sizeof(*rows);

    if (cuda_group_put(g, g->v.feed_row + feed * g->v.feed_rows, rows, bytes, err) < 0 ||
        (y && cuda_group_put(g, g->v.feed_y + feed * g->v.feed_rows, y, bytes, err) < 0))
        return -1;
    return cuda_group_wait(g, err);
}

static int keep(struct ml_net_group *g, const uint8_t *marks, struct err *err)
{
    if (cuda_group_put(g, g->v.marks, marks, (size_t)g->in.slots, err) < 0 ||
        cuda_net_keep(g->c, &g->v, err) < 0)
        return -1;
    return cuda_group_wait(g, err);
}

static int finite(struct ml_net_group *g, uint8_t *finite, struct err *err)
{
    unsigned broken[ML_NET_SLOTS];
    size_t bytes = (size_t)g->in.slots * sizeof(*broken);

    if (cuda_try(cudaMemsetAsync(g->v.broken, 0, bytes, g->c->stream), err) < 0 ||
        cuda_net_finite(g->c, &g->v, err) < 0 ||
        cuda_group_get(g, broken, g->v.broken, bytes, err) < 0 || cuda_group_wait(g, err) < 0)
        return -1;
    for (int i = 0; i < g->in.slots; i++)
        finite[i] = !broken[i];
    return 0;
}

/* ---- steps ---- */

static int step_queue(void *group, int one, struct err *err)
{
    struct ml_net_group *g = group;
    const struct net_view *v = &g->v;

    (void)one;
    for (int l = 0; l < v->layers; l++) {
        if (cuda_net_forward(g->c, v, l, err) < 0)
            return -1;
    }
    if (cuda_net_loss(g->c, v, err) < 0)
        return -1;
    for (int l = v->layers - 1; l >= 0; l--) {
        if (cuda_net_backward(g->c, v, l, err) < 0)
            return -1;
    }
    if (cuda_net_scales(g->c, v, err) < 0 || (v->sum && cuda_net_add(g->c, v, err) < 0) ||
        (v->rates && cuda_net_norms(g->c, v, err) < 0) || cuda_net_optimise(g->c, v, err) < 0)
        return -1;
    return cuda_net_next(g->c, v, err);
}

int cuda_group_begin(struct ml_net_group *g, const struct ml_net_step *steps, int n,
                     struct err *err)
{
    size_t slots = (size_t)g->in.slots;

    if (cuda_group_put(g, g->v.steps, steps, slots * (size_t)n * sizeof(*steps), err) < 0 ||
        cuda_try(cudaMemsetAsync(g->v.at, 0, sizeof(*g->v.at), g->c->stream), err) < 0)
        return -1;
    return cuda_try(cudaMemsetAsync(g->v.diverged, 0, slots * sizeof(*g->v.diverged), g->c->stream),
                    err);
}

/* A lane that diverged made the steps before the one whose loss is not finite. */
static void ends_fill(const struct ml_net_group *g, const struct ml_net_step *steps, int n,
                      const int32_t *diverged, const struct ml_net_told *told,
                      struct ml_net_end *ends)
{
    int slots = g->in.slots;

    for (int i = 0; i < slots; i++) {
        ends[i] = (struct ml_net_end){ 0, diverged[i] != 0 };
        for (int k = 0; k < n; k++) {
            double loss = told[(int64_t)k * slots + i].loss;
            if (steps[(int64_t)k * slots + i].rows == 0)
                continue;
            if (diverged[i] && !(loss - loss == 0))
                break;
            ends[i].done++;
        }
    }
}

int cuda_group_end(struct ml_net_group *g, const struct ml_net_step *steps, int n,
                   struct ml_net_end *ends, struct ml_net_told *told, struct err *err)
{
    int32_t diverged[ML_NET_SLOTS];
    size_t slots = (size_t)g->in.slots;

    if (cuda_group_get(g, diverged, g->v.diverged, slots * sizeof(*diverged), err) < 0 ||
        cuda_group_get(g, told, g->v.told, slots * (size_t)n * sizeof(*told), err) < 0 ||
        cuda_group_wait(g, err) < 0)
        return -1;
    ends_fill(g, steps, n, diverged, told, ends);
    return 0;
}

static int group_steps(struct ml_net_group *g, const struct ml_net_step *steps, int n,
                       struct ml_net_end *ends, struct ml_net_told *told, struct err *err)
{
    int rc = 0;

    g->v.w = g->v.state;
    if (cuda_group_begin(g, steps, n, err) < 0)
        return -1;
    for (int i = 0; i < n && rc == 0; i++)
        rc = cuda_graph_run(g->c, &g->graph, 1, step_queue, g, err);
    return rc < 0 ? -1 : cuda_group_end(g, steps, n, ends, told, err);
}

/* Forward passes over a feed, a batch at a time. */
static int group_score(struct ml_net_group *g, const uint8_t *marks, enum ml_net_when when,
                       int feed, int64_t n, float *out, struct err *err)
{
    struct net_view v = g->v;
    int64_t of_slot = n * g->in.outputs;

    v.w = when == ML_NET_NOW ? v.state : v.kept;
    for (int64_t from = 0; from < n; from += g->in.batch) {
        int64_t rows = n - from < g->in.batch ? n - from : g->in.batch;
        for (int i = 0; i < g->in.slots; i++)
            g->scoring[i] = (struct ml_net_step){ .from = from,
                                                  .rows = marks[i] ? (int32_t)rows : 0,
                                                  .feed = feed };
        if (cuda_group_begin(g, g->scoring, 1, err) < 0)
            return -1;
        for (int l = 0; l < v.layers; l++) {
            if (cuda_net_forward(g->c, &v, l, err) < 0)
                return -1;
        }
        /* before `scoring` is written again */
        if (cuda_net_scores(g->c, &v, g->in.outputs, from, n, g->scores, err) < 0 ||
            cuda_group_wait(g, err) < 0)
            return -1;
    }
    for (int i = 0; i < g->in.slots; i++) {
        if (marks[i] && cuda_group_get(g, out + i * of_slot, g->scores + i * of_slot,
                                       (size_t)of_slot * sizeof(*out), err) < 0)
            return -1;
    }
    return cuda_group_wait(g, err);
}

const struct ml_net_ops cuda_net_ops = {
    .table_new = table_new,
    .table_free = table_free,
    .open = group_open,
    .close = group_close,
    .bytes = group_bytes,
    .lane_put = lane_put,
    .lane_get = lane_get,
    .feed_put = feed_put,
    .keep = keep,
    .steps = group_steps,
    .team_steps = cuda_net_team_steps,
    .finite = finite,
    .score = group_score,
};
