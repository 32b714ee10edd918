/* frame.h - a table: columnar, typed, immutable, one memory-mapped file that processes share, named by the SHA-256 of
 * its bytes. Raw numbers stay exact (float64, or a narrower type when every value fits it exactly). The file holds no
 * time, host or path, so equal input gives equal bytes. A frame file from a stranger is checked before use. */
#ifndef ML_TABLE_FRAME_H
#define ML_TABLE_FRAME_H

#include "base/err.h"
#include "base/sha256.h"
#include "ml/table/frame_type.h"

#include <stdbool.h>
#include <stdint.h>

struct frame_col {
    const char *name; /* UTF-8; borrowed from the frame */
    enum frame_type type;
    int64_t missing;       /* rows without a value */
    int64_t not_numbers;   /* of these: text in a column that was said to be numeric */
    double min, max, mean; /* numeric, of present values; NaN when none */
    int64_t distinct;      /* exact for categoricals; for numerics capped at 4,096 */
    int n_levels;          /* categorical; levels are sorted by count (most first), then by text */
    const char *const *levels;
};

struct frame {
    int64_t rows;
    int n_cols;
    const struct frame_col *cols;
    /* private below */
    struct frame_map *map;
};

/* Maps and checks a file. Column data are read through the two calls below. */
struct frame *frame_open(const char *path, struct err *err);
void frame_close(struct frame *f);
int frame_find(const struct frame *f, const char *name); /* -1 */
/* Copies rows [from, from+n) of a numeric column as doubles (missing = NaN), or of a categorical column as level
 * indices (missing = -1). CHECKs the type and the range. */
void frame_numbers(const struct frame *f, int col, int64_t from, int64_t n, double *out);
void frame_codes(const struct frame *f, int col, int64_t from, int64_t n, int32_t *out);
/* The numbers of n rows, given in ascending order. */
void frame_numbers_at(const struct frame *f, int col, const int64_t *rows, int64_t n, double *out);
/* One JSON text describing columns and statistics, for people and for the controller: {"rows":..,"columns":[{"name",
 * "type","missing","not_numbers" where there are some,"distinct","levels":[first 100],"min","max","mean"}]}. Heap, mem_free; NULL = no memory. */
char *frame_schema_json(const struct frame *f);

/* Builder: columns are added whole or by chunks by the CSV reader; see csv.h. */
struct frame_writer;
struct frame_writer *frame_writer_new(
    const char *path, struct err *err); /* writes aside; the path appears at the end */
/* A numeric column from doubles, a categorical one from codes and levels. All columns must have equal length. */
int frame_writer_numeric(struct frame_writer *w, const char *name, const double *v, int64_t n,
                         struct err *err);
int frame_writer_categorical(struct frame_writer *w, const char *name, const int32_t *codes,
                             int64_t n, const char *const *levels, int n_levels, struct err *err);
int frame_writer_end(struct frame_writer *w, char hash[SHA256_HEX],
                     struct err *err); /* frees w in any case */
void frame_writer_abort(struct frame_writer *w);

#endif
