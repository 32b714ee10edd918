/* adjust_fit.h - learns adjustments (adjust.h) from rows that a model predicted without having seen
 * them.
 *
 * The rows come in parts. What ships is learnt from all of them; what an adjustment is worth is found
 * by learning it from all parts but one and applying it to that one, in turn, so that no row is judged
 * by what it has taught itself. A calibration is kept where it lowers log loss by more than a standard
 * error of the difference, a threshold where the metric is better with it than at one half.
 *
 * A calibration counts one row more than there are, of which the model knows nothing: its inputs are
 * those of any row, and its class is drawn as those of the others are. If all of n rows were foreseen,
 * about one in n + 1 will not be (the rule of succession; Platt 1999 has targets of the same kind).
 * Without it, models that are right on few rows are made surer until log loss is nearly 0, the surest
 * of hundreds is chosen, and one new row that it has wrong costs more than all others.
 *
 * Pure and deterministic. Called by ml/fit/ for a trial and by ml/ensemble/ for an ensemble. */
#ifndef ML_ADJUST_ADJUST_FIT_H
#define ML_ADJUST_ADJUST_FIT_H

#include "ml/adjust/adjust.h"

enum { ADJUST_PARTS = 5 };
/* Of more rows x outputs than ADJUST_VALUES a caller should pass every so-many-th row only, but at least
 * ADJUST_ROWS rows: a handful of numbers is learnt. */
enum { ADJUST_VALUES = 1 << 16, ADJUST_ROWS = 1000 };
/* One of how many rows to pass, of n with so many floats each. */
static inline int64_t adjust_every(int64_t n, int outputs)
{
    int64_t most = MAX(ADJUST_VALUES / outputs, ADJUST_ROWS);

    return MAX((n + most - 1) / most, 1);
}

struct adjust_rows {
    enum ml_task task;
    enum metric_id metric;
    /* outputs: floats a row; classes: 0 for numbers */
    int outputs, classes;
    int64_t n;
    /* The rows are every so-many-th of those that there are; 0 = all of them. */
    int64_t every;
    const float *p;       /* [n][outputs] */
    const double *y;      /* [n] class index or value */
    const double *weight; /* [n], or NULL: all rows count 1 */
    const uint8_t *part;  /* [n] below parts */
    /* 1 to ADJUST_PARTS */
    int parts;
};

/* all: what ships. part[ADJUST_PARTS]: what the rows of the other parts say, to be applied to rows of
 * that part; without intervals, which change no score. Rows with a prediction that is not finite are
 * no rows. Few rows, or rows of one class, give adjustments that change nothing. Fails without memory.
 * adjust_fini frees each, also after an error. */
int adjust_fit(const struct adjust_rows *r, struct adjust *all, struct adjust *part,
               struct err *err);

#endif
