/* formats.h - Parquet and Arrow (Feather) files become frames. Called by read.c. */
#ifndef ML_READ_FORMATS_H
#define ML_READ_FORMATS_H

#include "base/sha256.h"
#include "ml/read/csv_opts.h"
#include "ml/read/feed.h"

bool parquet_is(const uint8_t *head, long n);
bool arrow_is_head(const uint8_t *head, long n);

/* A column that cannot be read is an error that names it, unless an override ignores it, or
 * overrides_optional is set and no override names it. So is the row index of pandas left out. */
int parquet_to_frame(struct feed *f, const struct csv_opts *opts, const char *frame_path,
                     char hash[SHA256_HEX], struct err *err);
int arrow_to_frame(struct feed *f, const struct csv_opts *opts, const char *frame_path,
                   char hash[SHA256_HEX], struct err *err);

#endif
