/* prep_rig.h - what tests of several steps of preparation ask of its bytes. */
#ifndef TESTS_ML_PREP_RIG_H
#define TESTS_ML_PREP_RIG_H

#include "tests/unit.h"

#include "ml/prep/prep.h"

/* Saved, loaded and saved again the preparation has equal bytes. Cut anywhere they are refused; with one of them changed they are
 * refused or loaded, without harm. At most one in `every` bytes is tried, of the first 600 and the last 900 each. */
void prep_bytes_check(const struct prep *p, size_t every);

#endif
