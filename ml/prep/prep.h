/* prep.h - preparation of columns: impute, merge rare levels, one-hot or ordinal, standardise, bin. Fitted once on the
 * rows it may see, saved in the artifact, applied to any frame by column name. float32 results; x is cast to float
 * before every comparison so that bins, predict and exports route alike. */
#ifndef ML_PREP_PREP_H
#define ML_PREP_PREP_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/table/frame.h"

#include <stdint.h>

struct prep; /* fitted state: input columns, levels, medians, means, scales, bin edges */

/* Inputs are all columns but `skip` (may be NULL) and those that tell nothing in the rows seen: ignored, constant, all
 * missing, or text that never repeats. None left is an error. use[i] != 0: row may be seen; NULL = all rows. */
struct prep *prep_fit(const struct frame *f, const char *skip, const uint8_t *use, struct err *err);
void prep_free(struct prep *p);
int prep_save(const struct prep *p, struct buf *out, struct err *err); /* deterministic bytes */
struct prep *prep_load(struct view *in, struct err *err); /* from a stranger: everything checked */

int prep_inputs(const struct prep *p); /* number of input columns */
const char *prep_input_name(const struct prep *p, int i);
enum frame_type prep_input_type(const struct prep *p, int i);
int prep_input_levels(const struct prep *p, int i,
                      const char *const **levels); /* how many; by frequency */
int prep_width(const struct prep *p);              /* columns of the dense form */

/* A frame seen through a prep: columns matched by name; a missing column, or text where numbers are expected, is an error
 * that names it. Numbers where levels are expected match the levels that read as the same number; unknown levels read as
 * missing. Borrows both. */
struct prep_view;
struct prep_view *prep_view_new(const struct prep *p, const struct frame *f, struct err *err);
void prep_view_free(struct prep_view *v);
/* From now on row i shows in `input` what row order[i] of the frame has (order: [rows of the frame]) and in every other input its
 * own; order NULL = in all. */
int prep_view_shuffle(struct prep_view *v, int input, const int32_t *order, struct err *err);

/* Trees. uint8 bins, row-major, row stride a multiple of 16 (padding 255, 64 readable bytes after the last row). 255 =
 * missing or unknown; values 0..n_bins[c]-1, n_bins <= 255, in order of the value (numeric: x, cast to float, is in the
 * first bin whose cut it does not pass; cuts lie midway between neighbouring values of <= 200k sampled rows, every value
 * its own bin when there are few, else by rank, finer towards both ends: prep_cuts.c) or by frequency
 * (categorical: bin = rank in the training rows, levels past 254 together in the last one). */
struct prep_bins {
    int64_t rows;
    int cols, stride;
    uint8_t *bins;                 /* [rows][stride] */
    const int *n_bins;             /* [cols] */
    const uint8_t *is_categorical; /* [cols] */
    const uint8_t *
        last; /* NULL: these are prep's own bins; else [cols][256]: the last own bin that went into bin b */
    uint8_t *columns; /* [cols][rows]: the same once more, NULL until prep_bins_columns */
};
int prep_bins_make(const struct prep_view *v, int64_t from, int64_t n, struct prep_bins *out,
                   struct err *err); /* fini below */
/* Neighbouring bins merged until each column has at most max_bins (2..255), by the counts of the rows with use[i] != 0. */
int prep_bins_coarse(const struct prep_bins *fine, int max_bins, const uint8_t *use,
                     struct prep_bins *out, struct err *err);
int prep_bins_columns(struct prep_bins *b, struct err *err); /* for walks along one column */
void prep_bins_fini(struct prep_bins *b);
/* The cut after bin b < n_bins - 1 of a numeric input: x <= cut goes to bins 0..b. */
float prep_bins_cut(const struct prep *p, int input, int b);

/* Linear and neural models: [rows][width] float32, standardised. A number: missing imputed by the median, plus an
 * indicator column where the training rows had any missing. A category: one column per level with at least 1% and 10 of the
 * training rows (at most 100), one for the other levels and one for missing where the training rows had such; an unknown
 * level counts as missing, and where there is no column for that, all its columns are at their mean. */
struct prep_dense {
    int64_t rows;
    int cols, stride; /* stride in floats, multiple of 16 */
    float *x;
};
int prep_dense_make(const struct prep_view *v, int64_t from, int64_t n, struct prep_dense *out,
                    struct err *err);
void prep_dense_fini(struct prep_dense *d);
/* How many dense columns come of an input; *at = the first. Over the training rows their means are 0. */
int prep_dense_of(const struct prep *p, int input, int *at);

#endif
