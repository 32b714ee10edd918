/* parts_screen.h - which parts of a column of codes (ml/text/code.h) say something of the target that
 * the whole codes do not, because most codes are rare.
 *
 * Half of a sample of the training rows makes means per code and per part; the other half judges
 * whether a code's mean is better drawn towards the mean of its part than towards that of all rows.
 * The best part is taken, its means are subtracted, and the others are judged again. Called by
 * step_parts.c. */
#ifndef ML_PREP_PARTS_SCREEN_H
#define ML_PREP_PARTS_SCREEN_H

#include "ml/prep/prep.h"
#include "ml/text/code.h"

enum { PARTS_MOST = 8, PARTS_MOST_LEVELS = 5000 };

/* col: a column of levels of the frame. Returns how many parts are worth an input, the best first. */
int parts_screen(const struct prep_spec *spec, int col, struct code_form *form,
                 struct code_part out[PARTS_MOST]);

#endif
