/* ops_reduce.h - sums over the ranks that train one network together, each on its share of every
 * batch. Three implementations: threads of one process (ml/net/net_reduce.c), processes over TCP
 * (ml/ranks/link.c), and NCCL between devices (ml/cuda/reduce.c, struct ml_ops nccl).
 *
 * Every rank asks for the same sums, of the same lengths, in the same order. A sum is made in the
 * order of the ranks, so it has the same bits on every rank, on every run and in every
 * implementation. C++-clean. */
#ifndef ML_OPS_OPS_REDUCE_H
#define ML_OPS_OPS_REDUCE_H

#include "base/err.h"

#include <stdint.h>

enum { ML_REDUCE_RANKS = 64 };

struct ml_reduce;
struct ml_reduce_ops {
    const char *backend; /* threads, tcp or nccl */
    /* what is summed lies on the device; else on the host */
    int on_device;
    /* Begins x = sum of x over all ranks, for n numbers; x is not touched until wait. -1: a rank
     * was lost, or the transport failed. */
    int (*sum)(struct ml_reduce *r, float *x, int64_t n, struct err *err);
    /* Returns when all sums that this rank began are made. On a device: work that is queued after
     * this call begins when they are made. -1 as above. */
    int (*wait)(struct ml_reduce *r, struct err *err);
    /* This rank gives up: calls of the others fail, with the rank and the reason in their
     * message. */
    void (*leave)(struct ml_reduce *r, const char *why);
    /* For a rank that waits for something else: -1 if another rank is known to be lost, or if this
     * one should give up. Never waits. */
    int (*look)(struct ml_reduce *r, struct err *err);
};

/* The end of one rank; used by one thread at a time. */
struct ml_reduce {
    const struct ml_reduce_ops *ops;
    int rank, ranks;
};

/* Ranks on devices, of one machine or several (ml/cuda/reduce.c). They know each other already by
 * sums between their hosts. The first rank makes the id and tells it to the others. */
enum { ML_NCCL_ID_BYTES = 128 };
struct ml_nccl_id {
    char bytes[ML_NCCL_ID_BYTES];
};
struct ml_ctx;
struct ml_nccl_ops {
    /* -1 with the reason where NCCL is not installed. */
    int (*is_there)(struct err *err);
    int (*id)(struct ml_nccl_id *out, struct err *err);
    /* Returns when all ranks have come. One thread uses the context and this end. host: the same
     * ranks on the hosts, borrowed; whoever waits here looks there whether a rank is lost. most:
     * numbers of the largest sum. */
    struct ml_reduce *(*open)(struct ml_ctx *ctx, const struct ml_nccl_id *id,
                              struct ml_reduce *host, int64_t most, struct err *err);
    void (*close)(struct ml_reduce *r);
    /* Returns when all that the context was asked for is done; -1 also when a rank is lost. */
    int (*finish)(struct ml_reduce *r, struct err *err);
};

#endif
