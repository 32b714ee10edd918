/* effects_state.h - what step_effects.c knows: which columns take part and how their values become
 * levels, and the effects of the levels from all training rows; and its bytes (effects_bytes.c). */
#ifndef ML_PREP_EFFECTS_STATE_H
#define ML_PREP_EFFECTS_STATE_H

#include "ml/prep/kept_fits.h"
#include "ml/prep/level_effects.h"
#include "ml/prep/level_state.h"

enum { EFFECT_CUTS = 31 };

/* What the levels of a column are: those of its plain input; whole numbers, each a level; or the bins
 * of a quantity. */
enum effect_kind { EFFECT_LEVELS, EFFECT_CODES, EFFECT_BINS, EFFECT_KINDS };

struct effect_col {
    enum effect_kind kind;
    /* its effects are inputs; the other columns take part so that these effects are theirs alone */
    bool is_shown;
    /* n_levels stands for missing values, n_levels + 1 for new ones */
    int n_levels;
    /* ascending; EFFECT_CODES: [n_levels] the numbers, EFFECT_BINS: [n_levels - 1] the cuts; else
     * NULL */
    double *number;
    /* the training rows that are shown with a new level, as the column's means show them; not
     * saved */
    struct prep_hidden hidden;
    /* the first level of the column in a list of all; of those shown, in a list of theirs */
    int32_t first;
    int64_t shown_at;
};

struct effects_state {
    int n_cols, n_shown;
    struct effect_col col[PREP_SOURCES];
    /* the columns shown */
    int shown[PREP_SOURCES];
    /* levels of all columns, and of those shown, with two more for each column */
    int64_t levels, shown_levels;
    double penalty;
    /* n_means, classes and labels of the outputs; the rest is not used */
    struct level_state *target;
    /* [outputs][shown_levels] from all training rows */
    float *value;
    /* effects_fits of folds; NULL where the state was loaded */
    struct kept_fits *kept;
    /* [n_cols][rows] the levels of the table that the state was fitted to, whose folds ask for them
     * next; NULL = they are read */
    int32_t *level;
    const struct frame *level_frame;
};

/* Sets first and shown_at, and the counts of levels. */
void effects_layout(struct effects_state *t);
void effects_free(struct effects_state *t);
int effects_save(const struct effects_state *t, struct buf *out, struct err *err);
/* From a stranger. t is zeroed; what was made of it before an error is freed with it. */
int effects_load(struct effects_state *t, int n_cols, struct view *in, struct err *err);

#endif
