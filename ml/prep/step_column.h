/* step_column.h - what the steps on texts and lists read of a column of the table that they are
 * fitted on. */
#ifndef ML_PREP_STEP_COLUMN_H
#define ML_PREP_STEP_COLUMN_H

#include "ml/prep/prep.h"
#include "ml/text/words.h"

struct prep_step;

/* How many rows to fit on have each level of the column: [levels], mem_try_free. */
int64_t *step_level_rows(const struct prep_spec *spec, int col, struct err *err);
/* Whether the levels of a plain column are short texts that seldom repeat, such as titles written by
 * hand: many levels for the rows there are, and several words in most. */
bool step_is_wordy(const struct frame_col *c, int64_t rows);
/* step_ops.suits of a step on one column of levels. */
bool step_has_levels(const struct prep *p, const struct prep_step *s);
/* What stands between the items of a list, from the note that the reader left: "sep". Without it,
 * "|". */
void step_list_sep(const char *note, char sep[WORDS_SEP_BYTES]);

#endif
