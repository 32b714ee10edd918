/* rotate_screen.h - directions in which columns of numbers vary together, and that say more of the
 * target than the columns do one by one.
 *
 * Tried are the principal components of the columns as they are, and of the columns in units of
 * their spread; the set that says more wins. Each half of a sample of the training rows fits the
 * columns' own effects and each direction's, and the other half judges, so that directions of noise
 * are not found; the components themselves know nothing of the target. Called by step.c. */
#ifndef ML_PREP_ROTATE_SCREEN_H
#define ML_PREP_ROTATE_SCREEN_H

#include "ml/prep/pair_screen.h"
#include "ml/prep/prep.h"

enum { ROTATE_LEAST_COLS = 3, ROTATE_MOST_COLS = PREP_SOURCES, ROTATE_MOST = 12 };

/* The value of direction d is the sum of weight[d][c] * (x[c] - mean[c]). */
struct rotation {
    int n_cols, n;
    double mean[ROTATE_MOST_COLS], weight[ROTATE_MOST][ROTATE_MOST_COLS];
};

struct rotate_of {
    /* n columns of numbers of the frame */
    const int *cols;
    int n;
    /* combinations of two of them that are inputs already */
    const struct pair *pairs;
    int n_pairs;
};

/* False = no direction is worth an input. */
bool rotate_screen(const struct prep_spec *spec, const struct rotate_of *of, struct rotation *out);

#endif
