/* modelfile.h - what the commands share that need only a model file (predict, explain): the user's table read by the types
 * the model expects, so that a column that was text stays text; answers that appear complete or not at all; CSV cells. */
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

/* target: also read this column as the model's target; NULL = as whatever it looks like. A column that is absent is left to
 * the model's own view, whose error names it. */
int model_table_open(struct model_table *t, const struct artifact *a, const char *file,
                     bool no_header, const char *target, struct err *err);
void model_table_close(struct model_table *t);

/* fn writes a file that appears whole or not at all (outfile.h); path "-" = standard output. */
int output_write(const char *path, int (*fn)(FILE *out, void *ctx, struct err *err), void *ctx,
                 struct err *err);
void output_cell(FILE *out, const char *prefix, const char *text); /* quoted where it must be */

#endif
