/* fit_head.h - the first rows of the table of `assay fit`, read in this process: they tell which
 * columns there are before a large table is uploaded, and the baseline is made of them
 * (baseline.h). */
#ifndef CLI_FIT_HEAD_H
#define CLI_FIT_HEAD_H

#include "cli/fit_spec.h"
#include "cli/tempdir.h"
#include "ml/table/frame.h"

struct fit_head {
    struct tempdir temp;
    struct frame *frame; /* NULL = the rows cannot be read */
};

/* columns: as in a spec, or NULL. After an error, which is of the first rows alone, *h is closed. */
int fit_head_open(struct fit_head *h, const char *file, const json_t *columns, struct err *err);
/* Refuses options that name columns which the table does not have, and a test table that lacks
 * columns. Only of tables whose first rows tell all of their columns, which is not so of JSON
 * lines. */
int fit_head_check(const struct fit_head *h, const char *file, const struct fit_opts *o,
                   const json_t *spec, struct err *err);
void fit_head_close(struct fit_head *h); /* may be called on an all-zero struct */

#endif
