/* dataset.h - datasets: an uploaded file, its identity, and the frame that an ingest task makes of it. */
#ifndef CONTROLLER_SETTLE_DATASET_H
#define CONTROLLER_SETTLE_DATASET_H

#include "controller/state/study.h"
#include "store/runner.h"

/* Renewed when the CSV parser's results change for a file: old datasets keep what they are, new ones are parsed anew. */
#define DATASET_PARSER_VERSION 1

/* The dataset of a spec: 0 and its row (dataset_row_fini), or an error at `where`. With column overrides other than the
 * dataset's own, a sister dataset of the same file is found or made. */
int dataset_for_spec(struct ctl *ctl, const char *name, const json_t *columns, const char *where,
                     struct dataset_row *out, struct err *err);
/* The same for a look beforehand: nothing is made. A row without a state is a sister that would be. */
int dataset_look(struct ctl *ctl, const char *name, const json_t *columns, const char *where,
                 struct dataset_row *out, struct err *err);
/* The study's dataset (and test dataset) may be ready now: resolves the study, or fails it with the parser's text. */
int dataset_resolve_study(struct study *st, struct err *err);
/* The ingest task ended. error NULL = the frame is there. */
int dataset_ingested(struct ctl *ctl, int64_t id, const json_t *result, const char *error,
                     struct err *err);
json_t *dataset_json(const struct dataset_row *row, bool with_schema);

/* The dataset is read from its source once more. why: NULL, or what its row and the journal say of it meanwhile. */
int dataset_remake(struct ctl *ctl, struct dataset_row *row, const char *why, struct err *err);

#endif
