/* letters_screen.h - whether the letters of single words say something of the target: names of
 * domains, user names, sequences. Most of such words are there once, so that a level as a whole says
 * nothing, and their letters are read only where it is worth the time.
 *
 * Half of the words of a sample make means of the target for each letter n-gram; a word of the other
 * half is predicted by the mean over its n-grams, and the correlation with the target is the evidence.
 * Length, digits, signs and capitals are evidence, too. Called by step.c. */
#ifndef ML_PREP_LETTERS_SCREEN_H
#define ML_PREP_LETTERS_SCREEN_H

#include "ml/prep/prep.h"

/* col: a column of the frame. */
bool letters_screen(const struct prep_spec *spec, int col);

#endif
