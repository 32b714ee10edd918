/* fmath.h - exp, log, tanh and the logistic function with the same bits on every machine.
 *
 * The results of libm differ between its versions and between CPUs, so nothing that decides
 * (gradients, probabilities, scores, transforms) may call it. Only + - * / and moves of bits are
 * used, and no fused multiply-add: build with -ffp-contract=off (CUDA: --fmad=false), round to
 * nearest. Straight-line code with selects, so that gcc -O3 -fno-trapping-math vectorises a loop
 * over it, with the same bits. C++-clean, for host and device. The error is at most 1 ulp for exp
 * and log, and 2.5 ulp for tanh and the logistic function (tests/ml/test_fmath.c).
 *
 * fm_exp_d(x) fm_log_d(x) fm_tanh_d(x) fm_sigmoid_d(x)   double
 * fm_exp(x)   fm_log(x)   fm_tanh(x)   fm_sigmoid(x)     float
 *
 * NaN gives NaN. exp overflows to infinity and underflows gradually to 0; log(0) = -inf; log(x < 0)
 * = NaN. */
#ifndef ML_MATH_FMATH_H
#define ML_MATH_FMATH_H

#include <math.h> /* INFINITY, NAN */
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define FM_FN static __host__ __device__ __forceinline__
#else
#define FM_FN static inline
#endif

FM_FN uint64_t fm_bits_d(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof(u));
    return u;
}

FM_FN double fm_from_bits_d(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof(x));
    return x;
}

FM_FN uint32_t fm_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof(u));
    return u;
}

FM_FN float fm_from_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof(x));
    return x;
}

/* Adding 1.5 * 2^52 rounds to a whole number and leaves it in the low bits. No conversion to an
 * integer is needed, which AVX2 lacks. */
#define FM_ROUND_D 0x1.8p52
#define FM_ROUND   0x1.8p23f

/* x = k ln2 + r, |r| <= ln2/2: returns exp(r) - 1, sets *k. */
FM_FN double fm_exp_core_d(double x, double *k)
{
    double t = x * 1.4426950408889634 + FM_ROUND_D;
    *k = t - FM_ROUND_D;
    double hi = x - *k * 0x1.62e42fee00000p-1, lo = *k * 0x1.a39ef35793c76p-33, r = hi - lo;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    return hi - (lo - r * r * p);
}

/* 2^k for whole k in -1022..1023. */
FM_FN double fm_pow2_d(double k)
{
    return fm_from_bits_d((fm_bits_d(k + FM_ROUND_D) + 1023) << 52);
}

FM_FN double fm_exp_d(double x)
{
    double k, half;
    x = x > 710.0 ? 710.0 : x;
    x = x < -746.0 ? -746.0 : x;
    double p = fm_exp_core_d(x, &k);
    /* in two steps, so that subnormal results survive */
    half = (k * 0.5 + FM_ROUND_D) - FM_ROUND_D;
    return (1.0 + p) * fm_pow2_d(half) * fm_pow2_d(k - half);
}

FM_FN double fm_log_d(double x)
{
    int is_tiny = x < 0x1p-1022;
    double y = is_tiny ? x * 0x1p54 : x;
    uint64_t u = fm_bits_d(y) + (0x3ff0000000000000ull - 0x3fe6a09e00000000ull);
    double k = fm_from_bits_d(0x4330000000000000ull | (u >> 52)) - (0x1p52 + 1023.0);
    k = is_tiny ? k - 54.0 : k;
    /* m in [sqrt(1/2), sqrt(2)): log m = 2 atanh(s), s = f / (2 + f). */
    double f = fm_from_bits_d((u & 0x000fffffffffffffull) + 0x3fe6a09e00000000ull) - 1.0;
    double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    double p = 2.0 / 21.0;
    p = p * z + 2.0 / 19.0;
    p = p * z + 2.0 / 17.0;
    p = p * z + 2.0 / 15.0;
    p = p * z + 2.0 / 13.0;
    p = p * z + 2.0 / 11.0;
    p = p * z + 2.0 / 9.0;
    p = p * z + 2.0 / 7.0;
    p = p * z + 2.0 / 5.0;
    p = p * z + 2.0 / 3.0;
    double v =
        k * 0x1.62e42fee00000p-1 - ((half - (s * (half + p * z) + k * 0x1.a39ef35793c76p-33)) - f);
    v = x == 0.0 ? -(double)INFINITY : v;
    v = x < 0.0 ? (double)NAN : v;
    return x > 0x1.fffffffffffffp1023 || x != x ? x : v;
}

FM_FN double fm_tanh_d(double x)
{
    double a = x < 0.0 ? -x : x, k;
    a = a > 20.0 ? 20.0 : a; /* tanh(20) rounds to 1 */
    double p = fm_exp_core_d(2.0 * a, &k), scale = fm_pow2_d(k);
    /* exp(2a) - 1 without cancellation */
    double em = scale * p + (scale - 1.0);
    double t = em / (em + 2.0);
    return x < 0.0 ? -t : x == 0.0 ? x : t;
}

FM_FN double fm_sigmoid_d(double x)
{
    double e = fm_exp_d(x < 0.0 ? x : -x);
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

/* cos(2 pi t), absolute error below 1e-15 for |t| < 2^40: t is reduced to a quarter turn first,
 * exactly. */
FM_FN double fm_cos_turns_d(double t)
{
    double whole = (double)(int64_t)(t + (t < 0.0 ? -0.5 : 0.5)), r = t - whole; /* -1/2..1/2 */
    r = r < 0.0 ? -r : r;
    int is_far = r > 0.25;
    r = is_far ? 0.5 - r : r;
    double x = r * 6.283185307179586, z = x * x, p = 1.0 / 2432902008176640000.0;
    p = p * -z + 1.0 / 6402373705728000.0;
    p = p * -z + 1.0 / 20922789888000.0;
    p = p * -z + 1.0 / 87178291200.0;
    p = p * -z + 1.0 / 479001600.0;
    p = p * -z + 1.0 / 3628800.0;
    p = p * -z + 1.0 / 40320.0;
    p = p * -z + 1.0 / 720.0;
    p = p * -z + 1.0 / 24.0;
    p = p * -z + 0.5;
    p = 1.0 - z * p;
    return is_far ? -p : p;
}

/* ---- float: the same steps, shorter polynomials ---- */

FM_FN float fm_exp_core(float x, float *k)
{
    float t = x * 1.44269504f + FM_ROUND;
    *k = t - FM_ROUND;
    float hi = x - *k * 0x1.62e400p-1f, lo = *k * 0x1.7f7d1cp-20f, r = hi - lo;
    float p = 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    return hi - (lo - r * r * p);
}

FM_FN float fm_pow2(float k)
{
    return fm_from_bits((fm_bits(k + FM_ROUND) + 127) << 23);
}

FM_FN float fm_exp(float x)
{
    float k, half;
    x = x > 89.0f ? 89.0f : x;
    x = x < -105.0f ? -105.0f : x;
    float p = fm_exp_core(x, &k);
    half = (k * 0.5f + FM_ROUND) - FM_ROUND;
    return (1.0f + p) * fm_pow2(half) * fm_pow2(k - half);
}

FM_FN float fm_log(float x)
{
    int is_tiny = x < 0x1p-126f;
    float y = is_tiny ? x * 0x1p25f : x;
    uint32_t u = fm_bits(y) + (0x3f800000u - 0x3f3504f3u);
    float k = (float)((int32_t)(u >> 23) - 127);
    k = is_tiny ? k - 25.0f : k;
    float f = fm_from_bits((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float s = f / (2.0f + f), z = s * s, half = 0.5f * f * f;
    float p = 2.0f / 11.0f;
    p = p * z + 2.0f / 9.0f;
    p = p * z + 2.0f / 7.0f;
    p = p * z + 2.0f / 5.0f;
    p = p * z + 2.0f / 3.0f;
    float v = k * 0x1.62e400p-1f - ((half - (s * (half + p * z) + k * 0x1.7f7d1cp-20f)) - f);
    v = x == 0.0f ? -(float)INFINITY : v;
    v = x < 0.0f ? (float)NAN : v;
    return x > 0x1.fffffep127f || x != x ? x : v;
}

FM_FN float fm_tanh(float x)
{
    float a = x < 0.0f ? -x : x, k;
    a = a > 10.0f ? 10.0f : a;
    float p = fm_exp_core(2.0f * a, &k), scale = fm_pow2(k);
    float em = scale * p + (scale - 1.0f);
    float t = em / (em + 2.0f);
    return x < 0.0f ? -t : x == 0.0f ? x : t;
}

FM_FN float fm_sigmoid(float x)
{
    float e = fm_exp(x < 0.0f ? x : -x);
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

#endif
