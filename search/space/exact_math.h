/* exact_math.h - elementary functions that are bit for bit the same on every machine: + - * / in a fixed order, no libm beyond
 * exact scaling. libm's own may differ in the last bit between processors, and one bit changes a study. Relative error
 * below 1e-15 (tested against libm). */
#ifndef SEARCH_SPACE_EXACT_MATH_H
#define SEARCH_SPACE_EXACT_MATH_H

double search_log(double x); /* x > 0, finite */
double search_exp(double x); /* |x| <= 708, else 0 or infinity */

#endif
