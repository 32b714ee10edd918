/* artifact_head.h - the beginning of a model file: magic, versions, and where its sections lie.
 * Needs libc only and no kernel, so that the controller can look at a file before it accepts it as
 * a model. */
#ifndef ML_MODEL_ARTIFACT_HEAD_H
#define ML_MODEL_ARTIFACT_HEAD_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define ARTIFACT_FORMAT 7
#define ARTIFACT_MAGIC  "ASSAYMDL"
enum { ARTIFACT_MAX_BYTES = 1 << 30 };
enum { ARTIFACT_NAME_BYTES = 8, ARTIFACT_ENTRY_BYTES = 8 + 8 + 8 + 32 };
enum artifact_section { SECTION_INFO, SECTION_SCHEMA, SECTION_PREP, SECTION_MODEL, SECTIONS };
enum { ARTIFACT_HEAD_BYTES = 8 + 3 * 4 + SECTIONS * ARTIFACT_ENTRY_BYTES };

extern const char artifact_section_names[SECTIONS][ARTIFACT_NAME_BYTES];

struct artifact_place {
    uint64_t at, n;
    /* SHA-256 of its bytes; points into the head */
    const uint8_t *digest;
};
/* head: the first n bytes of a file of file_bytes bytes; ARTIFACT_HEAD_BYTES are enough. The
 * sections must be exactly ours and lie one after the other to the last byte. The caller checks
 * their checksums. */
int artifact_head_read(const void *head, size_t n, uint64_t file_bytes,
                       struct artifact_place places[SECTIONS], struct err *err);

#endif
