/* nccl.h - the functions of NCCL that reduce.c uses. They are found at run time, so that neither a
 * build nor a machine needs NCCL; the declarations follow NCCL's documentation, and their values
 * and sizes are the same in all versions 2.x from 2.7 on. */
#ifndef ML_CUDA_NCCL_H
#define ML_CUDA_NCCL_H

#include "ml/cuda/cuda.h"

#include <stddef.h>

/* The library's results and types of numbers, as far as they are used. */
enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7 };
enum { NCCL_FLOAT = 7 };

struct nccl_comm; /* opaque */
struct nccl_id {
    char bytes[ML_NCCL_ID_BYTES];
};

/* All but the last return a result. */
struct nccl_api {
    int (*id)(struct nccl_id *out);
    int (*init)(struct nccl_comm **out, int ranks, struct nccl_id id, int rank);
    int (*send)(const void *x, size_t n, int type, int to, struct nccl_comm *c, cudaStream_t s);
    int (*recv)(void *x, size_t n, int type, int from, struct nccl_comm *c, cudaStream_t s);
    int (*group_begin)(void);
    int (*group_end)(void);
    int (*trouble)(struct nccl_comm *c, int *result); /* of what runs on the device */
    int (*abort)(struct nccl_comm *c);
    int (*destroy)(struct nccl_comm *c);
    const char *(*text)(int result);
};

/* nccl.c: opens the library at the first call: libnccl.so.2, or the file that ASSAY_NCCL names.
 * NULL with the reason. */
const struct nccl_api *cuda_nccl(struct err *err);

#ifdef __cplusplus
extern "C" {
#endif
/* reduce_add.cu: x[i] becomes the sum over the ranks, in their order, where this rank has x and
 * rank k has part[k * stride + i]. */
int cuda_reduce_add(cudaStream_t stream, float *x, const float *part, int64_t n, int64_t stride,
                    int rank, int ranks, struct err *err);
#ifdef __cplusplus
}
#endif
#endif
