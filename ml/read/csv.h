/* csv.h - a fast strict CSV reader: RFC 4180 quoting, LF or CRLF, UTF-8 (BOM skipped), header or none, types inferred
 * and overridable, empty field or a usual word (NA, NaN, null, ?) = missing. Numbers have a decimal point, or, where the
 * delimiter is no comma and the sample shows it, a decimal comma. A column with a whole number that begins with a needless
 * zero ("007") holds codes: it is text, each value as written. Any number of rows that memory holds.
 * Errors name line and column: "line 7, column \"age\": expected 14 fields, found 13". */
#ifndef ML_READ_CSV_H
#define ML_READ_CSV_H

#include "base/err.h"
#include "base/sha256.h"
#include "ml/table/frame.h"

#include <stdbool.h>
#include <stddef.h>

/* > 0 bytes, 0 end, -1 error: base/gz.h's gz_source fits. */
typedef long csv_source(void *ctx, void *out, size_t n, struct err *err);

enum csv_header {
    CSV_HEADER_AUTO,
    CSV_HEADER_YES,
    CSV_HEADER_NO
}; /* AUTO: first row is a header unless it holds a number */

struct csv_override {
    const char *name;
    enum frame_type type;
};
struct csv_opts {
    char delimiter;         /* 0 = auto among , ; tab | */
    enum csv_header header; /* without one columns are called c1, c2 ... */
    const struct csv_override *overrides;
    int n_overrides;         /* a name that is no column is an error that lists the nearest */
    bool overrides_optional; /* ... unless this is set: then it is ignored */
    const char *name;        /* for error texts: "train.csv" */
    int64_t max_bytes;       /* of memory; 0 = no limit */
    int chunk_rows; /* of the frame, for tests: 32 to 65536; 0 = by the width of the table */
};
enum { CSV_MAX_COLUMNS = 100000, CSV_MAX_LEVELS = 10000000, CSV_MAX_FIELD = 1 << 20 };

/* Parses the whole stream into a frame file. Fewer than 1 data row is an error. */
int csv_to_frame(csv_source *source, void *ctx, const struct csv_opts *opts, const char *frame_path,
                 char hash[SHA256_HEX], struct err *err);

#endif
