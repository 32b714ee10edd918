/* grad_math.h - the arithmetic of one row's gradient, one source for the CPU's loops
 * (ml/cpu/grad.c) and for the kernels of devices (ml/cuda), so that both give equal bits: only + -
 * * / and whole numbers, in the order that stands here. C++-clean, for host and device. */
#ifndef ML_MATH_GRAD_MATH_H
#define ML_MATH_GRAD_MATH_H

#include "ml/math/fmath.h"

/* Mixes (key, row) into 32 random bits: rows are spread by an odd multiplier, then all bits are
 * mixed. */
FM_FN uint32_t grad_noise(uint32_t key, uint32_t row)
{
    uint32_t x = key ^ (row * 0x9e3779b1u);
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

/* floor(v + u / 65536) without a call to libm. */
FM_FN int32_t grad_rounded(float v, uint32_t u)
{
    float x = v + (float)(int32_t)u * 0x1p-16f;
    int32_t t = (int32_t)x;
    return t - (x < (float)t);
}

/* The quantised word of a row: stochastic rounding keyed by (key, row). */
FM_FN uint32_t grad_packed(float g, float h, float g_scale, float h_scale, uint32_t key,
                           uint32_t row)
{
    uint32_t r = grad_noise(key, row);
    int32_t qg = grad_rounded(g * g_scale, r & 0xffffu), qh = grad_rounded(h * h_scale, r >> 16);
    return (uint32_t)qg << 16 | (uint32_t)qh;
}

/* The gradient for a class with probability p; is_it: the row is of that class. */
FM_FN float grad_class_g(float p, int is_it, float w)
{
    return w * (p - (is_it ? 1.0f : 0.0f));
}
FM_FN float grad_class_h(float p, float w, float factor)
{
    float v = p * (1.0f - p);
    return w * ((v > 1e-6f ? v : 1e-6f) * factor);
}

/* Gradients for targets of numbers, f the score (ml/boost/boost_loss.c); before the row's
 * weight. */
FM_FN float grad_huber_g(float f, float y, float far)
{
    float e = f - y;
    e = e > far ? far : e;
    return e < -far ? -far : e;
}
FM_FN float grad_quantile_g(float f, float y, float alpha)
{
    float above = f > y ? 1.0f - alpha : 0.0f, below = f < y ? alpha : 0.0f;
    return above - below;
}
FM_FN float grad_poisson_h(float f)
{
    return fm_exp(f < 80.0f ? f : 80.0f);
}

/* The factor of g and h of a thinned row; 0 = the row is left out. */
FM_FN float grad_thin_factor(float g, float floor, uint32_t key, uint32_t row)
{
    float a = g < 0.0f ? -g : g;
    float u = (float)(int32_t)(grad_noise(key ^ 0x5bd1e995u, row) >> 8) * 0x1p-24f;
    float grown = floor / (a > 0.0f ? a : 1.0f), part = u * floor < a ? grown : 0.0f;
    return a >= floor ? 1.0f : part;
}

/* The largest power of two that keeps the sum of n terms of at most `largest` (adding up to `sum`)
 * within 31 bits, and one term within 15. */
FM_FN float grad_scale(double largest, double sum, int64_t n)
{
    double scale = 1.0;

    if (!(largest > 0.0))
        return 1.0f;
    while (scale * largest < 16000.0 && scale < 0x1p100)
        scale *= 2.0;
    while (scale * largest > 32000.0 || scale * sum + (double)n > 2147000000.0)
        scale *= 0.5;
    return (float)scale;
}

/* grad_size goes by blocks of so many rows, with eight running sums each. */
enum { GRAD_SIZE_ROWS = 1024 };

#endif
