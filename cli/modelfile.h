/* modelfile.h - helpers for commands that need a model file and no service (`predict`, `explain`).
 *
 * The user's table is read with the column types that the model expects, so that a column which
 * was text in training stays text. If writing an output file fails, no incomplete file is left. */
#ifndef CLI_MODELFILE_H
#define CLI_MODELFILE_H

#include "base/err.h"
#include "cli/tempdir.h"
#include "ml/apply/model_rows.h"
#include "ml/model/artifact.h"
#include "ml/table/frame.h"

#include <stdbool.h>
#include <stdio.h>

struct model_table {
    struct tempdir temp;
    struct frame *frame;
};

/* name, read_at and file_bytes are filled in by model_table_open. */
/* Reads a table for the model. Columns may stand in any order, and further ones do not matter. */
int model_table_open(struct model_table *t, const struct artifact *a, const char *file,
                     const struct model_rows_how *how, struct err *err);
/* Reads `n` columns of the file that `f` was made of, as text: each cell as it stands. */
int model_table_exact(struct model_table *t, const struct frame *f, const char *file,
                      bool no_header, const char *const *names, int n, struct err *err);
void model_table_close(struct model_table *t);

/* Calls fn to write the file. If that fails, no incomplete file is left (outfile.h). The path "-"
 * is standard output. */
int output_write(const char *path, int (*fn)(FILE *out, void *ctx, struct err *err), void *ctx,
                 struct err *err);
/* Writes p + shift. Of a float p 9 digits give it back; with a shift there are as many more as p
 * needs to keep its own. */
void output_number(FILE *out, double p, double shift);
/* Writes prefix and text as one CSV cell. The cell is quoted if the text has a comma, a quote or a
 * line break. */
void output_cell(FILE *out, const char *prefix, const char *text);

#endif
