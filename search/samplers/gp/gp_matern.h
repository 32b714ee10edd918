/* gp_matern.h - the Matern 5/2 kernel of gp_model.c and gp_pool.c, for loops of the vectoriser
 * (base/simd.h). A suggestion computes thousands of covariances, so exp is written here without the
 * divisions of exact_math.h. Only + - * / and sqrt: a seed gives the same bits on every machine. */
#ifndef SEARCH_SAMPLERS_GP_GP_MATERN_H
#define SEARCH_SAMPLERS_GP_GP_MATERN_H

#include "base/base.h"
#include "base/simd.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* exp(-x) for 0 <= x < 1e9, with a relative error below 1e-13: the Taylor series of exp(r) by Horner's
 * rule, times 2^-k. Adding 1.5 * 2^52 rounds to a whole number, k, and leaves it in the lowest bits.
 * The conversion to int would do the same, but it is undefined for the larger x of length scales near
 * 0, which give 0 here. */
SIMD_BODY double gp_exp_minus(double x)
{
    static const double c[] = {
        1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
        1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5,         1,          1
    };
    double whole = x * 0x1.71547652b82fep+0 + 0x1.8p52, k = whole - 0x1.8p52;
    double r = k * 0x1.62e42fefa38p-1 - x + k * 0x1.ef35793c7673p-45, sum = c[0];
    for (size_t i = 1; i < ARRAY_LEN(c); i++)
        sum = sum * r + c[i];
    /* From 700 on the result is 0. A condition would keep loops from being vectorised, so the sign of
     * the difference masks the bits. */
    double beyond = x - 700, scale = 0;
    int64_t sign = 0;
    uint64_t low = 0;
    memcpy(&sign, &beyond, sizeof sign);
    memcpy(&low, &whole, sizeof low);
    uint64_t bits = (1023 - low) << 52 & (uint64_t)(sign >> 63);
    memcpy(&scale, &bits, sizeof scale);
    return sum * scale;
}

/* signal (1 + s + s^2 / 3) exp(-s) with s = sqrt(5) r, where r2 is the squared distance r^2 in length
 * scales. */
SIMD_BODY double gp_matern(double r2, double signal)
{
    double s = sqrt(5 * r2);

    return (1 + s + s * s * (1.0 / 3)) * (signal * gp_exp_minus(s));
}

/* The same, and its slope dk/d(r^2) = -5/6 signal (1 + s) exp(-s). */
SIMD_BODY double gp_matern_slope(double r2, double signal, double *slope)
{
    double s = sqrt(5 * r2), e = signal * gp_exp_minus(s);

    *slope = -5.0 / 6 * (1 + s) * e;
    return (1 + s + s * s * (1.0 / 3)) * e;
}

/* ---- single precision, which is enough for a fit and takes a third of the time ---- */

/* exp(-x) for x >= 0, with a relative error below 3e-7, in the same way. From 40 on it is 0: nothing
 * below 1e-17 counts, and products of such numbers would leave the range of normal ones. */
SIMD_BODY float gp_exp_minus_single(float x)
{
    static const float c[] = { 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1, 1 };
    float whole = x * 0x1.715476p+0f + 0x1.8p23f, k = whole - 0x1.8p23f;
    float r = k * 0x1.62e4p-1f - x + k * 0x1.7f7d1cp-20f, sum = c[0];
    for (size_t i = 1; i < ARRAY_LEN(c); i++)
        sum = sum * r + c[i];
    float beyond = x - 40, scale = 0;
    int32_t sign = 0;
    uint32_t low = 0;
    memcpy(&sign, &beyond, sizeof sign);
    memcpy(&low, &whole, sizeof low);
    uint32_t bits = (127 - low) << 23 & (uint32_t)(sign >> 31);
    memcpy(&scale, &bits, sizeof scale);
    return sum * scale;
}

SIMD_BODY float gp_matern_single(float r2, float signal)
{
    float s = sqrtf(5 * r2);

    return (1 + s + s * s * (1.0f / 3)) * (signal * gp_exp_minus_single(s));
}

SIMD_BODY float gp_matern_slope_single(float r2, float signal, float *slope)
{
    float s = sqrtf(5 * r2), e = signal * gp_exp_minus_single(s);

    *slope = -5.0f / 6 * (1 + s) * e;
    return (1 + s + s * s * (1.0f / 3)) * e;
}

#endif
