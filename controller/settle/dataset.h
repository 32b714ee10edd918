/* dataset.h - datasets, and the studies that wait for them. A dataset is an uploaded file, its
 * column overrides, and the frame (columnar file) that an ingest task makes of it. Called by api/
 * (specs, datasets), serve/task.c (an ingest ended), serve/table.c (a frame must be made again) and
 * settle.c. */
#ifndef CONTROLLER_SETTLE_DATASET_H
#define CONTROLLER_SETTLE_DATASET_H

#include "controller/state/study.h"
#include "store/runner.h"

/* Raised when the CSV parser gives another result for the same file. Old datasets keep their
 * frames; a file that is added again is then another dataset and is parsed anew. */
#define DATASET_PARSER_VERSION 2

/* The dataset that a spec names: 0 and its row, which the caller frees (dataset_row_fini), or an
 * error at `where`. If the spec has other column overrides than the dataset, a sister is found or
 * made: a dataset of the same file with those overrides. */
int dataset_for_spec(struct ctl *ctl, const char *name, const json_t *columns, const char *where,
                     struct dataset_row *out, struct err *err);
/* The same for a preview: nothing is made. A row without a state stands for a sister that would be
 * made. */
int dataset_look(struct ctl *ctl, const char *name, const json_t *columns, const char *where,
                 struct dataset_row *out, struct err *err);
/* If the study's dataset and test dataset are ready: finds out what the spec means for them and
 * opens the search. If one of them failed, or the spec does not fit, the study fails with a
 * sentence that says why. */
int dataset_resolve_study(struct study *st, struct err *err);
/* An ingest task ended. error NULL = the frame is there, and result describes it. */
int dataset_ingested(struct ctl *ctl, int64_t id, const json_t *result, const char *error,
                     struct err *err);

/* Has the dataset's frame made once more from its file. why is the sentence that its row shows
 * meanwhile; it may be NULL. */
int dataset_remake(struct ctl *ctl, struct dataset_row *row, const char *why, struct err *err);
/* Finds the dataset of this file with these column overrides (JSON text, NULL = none), or makes it
 * with its ingest task. It may take the name of a dataset that failed. The caller frees the row
 * (dataset_row_fini). */
int dataset_find_or_make(struct ctl *ctl, const char *name, const char *blob, const char *file_name,
                         const char *columns, int64_t bytes, struct dataset_row *out,
                         struct err *err);
/* ERR_CONFLICT where a study still uses it. */
int dataset_delete(struct ctl *ctl, const struct dataset_row *row, struct err *err);
/* Column overrides as the text that a dataset's identity is made of, to be freed; NULL = there are
 * none. */
char *dataset_columns_text(const json_t *columns);

#endif
