/* ops.h - the operations that have a CPU and a CUDA form.
 *
 * Each has one contract here, a plain reference in tests/ml and tests/cuda, and a line in
 * ml/cuda/check_ops.c. A backend is a table of functions over opaque contexts, so that both can be
 * compared in one process. Buffers are the backend's memory (get and put copy from and to the
 * host). An operation takes the context's stream, never synchronises, and returns 0 or -1 with err.
 * Sizes may be 0. C++-clean. */
#ifndef ML_OPS_OPS_H
#define ML_OPS_OPS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ML_OPS_ABI 7

/* one device with one stream; used by one thread at a time */
struct ml_ctx;

struct ml_device {
    int index;
    char name[64];
    /* cpu or cuda-sm90 and so on: results are equal bit for bit only within one class */
    char numeric_class[32];
    int64_t memory_bytes, free_bytes;
};

/* Pointers are the backend's memory; numbers are the host's. */
struct ml_hist_in {
    const uint8_t *bins; /* row-major */
    int64_t stride;
    int cols;
    const int32_t *rows;
    const int64_t *from; /* n_nodes + 1 */
    /* at most 65,535 */
    int n_nodes;
    /* rows of the largest node */
    int64_t max_rows;
    const uint32_t *q; /* by row */
};

struct ml_boost_ops;
struct ml_forest_ops;
struct ml_net_ops;
struct ml_nccl_ops;

struct ml_ops {
    /* ML_OPS_ABI; a table with another one is refused */
    int abi;
    /* cpu or cuda */
    const char *backend;

    int (*device_count)(int *n, struct err *err); /* 0 devices is no error */
    int (*device_get)(int index, struct ml_device *out, struct err *err);
    struct ml_ctx *(*open)(int index, struct err *err);
    void (*close)(struct ml_ctx *c);
    int (*alloc)(struct ml_ctx *c, size_t bytes, void **out, struct err *err); /* ERR_NOMEM */
    void (*release)(struct ml_ctx *c, void *p);
    int (*put)(struct ml_ctx *c, void *device, const void *host, size_t bytes, struct err *err);
    int (*get)(struct ml_ctx *c, void *host, const void *device, size_t bytes,
               struct err *err); /* waits for the stream */
    int (*wait)(struct ml_ctx *c, struct err *err);

    /* softmax_rows: p[i][j] = exp(z[i][j] - max_i) / sum_i, summed in ascending j. z, p: n x k
     * row-major, may be the same; k >= 1. exp is that of ml/math/fmath.h: equal bits on every
     * backend. */
    int (*softmax_rows)(struct ml_ctx *c, const float *z, float *p, int64_t n, int k,
                        struct err *err);

    /* hist_nodes: gradient histograms of many tree nodes in one launch. Node m has the rows
     * rows[from[m]] to rows[from[m + 1] - 1]. Each row adds its word q[row] (g, signed, in the
     * upper 16 bits; h >= 0 in the lower 16) to bin bins[row * stride + j] of every column j:
     * hist[(m * cols + j) * 256 + bin], int64 with g in the upper and h in the lower 32 bits. hist
     * is overwritten. Whole numbers: equal bits on every backend, in any order. */
    int (*hist_nodes)(struct ml_ctx *c, const struct ml_hist_in *in, int64_t *hist,
                      struct err *err);

    /* Boosting in whole rounds (ml/ops/ops_boost.h). NULL = the backend has none, and the CPU does
     * it. */
    const struct ml_boost_ops *boost;
    /* Growing trees of forests (ml/ops/ops_forest.h). NULL as above. */
    const struct ml_forest_ops *forest;
    /* Training many small networks at once (ml/ops/ops_net.h). NULL as above. */
    const struct ml_net_ops *net;
    /* Sums over ranks on several devices (ml/ops/ops_reduce.h). NULL as above; on a machine without
     * NCCL its functions say so. */
    const struct ml_nccl_ops *nccl;
};

extern const struct ml_ops ml_cpu_ops;

/* The CUDA half: a shared object that is opened at run time, from ASSAY_CUDA, beside the program,
 * or in PREFIX/lib/assay. NULL with a reason when it is absent, too old, or finds no driver; that
 * is the normal case on a machine without a GPU. */
const struct ml_ops *ml_cuda_open(struct err *err);
typedef const struct ml_ops *ml_ops_export(
    void); /* what the shared object exports as "assay_cuda_ops" */

#ifdef __cplusplus
}
#endif
#endif
