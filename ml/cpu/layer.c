/* layer.c - see layer.h. Loops of plain C for the vectoriser (simd.h); what they compute of one
 * number is in ml/math/net_math.h. A pass that trains computes an activation and its derivative
 * together, because both need the same exponential, which costs more than all the rest. */
#include "ml/cpu/layer.h"

#include "ml/cpu/draws.h"
#include "ml/cpu/simd.h"

#include <string.h>

typedef float act_fn(float);

/* ---- forward ---- */

SIMD_BODY void layer_clip_body(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = nm_clip(x[i]);
}
SIMD_KERNEL(layer_clip, (float *x, int64_t n), (x, n))

SIMD_BODY void row_forward(float *restrict z, float *restrict h, const float *restrict bias,
                           float scale, int64_t width, int64_t pad, act_fn *act)
{
    for (int64_t j = 0; j < width; j++)
        h[j] = act(scale * z[j] + bias[j]);
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
        NM_ACTS(ACT_CASE)
    default:
        break; /* LAYER_ACTS is their number, no activation */
    }
#undef ACT_CASE
}
SIMD_KERNEL(layer_forward,
            (float *z, float *h, const float *bias, float scale, int64_t rows, int64_t width,
             int64_t pad, enum layer_act act),
            (z, h, bias, scale, rows, width, pad, act))

SIMD_BODY void row_forward_slope(float *restrict z, float *restrict h, const float *restrict bias,
                                 float scale, int64_t width, int64_t pad, act_fn *act,
                                 act_fn *slope)
{
    for (int64_t j = 0; j < width; j++) {
        float v = scale * z[j] + bias[j];
        h[j] = act(v);
        z[j] = slope(v);
    }
    for (int64_t j = width; j < pad; j++)
        h[j] = 0;
}

SIMD_BODY void rows_forward_slope(float *z, float *h, const float *bias, float scale, int64_t rows,
                                  int64_t width, int64_t pad, act_fn *act, act_fn *slope)
{
    for (int64_t i = 0; i < rows; i++)
        row_forward_slope(z + i * pad, h + i * pad, bias, scale, width, pad, act, slope);
}

SIMD_BODY void layer_forward_slope_body(float *z, float *h, const float *bias, float scale,
                                        int64_t rows, int64_t width, int64_t pad,
                                        enum layer_act act)
{
#define ACT_CASE(id, name)                                                           \
    case id:                                                                         \
        rows_forward_slope(z, h, bias, scale, rows, width, pad, name, name##_slope); \
        break;
    switch (act) {
        NM_ACTS(ACT_CASE)
    default:
        break; /* as above */
    }
#undef ACT_CASE
}
SIMD_KERNEL(layer_forward_slope,
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

SIMD_BODY void layer_drop_body(float *h, float *keep, int64_t n, const struct layer_draws *draws)
{
    uint32_t drawn[DRAWS], below = nm_drop_below(draws->p);

    for (int64_t at = 0; at < n; at += DRAWS) {
        draws_fill(draws->seed, draws->stream, (uint64_t)(draws->from + at) / 4, drawn);
        drop_block(h + at, keep + at, drawn, n - at < DRAWS ? n - at : DRAWS, below,
                   1.0f / (1.0f - draws->p));
    }
}
SIMD_KERNEL(layer_drop, (float *h, float *keep, int64_t n, const struct layer_draws *draws),
            (h, keep, n, draws))

/* ---- backward ---- */

SIMD_BODY void row_backward(float *restrict d, const float *restrict slope, float scale,
                            int64_t pad, float *restrict grad_bias)
{
    for (int64_t j = 0; j < pad; j++) {
        float v = d[j] * slope[j];
        grad_bias[j] += v;
        d[j] = scale * v;
    }
}

/* A loop of its own: a condition within it would keep it from being vectorised. */
SIMD_BODY void row_backward_kept(float *restrict d, const float *restrict keep,
                                 const float *restrict slope, float scale, int64_t pad,
                                 float *restrict grad_bias)
{
    for (int64_t j = 0; j < pad; j++) {
        float v = d[j] * keep[j] * slope[j];
        grad_bias[j] += v;
        d[j] = scale * v;
    }
}

SIMD_BODY void layer_backward_body(float *d, const float *keep, const float *slope, float scale,
                                   int64_t rows, int64_t pad, float *grad_bias)
{
    memset(grad_bias, 0, (size_t)pad * sizeof *grad_bias);
    for (int64_t i = 0; i < rows && keep; i++)
        row_backward_kept(d + i * pad, keep + i * pad, slope + i * pad, scale, pad, grad_bias);
    for (int64_t i = 0; i < rows && !keep; i++)
        row_backward(d + i * pad, slope + i * pad, scale, pad, grad_bias);
}
SIMD_KERNEL(layer_backward,
            (float *d, const float *keep, const float *slope, float scale, int64_t rows,
             int64_t pad, float *grad_bias),
            (d, keep, slope, scale, rows, pad, grad_bias))

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

double layer_loss_classes(float *z, const int32_t *y, float smoothing, int64_t rows, int64_t width,
                          int64_t pad)
{
    double sum = 0;

    for (int64_t i = 0; i < rows; i++)
        sum += width == 1 ? nm_loss_two(z + i * pad, y[i], smoothing, rows)
                          : nm_loss_many(z + i * pad, y[i], smoothing, rows, width);
    return sum / (double)rows;
}

double layer_loss_square(float *z, const float *y, int64_t rows, int64_t pad)
{
    double sum = 0;

    for (int64_t i = 0; i < rows; i++)
        sum += nm_loss_square(z + i * pad, y[i], rows);
    return sum / (double)rows;
}

double layer_loss_quantile(float *z, const float *y, float q, int64_t rows, int64_t pad)
{
    double sum = 0;

    for (int64_t i = 0; i < rows; i++)
        sum += nm_loss_quantile(z + i * pad, y[i], q, rows);
    return sum / (double)rows;
}

/* ---- optimiser ---- */

SIMD_BODY void layer_adam_body(const struct layer_adam *a, float *restrict w,
                               const float *restrict g, float *restrict m, float *restrict v,
                               int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        nm_adam(a, w + i, g[i], m + i, v + i);
}
SIMD_KERNEL(layer_adam,
            (const struct layer_adam *a, float *w, const float *g, float *m, float *v, int64_t n),
            (a, w, g, m, v, n))
