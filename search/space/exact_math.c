/* exact_math.c - log and exp from textbook series after an exact reduction of the argument: frexp,
 * ldexp and floor are exact by definition. The file must be compiled with -ffp-contract=off, like
 * all others: a fused multiply-add would make machines differ again. */
#include "search/space/exact_math.h"

#include "base/simd.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ln 2 in two parts. LN2_HI has 42 significant bits, so k * LN2_HI is exact for |k| < 2^11, which
 * covers every exponent. */
static const double LN2_HI = 0x1.62e42fefa38p-1, LN2_LO = 0x1.ef35793c7673p-45;
static const double SQRT_HALF = 0x1.6a09e667f3bcdp-1; /* 0x3fe6a09e667f3bcd */

/* log(x) = e log 2 + log(m) with m in [sqrt(1/2), sqrt(2)), and log(m) = 2 artanh(s) = 2 (s + s^3/3
 * + s^5/5 + ...) with s = (m - 1) / (m + 1). Then |s| < 0.172, so the terms up to s^23 reach below
 * a double's last bit. */
SIMD_BODY double log_reduced(double m, double e)
{
    double s = (m - 1) / (m + 1), s2 = s * s, sum = 0;

    for (int k = 23; k >= 3; k -= 2)
        sum = (sum + 1.0 / k) * s2;
    return e * LN2_HI + (2 * s + (2 * s * sum + e * LN2_LO));
}

double search_log(double x)
{
    int e = 0;
    double m = frexp(x, &e);

    if (m < SQRT_HALF) {
        m = m * 2;
        e = e - 1;
    }
    return log_reduced(m, e);
}

/* The exponent is that of the number over sqrt(1/2), by their bits; taken away, it leaves m. */
SIMD_BODY void search_log_each_body(const double *restrict x, double *restrict y, int n)
{
    for (int i = 0; i < n; i++) {
        int64_t bits = 0, e = 0;
        double m = 0;
        memcpy(&bits, &x[i], sizeof bits);
        e = (bits - INT64_C(0x3fe6a09e667f3bcd)) >> 52;
        bits -= e * (INT64_C(1) << 52);
        memcpy(&m, &bits, sizeof m);
        y[i] = log_reduced(m, (double)(int)e);
    }
}

SIMD_KERNEL(search_log_each, (const double *x, double *y, int n), (x, y, n))

/* exp(x) = 2^k exp(r) with |r| <= log(2) / 2; the Taylor series of exp(r) to the 14th power reaches
 * a double's last bit. Returns exp(r). */
SIMD_BODY double exp_reduced(double x, double *k)
{
    *k = floor(x / (LN2_HI + LN2_LO) + 0.5);
    double r = (x - *k * LN2_HI) - *k * LN2_LO, sum = 1, part[15];
    for (int i = 1; i < 15; i++) /* halving is exact, so that half of the divisions are none */
        part[i] = i == 1 ? r : i % 2 == 0 ? part[i / 2] * 0.5 : r / i;
    for (int i = 14; i >= 1; i--)
        sum = 1 + sum * part[i];
    return sum;
}

double search_exp(double x)
{
    double k = 0;

    if (x < -708)
        return 0;
    if (x > 708)
        return INFINITY;
    double y = exp_reduced(x, &k);
    return ldexp(y, (int)k);
}

/* 2^k is put together from its bits: k + 1023 lies in the low bits of k + magic. */
SIMD_BODY void search_exp_each_body(const double *restrict x, double *restrict y, int n)
{
    const double magic = 0x1.8p52 + 1023;

    for (int i = 0; i < n; i++) {
        double k = 0, scale = 0, sum = exp_reduced(x[i], &k), shifted = k + magic;
        uint64_t bits = 0;
        memcpy(&bits, &shifted, sizeof bits);
        bits <<= 52;
        memcpy(&scale, &bits, sizeof scale);
        y[i] = sum * scale;
    }
}

SIMD_KERNEL(search_exp_each, (const double *x, double *y, int n), (x, y, n))
