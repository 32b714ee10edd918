/* modelfile.h - helpers for commands that need a model file and no service (`predict`, `explain`).
 *
 * The user's table is read with the column types that the model expects, so that a column which
 * was text in training stays text. If writing an output file fails, no incomplete file is left. */
#ifndef CLI_MODELFILE_H
#define CLI_MODELFILE_H

#include "base/err.h"
#include "cli/tempdir.h"
#include "ml/model/artifact.h"
#include "ml/table/frame.h"

#include <stdbool.h>
#include <stdio.h>

struct model_table {
    struct tempdir temp;
    struct frame *frame;
};

/* Reads a table for the model. target: the name of the column to read as the target, that is, as
 * numbers for a regression and as text for classes. NULL: no column is the target, and a column
 * that is no input of the model gets the type that its values have. A missing column is not an
 * error here: the model reports it with its name. */
int model_table_open(struct model_table *t, const struct artifact *a, const char *file,
                     bool no_header, const char *target, struct err *err);
void model_table_close(struct model_table *t);

/* Calls fn to write the file. If that fails, no incomplete file is left (outfile.h). The path "-"
 * is standard output. */
int output_write(const char *path, int (*fn)(FILE *out, void *ctx, struct err *err), void *ctx,
                 struct err *err);
/* Writes prefix and text as one CSV cell. The cell is quoted if the text has a comma, a quote or a
 * line break. */
void output_cell(FILE *out, const char *prefix, const char *text);

#endif
