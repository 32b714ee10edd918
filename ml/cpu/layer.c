/* layer.c - see layer.h. Loops of plain C for the vectoriser (simd.h); exp and tanh come from ml/math/fmath.h. The
 * derivative of an activation is computed from z again, because reading z is cheaper than storing a third matrix. */
#include "ml/cpu/layer.h"

#include "ml/cpu/draws.h"
#include "ml/cpu/simd.h"
#include "ml/math/fmath.h"

#include <math.h>
#include <string.h>

/* Klambauer et al. 2017, equation 14: they keep mean 0 and variance 1 from layer to layer. */
#define SELU_SCALE 1.0507009873554805f
#define SELU_ALPHA 1.6732632423543772f
/* sqrt(2 / pi), and the cubic term of the tanh form of GELU. */
#define GELU_C     0.7978845608028654f
#define GELU_CUBIC 0.044715f
#define CLIP_AT    3.0f

typedef float act_fn(float);

/* ---- activations and their derivatives at z ---- */

SIMD_BODY float relu(float z)
{
    return z > 0.0f ? z : 0.0f;
}

SIMD_BODY float relu_slope(float z)
{
    return z > 0.0f ? 1.0f : 0.0f;
}

SIMD_BODY float elu(float z)
{
    float e = fm_exp(z < 0.0f ? z : 0.0f) - 1.0f;
    return z > 0.0f ? z : e;
}

SIMD_BODY float elu_slope(float z)
{
    float e = fm_exp(z < 0.0f ? z : 0.0f);
    return z > 0.0f ? 1.0f : e;
}

SIMD_BODY float selu(float z)
{
    float e = SELU_ALPHA * (fm_exp(z < 0.0f ? z : 0.0f) - 1.0f);
    return SELU_SCALE * (z > 0.0f ? z : e);
}

SIMD_BODY float selu_slope(float z)
{
    float e = SELU_ALPHA * fm_exp(z < 0.0f ? z : 0.0f);
    return SELU_SCALE * (z > 0.0f ? 1.0f : e);
}

SIMD_BODY float silu(float z)
{
    return z * fm_sigmoid(z);
}

SIMD_BODY float silu_slope(float z)
{
    float s = fm_sigmoid(z);
    return s * (1.0f + z * (1.0f - s));
}

SIMD_BODY float gelu(float z)
{
    return 0.5f * z * (1.0f + fm_tanh(GELU_C * (z + GELU_CUBIC * z * z * z)));
}

SIMD_BODY float gelu_slope(float z)
{
    float t = fm_tanh(GELU_C * (z + GELU_CUBIC * z * z * z));
    return 0.5f * (1.0f + t) +
           0.5f * z * (1.0f - t * t) * GELU_C * (1.0f + 3.0f * GELU_CUBIC * z * z);
}

/* tanh(log(1 + e^z)) = n / (n + 2) with n = e^z (e^z + 2); above 20 it rounds to 1. */
SIMD_BODY float mish(float z)
{
    float e = fm_exp(z < 20.0f ? z : 20.0f), n = e * (e + 2.0f);
    return z * (n / (n + 2.0f));
}

SIMD_BODY float mish_slope(float z)
{
    float e = fm_exp(z < 20.0f ? z : 20.0f), n = e * (e + 2.0f), t = n / (n + 2.0f);
    return t + (z < 20.0f ? z * 4.0f * e * (e + 1.0f) / ((n + 2.0f) * (n + 2.0f)) : 0.0f);
}

SIMD_BODY float tanh_act(float z)
{
    return fm_tanh(z);
}

SIMD_BODY float tanh_act_slope(float z)
{
    float t = fm_tanh(z);
    return 1.0f - t * t;
}

/* Every activation with its function; NAME_slope is the derivative. */
#define ACTS(X)         \
    X(LAYER_RELU, relu) \
    X(LAYER_ELU, elu)   \
    X(LAYER_SELU, selu) \
    X(LAYER_SILU, silu) \
    X(LAYER_GELU, gelu) \
    X(LAYER_MISH, mish) \
    X(LAYER_TANH, tanh_act)

/* ---- forward ---- */

SIMD_BODY void layer_clip_body(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float t = x[i] * (1.0f / CLIP_AT);
        x[i] = x[i] / __builtin_sqrtf(1.0f + t * t);
    }
}
SIMD_KERNEL(layer_clip, (float *x, int64_t n), (x, n))

SIMD_BODY void row_forward(float *restrict z, float *restrict h, const float *restrict bias,
                           float scale, int64_t width, int64_t pad, act_fn *act)
{
    for (int64_t j = 0; j < width; j++) {
        float v = scale * z[j] + bias[j];
        z[j] = v;
        h[j] = act(v);
    }
    for (int64_t j = width; j < pad; j++)
        h[j] = 0;
}

SIMD_BODY void rows_forward(float *z, float *h, const float *bias, float scale, int64_t rows,
                            int64_t width, int64_t pad, act_fn *act)
{
    for (int64_t i = 0; i < rows; i++)
        row_forward(z + i * pad, h + i * pad, bias, scale, width, pad, act);
}

SIMD_BODY void layer_forward_body(float *z, float *h, const float *bias, float scale, int64_t rows,
                                  int64_t width, int64_t pad, enum layer_act act)
{
#define ACT_CASE(id, name)                                       \
    case id:                                                     \
        rows_forward(z, h, bias, scale, rows, width, pad, name); \
        break;
    switch (act) {
        ACTS(ACT_CASE)
    default:
        break; /* LAYER_ACTS is their number, no activation */
    }
#undef ACT_CASE
}
SIMD_KERNEL(layer_forward,
            (float *z, float *h, const float *bias, float scale, int64_t rows, int64_t width,
             int64_t pad, enum layer_act act),
            (z, h, bias, scale, rows, width, pad, act))

SIMD_BODY void layer_output_body(float *z, const float *bias, float scale, int64_t rows,
                                 int64_t width, int64_t pad)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < width; j++)
            z[i * pad + j] = scale * z[i * pad + j] + bias[j];
    }
}
SIMD_KERNEL(layer_output,
            (float *z, const float *bias, float scale, int64_t rows, int64_t width, int64_t pad),
            (z, bias, scale, rows, width, pad))

SIMD_BODY void drop_block(float *restrict h, float *restrict keep, const uint32_t *restrict drawn,
                          int64_t n, uint32_t below, float gain)
{
    for (int64_t i = 0; i < n; i++) {
        keep[i] = drawn[i] < below ? 0.0f : gain;
        h[i] *= keep[i];
    }
}

SIMD_BODY void layer_drop_body(float *h, float *keep, int64_t n, float p, uint64_t seed,
                               uint64_t stream)
{
    uint32_t drawn[DRAWS], below = (uint32_t)((double)p * 4294967296.0);

    for (int64_t at = 0; at < n; at += DRAWS) {
        draws_fill(seed, stream, (uint64_t)at / 4, drawn);
        drop_block(h + at, keep + at, drawn, n - at < DRAWS ? n - at : DRAWS, below,
                   1.0f / (1.0f - p));
    }
}
SIMD_KERNEL(layer_drop, (float *h, float *keep, int64_t n, float p, uint64_t seed, uint64_t stream),
            (h, keep, n, p, seed, stream))

/* ---- backward ---- */

SIMD_BODY void row_backward(float *restrict d, const float *restrict keep, const float *restrict z,
                            float scale, int64_t pad, act_fn *slope, float *restrict grad_bias)
{
    for (int64_t j = 0; j < pad; j++) {
        float v = (keep ? d[j] * keep[j] : d[j]) * slope(z[j]);
        grad_bias[j] += v;
        d[j] = scale * v;
    }
}

SIMD_BODY void rows_backward(float *d, const float *keep, const float *z, float scale, int64_t rows,
                             int64_t pad, act_fn *slope, float *grad_bias)
{
    memset(grad_bias, 0, (size_t)pad * sizeof *grad_bias);
    for (int64_t i = 0; i < rows; i++)
        row_backward(d + i * pad, keep ? keep + i * pad : NULL, z + i * pad, scale, pad, slope,
                     grad_bias);
}

SIMD_BODY void layer_backward_body(float *d, const float *keep, const float *z, float scale,
                                   int64_t rows, int64_t pad, enum layer_act act, float *grad_bias)
{
#define ACT_CASE(id, name)                                                    \
    case id:                                                                  \
        rows_backward(d, keep, z, scale, rows, pad, name##_slope, grad_bias); \
        break;
    switch (act) {
        ACTS(ACT_CASE)
    default:
        break; /* LAYER_ACTS is their number, no activation */
    }
#undef ACT_CASE
}
SIMD_KERNEL(layer_backward,
            (float *d, const float *keep, const float *z, float scale, int64_t rows, int64_t pad,
             enum layer_act act, float *grad_bias),
            (d, keep, z, scale, rows, pad, act, grad_bias))

SIMD_BODY void layer_output_backward_body(float *d, float scale, int64_t rows, int64_t pad,
                                          float *grad_bias)
{
    memset(grad_bias, 0, (size_t)pad * sizeof *grad_bias);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < pad; j++) {
            grad_bias[j] += d[i * pad + j];
            d[i * pad + j] *= scale;
        }
    }
}
SIMD_KERNEL(layer_output_backward,
            (float *d, float scale, int64_t rows, int64_t pad, float *grad_bias),
            (d, scale, rows, pad, grad_bias))

/* ---- losses ---- */

/* p = target mass of class 1: y with smoothing. The loss is log(1 + e^z) - p z, without overflow. */
static double loss_two(float *z, const int32_t *y, float smoothing, int64_t rows, int64_t pad)
{
    double sum = 0;

    for (int64_t i = 0; i < rows; i++) {
        float v = z[i * pad], p = (y[i] ? 1.0f - smoothing : 0.0f) + 0.5f * smoothing;
        float e = fm_exp(v > 0.0f ? -v : v);
        sum += (double)(v > 0.0f ? v : 0.0f) + (double)fm_log(1.0f + e) - (double)(p * v);
        z[i * pad] = (fm_sigmoid(v) - p) / (float)rows;
    }
    return sum / (double)rows;
}

static double loss_row(float *z, int32_t y, float smoothing, int64_t rows, int64_t width)
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

double layer_loss_classes(float *z, const int32_t *y, float smoothing, int64_t rows, int64_t width,
                          int64_t pad)
{
    double sum = 0;

    if (width == 1)
        return loss_two(z, y, smoothing, rows, pad);
    for (int64_t i = 0; i < rows; i++)
        sum += loss_row(z + i * pad, y[i], smoothing, rows, width);
    return sum / (double)rows;
}

double layer_loss_square(float *z, const float *y, int64_t rows, int64_t pad)
{
    double sum = 0;

    for (int64_t i = 0; i < rows; i++) {
        float e = z[i * pad] - y[i];
        sum += 0.5 * (double)e * (double)e;
        z[i * pad] = e / (float)rows;
    }
    return sum / (double)rows;
}

double layer_loss_quantile(float *z, const float *y, float q, int64_t rows, int64_t pad)
{
    double sum = 0;

    for (int64_t i = 0; i < rows; i++) {
        float e = z[i * pad] - y[i], slope = e > 0.0f ? 1.0f - q : e < 0.0f ? -q : 0.0f;
        sum += (double)(slope * e);
        z[i * pad] = slope / (float)rows;
    }
    return sum / (double)rows;
}

/* ---- optimiser ---- */

SIMD_BODY void layer_adam_body(const struct layer_adam *a, float *restrict w,
                               const float *restrict g, float *restrict m, float *restrict v,
                               int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float mi = a->beta1 * m[i] + (1.0f - a->beta1) * g[i];
        float vi = a->beta2 * v[i] + (1.0f - a->beta2) * (g[i] * g[i]);
        float step = mi * a->fix_m / (__builtin_sqrtf(vi * a->fix_v) + a->eps);
        m[i] = mi;
        v[i] = vi;
        w[i] -= a->rate * (step + a->decay * w[i]);
    }
}
SIMD_KERNEL(layer_adam,
            (const struct layer_adam *a, float *w, const float *g, float *m, float *v, int64_t n),
            (a, w, g, m, v, n))
