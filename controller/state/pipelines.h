/* pipelines.h - what becomes of the columns of a table until the model of a trial reads them: what
 * runners tell of it, what is stored, what the API shows (ml/prep/describe.h has the JSON).
 *
 * Most trials of a study share a few pipelines. Each is stored once, under a key that the trial's
 * info holds. */
#ifndef CONTROLLER_STATE_PIPELINES_H
#define CONTROLLER_STATE_PIPELINES_H

#include "controller/state/ctl.h"
#include "store/trial.h"

enum { PIPELINE_KEY = 17 };

/* Stores what the detail of a final report tells under "pipeline", and writes its key; "" = it tells
 * nothing, or what is none (logged). */
int pipelines_take(struct ctl *ctl, const struct trial_row *row, const json_t *detail,
                   char key[PIPELINE_KEY], struct err *err);
/* The pipeline of a trial as a new reference, JSON null where there is none. */
int pipelines_get(struct ctl *ctl, const struct trial_row *row, json_t **out, struct err *err);

#endif
