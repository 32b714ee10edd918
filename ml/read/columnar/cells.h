/* cells.h - a stretch of one column as the readers of this room hand it over: numbers, or texts.
 *
 * Dates are numbers: seconds since 1970 UTC; a time without a date is one of the first day of 1970.
 * A reader hands over a group of rows column by column: each column of the group as one or more
 * stretches, in the order of the rows. ml/read/typed.c turns them into a frame. */
#ifndef ML_READ_COLUMNAR_CELLS_H
#define ML_READ_COLUMNAR_CELLS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum cells_kind { CELLS_NUMBERS, CELLS_DATES, CELLS_TEXTS };

/* Bytes that every buffer with texts has behind its end, because what reads texts may read whole
 * words. */
enum { CELLS_PAD = 32 };

struct cells_text {
    /* NULL = missing */
    const char *p;
    uint32_t n;
};

#define CELLS_MISSING_INDEX UINT32_MAX

struct cells {
    enum cells_kind kind;
    int64_t n;
    /* [n]: of numbers and dates; NaN = missing */
    const double *numbers;
    /* of texts: [n] where there is no index, else [n_texts] */
    const struct cells_text *texts;
    /* [n]: which of the texts, or CELLS_MISSING_INDEX; NULL = one text a row */
    const uint32_t *index;
    uint32_t n_texts;
    /* of texts with an index: equal for all stretches that share the same texts, else different */
    uint64_t serial;
};

/* A column as its file declares it. */
struct cells_col {
    char *name;
    enum cells_kind kind;
    /* Why the column cannot be read, such as "a list"; NULL = it can. */
    const char *refused;
    /* The column is the row index that pandas stored beside the table's own columns. */
    bool is_index;
    /* Set by the caller before the first group: the column's values are of no interest. */
    bool is_skipped;
};

typedef int cells_take(void *ctx, int col, const struct cells *cells, struct err *err);

#endif
