/* exact_math.c - log and exp from textbook series after an exact reduction of the argument: frexp,
 * ldexp and floor are exact by definition. The file must be compiled with -ffp-contract=off, like
 * all others: a fused multiply-add would make machines differ again. */
#include "search/space/exact_math.h"

#include <math.h>

/* ln 2 in two parts. LN2_HI has 42 significant bits, so k * LN2_HI is exact for |k| < 2^11, which
 * covers every exponent. */
static const double LN2_HI = 0x1.62e42fefa38p-1, LN2_LO = 0x1.ef35793c7673p-45;

/* log(x) = e log 2 + log(m) with m in [sqrt(1/2), sqrt(2)), and log(m) = 2 artanh(s) = 2 (s + s^3/3
 * + s^5/5 + ...) with s = (m - 1) / (m + 1). Then |s| < 0.172, so the terms up to s^23 reach below
 * a double's last bit. */
double search_log(double x)
{
    int e = 0;
    double m = frexp(x, &e);

    if (m < 0x1.6a09e667f3bcdp-1) { /* sqrt(1/2) */
        m = m * 2;
        e = e - 1;
    }
    double s = (m - 1) / (m + 1), s2 = s * s, sum = 0;
    for (int k = 23; k >= 3; k -= 2)
        sum = (sum + 1.0 / k) * s2;
    return e * LN2_HI + (2 * s + (2 * s * sum + e * LN2_LO));
}

/* exp(x) = 2^k exp(r) with |r| <= log(2) / 2; the Taylor series of exp(r) to the 14th power reaches
 * a double's last bit. */
double search_exp(double x)
{
    if (x < -708)
        return 0;
    if (x > 708)
        return INFINITY;
    double k = floor(x / (LN2_HI + LN2_LO) + 0.5), sum = 1;
    double r = (x - k * LN2_HI) - k * LN2_LO;
    for (int i = 14; i >= 1; i--)
        sum = 1 + sum * (r / i);
    return ldexp(sum, (int)k);
}
