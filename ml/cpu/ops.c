/* ops.c - the CPU's table of operations (ml/ops/ops.h), twin of the table in ml/cuda.
 *
 * "Device memory" is host memory here, and every operation is finished when it returns, so put and
 * get are copies and wait does nothing. The families do not use this table on a CPU: they call the
 * kernels of this folder directly, because those take more context (tiles, masks). The table serves
 * tests, which compare each device with it bit for bit, and callers with small arrays. Opened
 * through ml/ops/device.c. */
#include "ml/ops/ops.h"

#include "base/mem.h"
#include "ml/cpu/hist.h"
#include "ml/math/fmath.h"

#include <string.h>

struct ml_ctx {
    int index;
};

static int cpu_count(int *n, struct err *err)
{
    (void)err;
    *n = 1;
    return 0;
}

static int cpu_get_device(int index, struct ml_device *out, struct err *err)
{
    if (index != 0)
        return err_set(err, ERR_NOTFOUND, "no CPU device %d", index);
    memset(out, 0, sizeof(*out));
    memcpy(out->name, "CPU", 4);
    memcpy(out->numeric_class, "cpu", 4);
    return 0;
}

static struct ml_ctx *cpu_open(int index, struct err *err)
{
    (void)err;
    struct ml_ctx *c = mem_zalloc(sizeof(*c));
    c->index = index;
    return c;
}

static void cpu_close(struct ml_ctx *c)
{
    mem_free(c);
}

static int cpu_alloc(struct ml_ctx *c, size_t bytes, void **out, struct err *err)
{
    (void)c;
    *out = mem_try_alloc(bytes);
    return *out ? 0 : err_set(err, ERR_NOMEM, "%zu bytes", bytes);
}

static void cpu_release(struct ml_ctx *c, void *p)
{
    (void)c;
    mem_try_free(p);
}

static int cpu_put(struct ml_ctx *c, void *device, const void *host, size_t bytes, struct err *err)
{
    (void)c, (void)err;
    if (bytes > 0)
        memcpy(device, host, bytes);
    return 0;
}

static int cpu_get(struct ml_ctx *c, void *host, const void *device, size_t bytes, struct err *err)
{
    return cpu_put(c, host, device, bytes, err);
}

static int cpu_wait(struct ml_ctx *c, struct err *err)
{
    (void)c, (void)err;
    return 0;
}

/* p[i][j] = exp(z[i][j] - top) / sum, with the row's largest score `top` taken off first, so that
 * no exponential overflows. z and p: n rows of k floats; they may be the same array. Sums run over
 * j ascending, which fixes the bits. */
static int cpu_softmax_rows(struct ml_ctx *c, const float *z, float *p, int64_t n, int k,
                            struct err *err)
{
    (void)c, (void)err;
    for (int64_t i = 0; i < n; i++, z += k, p += k) {
        float top = z[0], sum = 0;
        for (int j = 1; j < k; j++)
            top = z[j] > top ? z[j] : top;
        for (int j = 0; j < k; j++) {
            p[j] = fm_exp(z[j] - top);
            sum += p[j];
        }
        for (int j = 0; j < k; j++)
            p[j] /= sum;
    }
    return 0;
}

/* Adds the rows of node m to its histogram: for each of the `cols` columns 256 packed sums, one per
 * bin. Plain loops and the layout of ml/ops/ops.h: the fast histogram, with its padded columns, is
 * in hist.c. */
static void hist_node(const struct ml_hist_in *in, int m, int64_t *hist)
{
    for (int64_t i = in->from[m]; i < in->from[m + 1]; i++) {
        const uint8_t *b = in->bins + in->rows[i] * in->stride;
        int64_t word = hist_word(in->q[in->rows[i]]);
        for (int j = 0; j < in->cols; j++)
            hist[(size_t)j * 256 + b[j]] += word;
    }
}

static int cpu_hist_nodes(struct ml_ctx *c, const struct ml_hist_in *in, int64_t *hist,
                          struct err *err)
{
    size_t cells = (size_t)in->cols * 256;

    (void)c, (void)err;
    memset(hist, 0, (size_t)in->n_nodes * cells * sizeof(*hist));
    for (int m = 0; m < in->n_nodes; m++)
        hist_node(in, m, hist + (size_t)m * cells);
    return 0;
}

const struct ml_ops ml_cpu_ops = {
    .abi = ML_OPS_ABI,
    .backend = "cpu",
    .device_count = cpu_count,
    .device_get = cpu_get_device,
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .put = cpu_put,
    .get = cpu_get,
    .wait = cpu_wait,
    .softmax_rows = cpu_softmax_rows,
    .hist_nodes = cpu_hist_nodes,
};
