/* arrow_column.h - private to the Arrow reader: the buffers of one column of one batch, whole in
 * memory, given on as cells. Every length and offset is checked against them. */
#ifndef ML_READ_COLUMNAR_ARROW_COLUMN_H
#define ML_READ_COLUMNAR_ARROW_COLUMN_H

#include "ml/read/columnar/arrow_schema.h"

#include <stddef.h>

/* Bytes with CELLS_PAD more behind them. */
struct arrow_buffer {
    uint8_t *p;
    size_t n, cap;
};

/* The values of a dictionary: numbers, or texts that lie in `kept`. */
struct arrow_dictionary {
    int64_t id;
    enum cells_kind kind;
    double *numbers;
    struct cells_text *texts;
    size_t n, cap;
    struct arrow_buffer *kept;
    size_t n_kept, cap_kept;
    uint64_t serial;
};

struct arrow_column {
    const struct arrow_shape *shape;
    const struct logical *logical;
    enum cells_kind kind;
    int64_t rows;
    /* no bytes = all rows are valid */
    const struct arrow_buffer *valid;
    /* values, offsets or views */
    const struct arrow_buffer *values;
    /* one buffer of bytes; of views any number */
    const struct arrow_buffer *bytes;
    size_t n_bytes;
    /* the column holds places in it; NULL = it holds values */
    const struct arrow_dictionary *dictionary;
};

/* Hands over all rows, a stretch at a time. */
int arrow_column_give(const struct arrow_column *c, int col, cells_take *take, void *ctx,
                      struct err *err);

#endif
