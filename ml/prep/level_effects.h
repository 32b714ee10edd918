/* level_effects.h - effects of the levels of several columns, fitted together: a row's score is the
 * sum of one effect for each column, and the effects minimise
 *   sum over rows of weight * loss(score, target) + penalty / 2 * sum of effects^2,
 * with the logistic or the squared loss. That is a ridge-penalised model on all levels one-hot,
 * whatever their number: of a row's 0s and 1s only the places of the 1s are stored, one a column.
 * The mean of a level takes with it what the row's other levels do; its effect does not.
 *
 * PREP_PARTS + 1 fits are made side by side: number p sees the rows of all other parts and is for the
 * rows of part p, the last sees all rows and is for every other row, as in level_means.h.
 *
 * The method: Newton's, one column after the other. The levels of a column do not share rows, so that
 * a column's step is a division for each level. Each fit ends by itself when a sweep over all columns
 * hardly moves its scores, so that no fit knows anything of another. Sums are in the order of rows:
 * equal rows give equal bits on every machine. Called by effects_fit.c. */
#ifndef ML_PREP_LEVEL_EFFECTS_H
#define ML_PREP_LEVEL_EFFECTS_H

#include "base/err.h"
#include "ml/prep/prep.h"

/* Numbers that stand side by side for one level or row: the fits, and room up to a whole vector. */
enum { EFFECT_FITS = PREP_PARTS + 1, EFFECT_WIDE = 8 };

struct effect_rows {
    int64_t n;
    int cols;
    /* [cols][n] levels of a column, from 0 */
    const int32_t *level;
    /* [cols] the first level of a column in one list of all columns' levels, `levels` long; the
     * column after the last begins at `levels` */
    const int32_t *first;
    int64_t levels;
    /* [n] 0 or 1 (is_logistic), or numbers: each fit then takes off the mean and the spread of the
     * rows that it sees, and its effects are in units of that spread */
    const double *y;
    /* [n] what a row counts, and its part */
    const float *weight;
    const uint8_t *part;
    bool is_logistic;
};

struct level_effects;

/* start: [levels][EFFECT_WIDE] effects to begin with, each from a fit that saw no other rows than the
 * fit of its number may see; NULL = 0. NULL = no memory. The rows are borrowed, and their levels must
 * not change. */
struct level_effects *level_effects_new(const struct effect_rows *in, const float *start,
                                        struct err *err);
void level_effects_free(struct level_effects *k);
/* Fits, from where the effects are: at most `sweeps` sweeps. A fit ends when a sweep moves its scores by
 * less than this part of their spread, squared: EFFECT_STILL, or EFFECT_EXACT where gains are compared,
 * because a few rows more or less decide there. */
#define EFFECT_STILL 4e-4
#define EFFECT_EXACT 1e-5
void level_effects_run(struct level_effects *k, double penalty, int sweeps, double still);
/* The square of the correlation between the target and the scores of rows by the fits that have not
 * seen them, 0 where it is negative. */
double level_effects_gain(struct level_effects *k);
/* [levels][EFFECT_WIDE]; the caller must not keep it beyond level_effects_free. */
const float *level_effects_all(const struct level_effects *k);

#endif
