/* modelfile.h - what the commands share that need only a model file (`predict`, `explain`).
 *
 * The user's table is read with the column types that the model expects, so that a column which
 * was text in training stays text. Output files appear complete or not at all. CSV cells are
 * quoted where needed. */
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

/* target: a column that is also read, as the model's target; NULL = that column, if it is there,
 * keeps its own type. A missing column is not an error here: the model reports it with its name. */
int model_table_open(struct model_table *t, const struct artifact *a, const char *file,
                     bool no_header, const char *target, struct err *err);
void model_table_close(struct model_table *t);

/* fn writes the file, which appears complete or not at all (outfile.h). The path "-" is standard
 * output. */
int output_write(const char *path, int (*fn)(FILE *out, void *ctx, struct err *err), void *ctx,
                 struct err *err);
void output_cell(FILE *out, const char *prefix, const char *text); /* quoted where it must be */

#endif
