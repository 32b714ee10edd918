/* ops_reduce.h - sums over the ranks that train one network together, each on its share of every
 * batch. Two implementations: threads of one process (ml/net/net_reduce.c), and NCCL between
 * devices (ml/cuda/reduce.c, struct ml_ops nccl).
 *
 * Every rank asks for the same sums, of the same lengths, in the same order. A sum has the same
 * bits on every rank, and on every run: it is made in the order of the ranks, or in one that
 * depends on their number alone. C++-clean. */
#ifndef ML_OPS_OPS_REDUCE_H
#define ML_OPS_OPS_REDUCE_H

#include "base/err.h"

#include <stdint.h>

enum { ML_REDUCE_RANKS = 64 };

struct ml_reduce;
struct ml_reduce_ops {
    const char *backend; /* threads or nccl */
    /* Begins x = sum of x over all ranks, for n numbers; x is the memory of the rank's device and
     * is not touched until wait. -1: a rank was lost, or the transport failed. */
    int (*sum)(struct ml_reduce *r, float *x, int64_t n, struct err *err);
    /* Returns when all sums that this rank began are made. -1 as above. */
    int (*wait)(struct ml_reduce *r, struct err *err);
    /* This rank gives up: calls of the others fail, with the rank and the reason in their
     * message. */
    void (*leave)(struct ml_reduce *r, const char *why);
};

/* The end of one rank; used by one thread at a time. */
struct ml_reduce {
    const struct ml_reduce_ops *ops;
    int rank, ranks;
};

/* Ranks on devices, of one machine or several (ml/cuda/reduce.c). The first rank makes the id and
 * tells it to the others. */
enum { ML_NCCL_ID_BYTES = 128 };
struct ml_nccl_id {
    char bytes[ML_NCCL_ID_BYTES];
};
struct ml_ctx;
struct ml_nccl_ops {
    int (*id)(struct ml_nccl_id *out, struct err *err);
    /* Returns when all ranks have come. One thread uses the context and this end. */
    struct ml_reduce *(*open)(struct ml_ctx *ctx, const struct ml_nccl_id *id, int rank, int ranks,
                              struct err *err);
    void (*close)(struct ml_reduce *r);
};

#endif
