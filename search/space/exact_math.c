/* exact_math.c - log and exp from textbook series, after exact range reduction (frexp, ldexp, floor are exact by definition).
 * Compiled with -ffp-contract=off like everything else, or a fused multiply-add would bring the difference back. */
#include "search/space/exact_math.h"

#include <math.h>

/* ln 2 in two parts: k * LN2_HI is exact for |k| < 2^11. */
static const double LN2_HI = 0x1.62e42fefa38p-1, LN2_LO = 0x1.ef35793c7673p-45;

double search_log(double x)
{
    int e = 0;
    double m = frexp(x, &e);

    if (m < 0x1.6a09e667f3bcdp-1) { /* sqrt(1/2): keep m near 1 on both sides */
        m = m * 2;
        e = e - 1;
    }
    double s = (m - 1) / (m + 1), s2 = s * s, sum = 0;
    for (int k = 23; k >= 3; k -= 2)
        sum = (sum + 1.0 / k) * s2;
    return e * LN2_HI + (2 * s + (2 * s * sum + e * LN2_LO));
}

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
