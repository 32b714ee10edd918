/* artifact_private.h - private to artifact*.c: the container's numbers, known to the writer and the
 * reader. */
#ifndef ML_MODEL_ARTIFACT_PRIVATE_H
#define ML_MODEL_ARTIFACT_PRIVATE_H

#include "ml/model/artifact.h"

/* ARTIFACT_UNIT: a bit beside the task: the unit of the target follows the classes, which readers of
 * format 1 do not know. Files without it stay of format 1. */
enum { ARTIFACT_PLAIN_FORMAT = 1, ARTIFACT_UNIT_FORMAT = 2, ARTIFACT_UNIT = 0x80 };
enum { ARTIFACT_MAX_CLASSES = 1000, ARTIFACT_MAX_MODELS = 1024, ARTIFACT_MAX_TEXT = 1 << 20 };

#endif
