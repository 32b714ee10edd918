/* params.h - converts a configuration between JSON and the engine's form, which is a family and one
 * number per parameter. The engine knows no JSON, and the messages know no families. Called by
 * worker_fit.c and worker_task.c. */
#ifndef TRIAL_RUNNER_WORKER_PARAMS_H
#define TRIAL_RUNNER_WORKER_PARAMS_H

#include "base/err.h"
#include "ml/family/family.h"

#include <jansson.h>

/* Reads {"family":"boost","learning_rate":0.1,...}. A parameter that is absent keeps its default.
 * An unknown key, or a value outside the family's hard range, is an error that names the
 * parameter. */
int params_parse(const char *json, const struct family **family, double *params, struct err *err);
/* Overwrites parameters with those of {"rounds":412,...}; NULL or "" changes nothing. */
int params_merge(const struct family *f, double *params, const char *json, struct err *err);
/* The parameters along free axes: {"rounds":412}. */
json_t *params_free_json_new(const struct family *f, const double *params);

#endif
