/* net_private.h - what net.c and net_team.c share: a group of networks, the parts of a step. */
#ifndef ML_CUDA_NET_PRIVATE_H
#define ML_CUDA_NET_PRIVATE_H

#include "ml/cuda/graph.h"
#include "ml/cuda/net.h"

struct ml_net_table {
    float *x;
    int64_t rows, stride;
};

struct ml_net_group {
    struct ml_ctx *c;
    struct ml_net_in in;
    struct net_view v;
    unsigned char *memory;
    /* a step */
    struct cuda_graph graph;
    /* steps of one call of `score` */
    struct ml_net_step *scoring;
    float *scores;
    /* of the slots, on the host; size 0 = empty */
    struct ml_net_lane *lanes;
    /* [in.size + 1] gradient and loss on their way through a sum between hosts; NULL = there was
     * none */
    float *staged;
};

/* net.c: copies of n bytes that are queued; the same and waited for; steps to the device. */
int cuda_group_put(struct ml_net_group *g, const void *to, const void *from, size_t n,
                   struct err *err);
int cuda_group_get(struct ml_net_group *g, void *to, const void *from, size_t n, struct err *err);
int cuda_group_wait(struct ml_net_group *g, struct err *err);
int cuda_group_begin(struct ml_net_group *g, const struct ml_net_step *steps, int n,
                     struct err *err);
/* What became of the steps, when all of them are queued. */
int cuda_group_end(struct ml_net_group *g, const struct ml_net_step *steps, int n,
                   struct ml_net_end *ends, struct ml_net_told *told, struct err *err);

/* net_team.c (contract: ops_net.h). */
int cuda_net_team_steps(struct ml_net_group *g, struct ml_reduce *r,
                        const struct ml_net_step *steps, int n, struct ml_net_end *ends,
                        struct ml_net_told *told, struct err *err);

#endif
