/* normal.h - the standard normal distribution, and the logarithm of the expected improvement, which
 * the Gaussian process maximises (samplers/gp/). Computed from series and continued fractions over
 * exact_math.h, so the bits are the same on every machine. The relative error is below 1e-12
 * (tested against numerical integration). */
#ifndef SEARCH_SPACE_NORMAL_H
#define SEARCH_SPACE_NORMAL_H

double normal_pdf(double z);
double normal_cdf(double z);
double normal_quantile(double p); /* p in (0, 1); absolute error below 1e-9 */
/* log(pdf(z) + z cdf(z)): the logarithm of the expected improvement of a unit normal, stable down
 * to z = -1e150. */
double normal_log_ei(double z);

#endif
