/* prep.h - preparation of columns: imputing, merging rare levels, one-hot or ordinal encoding,
 * standardising, binning, and inputs that steps derive from columns (step.h).
 *
 * An input is what a model sees: the values of a column as they are, or values that a step makes of
 * one or two columns (the mean of the target per level, the hour of a date). Everything below works
 * on inputs; only names and explanations go back to the columns of the table.
 *
 * Fitted once on the rows it may see, saved in the model file, applied to any table by column name.
 * Results are float32. x is cast to float before every comparison with a cut, so that binning,
 * prediction and exports send a row the same way. */
#ifndef ML_PREP_PREP_H
#define ML_PREP_PREP_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/prep/choice.h"
#include "ml/table/frame.h"

#include <stdbool.h>
#include <stdint.h>

/* fitted state: input columns, levels, medians, means, spreads, cuts */
struct prep;

/* What supervised steps are fitted to. Borrowed by every call that takes one. */
struct prep_target {
    /* [rows of the table] the value, or the index of the class; read only in rows that are used */
    const double *y;
    /* [rows] what a row counts; NULL = all rows count 1 */
    const double *weight;
    /* classes of a target of three or more; 0 for a number, and for two classes (y is 0 or 1) */
    int n_classes;
    /* [n_classes] labels, for the names of inputs */
    const char *const *classes;
    /* [rows] 0 to PREP_PARTS - 1: the part of a row. The value of a supervised step in a training
     * row comes from the training rows of the other parts. */
    const uint8_t *part;
};
enum { PREP_PARTS = 5 };

struct prep_spec {
    const struct frame *frame;
    /* columns that are no inputs, up to a NULL; NULL = none */
    const char *const *skip;
    /* [rows] the rows to fit on have use[i] != 0; NULL = all rows */
    const uint8_t *use;
    /* NULL = no supervised steps */
    const struct prep_target *target;
    /* [columns of the frame] 1 = no step uses the column; NULL = steps may use all */
    const uint8_t *plain;
    /* all zeros = what the data suggests */
    struct prep_choice choice;
    /* NULL, or what was fitted to all of the above with the choice of all zeros: steps that would
     * come out the same are shared with it. */
    const struct prep *like;
};
/* Inputs are made of all columns but those of `skip` and those that carry no information in the
 * rows: ignored, constant or wholly missing columns, and levels that never repeat. It is an error
 * when no input is left. */
struct prep *prep_fit(const struct prep_spec *spec, struct err *err);
void prep_free(struct prep *p);
/* equal preparations give equal bytes */
int prep_save(const struct prep *p, struct buf *out, struct err *err);
/* the bytes may come from a stranger: everything is checked */
struct prep *prep_load(struct view *in, struct err *err);

int prep_inputs(const struct prep *p); /* number of inputs */
/* The name of the column, or for example "city: mean of target". */
const char *prep_input_name(const struct prep *p, int i);
/* numeric or categorical */
enum frame_type prep_input_type(const struct prep *p, int i);
/* The word of the step that makes the input; NULL = it is the column as it is. */
const char *prep_input_step(const struct prep *p, int i);
/* Which step: inputs of one step have one number; -1 = it is the column as it is. */
int prep_step_of(const struct prep *p, int i);
/* The columns (below) that the input is made of. Returns their number, at least 1. */
enum { PREP_SOURCES = 24 };
int prep_input_columns(const struct prep *p, int i, int out[PREP_SOURCES]);
/* The columns of a table that the inputs are made of: those that a table to predict must have. */
int prep_columns(const struct prep *p);
const char *prep_column_name(const struct prep *p, int c);
enum frame_type prep_column_type(const struct prep *p, int c);
enum frame_kind prep_column_kind(const struct prep *p, int c);
/* The input that is the column as it is; -1 = there is none. */
int prep_plain_of(const struct prep *p, int c);
/* Adds up values by input into values by column; an input of two columns gives each of them
 * half. by_column: [prep_columns]. */
void prep_by_column(const struct prep *p, const double *by_input, double *by_column);
/* Returns how many levels there are; they stand in order of frequency. */
int prep_input_levels(const struct prep *p, int i, const char *const **levels);
int prep_width(const struct prep *p); /* columns of the dense form */

/* A table seen through a preparation. Columns are matched by name; a missing column, or text where
 * numbers are expected, is an error that names it. Numbers where levels are expected match the
 * levels that read as the same number. Unknown levels read as missing. Borrows both. */
struct prep_view;
struct prep_view *prep_view_new(const struct prep *p, const struct frame *f, struct err *err);
void prep_view_free(struct prep_view *v);
/* Whether the values of a supervised step differ from fold to fold. */
bool prep_is_by_fold(const struct prep *p);
/* A view of the table that the preparation was fitted on, for a model that trains on the rows with
 * train[i] != 0. Supervised steps give every other row its value from these rows alone, and every
 * training row its value from those of them that are in another part. The target is borrowed until
 * the view is freed, train for this call only. */
struct prep_view *prep_view_fold(const struct prep *p, const struct frame *f,
                                 const struct prep_target *target, const uint8_t *train,
                                 struct err *err);
/* From now on the column shows in row i what row order[i] of the table has (order: [rows of the
 * table]), in all inputs made of it, while every other column shows its own row. order NULL: all
 * columns show their own rows again. */
int prep_view_shuffle(struct prep_view *v, int column, const int32_t *order, struct err *err);
/* From now on the view has rows 0 to n - 1, and shows in column c of row i what row rows[c * n + i] of
 * the table has (rows: [prep_columns][n], borrowed until the view is freed). Not for images, and
 * not for the view of a fold. */
void prep_view_mix(struct prep_view *v, const int32_t *rows, int64_t n);

/* The form for trees: uint8 bins, row-major, the row stride a multiple of 16 (padding 255; 64
 * readable bytes after the last row). 255 = missing or unknown; other values are 0 to n_bins[c] -
 * 1, n_bins <= 255.
 *
 * Numeric columns: bins in the order of the value. x, cast to float, is in the first bin whose cut
 * it does not pass. Cuts lie midway between neighbouring values of at most 200,000 sampled rows:
 * every value has its own bin when there are few, else bins go by rank and are finer towards both
 * ends (prep_cuts.c). Categorical columns: the bin is the level's rank by frequency in the training
 * rows. Where there are more than 254 levels, those with few rows share the last bin. */
struct prep_bins {
    int64_t rows;
    int cols, stride;
    uint8_t *bins;                 /* [rows][stride] */
    const int *n_bins;             /* [cols] */
    const uint8_t *is_categorical; /* [cols] */
    /* NULL: these are the preparation's own bins. Else these bins are coarser, and this is
     * [cols][256]: the last of the preparation's own bins that became part of bin b of the column.
     */
    const uint8_t *last;
    /* [cols][rows]: the same bins column by column; NULL until prep_bins_columns */
    uint8_t *columns;
};
/* prep_bins_fini frees *out. */
int prep_bins_make(const struct prep_view *v, int64_t from, int64_t n, struct prep_bins *out,
                   struct err *err);
/* All `rows` rows of the table. like: the bins that another view of the same table and preparation
 * made, from which all but the inputs of supervised steps are copied; NULL = there are none. */
int prep_bins_make_like(const struct prep_view *v, const struct prep_bins *like, int64_t rows,
                        struct prep_bins *out, struct err *err);
/* Merges neighbouring bins until each column has at most max_bins (2 to 255), by the counts of the
 * rows with use[i] != 0. */
int prep_bins_coarse(const struct prep_bins *fine, int max_bins, const uint8_t *use,
                     struct prep_bins *out, struct err *err);
/* for walks along one column */
int prep_bins_columns(struct prep_bins *b, struct err *err);
void prep_bins_fini(struct prep_bins *b);
/* The cut after bin b < n_bins - 1 of a numeric input: x <= cut goes to bins 0 to b. */
float prep_bins_cut(const struct prep *p, int input, int b);

/* The form for networks on images: where the table it was fitted on had images, the values of a row
 * in the order of frame_type.h. Exactly one of bytes and floats is there; a missing value is
 * NaN. */
struct prep_images {
    int64_t rows;
    int values;
    uint8_t *bytes;
    float *floats;
};
/* False where the table had no images. */
bool prep_image(const struct prep *p, struct frame_image *out);
/* An error where the table has images of another shape than those that it was fitted on. A view
 * checks it too. */
int prep_images_check(const struct prep *p, const struct frame *f, struct err *err);
/* Mean and spread of a channel over a sample of the rows seen. */
void prep_image_channel(const struct prep *p, int channel, double *mean, double *sd);
/* prep_images_fini frees *out. It is an error when the table lacks a pixel. */
int prep_images_make(const struct prep_view *v, int64_t from, int64_t n, struct prep_images *out,
                     struct err *err);
void prep_images_fini(struct prep_images *m);

/* The form for linear models: [rows][width] float32, standardised. A number: missing values become
 * the median, and there is an indicator column where the training rows had any missing. A category:
 * one column for each level with at least 1% and 10 of the training rows (at most 100 such
 * columns), one for all other levels, and one for missing values, where the training rows had such.
 * An unknown level counts as missing; where there is no column for missing values, all columns of
 * the input are at their mean. A number that repeats (the hour of a day) has further columns with
 * its sine and cosine. */
struct prep_dense {
    int64_t rows;
    /* stride in floats, a multiple of 16 */
    int cols, stride;
    float *x;
};
int prep_dense_make(const struct prep_view *v, int64_t from, int64_t n, struct prep_dense *out,
                    struct err *err);
/* As prep_bins_make_like. */
int prep_dense_make_like(const struct prep_view *v, const struct prep_dense *like, int64_t rows,
                         struct prep_dense *out, struct err *err);
void prep_dense_fini(struct prep_dense *d);
/* How many dense columns an input has; *at = the first of them. Over the training rows their means
 * are 0. */
int prep_dense_of(const struct prep *p, int input, int *at);
/* A dense column in words of the table: its value is (x - mean) / sd, and x is the number itself, its
 * logarithm or magnitude (prep_scale), 1 where the value is missing or is one level or any of the
 * rare levels, else 0, or the cosine or sine of `turn` turns of a cycle. */
enum prep_term_kind {
    TERM_NUMBER,
    TERM_LOG,
    TERM_MAGNITUDE,
    TERM_MISSING,
    TERM_LEVEL,
    TERM_OTHERS,
    TERM_COS,
    TERM_SIN
};
struct prep_term {
    enum prep_term_kind kind;
    int input, turn;
    /* of TERM_LEVEL; borrowed */
    const char *level;
    double mean, sd;
};
/* column: 0 .. prep_width - 1 */
void prep_dense_term(const struct prep *p, int column, struct prep_term *out);
/* Where a standardised number z lies among the bins of its input, from 0 at the lowest value seen to 1
 * at the highest: every bin has an equal share, and within a bin it is linear. */
float prep_dense_place(const struct prep *p, int input, float z);

#endif
