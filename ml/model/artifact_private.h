/* artifact_private.h - private to artifact*.c: the container's numbers, known to the writer and the reader. */
#ifndef ML_MODEL_ARTIFACT_PRIVATE_H
#define ML_MODEL_ARTIFACT_PRIVATE_H

#include "ml/model/artifact.h"

enum { ARTIFACT_MIN_READER = 1 };
enum { ARTIFACT_MAX_CLASSES = 1000, ARTIFACT_MAX_MODELS = 1024, ARTIFACT_MAX_TEXT = 1 << 20 };

#endif
