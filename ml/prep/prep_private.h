/* prep_private.h - private to prep*.c: the fitted state of a preparation and a frame seen through it. */
#ifndef ML_PREP_PREP_PRIVATE_H
#define ML_PREP_PREP_PRIVATE_H

#include "ml/prep/prep.h"

#include <stdbool.h>

enum {
    PREP_MAX_BINS = 255,
    PREP_MISSING = 255,
    PREP_MAX_LEVELS = 65535,
    PREP_MAX_HOT = 100,
    PREP_SAMPLE = 200000
};
enum { PREP_BLOCK = 4096 }; /* rows made at a time */

struct prep_col {
    char *name;
    enum frame_type type;
    int n_bins;
    /* numeric */
    float *cuts;             /* [n_bins - 1] strictly ascending, finite */
    double lo, hi;           /* of the finite values seen */
    double median, mean, sd; /* mean and sd after imputing */
    /* categorical: levels by frequency, then text */
    int n_levels;
    char **levels;
    int n_hot;      /* the first n_hot levels have their own dense column */
    bool has_other; /* then one for the other levels */
    /* both: a dense column of its own for missing; with its mean and sd */
    bool has_missing;
    double *hot_mean, *hot_sd; /* [n_hot + has_other + has_missing]; numeric: [has_missing] */
    int dense_at, dense_n;
};

struct prep {
    int n_cols, width;
    struct prep_col *cols;
};

struct prep_view {
    const struct prep *prep;
    const struct frame *frame;
    int *col;                     /* [n_cols] column of the frame */
    int32_t **map;                /* [n_cols] frame level -> prep level or -1; NULL for numeric */
    struct view_numbers *numbers; /* [n_cols] levels by value where the frame has numbers */
    int shuffled;                 /* input shown in another order (prep_view_shuffle); its rows: */
    double *shuffled_numbers;     /* NULL: none, or it has levels */
    int32_t *shuffled_levels;
};

struct view_numbers {
    int n;         /* 0 = the frame has levels */
    double *value; /* ascending */
    int32_t *level;
};

/* prep_cuts.c: at most max_bins bins for `n` sorted distinct values with counts; last[b] = index of the last value of bin
 * b. Returns the number of bins. */
int prep_cut(const int64_t *count, int64_t n, int max_bins, int64_t *last);
/* Room to sort up to `most` values, one column after the other. */
struct prep_sorter {
    uint32_t *key;
    float *value;
    int64_t *count;
    int64_t most;
};
int prep_sorter_init(struct prep_sorter *s, int64_t most, struct err *err);
void prep_sorter_fini(struct prep_sorter *s);
/* Cuts of a numeric column from sampled values (NaN skipped): allocates col->cuts, sets n_bins and the median. */
void prep_cuts_fit(struct prep_col *col, const double *sample, int64_t n, struct prep_sorter *s);

void prep_layout(struct prep *p); /* dense_at, dense_n, width */
/* Rows of one input: numbers (missing = NaN) or prep levels (missing or unknown = -1). */
void prep_view_numbers(const struct prep_view *v, int input, int64_t from, int64_t n, double *out);
void prep_view_levels(const struct prep_view *v, int input, int64_t from, int64_t n, int32_t *out);

#endif
