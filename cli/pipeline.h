/* pipeline.h - draws what becomes of the columns of a table until a model reads them
 * (ml/prep/describe.h has the JSON). For `explain` and `trial`. */
#ifndef CLI_PIPELINE_H
#define CLI_PIPELINE_H

#include <jansson.h>
#include <stdio.h>

/* model: for example "boost". Nothing is printed where there is no pipeline (NULL or JSON null). */
void pipeline_print(const json_t *pipeline, const char *model, FILE *out);

#endif
