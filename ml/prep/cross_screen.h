/* cross_screen.h - pairs of small categories whose combination says more of the target than both do
 * alone ("the price of a size in a city").
 *
 * Half of a sample of the training rows fits the effects of the levels and then the means of the
 * combinations; the other half judges them, so that combinations of noise are not found. Called by
 * step.c. */
#ifndef ML_PREP_CROSS_SCREEN_H
#define ML_PREP_CROSS_SCREEN_H

#include "ml/prep/prep.h"

/* CROSS_MOST: pairs that are kept. */
enum { CROSS_MOST = 4, CROSS_MOST_LEVELS = 64, CROSS_MOST_CELLS = 4096 };

/* columns of the frame */
struct cross {
    int a, b;
};

/* cols: n columns of levels that are inputs, at most CROSS_MOST_LEVELS each. The best pairs first;
 * returns their number. */
int cross_screen(const struct prep_spec *spec, const int *cols, int n,
                 struct cross out[CROSS_MOST]);

#endif
