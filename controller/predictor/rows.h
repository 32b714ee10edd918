/* rows.h - the rows of a request become a frame that a model can read. */
#ifndef CONTROLLER_PREDICTOR_ROWS_H
#define CONTROLLER_PREDICTOR_ROWS_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/apply/model_rows.h"

#include <stdbool.h>

struct rows_ask {
    const struct artifact *model;
    const char *body;
    size_t n;
    bool
        is_csv; /* else a JSON object: {rows: [{column: value}]}, or {columns: [..], rows: [[..]]} */
    bool may_lack; /* columns of the model that no row has are missing, else an error */
    bool refuses;  /* a cell that is no number is an error that names row and column */
    const char *scratch;
};

/* frame_close it. Errors name the row as "rows[3]" (JSON, counted from 0) or "row 4" (CSV, counted
 * from 1 without the header). */
struct frame *rows_frame(const struct rows_ask *ask, struct model_rows_notes *notes,
                         struct err *err);

#endif
