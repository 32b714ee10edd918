/* csv.h - a fast, strict CSV reader.
 *
 * RFC 4180 quoting, LF or CRLF, UTF-8 (a byte-order mark is skipped), with or without a header.
 * Types are inferred and can be overridden; an empty field or a usual word (NA, NaN, null, ?) is
 * missing. Numbers have a decimal point; or a decimal comma, where the delimiter is not a comma and
 * the sample shows it. A column with a whole number that begins with a needless zero ("007") holds
 * codes: it is text, each value as it is written. Any number of rows that memory holds.
 *
 * Errors name line and column: "line 7, column \"age\": expected 14 fields, found 13". Called by
 * the worker that ingests tables, and by the CLI. */
#ifndef ML_READ_CSV_H
#define ML_READ_CSV_H

#include "base/err.h"
#include "base/sha256.h"
#include "ml/read/csv_opts.h"

#include <stddef.h>

/* Returns the number of bytes read, 0 at the end, -1 for an error. gz_source of base/gz.h is
 * one. */
typedef long csv_source(void *ctx, void *out, size_t n, struct err *err);

/* Parses the whole stream into a frame file. It is an error when there is not even one data row. */
int csv_to_frame(csv_source *source, void *ctx, const struct csv_opts *opts, const char *frame_path,
                 char hash[SHA256_HEX], struct err *err);

#endif
