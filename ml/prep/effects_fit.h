/* effects_fit.h - the fits of step_effects.c on the rows of a table: which rows, as levels of all
 * columns, and the effects of those levels (level_effects.h); and a trial of them on part of the
 * rows, which says what they gain. */
#ifndef ML_PREP_EFFECTS_FIT_H
#define ML_PREP_EFFECTS_FIT_H

#include "ml/prep/effects_state.h"

/* A column as it is read from a table. */
struct effects_reader {
    const struct effect_col *col;
    struct level_rows rows;
};

/* The rows of one fit. */
struct effects_in {
    const struct effects_state *state;
    const struct effects_reader *readers;
    const struct frame *frame;
    const struct prep_target *target;
    /* [rows] NULL = all */
    const uint8_t *use;
};

/* Keeps the levels of the table in the state where they are few enough; its columns are chosen. */
void effects_levels_keep(const struct effects_in *in, struct effects_state *t);
/* All outputs by all fits: [outputs][shown_levels][EFFECT_FITS], mem_try_free; NULL = no memory. */
float *effects_fits(const struct effects_in *in, struct err *err);

/* Some of the rows, on which fits are compared. */
struct effects_trial;
/* NULL = no memory. `in` is borrowed. */
struct effects_trial *effects_trial_new(const struct effects_in *in, struct err *err);
void effects_trial_free(struct effects_trial *t);
int64_t effects_trial_rows(const struct effects_trial *t);
/* What fits with each of n penalties, from the strongest to the weakest, gain of rows that they have
 * not seen, as the share of the target's variance, summed over outputs. One output stops at the first
 * penalty that gains less than the one before; what follows counts as 0. */
int effects_trial_penalties(struct effects_trial *t, const double *penalty, int n, double *gain,
                            struct err *err);
/* Column `col` of the state has other levels now, and effects_layout knows; -1 = none has. The gain with
 * the state's penalty, to within less than a row, to be compared with that of other columns. The column keeps them (effects_trial_keep), or the state has its levels of before
 * again (effects_trial_back). */
int effects_trial_column(struct effects_trial *t, int col, double *gain, struct err *err);
void effects_trial_keep(struct effects_trial *t);
void effects_trial_back(struct effects_trial *t, int col);

#endif
