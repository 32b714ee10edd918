/* arrow.h - reads Arrow IPC: streams, and files (Feather version 2), which have a footer too. Flat columns of every type, with dictionaries; buffers may be packed with lz4 or zstd.
 * Nested columns are not read.
 *
 * Rows come in batches, and of each batch column after column as they lie in it, so that memory
 * holds the dictionaries and the buffers of one column. A stream is read once, front to back. Every length and place is checked before use. Called by ml/read/typed.c. */
#ifndef ML_READ_COLUMNAR_ARROW_H
#define ML_READ_COLUMNAR_ARROW_H

#include "ml/read/columnar/cells.h"
#include "ml/read/columnar/file.h"

/* Reads up to n bytes: fewer only at the end of the stream; -1 = error. */
typedef long arrow_source(void *ctx, void *out, size_t n, struct err *err);

#define ARROW_MAGIC "ARROW1"

/* Whether these are the first bytes of a file, or of a stream. */
bool arrow_is_file(const uint8_t *head, size_t n);
bool arrow_is_stream(const uint8_t *head, size_t n);

struct arrow;
/* A stream, read up to its schema; or a file, whose footer tells where everything is. max_bytes: of
 * memory for buffers; 0 = no limit. */
struct arrow *arrow_open(arrow_source *source, void *ctx, int64_t max_bytes, struct err *err);
struct arrow *arrow_open_file(const struct columnar_file *file, int64_t max_bytes, struct err *err);
void arrow_close(struct arrow *a);
/* The columns; the caller may set is_skipped. */
struct cells_col *arrow_cols(struct arrow *a, int *n);
/* Goes to the next batch. 1 = *rows of it, to be taken with arrow_batch_read; 0 = there are no
 * more; -1 = error. */
int arrow_next(struct arrow *a, int64_t *rows, struct err *err);
/* Hands over the first `rows` rows of the batch: the columns that are neither refused nor skipped, in
 * ascending order. */
int arrow_batch_read(struct arrow *a, int64_t rows, cells_take *take, void *ctx, struct err *err);
/* bytes of the stream read so far or of the file, and memory held */
int64_t arrow_taken(const struct arrow *a);
int64_t arrow_bytes(const struct arrow *a);

#endif
