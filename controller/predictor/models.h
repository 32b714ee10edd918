/* models.h - models that are in memory, by the hash of their files. */
#ifndef CONTROLLER_PREDICTOR_MODELS_H
#define CONTROLLER_PREDICTOR_MODELS_H

#include "base/err.h"
#include "ml/model/artifact.h"

#include <stdint.h>

struct models;

/* bytes: what the models may take together. One larger than that is refused. */
struct models *models_new(int64_t bytes);
void models_free(struct models *m);
/* Borrowed until the next call. ERR_TOOBIG: the model does not fit. */
const struct artifact *models_get(struct models *m, const char *sha256, const char *path,
                                  struct err *err);
int models_count(const struct models *m);
int64_t models_bytes(const struct models *m);

#endif
