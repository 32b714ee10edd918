/* layer.h - what a network does element by element between its matrix products: bias, activation,
 * dropout, their derivatives, losses on the output, and the step of the optimiser. Matrices are
 * row-major with `pad` floats a row, a multiple of 16; columns past the real width hold zeros and
 * keep them. Every function works element by element, or sums over rows in ascending order, so that
 * the vector width never shows in a bit. Called by ml/net/. */
#ifndef ML_CPU_LAYER_H
#define ML_CPU_LAYER_H

#include "ml/math/net_math.h"

#include <stdint.h>

/* x -> x / sqrt(1 + (x / 3)^2): the identity near 0, bounded by 3, so that no outlier rules a batch
 * (the smooth clipping of RealMLP, Holzmueller et al., NeurIPS 2024, section 3). n floats, in
 * place. */
void layer_clip(float *x, int64_t n);

/* h = act(scale z + bias) in the first `width` columns; the others of h become 0. */
void layer_forward(float *z, float *h, const float *bias, float scale, int64_t rows, int64_t width,
                   int64_t pad, enum layer_act act);
/* The same, and z = act'(scale z + bias), which layer_backward wants. */
void layer_forward_slope(float *z, float *h, const float *bias, float scale, int64_t rows,
                         int64_t width, int64_t pad, enum layer_act act);
/* The last layer: z = scale z + bias in the first `width` columns. */
void layer_output(float *z, const float *bias, float scale, int64_t rows, int64_t width,
                  int64_t pad);
/* keep[i] = 1 / (1 - p) with probability 1 - p, else 0, from the numbers `from` + i of the stream
 * (seed, stream) of base/rng.h; then h *= keep. n is a multiple of 64 or the tail of keep is
 * readable to one; `from` is a multiple of 4; 0 < p < 1. */
struct layer_draws {
    float p;
    uint64_t seed, stream;
    int64_t from;
};
void layer_drop(float *h, float *keep, int64_t n, const struct layer_draws *draws);
/* From d = dL/dh: d = d keep slope (keep NULL: 1), grad_bias = sum of d over the rows, then d =
 * scale d. */
void layer_backward(float *d, const float *keep, const float *slope, float scale, int64_t rows,
                    int64_t pad, float *grad_bias);
/* The same of the last layer, which has no activation. */
void layer_output_backward(float *d, float scale, int64_t rows, int64_t pad, float *grad_bias);

/* Losses, averaged over the rows. z holds scores on entry and dL/dz on return; the return value is
 * the loss. Classes: softmax cross-entropy of `width` >= 2 columns, or logistic with one column, y
 * the class. Smoothing s moves s of the target's mass to all classes evenly (Szegedy et al. 2016,
 * section 7). */
double layer_loss_classes(float *z, const int32_t *y, float smoothing, int64_t rows, int64_t width,
                          int64_t pad);
/* Numbers: (z - y)^2 / 2. */
double layer_loss_square(float *z, const float *y, int64_t rows, int64_t pad);
/* The quantile ("pinball") loss: q (y - z) above, (1 - q) (z - y) below; q = 1/2 is half the
 * absolute error. */
double layer_loss_quantile(float *z, const float *y, float q, int64_t rows, int64_t pad);

/* One step of Adam or AdamW (nm_adam) for n parameters. */
void layer_adam(const struct layer_adam *a, float *w, const float *g, float *m, float *v,
                int64_t n);

#endif
