/* artifact_file.h - private to artifact*.c: the container's numbers, known to the writer and the reader. */
#ifndef ML_ARTIFACT_FILE_H
#define ML_ARTIFACT_FILE_H

#include "ml/artifact.h"

#define ARTIFACT_MAGIC "ASSAYMDL"
enum { ARTIFACT_MIN_READER = 1, ARTIFACT_NAME_BYTES = 8, ARTIFACT_ENTRY_BYTES = 8 + 8 + 8 + 32 };
enum artifact_section { SECTION_INFO, SECTION_SCHEMA, SECTION_PREP, SECTION_MODEL, SECTIONS };
enum { ARTIFACT_MAX_CLASSES = 1000, ARTIFACT_MAX_MODELS = 1024, ARTIFACT_MAX_TEXT = 1 << 20 };

extern const char artifact_section_names[SECTIONS][ARTIFACT_NAME_BYTES];

#endif
