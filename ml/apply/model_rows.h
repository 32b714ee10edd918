/* model_rows.h - a table for a saved model: read with the column types that the model expects, so
 * that a column which was text in training stays text. Columns may stand in any order, and further
 * ones do not matter. Called by cli/modelfile.c and controller/predictor/. */
#ifndef ML_APPLY_MODEL_ROWS_H
#define ML_APPLY_MODEL_ROWS_H

#include "base/err.h"
#include "ml/model/artifact.h"
#include "ml/read/csv.h"
#include "ml/table/frame.h"

#include <stdbool.h>

struct model_rows_how {
    const char *name; /* of the table, for errors: "new.csv" */
    bool no_header;
    /* The column to read as the target, that is, as numbers for a regression and as text for
     * classes. NULL: no column is the target, and a column that is no input of the model gets the
     * type that its values have. */
    const char *target;
    /* Columns that the table lacks are missing in every row; else they are an error that names all
     * of them. */
    bool may_lack_columns;
    /* Cells that cannot be read are an error that counts them by column; else they are missing, and
     * counted in the notes. */
    bool refuses_cells;
    /* of struct csv_opts: where the table can be read at any place */
    long (*read_at)(void *ctx, void *out, size_t n, int64_t at, struct err *err);
    int64_t file_bytes;
};

/* What a caller tells people. */
struct model_rows_notes {
    int n_lacking;     /* columns that are missing in every row */
    char lacking[200]; /* their names: "a", "b", … */
    int64_t bad_cells; /* cells that could not be read, of `bad_columns` columns */
    int bad_columns;
    char bad[200]; /* "a" 3, "b" 1 */
};

/* Reads the stream into a frame at `path`. NULL and err. */
struct frame *model_rows_read(const struct artifact *a, csv_source *source, void *ctx,
                              const struct model_rows_how *how, const char *path,
                              struct model_rows_notes *notes, struct err *err);
/* Options that read `n` columns of the table that `f` was made of as text, each cell as it stands,
 * and leave out the others. The list has f->n_cols entries, which the caller gives. */
void model_rows_exact(const struct frame *f, const char *const *names, int n,
                      struct csv_override *list);

#endif
