/* net.h - one multilayer perceptron as arithmetic: where its parameters lie, how it starts, forward and backward passes of
 * a batch. It knows no rows, folds or trials (mlp.c does), and allocates only the matrices of a batch.
 *
 * With x the inputs of a row, clipped (layer_clip), hidden layers l = 0 .. layers - 1 compute
 *   z_0 = W_0^T (s * x) / sqrt(inputs) + b_0,   z_l = W_l^T h_{l-1} / sqrt(width) + b_l,   h_l = drop(act(z_l)),
 * and the last layer the same without activation and dropout. s is a learned scale per input. Weights start as standard
 * normals and are divided by sqrt(fan-in) where they are used: the parametrisation of neural tangent kernels (Jacot et al.
 * 2018), with which one learning rate suits all widths. Scale and parametrisation are among the choices that make RealMLP
 * strong on tables (Holzmueller et al., NeurIPS 2024, section 3).
 *
 * The parameters of a network are one array of `size` floats: the scales of the inputs, then of every layer its weights
 * [in][pad] and its biases [pad]. Every width is padded to a multiple of 16 with columns that are zero and stay zero. */
#ifndef ML_NET_NET_H
#define ML_NET_NET_H

#include "base/err.h"
#include "ml/cpu/layer.h"

#include <stdbool.h>
#include <stdint.h>

enum { NET_MAX_LAYERS = 6 }; /* five hidden ones and the last */

struct net_layer {
    int in, in_pad;        /* width of what it reads, and floats of a row of it */
    int out, pad;          /* the same of what it makes */
    int64_t weights, bias; /* where they begin among the parameters */
    float scale;           /* 1 / sqrt(in) */
};

struct net {
    int n; /* layers, the last one included */
    struct net_layer layer[NET_MAX_LAYERS];
    enum layer_act act;
    int64_t size; /* parameters; the first layer[0].in_pad are the scales of the inputs */
};

/* hidden: 1..NET_MAX_LAYERS - 1; all counts >= 1. */
void net_shape(struct net *n, int inputs, int outputs, int hidden, int width, enum layer_act act);
/* Parameters without the padding. */
int64_t net_parameters(const struct net *n);
/* The first parameters: weights standard normal, scales 1, biases standard normal (they spread the bends of the activations
 * over the range of the inputs), the last layer 0, so that training starts from the mean. */
void net_start(const struct net *n, uint64_t seed, float *w);

/* The matrices of one batch of at most `rows` rows. */
struct net_work {
    int64_t rows, bytes;
    float *x;                                     /* [rows][in_pad]: the caller's input */
    float *z[NET_MAX_LAYERS], *h[NET_MAX_LAYERS]; /* [rows][pad]; h of hidden layers only */
    float *keep[NET_MAX_LAYERS];                  /* dropout: 0 or 1 / (1 - p) */
    float *first, *turned;                        /* scaled and transposed weights */
};
/* trains: also what only net_backward needs. */
int net_work_init(struct net_work *k, const struct net *n, int64_t rows, bool trains,
                  struct err *err);
void net_work_fini(struct net_work *k);

struct net_drop {
    float p;       /* 0 = none */
    uint64_t seed; /* of the lane; the numbers depend on it, the step and the layer only */
    int64_t step;
};

/* Scores of work->x, `rows` rows, into z of the last layer. drop NULL: for prediction. */
void net_forward(const struct net *n, const float *w, struct net_work *k, int64_t rows,
                 const struct net_drop *drop);
/* After net_forward, with z of the last layer replaced by the derivative of the loss: the gradient of every parameter into
 * grad [size]. Overwrites z of the last layer and h of the hidden ones. `drops`: the forward pass had dropout. */
void net_backward(const struct net *n, const float *w, struct net_work *k, int64_t rows, bool drops,
                  float *grad);

#endif
