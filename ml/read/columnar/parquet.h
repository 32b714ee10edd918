/* parquet.h - reads Parquet files: all encodings and codecs that today's writers use, flat columns
 * of every type. Nested columns are not read.
 *
 * Rows come in row groups, and of each group column after column, so that memory holds the pages of
 * one column only. Every length and place in the file is checked before use. Called by
 * ml/read/typed.c. */
#ifndef ML_READ_COLUMNAR_PARQUET_H
#define ML_READ_COLUMNAR_PARQUET_H

#include "ml/read/columnar/cells.h"
#include "ml/read/columnar/file.h"

#define PARQUET_MAGIC "PAR1"

struct parquet;
/* Reads the footer. */
struct parquet *parquet_open(const struct columnar_file *file, struct err *err);
void parquet_close(struct parquet *p);
/* The columns; the caller may set is_skipped. */
struct cells_col *parquet_cols(struct parquet *p, int *n);
int64_t parquet_rows(const struct parquet *p);
int parquet_groups(const struct parquet *p);
int64_t parquet_group_rows(const struct parquet *p, int group);
/* Hands over the first `rows` rows of a group: the columns that are neither refused nor skipped, in
 * ascending order. */
int parquet_group_read(struct parquet *p, int group, int64_t rows, cells_take *take, void *ctx,
                       struct err *err);
/* memory held */
int64_t parquet_bytes(const struct parquet *p);

#endif
