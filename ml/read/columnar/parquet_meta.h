/* parquet_meta.h - private to the Parquet reader: the footer of a file, and the heads of its row
 * groups. Everything that later reading relies on is checked here. */
#ifndef ML_READ_COLUMNAR_PARQUET_META_H
#define ML_READ_COLUMNAR_PARQUET_META_H

#include "ml/read/columnar/cells.h"
#include "ml/read/columnar/codec.h"
#include "ml/read/columnar/file.h"
#include "ml/read/columnar/logical.h"
#include "ml/read/columnar/thrift.h"

enum parquet_type {
    PQ_BOOLEAN,
    PQ_INT32,
    PQ_INT64,
    PQ_INT96,
    PQ_FLOAT,
    PQ_DOUBLE,
    PQ_BYTES,
    PQ_FIXED
};

/* A column of the table. What holds for values is only set where it is not refused. */
struct parquet_col {
    enum parquet_type type;
    /* of PQ_FIXED: bytes of a value */
    int width;
    struct logical logical;
    bool is_optional;
    /* its place among the leaves: the columns that a row group lists */
    int leaf;
};

struct parquet_group {
    int64_t rows;
    /* the part of the footer that lists its columns */
    struct thrift columns;
};

/* Where the pages of one column of one row group lie. */
struct parquet_chunk {
    enum codec codec;
    int64_t at, bytes, values;
};

struct parquet_meta {
    uint8_t *footer;
    struct cells_col *names;
    struct parquet_col *cols;
    int n_cols, cap_cols, n_leaves;
    struct parquet_group *groups;
    int n_groups, cap_groups;
    int64_t rows;
};

int parquet_meta_read(struct parquet_meta *m, const struct columnar_file *file, struct err *err);
void parquet_meta_fini(struct parquet_meta *m);
/* Fills in chunks[n_leaves] of a row group. A codec that cannot be read is an error only where
 * `wanted` says so. */
int parquet_meta_chunks(const struct parquet_meta *m, const struct columnar_file *file, int group,
                        const bool *wanted, struct parquet_chunk *chunks, struct err *err);

#endif
