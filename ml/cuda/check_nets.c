/* check_nets.c - steps of many small networks on every CUDA device of this machine (ml/ops/ops_net.h), against the same steps
 * on the CPU (ml/net/net.h): bytes of parameters and moments.
 *
 * The argument says how much: none or "check" small shapes; "bench" the time of a step by the number of networks that train
 * together, with operations a second and memory; "count" prints how many devices there are. Needs gcc and nvcc only. Without
 * a device it says so and succeeds. Exit 1 when an answer differs. */
#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/cuda/check.h"
#include "ml/cuda/check_blas.h"
#include "ml/net/net.h"
#include "ml/ops/ops.h"
#include "ml/ops/ops_net.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { ROWS = 20000, STEPS = 20, HIDDEN_MOST = ML_NET_LAYERS - 1, LANES_MOST = 256 };

static int failures;

struct shape {
    int inputs, hidden[HIDDEN_MOST], outputs, batch;
};

struct data {
    float *x; /* [ROWS][padded inputs] */
    int32_t *rows, *y;
};

/* ---- networks ---- */

static int padded(int n)
{
    return (n + 15) / 16 * 16;
}

static void net_make(const struct shape *s, struct net *n)
{
    struct err err = { 0 };

    net_begin(n, 1, 1, s->inputs);
    for (int i = 0; i < HIDDEN_MOST && s->hidden[i]; i++) {
        const struct net_block b = { .kind = NET_DENSE,
                                     .units = s->hidden[i],
                                     .act = LAYER_SILU,
                                     .drops = true,
                                     .scales = i == 0 };
        must(net_add(n, &b, &err), &err);
    }
    const struct net_block last = { .kind = NET_DENSE, .units = s->outputs, .is_linear = true };
    must(net_add(n, &last, &err), &err);
}

static void lane_make(const struct net *n, uint64_t seed, struct ml_net_lane *out)
{
    *out = (struct ml_net_lane){ .size = n->size,
                                 .seed = seed,
                                 .n_layers = n->n,
                                 .has_scales = 1,
                                 .loss = ML_NET_CLASSES,
                                 .smoothing = 0.1f };
    for (int i = 0; i < n->n; i++) {
        const struct net_block *b = &n->block[i];
        out->layer[i] = (struct ml_net_layer){ b->from.c, b->from.pad,     b->to.c,
                                               b->to.pad, b->at_weights,   b->at_bias,
                                               b->scale,  (int32_t)b->act, b->drops,
                                               0 };
    }
}

/* Step k of a lane. */
static void step_make(const struct shape *s, int lane, int k, struct ml_net_step *out)
{
    *out = (struct ml_net_step){ .from = (int64_t)k * 61 % (ROWS - s->batch),
                                 .stream = net_drop_stream(k),
                                 .rows = s->batch - k % 2,
                                 .drop = 0.1f,
                                 .beta1 = 0.9f,
                                 .beta2 = 0.95f,
                                 .eps = 1e-8f,
                                 .fix_m = (float)(1 / (1 - pow(0.9, k + 1))),
                                 .fix_v = (float)(1 / (1 - pow(0.95, k + 1))) };
    for (int r = 0; r < ML_NET_ROLES; r++) {
        out->rate[r] = 0.001f * (float)(1 + lane % 7);
        out->decay[r] = r == ML_NET_WEIGHTS ? 0.02f : 0;
    }
}

static void data_make(const struct shape *s, struct data *d)
{
    int64_t pad = padded(s->inputs);
    struct rng r;

    rng_init(&r, 3, (uint64_t)s->inputs);
    d->x = mem_array((size_t)(ROWS * pad), sizeof *d->x);
    d->rows = mem_array(ROWS, sizeof *d->rows);
    d->y = mem_array(ROWS, sizeof *d->y);
    for (int64_t i = 0; i < ROWS; i++) {
        for (int j = 0; j < s->inputs; j++)
            d->x[i * pad + j] = (float)rng_unit(&r) * 2 - 1;
        d->rows[i] = (int32_t)rng_below(&r, ROWS);
        d->y[i] = (int32_t)rng_below(&r, s->outputs == 1 ? 2 : (uint32_t)s->outputs);
    }
}

static void data_free(struct data *d)
{
    mem_free(d->x);
    mem_free(d->rows);
    mem_free(d->y);
}

/* ---- on the CPU ---- */

/* Steps [from, until) of one lane; w: [3][size]. Returns the seconds. */
static double cpu_steps(const struct shape *s, const struct data *d, const struct net *n, int lane,
                        float *w, int from, int until)
{
    static const enum ml_net_role role_of[NET_ROLES] = {
        [NET_WEIGHTS] = ML_NET_WEIGHTS, [NET_BIASES] = ML_NET_BIASES, [NET_SCALES] = ML_NET_SCALES
    };
    float *grad = mem_array((size_t)n->size, sizeof *grad);
    int64_t pad = padded(s->inputs);
    struct net_work k;
    struct err err = { 0 };

    must(net_work_init(&k, n, s->batch, true, &err), &err);
    double before = now_s();
    for (int i = from; i < until; i++) {
        struct ml_net_step step;
        step_make(s, lane, i, &step);
        struct net_drop drop = { .p = step.drop, .seed = 11 + (uint64_t)lane, .step = i };
        for (int r = 0; r < step.rows; r++)
            memcpy(k.x + r * pad, d->x + d->rows[step.from + r] * pad, (size_t)pad * sizeof *k.x);
        net_forward(n, w, &k, step.rows, &drop);
        layer_loss_classes(net_scores(n, &k), d->y + step.from, 0.1f, step.rows, s->outputs,
                           padded(s->outputs));
        net_backward(n, w, &k, step.rows, &drop, grad);
        for (int p = 0; p < n->n_parts; p++) {
            const struct net_part *part = &n->part[p];
            int role = role_of[part->role];
            const struct layer_adam a = { step.rate[role], step.decay[role], step.beta1, step.beta2,
                                          step.eps,        step.fix_m,       step.fix_v };
            int64_t at = part->at;
            layer_adam(&a, w + at, grad + at, w + n->size + at, w + 2 * n->size + at,
                       (int64_t)part->rows * part->pad);
        }
    }
    double seconds = now_s() - before;
    net_work_fini(&k);
    mem_free(grad);
    return seconds;
}

/* ---- on the device ---- */

struct group {
    const struct ml_net_ops *ops;
    struct ml_net_table *table;
    struct ml_net_group *g;
    struct ml_net_in in;
};

static void group_open(const struct ml_ops *ops, struct ml_ctx *c, const struct shape *s,
                       const struct data *d, const struct net *n, int lanes, struct group *out)
{
    struct err err = { 0 };

    *out = (struct group){ .ops = ops->net };
    must(ops->net->table_new(c, d->x, ROWS, padded(s->inputs), &out->table, &err), &err);
    out->in = (struct ml_net_in){ .table = out->table,
                                  .slots = lanes,
                                  .layers = n->n,
                                  .feeds = 1,
                                  .feed_rows = ROWS,
                                  .batch = s->batch,
                                  .size = n->size,
                                  .steps = STEPS,
                                  .has_norms = 1 };
    out->in.pad[0] = n->in.pad;
    for (int i = 0; i < n->n; i++)
        out->in.pad[i + 1] = n->block[i].to.pad;
    must(ops->net->open(c, &out->in, &out->g, &err), &err);
    must(ops->net->feed_put(out->g, 0, d->rows, d->y, ROWS, &err), &err);
}

static void group_close(struct group *g)
{
    g->ops->close(g->g);
    g->ops->table_free(g->table);
}

/* Puts the first parameters of a lane into its slot, and into w. */
static void slot_fill(struct group *g, const struct net *n, int lane, float *w)
{
    struct ml_net_lane desc;
    struct err err = { 0 };
    uint64_t seed = 11 + (uint64_t)lane;

    memset(w, 0, (size_t)n->size * 3 * sizeof *w);
    net_start(n, seed, w);
    lane_make(n, seed, &desc);
    must(g->ops->lane_put(g->g, lane, &desc, w, NULL, &err), &err);
}

/* STEPS steps of all lanes in one call. Returns the seconds. */
static double device_steps(struct group *g, const struct shape *s, int first)
{
    size_t slots = (size_t)g->in.slots;
    struct ml_net_step *steps = mem_array(slots * STEPS, sizeof *steps);
    struct ml_net_end *ends = mem_array(slots, sizeof *ends);
    struct ml_net_told *told = mem_array(slots * STEPS, sizeof *told);
    struct err err = { 0 };

    for (int k = 0; k < STEPS; k++) {
        for (int i = 0; i < g->in.slots; i++)
            step_make(s, i, first + k, &steps[(size_t)k * slots + (size_t)i]);
    }
    double before = now_s();
    must(g->ops->steps(g->g, steps, STEPS, ends, told, &err), &err);
    double seconds = now_s() - before;
    for (int i = 0; i < g->in.slots; i++)
        failures += ends[i].done != STEPS;
    mem_free(steps);
    mem_free(ends);
    mem_free(told);
    return seconds;
}

/* ---- cases ---- */

static void shape_print(const struct shape *s)
{
    char text[80];
    int at = snprintf(text, sizeof text, "%d", s->inputs);

    for (int i = 0; i < HIDDEN_MOST && s->hidden[i]; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "-%d", s->hidden[i]);
    snprintf(text + at, sizeof text - (size_t)at, "-%d", s->outputs);
    printf("  mlp %-20s batch %-5d", text, s->batch);
}

static void check(const struct ml_ops *ops, struct ml_ctx *c, const struct shape *s)
{
    enum { LANES = 5 };
    struct net n;
    struct data d;
    struct group g;
    struct err err = { 0 };

    net_make(s, &n);
    data_make(s, &d);
    group_open(ops, c, s, &d, &n, LANES, &g);
    size_t bytes = (size_t)n.size * 3 * sizeof(float);
    float *w[LANES], *got = mem_alloc(bytes);
    int n_equal = 0;
    for (int i = 0; i < LANES; i++) {
        w[i] = mem_alloc(bytes);
        slot_fill(&g, &n, i, w[i]);
    }
    device_steps(&g, s, 0);
    for (int i = 0; i < LANES; i++) {
        cpu_steps(s, &d, &n, i, w[i], 0, STEPS);
        must(ops->net->lane_get(g.g, i, ML_NET_NOW, 3, got, &err), &err);
        n_equal += memcmp(got, w[i], bytes) == 0;
        mem_free(w[i]);
    }
    failures += n_equal < LANES;
    shape_print(s);
    printf(" %d steps: %d of %d networks %s\n", STEPS, n_equal, LANES,
           n_equal == LANES ? "equal" : "EQUAL, THE OTHERS DIFFERENT");
    mem_free(got);
    group_close(&g);
    data_free(&d);
}

/* Six operations for a weight and a row. */
static double flops_of(const struct shape *s, const struct net *n)
{
    double weights = 0;

    for (int i = 0; i < n->n; i++)
        weights += (double)n->block[i].from.c * n->block[i].to.c;
    return 6 * weights * s->batch;
}

/* The products of one step of so many networks by cuBLAS. */
static int blas_step(struct blas *b, const struct shape *s, const struct net *n, int lanes,
                     float *const *matrices)
{
    int bad = 0;

    for (int i = 0; i < n->n; i++)
        bad += blas_layer(b, lanes, s->batch, n->block[i].from.pad, n->block[i].to.pad, matrices[0],
                          matrices[1], matrices[2], i == 0);
    return bad;
}

static void blas_bench(const struct ml_ops *ops, struct ml_ctx *c, const struct shape *s,
                       const struct net *n)
{
    int64_t widest = n->in.pad, largest = 0;
    struct blas b;
    struct err err = { 0 };
    float *matrices[3];

    if (blas_open(&b) < 0) {
        puts("    no cuBLAS here to compare with");
        return;
    }
    for (int i = 0; i < n->n; i++) {
        widest = MAX(widest, n->block[i].to.pad);
        largest = MAX(largest, (int64_t)n->block[i].from.pad * n->block[i].to.pad);
    }
    for (int i = 0; i < 3; i++) {
        size_t floats = (size_t)(i == 1 ? largest : widest * s->batch) * LANES_MOST;
        must(ops->alloc(c, floats * sizeof(float), (void **)&matrices[i], &err), &err);
    }
    int bad = blas_step(&b, s, n, LANES_MOST, matrices) + blas_wait(&b, matrices[0]);
    double before = now_s();
    for (int i = 0; i < STEPS; i++)
        bad += blas_step(&b, s, n, LANES_MOST, matrices);
    bad += blas_wait(&b, matrices[0]);
    double seconds = (now_s() - before) / STEPS;
    if (bad)
        puts("    cuBLAS failed: nothing to compare with");
    else
        printf("    cuBLAS, the products alone: %3d networks, a step %8.1f us; %6.2f TFLOP/s\n",
               LANES_MOST, 1e6 * seconds, 1e-12 * flops_of(s, n) * LANES_MOST / seconds);
    for (int i = 0; i < 3; i++)
        ops->release(c, matrices[i]);
    blas_close(&b);
}

static void bench(const struct ml_ops *ops, struct ml_ctx *c, const struct shape *s)
{
    static const int counts[] = { 1, 8, 32, 128, LANES_MOST };
    struct net n;
    struct data d;
    double alone = 0;

    net_make(s, &n);
    data_make(s, &d);
    float *w = mem_alloc((size_t)n.size * 3 * sizeof *w);
    memset(w, 0, (size_t)n.size * 3 * sizeof *w);
    net_start(&n, 11, w);
    cpu_steps(s, &d, &n, 0, w, 0, 2);
    double cpu = cpu_steps(s, &d, &n, 0, w, 2, STEPS) / (STEPS - 2);
    for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
        int lanes = counts[k], calls = 10;
        double seconds = 0;
        struct group g;
        group_open(ops, c, s, &d, &n, lanes, &g);
        for (int i = 0; i < lanes; i++)
            slot_fill(&g, &n, i, w);
        device_steps(&g, s, 0); /* records the graph */
        for (int i = 1; i <= calls; i++)
            seconds += device_steps(&g, s, i * STEPS);
        seconds /= calls * STEPS;
        alone = k == 0 ? seconds : alone;
        shape_print(s);
        printf(
            " %3d networks: a step %8.1f us, of a network %7.2f us; %6.2f TFLOP/s; %.1f times one by "
            "one here, %.1f times the CPU (one thread, %.0f us); %.1f MB on the device\n",
            lanes, 1e6 * seconds, 1e6 * seconds / lanes, 1e-12 * flops_of(s, &n) * lanes / seconds,
            alone * lanes / seconds, cpu * lanes / seconds, 1e6 * cpu,
            1e-6 * (double)ops->net->bytes(&g.in));
        fflush(stdout);
        group_close(&g);
    }
    blas_bench(ops, c, s, &n);
    mem_free(w);
    data_free(&d);
}

static const struct shape small[] = {
    { 5, { 7 }, 1, 33 },
    { 50, { 128, 64 }, 1, 256 },
    { 21, { 48, 96, 40, 33, 17 }, 9, 100 },
    { 150, { 200 }, 26, 64 },
};
/* The first is the network of `make bench-peers`. */
static const struct shape large[] = {
    { 50, { 128, 64 }, 1, 256 },
    { 54, { 256, 256, 256 }, 7, 256 },
    { 784, { 256, 256 }, 10, 512 },
};

static void device_run(const struct ml_ops *ops, int index, const char *what)
{
    struct err err = { 0 };
    struct ml_ctx *c = ops->open(index, &err);

    if (!c)
        must(-1, &err);
    for (size_t i = 0; i < ARRAY_LEN(small) && strcmp(what, "check") == 0; i++)
        check(ops, c, &small[i]);
    for (size_t i = 0; i < ARRAY_LEN(large) && strcmp(what, "bench") == 0; i++)
        bench(ops, c, &large[i]);
    ops->close(c);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "check";
    struct err err = { 0 };
    const struct ml_ops *ops = ml_cuda_open(&err);
    int n = 0;

    if (!ops) {
        printf("gpu-check: FAILED: %s\n", err.text);
        return 1;
    }
    must(ops->device_count(&n, &err), &err);
    if (strcmp(what, "count") == 0) {
        printf("%d\n", n);
        return 0;
    }
    if (n == 0) {
        puts("networks: built and opened; no CUDA device here, parity on a device skipped");
        return 0;
    }
    for (int i = 0; i < n; i++)
        device_run(ops, i, what);
    printf("networks: %d different\n", failures);
    return failures > 0;
}
