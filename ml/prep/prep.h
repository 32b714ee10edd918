/* prep.h - preparation of columns: imputing, merging rare levels, one-hot or ordinal encoding,
 * standardising, binning.
 *
 * Fitted once on the rows it may see, saved in the model file, applied to any table by column name.
 * Results are float32. x is cast to float before every comparison with a cut, so that binning,
 * prediction and exports send a row the same way. */
#ifndef ML_PREP_PREP_H
#define ML_PREP_PREP_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/table/frame.h"

#include <stdint.h>

/* fitted state: input columns, levels, medians, means, spreads, cuts */
struct prep;

/* Inputs are all columns except `skip` (may be NULL) and those that tell nothing in the rows seen:
 * ignored, constant or wholly missing ones, and texts that never repeat. It is an error when none
 * is left. use[i] != 0: row i may be seen; NULL = all rows. */
struct prep *prep_fit(const struct frame *f, const char *skip, const uint8_t *use, struct err *err);
void prep_free(struct prep *p);
/* equal preparations give equal bytes */
int prep_save(const struct prep *p, struct buf *out, struct err *err);
/* the bytes may come from a stranger: everything is checked */
struct prep *prep_load(struct view *in, struct err *err);

int prep_inputs(const struct prep *p); /* number of input columns */
const char *prep_input_name(const struct prep *p, int i);
enum frame_type prep_input_type(const struct prep *p, int i);
/* Returns how many levels there are; they stand in order of frequency. */
int prep_input_levels(const struct prep *p, int i, const char *const **levels);
int prep_width(const struct prep *p); /* columns of the dense form */

/* A table seen through a preparation. Columns are matched by name; a missing column, or text where
 * numbers are expected, is an error that names it. Numbers where levels are expected match the
 * levels that read as the same number. Unknown levels read as missing. Borrows both. */
struct prep_view;
struct prep_view *prep_view_new(const struct prep *p, const struct frame *f, struct err *err);
void prep_view_free(struct prep_view *v);
/* From now on `input` shows in row i what row order[i] of the table has (order: [rows of the
 * table]), while every other input shows its own row. order NULL: all inputs show their own rows
 * again. */
int prep_view_shuffle(struct prep_view *v, int input, const int32_t *order, struct err *err);

/* The form for trees: uint8 bins, row-major, the row stride a multiple of 16 (padding 255; 64
 * readable bytes after the last row). 255 = missing or unknown; other values are 0 to n_bins[c] -
 * 1, n_bins <= 255.
 *
 * Numeric columns: bins in the order of the value. x, cast to float, is in the first bin whose cut
 * it does not pass. Cuts lie midway between neighbouring values of at most 200,000 sampled rows:
 * every value has its own bin when there are few, else bins go by rank and are finer towards both
 * ends (prep_cuts.c). Categorical columns: the bin is the level's rank by frequency in the training
 * rows; levels past 254 share the last bin. */
struct prep_bins {
    int64_t rows;
    int cols, stride;
    uint8_t *bins;                 /* [rows][stride] */
    const int *n_bins;             /* [cols] */
    const uint8_t *is_categorical; /* [cols] */
    const uint8_t *
        /* NULL: these are the preparation's own bins. Else [cols][256]: the last of its own bins
         * that went into bin b. */
        last;
    /* [cols][rows]: the same bins column by column; NULL until prep_bins_columns */
    uint8_t *columns;
};
/* prep_bins_fini frees *out. */
int prep_bins_make(const struct prep_view *v, int64_t from, int64_t n, struct prep_bins *out,
                   struct err *err);
/* Merges neighbouring bins until each column has at most max_bins (2 to 255), by the counts of the
 * rows with use[i] != 0. */
int prep_bins_coarse(const struct prep_bins *fine, int max_bins, const uint8_t *use,
                     struct prep_bins *out, struct err *err);
/* for walks along one column */
int prep_bins_columns(struct prep_bins *b, struct err *err);
void prep_bins_fini(struct prep_bins *b);
/* The cut after bin b < n_bins - 1 of a numeric input: x <= cut goes to bins 0 to b. */
float prep_bins_cut(const struct prep *p, int input, int b);

/* The form for linear models: [rows][width] float32, standardised. A number: missing values become
 * the median, and there is an indicator column where the training rows had any missing. A category:
 * one column for each level with at least 1% and 10 of the training rows (at most 100 such
 * columns), one for all other levels, and one for missing values, where the training rows had such.
 * An unknown level counts as missing; where there is no column for missing values, all columns of
 * the input are at their mean. */
struct prep_dense {
    int64_t rows;
    /* stride in floats, a multiple of 16 */
    int cols, stride;
    float *x;
};
int prep_dense_make(const struct prep_view *v, int64_t from, int64_t n, struct prep_dense *out,
                    struct err *err);
void prep_dense_fini(struct prep_dense *d);
/* How many dense columns an input has; *at = the first of them. Over the training rows their means
 * are 0. */
int prep_dense_of(const struct prep *p, int input, int *at);

#endif
