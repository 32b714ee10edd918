/* net.h - what the kernels of networks share: the arrays of a group on the device, and the launches
 * of a step. Private to net*.c and net*.cu. */
#ifndef ML_CUDA_NET_H
#define ML_CUDA_NET_H

#include "ml/cuda/cuda.h"

/* A copy goes to every kernel. Pointers are the device's memory. */
struct net_view {
    int slots, layers;
    int64_t batch;
    /* floats from one lane's parameters to the next; a multiple of 32, which is 128 bytes */
    int64_t stride;
    int32_t pad[ML_NET_LAYERS + 1];
    const struct ml_net_lane *lanes;
    /* [steps][slots], and which of them is being made */
    const struct ml_net_step *steps;
    int32_t *at;
    /* [slots] the loss was not finite: the lane makes no further step */
    int32_t *diverged;
    /* [slots] whether a parameter is not finite */
    unsigned *broken;
    const uint8_t *marks;
    /* [steps][slots] */
    struct ml_net_told *told;
    /* [slots][3][stride]: parameters, first and second moments; and the same kept aside */
    float *state, *kept;
    /* the parameters that the forward pass reads: state or kept */
    const float *w;
    /* [slots][stride] */
    float *grad;
    /* [slots][stride] sums of parts, or NULL */
    float *sum;
    /* [slots] what clipping multiplies the gradient with; [slots][ML_NET_LAYERS] rates of the weights by LARS and LAMB; or
     * NULL */
    float *clip, *rates;
    /* of layer l: [slots][batch][pad[l + 1]]. In a hidden layer z is the
     * slope of the activation, and in the backward pass the derivative at its sum. */
    float *z[ML_NET_LAYERS], *h[ML_NET_LAYERS];
    /* feeds: [feeds][feed_rows] */
    const int32_t *feed_row, *feed_y;
    int64_t feed_rows;
    const float *x;
    int64_t x_stride;
    /* of a network that other ranks train as well, or NULL */
    struct net_team_loss *team;
};

/* What a rank knows of the loss of a batch. */
struct net_team_loss {
    /* the sum of its parts so far */
    double own;
    /* on its way through the sum over the ranks */
    float word;
};

#ifdef __cplusplus
extern "C" {
#endif

/* net_product.cu: scores of a layer, with bias, activation and dropout; gradients of a layer's
 * weights and biases, and the derivative at the layer below. */
int cuda_net_forward(struct ml_ctx *c, const struct net_view *v, int layer, struct err *err);
int cuda_net_backward(struct ml_ctx *c, const struct net_view *v, int layer, struct err *err);
/* net_step.cu: the loss and its derivative; the gradient of the scales; the step of the optimiser;
 * and on to the next step. */
int cuda_net_loss(struct ml_ctx *c, const struct net_view *v, struct err *err);
int cuda_net_scales(struct ml_ctx *c, const struct net_view *v, struct err *err);
/* Between the gradient and the optimiser: sums of parts; clipping and rates that depend on norms. */
int cuda_net_add(struct ml_ctx *c, const struct net_view *v, struct err *err);
int cuda_net_norms(struct ml_ctx *c, const struct net_view *v, struct err *err);
int cuda_net_optimise(struct ml_ctx *c, const struct net_view *v, struct err *err);
int cuda_net_next(struct ml_ctx *c, const struct net_view *v, struct err *err);
/* The state of marked slots kept aside; which slots have parameters that are not finite. */
int cuda_net_keep(struct ml_ctx *c, const struct net_view *v, struct err *err);
int cuda_net_finite(struct ml_ctx *c, const struct net_view *v, struct err *err);
/* net_team.cu: of the only lane of a group. The gradients [from, to) of one part of this rank's rows
 * become part of the batch's; the same for the loss; and the loss of all ranks is told. */
int cuda_net_team_share(struct ml_ctx *c, const struct net_view *v, int64_t from, int64_t to,
                        struct err *err);
int cuda_net_team_loss(struct ml_ctx *c, const struct net_view *v, struct err *err);
int cuda_net_team_end(struct ml_ctx *c, const struct net_view *v, struct err *err);
/* Scores of the last layer into out[slots][n][outputs], from row `from` on. */
int cuda_net_scores(struct ml_ctx *c, const struct net_view *v, int outputs, int64_t from,
                    int64_t n, float *out, struct err *err);

#ifdef __cplusplus
}

/* The step that the lane makes, or NULL where it makes none. */
__device__ inline const struct ml_net_step *net_step_of(const struct net_view *v, int slot)
{
    const struct ml_net_step *s = v->steps + (int64_t)*v->at * v->slots + slot;

    return s->rows > 0 && !v->diverged[slot] ? s : (const struct ml_net_step *)0;
}

/* Whether the step ends with the optimiser. */
__device__ inline bool net_is_last(const struct ml_net_step *s)
{
    return s->part == ML_NET_WHOLE || s->part == ML_NET_LAST_PART || s->part == ML_NET_ONLY_PART;
}

__device__ inline float *net_z(const struct net_view *v, int slot, int layer)
{
    return v->z[layer] + (int64_t)slot * v->batch * v->pad[layer + 1];
}

__device__ inline float *net_h(const struct net_view *v, int slot, int layer)
{
    return v->h[layer] + (int64_t)slot * v->batch * v->pad[layer + 1];
}
#endif
#endif
