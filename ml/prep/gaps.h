/* gaps.h - missing numbers that other columns tell, and numbers that stand for a missing one.
 *
 * Measurements that were never made are often written as 0 or -999 (lengths of 0 among lengths of 4
 * to 10). Such a number is read as missing. Where few rows lack a number, and another column tells
 * nearly all of it, the missing numbers become what such columns say, so that no model has to learn
 * from a handful of rows what to do without them. So do those of a column that lacks none: they may be
 * missing in the rows that are to be predicted, which no model has learnt from any row. Called by
 * prep_fit.c and prep_view.c. */
#ifndef ML_PREP_GAPS_H
#define ML_PREP_GAPS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct prep_spec;

enum { GAP_FROM = 6, GAP_MAX_POINTS = 128 };

/* What another column says of this one: straight lines through n points, and level beyond them. */
struct gap_from {
    /* a source of the preparation; while it is fitted a column of the frame */
    int source;
    /* how much it counts, above 0 */
    double weight;
    int n;
    double *at, *value; /* [n] finite; `at` is strictly ascending */
};

/* The gaps of one column of numbers. */
struct prep_gap {
    /* the number that stands for a missing one; NaN = none does */
    double blank;
    /* what tells the missing ones, the best first: they become the weighted mean of what those say
     * that have a value */
    int n_from;
    struct gap_from from[GAP_FROM];
};

void gap_free(struct prep_gap *g);
/* Makes blanks NaN. Returns whether a number is missing. g: NULL = the column has no gaps, and x is
 * not looked at. */
bool gap_blank(const struct prep_gap *g, double *x, int64_t n);
/* Reads rows [from, from + n) of another column, its blanks as NaN; n <= GAP_BLOCK. */
enum { GAP_BLOCK = 256 };
typedef void gap_reader(const void *arg, int source, int64_t from, int64_t n, double *out);
/* What models see of x, rows [from, from + n) of the column as they are: blanks are missing, and
 * missing numbers become what another column says. */
void gap_close(const struct prep_gap *g, gap_reader *read, const void *arg, int64_t from, int64_t n,
               double *x);

/* The gaps of all columns of the frame: [columns] one by one, NULL = the column has none. */
struct gaps {
    int n_cols;
    struct prep_gap **of;
};
/* rows: [n] ascending, a sample of the n_used rows that may be looked at. gaps_free frees *out, also
 * after an error. */
int gaps_fit(const struct prep_spec *spec, const int64_t *rows, int64_t n, int64_t n_used,
             struct gaps *out, struct err *err);
void gaps_free(struct gaps *g);

#endif
