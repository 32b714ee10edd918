/* normal.c - cdf: Marsaglia's series (Evaluating the Normal Distribution, JSS 2004) near the middle, the continued
 * fraction of Mills' ratio (Abramowitz and Stegun 26.2.14) in the tail. Log expected improvement in the spirit of Ament
 * et al., Unexpected Improvements to Expected Improvement (NeurIPS 2023), who avoid the cancellation in pdf + z cdf with
 * erfcx; here Mills' ratio R(x) = 1 / (x + c) gives 1 - x R = c / (x + c) with no subtraction at all. */
#include "search/space/normal.h"

#include "search/space/exact_math.h"

#include <math.h>

static const double LOG_SQRT_2PI = 0x1.d67f1c864beb5p-1; /* log(2 pi) / 2 */
static const double SQRT_2PI = 0x1.40d931ff62706p+1;
enum { MIDDLE = 2, FRACTION_TERMS = 64 };

double normal_pdf(double z)
{
    return search_exp(-0.5 * z * z) / SQRT_2PI;
}

/* c of the Mills ratio 1 / (x + c), x >= MIDDLE: c = 1/(x + 2/(x + 3/(x + ...))). */
static double mills_c(double x)
{
    double c = 0;

    for (int k = FRACTION_TERMS; k >= 1; k--)
        c = k / (x + c);
    return c;
}

/* cdf(z) - 1/2 = pdf(z) (z + z^3/3 + z^5/15 + ...). */
static double middle(double z)
{
    double term = z, sum = z;

    for (int k = 3; k < 120 && fabs(term) > 1e-18 * fabs(sum); k += 2) {
        term *= z * z / k;
        sum += term;
    }
    return normal_pdf(z) * sum;
}

double normal_cdf(double z)
{
    if (fabs(z) <= MIDDLE)
        return 0.5 + middle(z);
    double tail = normal_pdf(z) / (fabs(z) + mills_c(fabs(z)));
    return z < 0 ? tail : 1 - tail;
}

double normal_log_ei(double z)
{
    if (z > -MIDDLE)
        return search_log(normal_pdf(z) + z * normal_cdf(z));
    double x = -z, c = mills_c(x);
    return -0.5 * x * x - LOG_SQRT_2PI + search_log(c / (x + c));
}

/* Bisection would do; Newton's steps from a rough start (A&S 26.2.23) take four. */
double normal_quantile(double p)
{
    double tail = p < 0.5 ? p : 1 - p, t = sqrt(-2 * search_log(tail));
    double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));

    for (int k = 0; k < 3; k++) /* on the tail's side, where cdf keeps its digits */
        x += (normal_cdf(-x) - tail) / normal_pdf(x);
    return p < 0.5 ? -x : x;
}
