/* layer.h - what a network does element by element between its matrix products: bias, activation, dropout, their
 * derivatives, losses on the output, and the step of the optimiser. Matrices are row-major with `pad` floats a row, a
 * multiple of 16; columns past the real width hold zeros and keep them. Every function works element by element, or sums
 * over rows in ascending order, so that the vector width never shows in a bit. Called by ml/net/. */
#ifndef ML_CPU_LAYER_H
#define ML_CPU_LAYER_H

#include <stdint.h>

enum layer_act {
    LAYER_RELU,
    LAYER_ELU,  /* Clevert et al. 2016 */
    LAYER_SELU, /* Klambauer et al. 2017 */
    LAYER_SILU, /* Elfwing et al. 2018 */
    LAYER_GELU, /* Hendrycks and Gimpel 2016, the tanh form */
    LAYER_MISH, /* Misra 2020 */
    LAYER_TANH,
    LAYER_ACTS
};

/* x -> x / sqrt(1 + (x / 3)^2): the identity near 0, bounded by 3, so that no outlier rules a batch (the smooth clipping of
 * RealMLP, Holzmueller et al., NeurIPS 2024, section 3). n floats, in place. */
void layer_clip(float *x, int64_t n);

/* z = scale z + bias; h = act(z). The first `width` columns; the others of h become 0. */
void layer_forward(float *z, float *h, const float *bias, float scale, int64_t rows, int64_t width,
                   int64_t pad, enum layer_act act);
/* The last layer: z = scale z + bias in the first `width` columns. */
void layer_output(float *z, const float *bias, float scale, int64_t rows, int64_t width,
                  int64_t pad);
/* keep[i] = 1 / (1 - p) with probability 1 - p, else 0, from the numbers of the stream (seed, stream) of base/rng.h; then
 * h *= keep. rows * pad is a multiple of 64 or the tail of keep is readable to one. 0 < p < 1. */
void layer_drop(float *h, float *keep, int64_t n, float p, uint64_t seed, uint64_t stream);
/* From d = dL/dh: d = d keep act'(z) (keep NULL: 1), grad_bias = sum of d over the rows, then d = scale d. */
void layer_backward(float *d, const float *keep, const float *z, float scale, int64_t rows,
                    int64_t pad, enum layer_act act, float *grad_bias);
/* The same of the last layer, which has no activation. */
void layer_output_backward(float *d, float scale, int64_t rows, int64_t pad, float *grad_bias);

/* Losses, averaged over the rows. z holds scores on entry and dL/dz on return; the return value is the loss.
 * Classes: softmax cross-entropy of `width` >= 2 columns, or logistic with one column, y the class. Smoothing s moves
 * s of the target's mass to all classes evenly (Szegedy et al. 2016, section 7). */
double layer_loss_classes(float *z, const int32_t *y, float smoothing, int64_t rows, int64_t width,
                          int64_t pad);
/* Numbers: (z - y)^2 / 2. */
double layer_loss_square(float *z, const float *y, int64_t rows, int64_t pad);
/* The quantile ("pinball") loss: q (y - z) above, (1 - q) (z - y) below; q = 1/2 is half the absolute error. */
double layer_loss_quantile(float *z, const float *y, float q, int64_t rows, int64_t pad);

/* One step of AdamW (Loshchilov and Hutter 2019, Algorithm 2) for n parameters, or of Adam with decay 0:
 *   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  w -= rate (m fix_m / (sqrt(v fix_v) + eps) + decay w)
 * with the bias corrections fix_m = 1 / (1 - b1^t), fix_v = 1 / (1 - b2^t). */
struct layer_adam {
    float rate, decay, beta1, beta2, eps, fix_m, fix_v;
};
void layer_adam(const struct layer_adam *a, float *w, const float *g, float *m, float *v,
                int64_t n);

#endif
