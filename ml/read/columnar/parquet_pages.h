/* parquet_pages.h - private to the Parquet reader: the pages of one column of one row group, one
 * after another, unpacked. Memory holds one page packed and unpacked; each is limited. */
#ifndef ML_READ_COLUMNAR_PARQUET_PAGES_H
#define ML_READ_COLUMNAR_PARQUET_PAGES_H

#include "ml/read/columnar/parquet_meta.h"

enum parquet_encoding {
    PQ_PLAIN,
    PQ_GROUP_VAR_INT,
    PQ_PLAIN_DICTIONARY,
    PQ_RLE,
    PQ_BIT_PACKED,
    PQ_DELTA_BINARY_PACKED,
    PQ_DELTA_LENGTH_BYTE_ARRAY,
    PQ_DELTA_BYTE_ARRAY,
    PQ_RLE_DICTIONARY,
    PQ_BYTE_STREAM_SPLIT
};

struct parquet_page {
    bool is_dictionary;
    int64_t values;
    int encoding;
    /* of an optional column: which rows have a value; empty for a required one */
    const uint8_t *levels, *levels_end;
    /* the values; CELLS_PAD bytes behind them are readable */
    const uint8_t *p, *end;
};

struct parquet_pages {
    const struct columnar_file *file;
    struct parquet_chunk chunk;
    bool is_optional;
    /* what was read of the chunk and not used: packed[from .. to) */
    uint8_t *packed;
    size_t cap, from, to;
    /* bytes of the chunk that were not read yet */
    int64_t unread;
    uint8_t *unpacked;
    size_t unpacked_cap;
    /* pages passed, for errors */
    int number;
};

/* The buffers are kept from chunk to chunk. */
void parquet_pages_start(struct parquet_pages *s, const struct columnar_file *file,
                         const struct parquet_chunk *chunk, bool is_optional);
void parquet_pages_fini(struct parquet_pages *s);
int64_t parquet_pages_bytes(const struct parquet_pages *s);
/* 1 = a page, whose bytes last until the next call; 0 = there are no more; -1 = error. */
int parquet_pages_next(struct parquet_pages *s, struct parquet_page *page, struct err *err);

#endif
