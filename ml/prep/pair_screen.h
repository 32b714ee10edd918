/* pair_screen.h - which two columns of numbers have a sum, difference, product or ratio that is
 * worth an input.
 *
 * On a sample of the training rows the target is first freed of what each column says alone (means
 * by bin, added up over the columns). A combination is worth it where bins of the combination
 * explain more of the rest than cells of a grid of the two columns do, which is what trees find by
 * themselves; both together with the columns alone. Called by step.c. */
#ifndef ML_PREP_PAIR_SCREEN_H
#define ML_PREP_PAIR_SCREEN_H

#include "ml/prep/prep_private.h"

/* The numbers are in model files: they must not change. */
enum pair_op { PAIR_SUM, PAIR_DIFFERENCE, PAIR_PRODUCT, PAIR_RATIO, PAIR_OPS };
enum { PAIR_MOST = 6 };
struct pair {
    /* columns of the frame */
    int a, b;
    enum pair_op op;
};
/* step_pair.c */
double pair_value(enum pair_op op, double a, double b);
/* cols: [n] columns of numbers that may be used. more: with a third of what is asked for else. Returns
 * how many pairs are worth it. */
int pair_screen(const struct prep_spec *spec, const int *cols, int n, bool more,
                struct pair out[PAIR_MOST]);

#endif
