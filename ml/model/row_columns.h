/* row_columns.h - columns that say how rows are to be used instead of being inputs: groups that no
 * split divides, the time by which rows are ordered, and the weights of rows. Called by data.c. */
#ifndef ML_MODEL_ROW_COLUMNS_H
#define ML_MODEL_ROW_COLUMNS_H

#include "base/err.h"
#include "ml/table/frame.h"

#include <stdint.h>

/* Numbers of groups, 0 to *n_groups - 1, by row: equal values have equal numbers, and a row without
 * a value is a group of its own. mem_try_free. */
int row_groups(const struct frame *f, const char *name, uint32_t **out, int64_t *n_groups,
               struct err *err);
/* Times by row; NaN where there is none. Numbers and dates are taken as they are; a column of text
 * must begin with a year of four digits, and is taken in the order of its texts, so that only their
 * order means something (*is_order). mem_try_free. */
int row_times(const struct frame *f, const char *name, double **out, bool *is_order,
              struct err *err);
/* Weights by row. A missing, negative or infinite one is an error that names the row, and so are
 * weights that are all 0. mem_try_free. */
int row_weights(const struct frame *f, const char *name, double **out, struct err *err);

#endif
