/* number_places.h - places of many numbers in an ascending list. Called by level_means.c, the steps of
 * levels and prep_view.c. */
#ifndef ML_PREP_NUMBER_PLACES_H
#define ML_PREP_NUMBER_PLACES_H

#include <stdint.h>

/* out[i]: the first of the n >= 0 places whose value is not below x[i], which may be n; of NaN 0. */
void number_places(const double *value, int n, const double *x, int64_t n_x, int32_t *out);

#endif
