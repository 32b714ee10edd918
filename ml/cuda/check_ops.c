/* check_ops.c - `make gpu-check`: runs every operation on every CUDA device of this machine and
 * compares it with the CPU's answer, over shapes that include 0, 1, odd and large; then measures
 * time and bandwidth. Needs gcc and nvcc only. Without a device it says so, names what it could not
 * check, and succeeds. Exit 1 when an answer differs. */
#include "base/rng.h"
#include "ml/cuda/check.h"
#include "ml/ops/ops.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int failures;

/* One of the two that are compared: the CPU, or a device. */
struct side {
    const struct ml_ops *ops;
    struct ml_ctx *ctx;
};

/* Memory on the side's device, with a copy of `host` unless that is NULL. */
static void *to_device(const struct side *s, const void *host, size_t bytes)
{
    struct err err = { 0 };
    void *p = NULL;

    must(s->ops->alloc(s->ctx, bytes, &p, &err), &err);
    if (host)
        must(s->ops->put(s->ctx, p, host, bytes, &err), &err);
    return p;
}

/* Prints and counts whether two results were equal. */
static void verdict(const char *what, int equal)
{
    failures += !equal;
    printf("  %-44s %s\n", what, equal ? "equal" : "DIFFERENT");
}

/* Runs the operation twice, because a first launch includes the start of the device, and times the
 * second run. */
static void *softmax_on(const struct side *s, const float *z, int64_t n, int k, double *seconds)
{
    size_t bytes = (size_t)n * (size_t)k * sizeof(float);
    struct err err = { 0 };
    float *in = to_device(s, z, bytes), *out = to_device(s, NULL, bytes), *host = malloc(bytes + 1);

    must(s->ops->softmax_rows(s->ctx, in, out, n, k, &err), &err);
    must(s->ops->wait(s->ctx, &err), &err);
    double t = now_s();
    must(s->ops->softmax_rows(s->ctx, in, out, n, k, &err), &err);
    must(s->ops->wait(s->ctx, &err), &err);
    *seconds = now_s() - t;
    must(s->ops->get(s->ctx, host, out, bytes, &err), &err);
    s->ops->release(s->ctx, in);
    s->ops->release(s->ctx, out);
    return host;
}

/* Equal bits are asked for, because both sides use fm_exp and the same order of additions. */
static void check_softmax(const struct side *cpu, const struct side *gpu, int64_t n, int k)
{
    float *z = malloc((size_t)n * (size_t)k * sizeof(*z) + 1);
    struct rng r;
    double a = 0, b = 0;
    char name[80];

    rng_init(&r, 7, (uint64_t)n);
    for (int64_t i = 0; i < n * k; i++)
        z[i] = (float)(20 * rng_unit(&r) - 10);
    void *want = softmax_on(cpu, z, n, k, &a), *got = softmax_on(gpu, z, n, k, &b);
    snprintf(name, sizeof(name), "softmax_rows %" PRId64 " x %d", n, k);
    verdict(name, memcmp(want, got, (size_t)n * (size_t)k * sizeof(float)) == 0);
    if (n >= 100000)
        printf("    cpu %.3f ms, device %.3f ms (%.0f GB/s)\n", 1e3 * a, 1e3 * b,
               8e-9 * (double)n * k / b);
    free(z);
    free(want);
    free(got);
}

/* A table of bins, and nodes that divide its rows: node m has the rows from[m] to from[m + 1] of
 * `rows`. */
struct hist_case {
    uint8_t *bins;
    uint32_t *q;
    int32_t *rows;
    int64_t *from, n, stride;
    int cols, nodes;
};

/* The histograms of the case on one side, [nodes][cols][256] words; times the second of two
 * runs. */
static int64_t *hist_on(const struct side *s, const struct hist_case *h, double *seconds)
{
    size_t cells = (size_t)h->nodes * (size_t)h->cols * 256;
    struct err err = { 0 };
    int64_t *host = malloc(cells * 8 + 1), longest = 0;
    void *bins = to_device(s, h->bins, (size_t)(h->n * h->stride)),
         *q = to_device(s, h->q, (size_t)h->n * 4);
    void *rows = to_device(s, h->rows, (size_t)h->n * 4),
         *from = to_device(s, h->from, ((size_t)h->nodes + 1) * 8);
    void *hist = to_device(s, NULL, cells * 8);

    for (int m = 0; m < h->nodes; m++)
        longest = h->from[m + 1] - h->from[m] > longest ? h->from[m + 1] - h->from[m] : longest;
    const struct ml_hist_in in = { bins, h->stride, h->cols, rows, from, h->nodes, longest, q };
    for (int pass = 0; pass < 2; pass++) {
        double t = now_s();
        must(s->ops->hist_nodes(s->ctx, &in, hist, &err), &err);
        must(s->ops->wait(s->ctx, &err), &err);
        *seconds = now_s() - t;
    }
    must(s->ops->get(s->ctx, host, hist, cells * 8, &err), &err);
    s->ops->release(s->ctx, bins);
    s->ops->release(s->ctx, q);
    s->ops->release(s->ctx, rows);
    s->ops->release(s->ctx, from);
    s->ops->release(s->ctx, hist);
    return host;
}

/* Random bins and words in nodes of uneven size. The row stride is a multiple of 64, as the tables
 * of ml/prep have it. */
static void check_hist(const struct side *cpu, const struct side *gpu, int64_t n, int cols,
                       int nodes)
{
    struct hist_case h = { .n = n, .cols = cols, .nodes = nodes, .stride = (cols + 63) / 64 * 64 };
    struct rng r;
    double a = 0, b = 0;
    char name[80];

    h.bins = calloc((size_t)(n * h.stride) + 1, 1);
    h.q = malloc((size_t)n * 4 + 1);
    h.rows = malloc((size_t)n * 4 + 1);
    h.from = malloc(((size_t)nodes + 1) * 8);
    rng_init(&r, 11, (uint64_t)n);
    for (int64_t i = 0; i < n; i++) {
        h.q[i] = rng_u32(&r);
        h.rows[i] = (int32_t)i;
        for (int j = 0; j < cols; j++)
            h.bins[i * h.stride + j] = (uint8_t)rng_u32(&r);
    }
    /* nodes of uneven size, one of them empty */
    for (int m = 0; m <= nodes; m++)
        h.from[m] = m == nodes ? n : n * m / nodes * (m != 1 || nodes < 3);
    int64_t *want = hist_on(cpu, &h, &a), *got = hist_on(gpu, &h, &b);
    snprintf(name, sizeof(name), "hist_nodes %" PRId64 " rows x %d, %d nodes", n, cols, nodes);
    verdict(name, memcmp(want, got, (size_t)nodes * (size_t)cols * 2048) == 0);
    if (n >= 100000)
        printf("    cpu %.3f ms, device %.3f ms (%.1f G updates/s)\n", 1e3 * a, 1e3 * b,
               1e-9 * (double)n * cols / b);
    free(h.bins);
    free(h.q);
    free(h.rows);
    free(h.from);
    free(want);
    free(got);
}

/* Every operation over row counts at the edges: none, one, around a warp, and beyond one tile. */
static void check_device(const struct ml_ops *ops, int index)
{
    static const int64_t ns[] = { 0, 1, 33, 1000, 100003 };
    struct err err = { 0 };
    struct ml_device d;
    struct side cpu = { &ml_cpu_ops, ml_cpu_ops.open(0, &err) },
                gpu = { ops, ops->open(index, &err) };

    if (!gpu.ctx)
        must(-1, &err);
    must(ops->device_get(index, &d, &err), &err);
    printf("device %d: %s, %s, %.1f GiB\n", index, d.name, d.numeric_class,
           (double)d.memory_bytes / (1 << 30));
    for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
        check_softmax(&cpu, &gpu, ns[i], i % 2 ? 7 : 26);
        check_hist(&cpu, &gpu, ns[i], i % 2 ? 50 : 13, i % 2 ? 1 : 5);
    }
    check_hist(&cpu, &gpu, 1000000, 50, 64);
    cpu.ops->close(cpu.ctx);
    gpu.ops->close(gpu.ctx);
}

int main(void)
{
    struct err err = { 0 };
    const struct ml_ops *ops = ml_cuda_open(&err);
    int n = 0;

    if (!ops) {
        printf("gpu-check: FAILED: %s\n", err.text);
        return 1;
    }
    must(ops->device_count(&n, &err), &err);
    if (n == 0) {
        puts("gpu-check: built and opened; no CUDA device here, parity on a device skipped");
        return 0;
    }
    for (int i = 0; i < n; i++)
        check_device(ops, i);
    printf("gpu-check: %s\n", failures ? "FAILED" : "every answer equals the CPU's");
    return failures != 0;
}
