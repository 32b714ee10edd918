/* normal.h - the standard normal distribution and what expected improvement needs of it, from series and continued
 * fractions over exact_math.h, so the same bits on every machine. Relative error below 1e-12 (tested against numerical
 * integration). */
#ifndef SEARCH_SPACE_NORMAL_H
#define SEARCH_SPACE_NORMAL_H

double normal_pdf(double z);
double normal_cdf(double z);
double normal_quantile(double p); /* p in (0, 1); absolute error below 1e-9 */
/* log(pdf(z) + z cdf(z)), stable down to z = -1e150: the log of the expected improvement of a unit normal. */
double normal_log_ei(double z);

#endif
