/* code_screen.h - whether the whole numbers of a column are names rather than quantities: shop 17
 * and shop 18 have no more in common than shop 17 and shop 90.
 *
 * They are taken for names where the mean of the target per number predicts other rows much better
 * than its mean per bin of neighbouring numbers does. Both are judged out of their part
 * (prep_target.part), on a sample of the training rows. Called by step_levels.c.
 *
 * Names seldom come alone: beside columns that are names for certain, a whole number is taken for one
 * on less evidence. And where a number tells a little more than its neighbours do, it may be one:
 * whether it is, is then found beside all other columns (step_effects.c). */
#ifndef ML_PREP_CODE_SCREEN_H
#define ML_PREP_CODE_SCREEN_H

#include "ml/prep/prep_private.h"

#include <stdbool.h>

/* How much evidence there must be. CODE_BESIDE: at least CODES_BESIDE other columns are names.
 * CODE_MAYBE: each number tells more than its neighbours do. */
enum code_bar { CODE_SURE, CODE_BESIDE, CODE_MAYBE };
enum { CODES_BESIDE = 2 };
/* classes: [n_means] the classes whose shares are predicted; NULL = the target is a number. */
bool code_screen(const struct prep_spec *spec, int col, const int *classes, int n_means,
                 enum code_bar bar);
/* The numbers of the column in the training rows, ascending; mem_try_free. Their number, or -1:
 * there are more than `most`, some are not whole, or there is no memory. */
int code_values(const struct prep_spec *spec, int col, int most, double **out);

#endif
