/* pipeline.h - the pipeline of a family on a problem, as JSON for people (ml/prep/describe.h): what
 * becomes of the columns until the model reads them. The worker tells it of each trial, and the
 * model file holds it. */
#ifndef ML_MODEL_PIPELINE_H
#define ML_MODEL_PIPELINE_H

#include "ml/model/data.h"
#include "ml/prep/describe.h"

enum describe_form pipeline_form(const struct family *f);
/* d: a problem or a variant of one. */
int ml_pipeline_json(const struct ml_data *d, const struct family *f, struct buf *out,
                     struct err *err);

#endif
