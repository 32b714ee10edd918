/* frame.h - a table: columnar, typed and immutable, in one memory-mapped file that processes share,
 * named by the SHA-256 of its bytes.
 *
 * Numbers stay exact: float64, or a narrower type when every value fits it exactly. The file holds
 * no time, host or path, so equal input gives equal bytes. A file from a stranger is checked before
 * use. Used by all of ml/, and by the CLI. */
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
    int64_t missing; /* rows without a value */
    /* of these, text in a column that an override declares numeric */
    int64_t not_numbers;
    /* of the values of a numeric column; NaN when it has none */
    double min, max, mean;
    /* exact for categorical columns; counted up to 4,096 for numeric ones */
    int64_t distinct;
    /* of a categorical column; levels are sorted by count (most first), then by text */
    int n_levels;
    const char *const *levels;
    /* PLAIN, or how the values are to be read; DATE is numeric, TEXT and LIST are categorical */
    enum frame_kind kind;
    /* How the reader decided, as one JSON object for people and for the preparation, such as
     * {"sep":"|"} of a list; "" = nothing to say. Borrowed. */
    const char *note;
};

struct frame {
    int64_t rows;
    int n_cols;
    const struct frame_col *cols;
    struct frame_image image;
    /* Private: */
    struct frame_map *map;
};

/* Maps and checks a file. Column data are read through the calls below. */
struct frame *frame_open(const char *path, struct err *err);
void frame_close(struct frame *f);
/* Adds a column without values after the others, as if the file had it. No other thread may use the
 * frame meanwhile. */
void frame_add_absent(struct frame *f, const char *name, enum frame_type type,
                      enum frame_kind kind);
/* -1 = none */
int frame_find(const struct frame *f, const char *name);
/* Copies rows [from, from + n) of a numeric column as doubles (missing = NaN), or of a categorical
 * column as level indices (missing = -1). A wrong type or range is a broken invariant (CHECK). */
void frame_numbers(const struct frame *f, int col, int64_t from, int64_t n, double *out);
void frame_codes(const struct frame *f, int col, int64_t from, int64_t n, int32_t *out);
/* The numbers of n rows, whose numbers ascend. */
void frame_numbers_at(const struct frame *f, int col, const int64_t *rows, int64_t n, double *out);
/* The columns of images are named by their place: "p3_17" is line 3 from the top and column 17 from
 * the left, both from 0 on; with more than one channel "p3_17_2". i: 0 .. frame_image_values -
 * 1. */
enum { FRAME_PIXEL_NAME = 40 };
void frame_pixel_name(const struct frame_image *m, int i, char out[FRAME_PIXEL_NAME]);
/* One JSON text of columns and statistics, for people and for the controller:
 * {"rows":..,"columns":[{"name","type","missing","distinct","not_numbers" where there are some,"levels":[the first 100],"min","max","mean"}]}; "kind" and "note" follow the type where they say
 * something. The columns of images are not
 * listed one by one: before "columns" stands
 * "image":{"height","width","channels","min","max","mean"}. mem_free; NULL = no memory. */
char *frame_schema_json(const struct frame *f);
/* The same in at most so many bytes as a string within another JSON text: where it would be longer,
 * without levels, and then without least, largest and mean values of most columns. NULL = there are
 * too many columns for that. */
char *frame_schema_within(const struct frame *f, size_t most);

/* The builder for columns that are whole in memory. The CSV reader writes chunk by chunk instead
 * (frame_file.h). */
struct frame_writer;
/* Writes aside; the file appears under its path at the end. */
struct frame_writer *frame_writer_new(const char *path, struct err *err);
/* A numeric column from doubles, or a categorical one from codes and levels. All columns must have
 * the same length. */
int frame_writer_numeric(struct frame_writer *w, const char *name, const double *v, int64_t n,
                         struct err *err);
int frame_writer_categorical(struct frame_writer *w, const char *name, const int32_t *codes,
                             int64_t n, const char *const *levels, int n_levels, struct err *err);
/* The kind and the note (at most FRAME_MAX_NOTE bytes of UTF-8; NULL = none) of the column that is
 * added next. */
void frame_writer_kind(struct frame_writer *w, enum frame_kind kind, const char *note);
/* frees w in any case */
int frame_writer_end(struct frame_writer *w, char hash[SHA256_HEX], struct err *err);
void frame_writer_abort(struct frame_writer *w);

#endif
