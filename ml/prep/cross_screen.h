/* cross_screen.h - pairs of columns of few levels whose combination says more of the target than both do
 * alone ("the price of a size in a city", "the 13th of August"). Levels are categories, or whole
 * numbers of few values.
 *
 * Each half of a sample of the training rows fits the effects of the levels and then the means of the
 * combinations; the other half judges them, so that combinations of noise are not found. Pairs are
 * taken one by one, each beside the ones before, so that of two columns that say the same (the name of
 * a degree and its number) one is in a pair. Numbers take part from 1,000 rows on, in pairs of at least
 * four levels each, and not where a pair explains so much that trees find it by themselves. Called by
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

/* cols: n columns of levels, then of numbers, that are inputs, of which those with CROSS_MOST_LEVELS levels or
 * more, or with numbers that are not whole, are passed over. The best pairs first; returns their
 * number. */
int cross_screen(const struct prep_spec *spec, const int *cols, int n,
                 struct cross out[CROSS_MOST]);

#endif
