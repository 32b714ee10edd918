/* net_rig.h - small networks of several shapes, and a plain reference of a step of training: one network after another, one
 * loop after another. What the kernels of ml/cuda/net*.cu are held to. */
#ifndef TESTS_CUDA_NET_RIG_H
#define TESTS_CUDA_NET_RIG_H

#include "ml/ops/ops_net.h"

enum { ROWS = 150, INPUTS = 21, IN_PAD = 32, STEPS = 5, LANES = 7 };

struct data {
    float *x;              /* [ROWS][IN_PAD] */
    int32_t rows[2][ROWS]; /* two feeds */
    int32_t y[2][ROWS];
};

struct lanes {
    struct ml_net_lane of[LANES];
    float *first[LANES], *last[LANES]; /* [3][size] */
    double losses[LANES][STEPS];
};

/* A network with the matrices of a batch. */
struct pass {
    const struct ml_net_lane *l;
    const struct ml_net_step *s;
    float *w, *grad; /* w: [3][size] */
    const float *x;
    const int32_t *rows, *y;
    float *z[ML_NET_LAYERS], *h[ML_NET_LAYERS + 1]; /* h[0] is the input */
};

void data_make(struct data *d, int classes); /* free d->x */
/* A network of INPUTS inputs without a role, rate or seed. */
void lane_shape(struct ml_net_lane *l, int hidden, int width, int outputs);
/* Step k of lane i: its batch, dropout and rates. */
void step_make(struct ml_net_step *s, int i, int k, int feed);
void pass_open(struct pass *p, const struct ml_net_lane *l, float *w);
void pass_close(struct pass *p);
void pass_forward(struct pass *p);
/* LANES networks, each with another width, activation, seed and rate: at their start, after STEPS steps, and their losses.
 * classes: outputs; 0 = a number. */
void lanes_make(struct lanes *all, const struct data *d, int hidden, int classes);
void lanes_free(struct lanes *all);

#endif
