/* csv.h - a fast strict CSV reader: RFC 4180 quoting, LF or CRLF, UTF-8 (BOM skipped), header or none, types inferred
 * and overridable, empty field or a usual word (NA, NaN, null, ?) = missing. Numbers have a decimal point, or, where the
 * delimiter is no comma and the sample shows it, a decimal comma. A column with a whole number that begins with a needless
 * zero ("007") holds codes: it is text, each value as written. Any number of rows that memory holds.
 * Errors name line and column: "line 7, column \"age\": expected 14 fields, found 13". */
#ifndef ML_READ_CSV_H
#define ML_READ_CSV_H

#include "base/err.h"
#include "base/sha256.h"
#include "ml/read/csv_opts.h"

#include <stddef.h>

/* > 0 bytes, 0 end, -1 error: base/gz.h's gz_source fits. */
typedef long csv_source(void *ctx, void *out, size_t n, struct err *err);

/* Parses the whole stream into a frame file. Fewer than 1 data row is an error. */
int csv_to_frame(csv_source *source, void *ctx, const struct csv_opts *opts, const char *frame_path,
                 char hash[SHA256_HEX], struct err *err);

#endif
