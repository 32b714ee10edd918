/* step.h - how inputs are derived from columns: the table of functions that each step has.
 *
 * A step reads one column of a table or several and makes a fixed number of numeric values per row,
 * its parts (the hour, the weekday ... of a date). Each part is one input; an input that tells
 * nothing in the training rows is dropped, and a step without inputs with it. The state is fitted
 * once on the training rows and goes into the model file.
 *
 * To add a step: write step_NAME.c with a struct step_ops, declare it below, and add it to
 * step_kinds in step.c, which also says where steps are tried. Called by prep_fit.c, prep_view.c
 * and prep_save.c. */
#ifndef ML_PREP_STEP_H
#define ML_PREP_STEP_H

#include "ml/prep/code_screen.h"
#include "ml/prep/prep_private.h"
#include "ml/prep/step_ops.h"
#include "ml/text/code.h"
#include "ml/text/lexicon.h"

/* What a step is fitted to. */
struct step_fit {
    const struct prep_spec *spec;
    /* n_cols columns of the frame */
    int n_cols, col[PREP_SOURCES];
    /* of step_pair: the operation (pair_screen.h); of step_rotate: the directions */
    int choice;
    const struct rotation *rotation;
    /* of step_codes */
    enum code_bar bar;
    /* of step_effects: [n_cols] numbers that may be names, on their own evidence; and whether effects
     * are worth an input where none of them is */
    const bool *may_be_names;
    bool is_worth;
    /* of step_parts: which part of which codes */
    const struct code_form *form;
    struct code_part part;
    /* the preparation so far: its plain inputs are fitted */
    const struct prep *prep;
    /* of steps on texts: room for the column's texts, which the first of them reads; NULL = none */
    struct lexicon *lexicon;
};

/* A step as a view reads it: where its columns are, and what `open` made. */
struct step_view {
    const struct prep_step *step;
    const struct prep_view *view;
    void *open;
};

/* The words of steps are in model files and in what people read: they must not change. */
extern const struct step_ops step_levels, step_codes, step_cross, step_cross_numbers, step_date,
    step_between, step_pair, step_rotate, step_text, step_items, step_words, step_parts,
    step_effects, step_figures;

/* A column of so many levels has means of the target unless the configuration wants none. */
enum { STEP_MANY_LEVELS = 64 };

/* So many levels of a column are each a bin of its own. */
enum { STEP_BINNED_LEVELS = 255 };

/* step_levels.c: whether the whole numbers of the column are names (code_screen.h). */
bool step_codes_are_names(const struct prep_spec *spec, int col, enum code_bar bar);
/* step_figures.c: whether this step has just been fitted, and nothing is left of the texts but the
 * numbers that it reads and a few words around them. */
bool step_figures_is_whole(const struct prep_step *s);
/* step_effects.c: whether it shows effects of the column that this step makes means of. */
bool step_effects_shows(const struct prep_step *s);
/* How many levels the column has of which step_effects_shows is true. */
int step_effects_levels(const struct prep_step *s);
/* NULL = there is no such step. */
const struct step_ops *step_find(const char *word);
/* Fits all steps that the columns call for and appends them to the preparation. */
int step_fit_all(const struct prep_spec *spec, struct prep *p, struct err *err);

/* The texts of the column that `in` names, read once for all steps on it where they are not too
 * many. */
struct texts step_texts_read(const struct step_fit *in);

/* ---- what steps read; source: 0 or 1 ---- */

/* Rows of a column of numbers (missing = NaN); a column of levels has none. */
void step_numbers(const struct step_view *v, int source, int64_t from, int64_t n, double *out);
/* The same as the table has them, for steps that read numbers as names: what stands for a missing
 * number is a name (gaps.h), and the names of missing ones are not told by other columns. */
void step_names(const struct step_view *v, int source, int64_t from, int64_t n, double *out);
/* Rows of a column of levels, as indices into step_texts of this table (missing = -1); a column of
 * numbers has none. */
void step_codes_of(const struct step_view *v, int source, int64_t from, int64_t n, int32_t *out);
/* The levels of the table's column, which may be others than those of the training rows. Returns
 * their number. */
int step_texts(const struct step_view *v, int source, const char *const **texts);

#endif
