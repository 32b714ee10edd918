/* exact_math.h - log and exp that give the same bits on every machine: only + - * / in a fixed
 * order, and exact scaling. The functions of libm may differ in the last bit between processors and
 * versions, and one bit changes which configuration a sampler proposes. The relative error is below
 * 1e-15 (tested against libm). */
#ifndef SEARCH_SPACE_EXACT_MATH_H
#define SEARCH_SPACE_EXACT_MATH_H

double search_log(double x); /* x > 0, finite */
double search_exp(double x); /* 0 below -708, infinity above 708: the ends of a double's range */
/* y[i] = search_exp(x[i]), the same bits in vectors (base/simd.h). Every x must be in [-700, 700]. x
 * and y are different arrays. */
void search_exp_each(const double *x, double *y, int n);
/* y[i] = search_log(x[i]), in the same way. Every x must be a normal number: 2.3e-308 or more. */
void search_log_each(const double *x, double *y, int n);

#endif
