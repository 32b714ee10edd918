/* tablehead.h - the first rows of a table in any format, read in this process: for the baseline model
 * of `assay fit`, and to know which columns a file has. */
#ifndef CLI_TABLEHEAD_H
#define CLI_TABLEHEAD_H

#include "ml/read/read.h"
#include "ml/table/frame.h"

/* Reads the first rows of a file into a frame at `path`. opts: its name, declared types, and whether
 * these may name columns that are not there. */
struct frame *tablehead_frame(const char *file, const struct csv_opts *opts, const char *path,
                              struct err *err);
/* Whether the file is read as CSV. */
bool tablehead_is_csv(const char *file);
/* Whether its first rows tell all of its columns: of JSON lines, any line may name another. */
bool tablehead_has_all_columns(const char *file);

#endif
