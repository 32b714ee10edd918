/* number_places.c - see number_places.h. Of thousands of rows in no order, a branch would be guessed
 * wrong every other time, and one look-up would wait for the last one's load: a few run side by
 * side, without a branch. */
#include "ml/prep/number_places.h"

#include "base/base.h"

#include <string.h>

enum { AT_ONCE = 8 };

static void places_of(const double *value, int n, const double x[AT_ONCE], int32_t at[AT_ONCE])
{
    for (int left = n; left > 0;) {
        int half = (left + 1) / 2;
        for (int k = 0; k < AT_ONCE; k++)
            at[k] += value[at[k] + half - 1] < x[k] ? half : 0;
        left -= half;
    }
}

void number_places(const double *value, int n, const double *x, int64_t n_x, int32_t *out)
{
    for (int64_t i = 0; i < n_x; i += AT_ONCE) {
        size_t some = (size_t)MIN(n_x - i, (int64_t)AT_ONCE);
        double now[AT_ONCE] = { 0 };
        int32_t at[AT_ONCE] = { 0 };
        memcpy(now, x + i, some * sizeof *now);
        places_of(value, n, now, at);
        memcpy(out + i, at, some * sizeof *at);
    }
}
