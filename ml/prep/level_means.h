/* level_means.h - means of the target per level, each from rows other than those it is used in.
 *
 * The training rows fall into PREP_PARTS parts. One pass adds up count and sum per (level, part);
 * from them come PREP_PARTS + 1 variants of every mean: variant v < PREP_PARTS is made from the
 * rows of all other parts and is used in the training rows of part v; the last variant is made from
 * all training rows and is used in every other row. So a row never takes part in its own value, and
 * the values of held-out rows know training rows only.
 *
 * A mean is drawn towards the mean of all rows: (sum + m * mean) / (n + m). m is the variance within
 * levels over the variance between them, estimated from the same sums (method of moments), so that
 * levels that differ by chance only get the same value. Called by step_levels.c. */
#ifndef ML_PREP_LEVEL_MEANS_H
#define ML_PREP_LEVEL_MEANS_H

#include "ml/prep/prep_private.h"

/* How levels are read from rows of a frame. Level n_levels stands for missing values, n_levels + 1
 * for values that no level stands for. */
struct level_rows {
    const struct frame *frame;
    int col, n_levels;
    /* of a column of levels: [levels of the frame] level or -1 */
    const int32_t *map;
    /* of a column of numbers: [its levels] the number of each, ascending */
    const double *value;
    /* of two columns: the second one; other_levels = 0: of one. Level a of the first and b of the
     * second are level a * other_levels + b, and n_levels is the product. Each has a map or values. */
    int other_col, other_levels;
    const int32_t *other_map;
    const double *other_value;
    /* of a column of numbers whose plain input has levels */
    const struct view_numbers *numbers;
};
/* A level of two: a and b as prep_source_levels tells them. */
int32_t level_of_two(int32_t a, int32_t b, int other_levels, int n_levels);
/* out: 0 to n_levels + 1 */
void level_rows_read(const struct level_rows *r, int64_t from, int64_t n, int32_t *out);
/* The same for numbers: value [n_levels] is ascending. levels_of_numbers: as prep_source_levels tells
 * levels. */
void levels_of_values(const double *value, int n_levels, const double *x, int64_t n, int32_t *out);
void levels_of_numbers(const double *value, int n_levels, const double *x, int64_t n, int32_t *out);

enum { LEVEL_VARIANTS = PREP_PARTS + 1 };
struct level_means {
    int n_levels, n_means;
    /* [n_means][n_levels + 2][LEVEL_VARIANTS]: mean of the target per level, less that of all
     * rows */
    double *mean;
    /* [n_levels + 2][LEVEL_VARIANTS]: log2(1 + rows of the level), as if the rows counted were as
     * many as all_rows */
    double *frequency;
    /* The share of training rows whose level no training row of another part has: they show models
     * what a row of a new level looks like. */
    double new_share;
};
/* classes: [n_means] the class whose share is taken; NULL = the target is taken as a number. train:
 * NULL = all rows. level_means_fini frees *out. */
struct level_means_in {
    struct level_rows rows;
    const struct prep_target *target;
    const int *classes;
    int n_means;
    const uint8_t *train;
    double all_rows;
};
int level_means_make(const struct level_means_in *in, struct level_means *out, struct err *err);
void level_means_fini(struct level_means *m);

#endif
