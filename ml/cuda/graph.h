/* graph.h - launches that are repeated unchanged, as one CUDA graph: the host then queues one thing
 * instead of dozens, and a device that has little to do in each launch does not wait for the host. */
#ifndef ML_CUDA_GRAPH_H
#define ML_CUDA_GRAPH_H

#include "ml/cuda/cuda.h"

/* All zero before its first use. */
struct cuda_graph {
    cudaGraphExec_t exec;
    int is_made;
    /* how often it was run with this key */
    int key, times;
};

/* Queues what `queue` queues into the context's stream: launches and memsets whose arguments depend
 * on arg, as it is now, and on key alone. The first run with a key calls `queue`, the second records
 * what it queues, and all further ones repeat that. Where launches are timed one by one (trace.h),
 * nothing is recorded. */
int cuda_graph_run(struct ml_ctx *c, struct cuda_graph *g, int key,
                   int (*queue)(void *arg, int key, struct err *err), void *arg, struct err *err);
void cuda_graph_free(struct cuda_graph *g);

#endif
