/* cuda.h - private to the CUDA half: the context, the error idiom, and the launchers that device.c
 * puts into the table. */
#ifndef ML_CUDA_CUDA_H
#define ML_CUDA_CUDA_H

#include "ml/ops/ops.h"
#include "ml/ops/ops_boost.h"
#include "ml/ops/ops_forest.h"
#include "ml/ops/ops_net.h"
#include "ml/ops/ops_reduce.h"

#ifdef ASSAY_EMULATE
#include ASSAY_EMULATE /* the emulation's header, named by the build */
#else
#include <cuda_runtime_api.h>
#endif

struct ml_ctx {
    int index;
    cudaStream_t stream;
    int multiprocessors;
    /* of a block, where the launch opts in */
    size_t shared_bytes;
};

/* Places arrays one after another on device memory, each on its own line of 256 bytes. A first pass
 * without memory finds the size that is needed. */
struct cuda_layout {
    unsigned char *base;
    size_t used;
};

static inline void *cuda_place(struct cuda_layout *l, int64_t n, size_t size)
{
    enum { LINE = 256 };
    void *at = l->base ? l->base + l->used : NULL;

    l->used += ((size_t)n * size + LINE - 1) / LINE * LINE;
    return at;
}

#ifdef __cplusplus
extern "C" {
#endif

/* Returns 0, or -1 with the call, its place in the source and CUDA's own words. */
int cuda_check(cudaError_t rc, const char *what, const char *file, int line, struct err *err);
#define cuda_try(call, err) cuda_check((call), #call, __FILE__, __LINE__, (err))

/* trace.c: called around a launch where cuda_is_traced. */
void cuda_launching(cudaStream_t stream);
void cuda_launched(const char *kernel, cudaStream_t stream);

int cuda_softmax_rows(struct ml_ctx *c, const float *z, float *p, int64_t n, int k,
                      struct err *err);
extern const struct ml_boost_ops cuda_boost_ops;   /* boost.c */
extern const struct ml_forest_ops cuda_forest_ops; /* forest.c */
extern const struct ml_net_ops cuda_net_ops;       /* net.c */
extern const struct ml_nccl_ops cuda_nccl_ops;     /* reduce.c */
int cuda_hist_nodes(struct ml_ctx *c, const struct ml_hist_in *in, int64_t *hist, struct err *err);

#ifdef __cplusplus
}
#endif
#endif
