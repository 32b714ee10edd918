/* net_math.h - what networks compute element by element: activations and their derivatives, losses
 * of a row, a step of the optimiser. The same functions for the loops of ml/cpu/layer.c and for the
 * kernels of ml/cuda, so that both give the same bits: + - * / and the correctly rounded square
 * root only, exp and tanh of ml/math/fmath.h, no fused multiply-add (-ffp-contract=off; CUDA:
 * --fmad=false). C++-clean, for host and device. */
#ifndef ML_MATH_NET_MATH_H
#define ML_MATH_NET_MATH_H

#include "ml/math/fmath.h"

#ifdef __CUDACC__
#define NM_FN static __host__ __device__ __forceinline__
#else
#define NM_FN static inline __attribute__((always_inline))
#endif
#ifdef __CUDA_ARCH__
#define NM_SQRT sqrtf
#else
#define NM_SQRT __builtin_sqrtf
#endif

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

/* Klambauer et al. 2017, equation 14: they keep mean 0 and variance 1 from layer to layer. */
#define NM_SELU_SCALE 1.0507009873554805f
#define NM_SELU_ALPHA 1.6732632423543772f
/* sqrt(2 / pi), and the cubic term of the tanh form of GELU. */
#define NM_GELU_C     0.7978845608028654f
#define NM_GELU_CUBIC 0.044715f
#define NM_CLIP_AT    3.0f

/* ---- waves ---- */

/* cos(2 pi t), absolute error below 1e-6 for |t| < 1e6, beyond which it stays bounded and is no cosine. NaN gives NaN. */
NM_FN float nm_cos_turns(float t)
{
    t = t > 1e6f ? 1e6f : t;
    t = t < -1e6f ? -1e6f : t;
    float r = t - ((t + FM_ROUND) - FM_ROUND); /* -1/2..1/2 */
    r = r < 0.0f ? -r : r;
    int is_far = r > 0.25f;
    r = is_far ? 0.5f - r : r;
    float x = r * 6.28318531f, z = x * x, p = 1.0f / 479001600.0f;
    p = p * -z + 1.0f / 3628800.0f;
    p = p * -z + 1.0f / 40320.0f;
    p = p * -z + 1.0f / 720.0f;
    p = p * -z + 1.0f / 24.0f;
    p = p * -z + 0.5f;
    p = 1.0f - z * p;
    return is_far ? -p : p;
}

/* ---- activations and their derivatives at z ---- */

NM_FN float nm_relu(float z)
{
    return z > 0.0f ? z : 0.0f;
}

NM_FN float nm_relu_slope(float z)
{
    return z > 0.0f ? 1.0f : 0.0f;
}

/* exp(x) for -87 <= x <= 87, exp(-87) below: relative error at most 2e-7 + 1.2e-7 |x| and exp(0) = 1, which is as good as
 * the score x itself. x log2(e) is cut into a whole number k and f in -1/2..1/2, with no correction for the rounding of the
 * product; then 2^f = 1 + f q(f), where q has the least relative error, 4e-9, among polynomials of degree 5; k goes into the
 * exponent. Half the operations of fm_exp. */
NM_FN float nm_exp(float x)
{
    float t = (x < -87.0f ? -87.0f : x) * 1.44269504f, k = t + FM_ROUND, f = t - (k - FM_ROUND);
    float q = 1.54697320e-4f;

    q = q * f + 1.34100010e-3f;
    q = q * f + 9.61803078e-3f;
    q = q * f + 5.55029731e-2f;
    q = q * f + 2.40226511e-1f;
    q = q * f + 6.93147225e-1f;
    return (1.0f + f * q) * fm_from_bits((fm_bits(k) + 127) << 23);
}

/* 1 / (1 + e^-x), and 1 / (1 + e^87) below -87. */
NM_FN float nm_sigmoid(float x)
{
    return 1.0f / (1.0f + nm_exp(x < -87.0f ? 87.0f : -x));
}

NM_FN float nm_elu(float z)
{
    float e = nm_exp(z < 0.0f ? z : 0.0f) - 1.0f;
    return z > 0.0f ? z : e;
}

NM_FN float nm_elu_slope(float z)
{
    float e = nm_exp(z < 0.0f ? z : 0.0f);
    return z > 0.0f ? 1.0f : e;
}

NM_FN float nm_selu(float z)
{
    float e = NM_SELU_ALPHA * (nm_exp(z < 0.0f ? z : 0.0f) - 1.0f);
    return NM_SELU_SCALE * (z > 0.0f ? z : e);
}

NM_FN float nm_selu_slope(float z)
{
    float e = NM_SELU_ALPHA * nm_exp(z < 0.0f ? z : 0.0f);
    return NM_SELU_SCALE * (z > 0.0f ? 1.0f : e);
}

NM_FN float nm_silu(float z)
{
    return z * nm_sigmoid(z);
}

NM_FN float nm_silu_slope(float z)
{
    float s = nm_sigmoid(z);
    return s * (1.0f + z * (1.0f - s));
}

/* (1 + tanh(x)) / 2 = sigmoid(2 x), so that no exponential less 1 is needed. */
NM_FN float nm_gelu_gate(float z)
{
    return nm_sigmoid(2.0f * NM_GELU_C * (z + NM_GELU_CUBIC * z * z * z));
}

NM_FN float nm_gelu(float z)
{
    return z * nm_gelu_gate(z);
}

NM_FN float nm_gelu_slope(float z)
{
    float s = nm_gelu_gate(z);
    return s + z * (s * (1.0f - s)) * (2.0f * NM_GELU_C * (1.0f + 3.0f * NM_GELU_CUBIC * z * z));
}

/* tanh(log(1 + e^z)) = n / (n + 2) with n = e^z (e^z + 2); above 20 it is 1 but for rounding. Division is the slowest
 * operation, so the function and its derivative share one. */
NM_FN float nm_mish(float z)
{
    float e = nm_exp(z < 20.0f ? z : 20.0f), n = e * (e + 2.0f), share = 1.0f / (n + 2.0f);
    return z * (n * share);
}

NM_FN float nm_mish_slope(float z)
{
    float e = nm_exp(z < 20.0f ? z : 20.0f), n = e * (e + 2.0f), share = 1.0f / (n + 2.0f);
    return n * share + (z < 20.0f ? z : 0.0f) * (4.0f * (e * (e + 1.0f)) * (share * share));
}

NM_FN float nm_tanh(float z)
{
    return fm_tanh(z);
}

NM_FN float nm_tanh_slope(float z)
{
    float t = fm_tanh(z);
    return 1.0f - t * t;
}

/* Every activation with its function; NAME_slope is the derivative. */
#define NM_ACTS(X)         \
    X(LAYER_RELU, nm_relu) \
    X(LAYER_ELU, nm_elu)   \
    X(LAYER_SELU, nm_selu) \
    X(LAYER_SILU, nm_silu) \
    X(LAYER_GELU, nm_gelu) \
    X(LAYER_MISH, nm_mish) \
    X(LAYER_TANH, nm_tanh)

/* x / sqrt(1 + (x / 3)^2): see layer_clip in ml/cpu/layer.h. */
NM_FN float nm_clip(float x)
{
    float t = x * (1.0f / NM_CLIP_AT);
    return x / NM_SQRT(1.0f + t * t);
}

/* Dropout leaves a unit out where a draw is below this. */
NM_FN uint32_t nm_drop_below(float p)
{
    return (uint32_t)((double)p * 4294967296.0);
}

/* ---- losses of one row of a batch of `rows`: z holds scores, and dL/dz on return ---- */

/* One score of two classes. p = target mass of class 1: y with smoothing. The loss is log(1 + e^z)
 * - p z, without overflow. */
NM_FN double nm_loss_two(float *z, int32_t y, float smoothing, int64_t rows)
{
    float v = *z, p = (y ? 1.0f - smoothing : 0.0f) + 0.5f * smoothing;
    float e = fm_exp(v > 0.0f ? -v : v);

    *z = (fm_sigmoid(v) - p) / (float)rows;
    return (double)(v > 0.0f ? v : 0.0f) + (double)fm_log(1.0f + e) - (double)(p * v);
}

/* `width` >= 2 scores of as many classes. */
NM_FN double nm_loss_many(float *z, int32_t y, float smoothing, int64_t rows, int64_t width)
{
    float top = z[0], all = 0, mean = 0, even = smoothing / (float)width, mine = z[y];

    for (int64_t k = 1; k < width; k++)
        top = z[k] > top ? z[k] : top;
    for (int64_t k = 0; k < width; k++)
        mean += z[k] - top;
    for (int64_t k = 0; k < width; k++) {
        z[k] = fm_exp(z[k] - top);
        all += z[k];
    }
    for (int64_t k = 0; k < width; k++)
        z[k] = (z[k] / all - even - (k == y ? 1.0f - smoothing : 0.0f)) / (float)rows;
    return (double)fm_log(all) - (double)((1.0f - smoothing) * (mine - top)) -
           (double)(even * mean);
}

NM_FN double nm_loss_square(float *z, float y, int64_t rows)
{
    float e = *z - y;

    *z = e / (float)rows;
    return 0.5 * (double)e * (double)e;
}

NM_FN double nm_loss_quantile(float *z, float y, float q, int64_t rows)
{
    float e = *z - y, slope = e > 0.0f ? 1.0f - q : e < 0.0f ? -q : 0.0f;

    *z = slope / (float)rows;
    return (double)(slope * e);
}

/* ---- the step of the optimiser for one parameter ---- */

/* AdamW (Loshchilov and Hutter 2019, Algorithm 2), or Adam with decay 0:
 *   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  w -= rate (m fix_m / (sqrt(v fix_v) + eps) +
 *   decay w)
 * with the bias corrections fix_m = 1 / (1 - b1^t), fix_v = 1 / (1 - b2^t). */
struct layer_adam {
    float rate, decay, beta1, beta2, eps, fix_m, fix_v;
};

NM_FN void nm_adam(const struct layer_adam *a, float *w, float g, float *m, float *v)
{
    float mi = a->beta1 * *m + (1.0f - a->beta1) * g;
    float vi = a->beta2 * *v + (1.0f - a->beta2) * (g * g);
    float step = mi * a->fix_m / (NM_SQRT(vi * a->fix_v) + a->eps);

    *m = mi;
    *v = vi;
    *w -= a->rate * (step + a->decay * *w);
}

#endif
