/* normal.c - the functions of normal.h.
 *
 * cdf: near the middle Marsaglia's series (Evaluating the Normal Distribution, Journal of
 * Statistical Software 2004), in the tail the continued fraction of Mills' ratio R(x) = (1 -
 * cdf(x)) / pdf(x) (Abramowitz and Stegun 26.2.14).
 *
 * Log expected improvement: pdf(z) + z cdf(z) loses all digits for very negative z, because two
 * nearly equal numbers are subtracted. Ament et al. (Unexpected Improvements to Expected
 * Improvement, NeurIPS 2023) avoid this with erfcx. Here the continued fraction gives R(x) = 1 / (x
 * + c), so 1 - x R(x) = c / (x + c), which needs no subtraction. */
#include "search/space/normal.h"

#include "search/space/exact_math.h"

#include <math.h>

static const double LOG_SQRT_2PI = 0x1.d67f1c864beb5p-1; /* log(2 pi) / 2 */
static const double SQRT_2PI = 0x1.40d931ff62706p+1;
/* The series is used for |z| <= MIDDLE. Beyond it, 64 terms of the fraction are enough for the
 * error that normal.h promises. */
enum { MIDDLE = 2, FRACTION_TERMS = 64 };

double normal_pdf(double z)
{
    return search_exp(-0.5 * z * z) / SQRT_2PI;
}

/* c of Mills' ratio 1 / (x + c) for x >= MIDDLE: c = 1/(x + 2/(x + 3/(x + ...))). */
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

/* Three steps of Newton's method from a rough start (Abramowitz and Stegun 26.2.23, error below
 * 4.5e-4). */
double normal_quantile(double p)
{
    double tail = p < 0.5 ? p : 1 - p, t = sqrt(-2 * search_log(tail));
    double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));

    for (int k = 0; k < 3; k++) /* in the lower tail, where cdf keeps its relative precision */
        x += (normal_cdf(-x) - tail) / normal_pdf(x);
    return p < 0.5 ? -x : x;
}
