/* prep_private.h - private to prep*.c: the fitted state of a preparation, and a table seen through
 * it. */
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
/* rows that are made at a time */
enum { PREP_BLOCK = 4096 };

struct prep_col {
    char *name;
    enum frame_type type;
    int n_bins;
    /* Of a numeric column: */
    float *cuts;   /* [n_bins - 1] strictly ascending, finite */
    double lo, hi; /* of the finite values seen */
    /* mean and spread after imputing */
    double median, mean, sd;
    /* Of a categorical column: levels by frequency, equal ones by text. */
    int n_levels;
    char **levels;
    /* the first n_hot levels have a dense column of their own */
    int n_hot;
    /* one more column stands for all other levels */
    bool has_other;
    /* Of both: a dense column for missing values, with its mean and spread. */
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
    /* the input that is shown in another order (prep_view_shuffle); its rows are in the next two
     * members */
    int shuffled;
    /* NULL: no input is shuffled, or it has levels */
    double *shuffled_numbers;
    int32_t *shuffled_levels;
};

struct view_numbers {
    /* 0 = the table has levels here */
    int n;
    double *value; /* ascending */
    int32_t *level;
};

/* prep_cuts.c: at most max_bins bins for `n` sorted distinct values with counts. last[b] = index of
 * the last value of bin b. Returns the number of bins. */
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
/* The cuts of a numeric column from sampled values (NaN is skipped): allocates col->cuts and sets
 * n_bins and the median. */
void prep_cuts_fit(struct prep_col *col, const double *sample, int64_t n, struct prep_sorter *s);

/* sets dense_at, dense_n and width */
void prep_layout(struct prep *p);
/* Rows of one input: numbers (missing = NaN), or levels of the preparation (missing or unknown =
 * -1). */
void prep_view_numbers(const struct prep_view *v, int input, int64_t from, int64_t n, double *out);
void prep_view_levels(const struct prep_view *v, int input, int64_t from, int64_t n, int32_t *out);

#endif
