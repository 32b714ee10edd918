/* net_team.cu - what a step has to do besides where several ranks train one network, each on its rows of every batch
 * (ops_net.h, team_steps). The arithmetic is that of ml/net/net_train.c, so that ranks on devices make what ranks on CPUs
 * make, bit for bit. */
#include "ml/cuda/gpu.h"
#include "ml/cuda/net.h"

enum { TEAM_THREADS = 256, TEAM_BLOCKS = 4096 };

/* 0, then plus the share of each part in turn; the whole sum becomes the gradient. A rank that has its rows in one part only
 * scales it. */
__global__ void net_team_share_kernel(struct net_view v, int64_t from, int64_t to)
{
    const struct ml_net_step *step = net_step_of(&v, 0);
    int64_t stride = (int64_t)gridDim.x * blockDim.x;

    if (!step)
        return;
    float *out = net_is_last(step) ? v.grad : v.sum;
    for (int64_t i = from + (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < to; i += stride) {
        float own = step->share * v.grad[i];
        out[i] = step->part == ML_NET_ONLY_PART    ? own
                 : step->part == ML_NET_FIRST_PART ? 0.0f + own
                                                   : v.sum[i] + own;
    }
}

extern "C" int cuda_net_team_share(struct ml_ctx *c, const struct net_view *v, int64_t from,
                                   int64_t to, struct err *err)
{
    int64_t blocks = (to - from + TEAM_THREADS - 1) / TEAM_THREADS;

    LAUNCH(net_team_share_kernel, (unsigned)(blocks < TEAM_BLOCKS ? blocks : TEAM_BLOCKS),
           TEAM_THREADS, 0, c->stream, *v, from, to);
    return cuda_try(cudaGetLastError(), err);
}

/* One thread. The share is a double here, as on the CPU. */
__global__ void net_team_loss_kernel(struct net_view v)
{
    const struct ml_net_step *step = net_step_of(&v, 0);

    if (!step)
        return;
    double own =
        step->part == ML_NET_FIRST_PART || step->part == ML_NET_ONLY_PART ? 0 : v.team->own;
    own += (double)step->rows / (double)step->batch_rows * v.told[*v.at].loss;
    v.team->own = own;
    v.team->word = (float)own;
}

extern "C" int cuda_net_team_loss(struct ml_ctx *c, const struct net_view *v, struct err *err)
{
    LAUNCH(net_team_loss_kernel, 1, 1, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}

/* One thread, after the sum over the ranks: all of them find the same. */
__global__ void net_team_end_kernel(struct net_view v)
{
    const struct ml_net_step *step = net_step_of(&v, 0);

    if (!step || !net_is_last(step))
        return;
    double loss = (double)v.team->word;
    v.told[*v.at].loss = loss;
    if (!(loss - loss == 0))
        v.diverged[0] = 1;
}

extern "C" int cuda_net_team_end(struct ml_ctx *c, const struct net_view *v, struct err *err)
{
    LAUNCH(net_team_end_kernel, 1, 1, 0, c->stream, *v);
    return cuda_try(cudaGetLastError(), err);
}
