/* read.h - any file that holds a table becomes a frame, told by how it begins: images (images.h),
 * Parquet and Arrow (formats.h), JSON lines (jsonl.h), everything else as CSV (csv.h). Called by
 * the worker that ingests tables, and by the CLI. */
#ifndef ML_READ_READ_H
#define ML_READ_READ_H

#include "ml/read/csv.h"

/* opts: delimiter and header are for CSV, the others hold for all. Declared types are refused for
 * images. may_be_cut: the stream is only the first part of a file of images, and what is whole is
 * taken. So is it of JSON lines. */
int table_to_frame(csv_source *source, void *ctx, const struct csv_opts *opts,
                   const char *frame_path, char hash[SHA256_HEX], struct err *err);
/* Whether a file that begins so is read as CSV. */
bool table_is_csv(const uint8_t *head, long n);
/* Whether it is Parquet or Arrow, of which most_rows are read where the file can be read at any
 * place. */
bool table_is_columnar(const uint8_t *head, long n);

#endif
