/* jsonl.h - JSON lines become a frame: one object a row, its keys are the columns. An array of
 * objects is read too, and objects may span lines.
 *
 * A key may appear late: rows before it have no value of it. Values go through the rules of CSV
 * cells: types are found from all values of a column; null is missing; true and false are words. A
 * nested value is one text, its JSON as it stands in the file. Called by read.c. */
#ifndef ML_READ_JSONL_H
#define ML_READ_JSONL_H

#include "base/sha256.h"
#include "ml/read/csv_opts.h"
#include "ml/read/feed.h"

/* Whether a file begins as one with JSON objects does. */
bool jsonl_is(const uint8_t *head, long n);
int jsonl_to_frame(struct feed *f, const struct csv_opts *opts, const char *frame_path,
                   char hash[SHA256_HEX], struct err *err);

#endif
