/* prep.h - preparation of columns: impute, merge rare levels, one-hot or ordinal, standardise, bin. Fitted once on the
 * rows it may see, saved in the artifact, applied to any frame by column name. float32 results; x is cast to float
 * before every comparison so that bins, predict and exports route alike. */
#ifndef ML_PREP_H
#define ML_PREP_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/frame.h"

#include <stdint.h>

struct prep; /* fitted state: input columns, levels, medians, means, scales, bin edges */

/* Inputs are all columns but `skip` and ignored or constant ones. use[i] != 0: row may be seen. */
struct prep *prep_fit(const struct frame *f, const char *skip, const uint8_t *use, struct err *err);
void prep_free(struct prep *p);
int prep_save(const struct prep *p, struct buf *out, struct err *err); /* deterministic bytes */
struct prep *prep_load(struct view *in, struct err *err);              /* from a stranger: everything checked */

int prep_inputs(const struct prep *p);                   /* number of input columns */
const char *prep_input_name(const struct prep *p, int i);
enum frame_type prep_input_type(const struct prep *p, int i);
int prep_width(const struct prep *p);                    /* columns of the dense form */

/* A frame seen through a prep: columns matched by name; a missing column, or one of the other kind, is an error that
 * names it; unknown levels read as missing. */
struct prep_view;
struct prep_view *prep_view_new(const struct prep *p, const struct frame *f, struct err *err);
void prep_view_free(struct prep_view *v);

/* Trees. uint8 bins, row-major, row stride padded; bin 255 = missing, values 0..n_bins[c]-1 in order of the value
 * (numeric: at most max_bins exact quantile cuts of <= 200k sampled rows, cut after[c][b] = largest value of bin b) or by
 * frequency (categorical: bin = rank, levels past 254 together in the last one). */
struct prep_bins {
    int64_t rows;
    int cols, stride;
    uint8_t *bins;        /* [rows][stride] */
    const int *n_bins;    /* [cols] */
    const uint8_t *is_categorical; /* [cols] */
    /* [cols][256]: the last of the finest bins inside each bin, where neighbours were merged; NULL = these are the finest. */
    const uint8_t *last;
};
int prep_bins_make(const struct prep_view *v, int64_t from, int64_t n, struct prep_bins *out, struct err *err); /* fini below */
void prep_bins_fini(struct prep_bins *b);

/* Linear and neural models: [rows][width] float32, missing imputed by the median plus an indicator column where the
 * training rows had any, rare levels (< 1%, at least 10 rows) merged, one-hot up to 100 levels, standardised. */
struct prep_dense {
    int64_t rows;
    int cols, stride;     /* stride in floats, multiple of 16 */
    float *x;
};
int prep_dense_make(const struct prep_view *v, int64_t from, int64_t n, struct prep_dense *out, struct err *err);
void prep_dense_fini(struct prep_dense *d);

#endif
