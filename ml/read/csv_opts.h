/* csv_opts.h - what a caller may ask of the CSV reader, and the limits that hold for every file.
 * Used by all of csv*.c. */
#ifndef ML_READ_CSV_OPTS_H
#define ML_READ_CSV_OPTS_H

#include "base/err.h"
#include "ml/cells/date.h"
#include "ml/table/frame_type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum csv_header {
    CSV_HEADER_AUTO,
    CSV_HEADER_YES,
    CSV_HEADER_NO
}; /* AUTO: first row is a header unless it holds a number */

struct csv_override {
    const char *name;
    enum frame_type type;
    enum frame_kind kind;
    /* of FRAME_DATE */
    enum date_order order;
    /* Not NULL: the column is read as the one that this note is of was read (frame.h), and nothing
     * is decided anew; "" = plain. A model's columns are read so. */
    const char *note;
    /* Of plain texts: each cell as it is written, and only the empty one is missing. */
    bool is_exact;
    /* Not NULL: only these texts, up to a NULL, and the empty cell are missing in the column. Of an
     * override whose name is "*": in all columns that have no list of their own. */
    const char *const *missing;
    /* nothing is said but `missing`: the type is found as ever */
    bool has_no_type;
};
/* The words for types in specs and options: numeric, categorical, label, ignore, text, list, date,
 * date_dmy, date_mdy, date_ymd, epoch_s, epoch_ms, yyyymmdd. Sets all but the name; false = there is no such
 * word. */
bool csv_override_word(struct csv_override *o, const char *word);
#define CSV_OVERRIDE_WORDS \
    "numeric, categorical, label, ignore, date, date_dmy, date_mdy, date_ymd, epoch_s, epoch_ms, yyyymmdd, text or list"

struct csv_opts {
    char delimiter;         /* 0 = auto among , ; tab | */
    enum csv_header header; /* without one columns are called c1, c2 ... */
    const struct csv_override *overrides;
    int n_overrides;         /* a name that is no column is an error that lists the nearest */
    bool overrides_optional; /* ... unless this is set: then it is ignored */
    bool may_be_cut;         /* of images and JSON lines: the stream may end anywhere (read.h) */
    int64_t most_rows;       /* of Parquet and Arrow: read only so many at the start; 0 = all */
    /* Reads the file behind the stream at any place, with the source's ctx; file_bytes is its
     * length. NULL = it can only be read once, front to back. Fewer than n bytes only at the end;
     * -1 = error. */
    long (*read_at)(void *ctx, void *out, size_t n, int64_t at, struct err *err);
    int64_t file_bytes;
    /* Called with go_on_ctx between the columns when all rows are read, because deciding what very
     * many columns are takes seconds. -1 with err set = stop. NULL = nobody waits. */
    int (*go_on)(void *ctx, struct err *err);
    void *go_on_ctx;
    const char *name;  /* for error texts: "train.csv" */
    int64_t max_bytes; /* of memory; 0 = no limit */
    int chunk_rows;    /* of the frame, for tests: 32 to 65536; 0 = by the width of the table */
};
enum { CSV_MAX_COLUMNS = 100000, CSV_MAX_LEVELS = 10000000, CSV_MAX_FIELD = 1 << 20 };

#endif
