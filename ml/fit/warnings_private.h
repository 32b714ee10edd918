/* warnings_private.h - what the files of warnings share. warnings.c: rows, columns, classes;
 * warnings_columns.c: what one column tells of the target; warnings_test_rows.c: test rows of another
 * kind; warnings_order.c: repeated rows, groups, order; warnings_levels.c: levels that are spelled
 * nearly alike. */
#ifndef ML_FIT_WARNINGS_PRIVATE_H
#define ML_FIT_WARNINGS_PRIVATE_H

#include "ml/fit/warnings.h"

#include <stdbool.h>

struct warn_work {
    struct ml_data *d;
    const struct ml_rows_spec *by;
    struct warnings *out;
    /* [n] training rows of the sample, ascending */
    int64_t *row;
    int64_t n;
    /* columns that are looked at */
    int n_cols;
    /* [columns of the table] for warn_is_input */
    bool *is_input;
};

/* column: NULL = the whole table. */
void warn(struct warn_work *w, const char *code, const char *column, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* Whether models learn from the column of the table, or could: it is not the target, a weight, or a
 * column that only says how rows are used. */
bool warn_is_candidate(const struct warn_work *w, int col);
bool warn_is_input(const struct warn_work *w, int col);
/* A column of dates; times of day come back every day, and order no rows. */
bool warn_is_day(const struct frame_col *c);

/* WARN_LEAST_ROWS: fewer tell nothing for certain. */
enum { WARN_BINS = 64, WARN_LEAST_ROWS = 50 };

/* A column of n rows, cut into at most WARN_BINS bins. */
struct warn_binned {
    /* [n] values, then keys in order, and places */
    double *v;
    uint64_t *key;
    uint32_t *place;
    /* [n] bin of a row; WARN_BINS = missing */
    uint8_t *bin;
};

int warn_binned_init(struct warn_binned *b, int64_t n, struct err *err);
void warn_binned_fini(struct warn_binned *b);
/* Values of a column in these rows; of levels their numbers. NaN = missing. */
void warn_values_of(const struct frame *f, int col, const int64_t *row, int64_t n, double *out);
/* Cuts b->v into bins; returns how many distinct values there are, or -1. */
int64_t warn_bins_cut(struct warn_binned *b, int64_t n, struct err *err);

int warn_of_levels(struct warn_work *w, struct err *err);
int warn_of_leaks(struct warn_work *w, struct err *err);
int warn_of_test_rows(struct warn_work *w, struct err *err);
int warn_of_repeats(struct warn_work *w, struct err *err);
int warn_of_groups(struct warn_work *w, struct err *err);
int warn_of_order(struct warn_work *w, struct err *err);

#endif
