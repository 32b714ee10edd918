/* parquet_values.h - private to the Parquet reader: the values of one page in any encoding, taken a
 * stretch at a time. */
#ifndef ML_READ_COLUMNAR_PARQUET_VALUES_H
#define ML_READ_COLUMNAR_PARQUET_VALUES_H

#include "ml/read/columnar/delta.h"
#include "ml/read/columnar/parquet_meta.h"
#include "ml/read/columnar/parquet_pages.h"
#include "ml/read/columnar/rle.h"

/* PARQUET_STRETCH: values at once. PARQUET_MAX_TEXT: bytes of one text. */
enum { PARQUET_STRETCH = 4096, PARQUET_MAX_TEXT = 1 << 20 };

struct parquet_values {
    const struct parquet_col *col;
    int encoding;
    const uint8_t *p, *end;
    /* of bit-packed booleans */
    uint64_t bit;
    struct rle rle;
    /* of differences: numbers or lengths of texts; lengths of shared beginnings */
    struct delta delta, prefixes;
    /* of split streams: values in the page, and the next one */
    int64_t split_n, split_at;
    /* texts put together: made[0 .. made_cap); the last one is the beginning of the next */
    char *made;
    size_t made_cap, last_at, last_n;
    /* how many values may be taken at once */
    int64_t most;
};

/* v keeps its memory from page to page; it starts zeroed. */
int parquet_values_start(struct parquet_values *v, const struct parquet_col *col,
                         const struct parquet_page *page, struct err *err);
void parquet_values_fini(struct parquet_values *v);
/* n is at most v->most. The texts last until the next call. */
int parquet_values_numbers(struct parquet_values *v, int64_t n, double *out, struct err *err);
int parquet_values_texts(struct parquet_values *v, int64_t n, struct cells_text *out,
                         struct err *err);
/* Booleans as 0 and 1. */
int parquet_values_bools(struct parquet_values *v, int64_t n, uint32_t *out, struct err *err);

#endif
