/* params.h - a configuration between its JSON form and the engine's: a family and one number a parameter. The engine
 * knows no JSON, the messages know no families; the worker stands between. */
#ifndef TRIAL_RUNNER_WORKER_PARAMS_H
#define TRIAL_RUNNER_WORKER_PARAMS_H

#include "base/err.h"
#include "ml/family/family.h"

#include <jansson.h>

/* {"family":"boost","learning_rate":0.1,...}: what is absent keeps its default; an unknown key or a value out of the
 * family's hard range is an error naming the parameter. */
int params_parse(const char *json, const struct family **family, double *params, struct err *err);
/* Overwrites parameters by {"rounds":412,...}; NULL or "" changes nothing. */
int params_merge(const struct family *f, double *params, const char *json, struct err *err);
/* {"rounds":412}: the parameters along free axes. */
json_t *params_free_json_new(const struct family *f, const double *params);

#endif
