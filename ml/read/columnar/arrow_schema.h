/* arrow_schema.h - private to the Arrow reader: the fields of a schema, and how each lies in the
 * body of a batch. */
#ifndef ML_READ_COLUMNAR_ARROW_SCHEMA_H
#define ML_READ_COLUMNAR_ARROW_SCHEMA_H

#include "ml/read/columnar/cells.h"
#include "ml/read/columnar/flat.h"
#include "ml/read/columnar/logical.h"

enum arrow_layout {
    /* no buffers */
    ARROW_NULL,
    /* validity and values: bits; numbers and bytes of a fixed width */
    ARROW_BITS,
    ARROW_INTS,
    ARROW_REALS,
    ARROW_FIXED,
    /* validity, 32-bit or 64-bit offsets, bytes */
    ARROW_TEXT32,
    ARROW_TEXT64,
    /* validity, views of 16 bytes, and any number of buffers of bytes */
    ARROW_VIEWS,
    /* cannot be read, only passed over */
    ARROW_NESTED
};

/* Bytes of a value in INTS, REALS and FIXED; is_signed: of INTS. */
struct arrow_shape {
    enum arrow_layout layout;
    int width;
    bool is_signed;
};

struct arrow_field {
    /* of the values */
    struct arrow_shape shape;
    struct logical logical;
    /* Where has_dictionary is set a batch holds places in the dictionary instead. */
    bool has_dictionary;
    int64_t dictionary;
    struct arrow_shape places;
    /* What it takes of a batch, with all that is nested in it: nodes; buffers, besides those whose
     * number a batch states for each field of views. */
    int nodes, buffers, views;
};

struct arrow_schema {
    struct cells_col *names;
    struct arrow_field *fields;
    int n;
};

/* The table of a Schema message. */
int arrow_schema_read(struct arrow_schema *s, const struct flat_table *table, struct err *err);
void arrow_schema_fini(struct arrow_schema *s);

#endif
