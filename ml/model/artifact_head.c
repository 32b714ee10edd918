/* artifact_head.c - reads the head of a model file (artifact_head.h). Called by artifact.c for
 * whole files, and by controller/serve/believe.c for a file that a runner says is a model. */
#include "ml/model/artifact_head.h"

#include "base/buf.h"
#include "base/sha256.h"

#include <string.h>

const char artifact_section_names[SECTIONS][ARTIFACT_NAME_BYTES] = { "info", "schema", "prep",
                                                                     "model" };

static int broken(struct err *err, const char *what)
{
    return err_set(err, ERR_ARG, "damaged model file: %s", what);
}

static int read_versions(struct view *in, uint64_t file_bytes, struct err *err)
{
    const void *magic = NULL;
    uint32_t format = 0, reader = 0, sections = 0;

    if (file_bytes > ARTIFACT_MAX_BYTES)
        return err_set(err, ERR_TOOBIG, "a model file of %llu bytes is over the limit of 1 GiB",
                       (unsigned long long)file_bytes);
    if (view_bytes(in, &magic, 8, NULL) < 0 || memcmp(magic, ARTIFACT_MAGIC, 8) != 0)
        return err_set(err, ERR_ARG, "not a model file");
    if (view_u32(in, &format, err) < 0 || view_u32(in, &reader, err) < 0 ||
        view_u32(in, &sections, err) < 0)
        return -1;
    if (format < 1 || reader < 1 || reader > ARTIFACT_FORMAT)
        return err_set(
            err, ERR_VERSION,
            "model file of format %u for readers of format %u and later; this program reads "
            "up to format %d",
            format, reader, ARTIFACT_FORMAT);
    return sections == SECTIONS ? 0 : broken(err, "wrong number of sections");
}

int artifact_head_read(const void *head, size_t n, uint64_t file_bytes,
                       struct artifact_place places[SECTIONS], struct err *err)
{
    struct view in = { head, n, 0 };
    uint64_t next = ARTIFACT_HEAD_BYTES;

    if (read_versions(&in, file_bytes, err) < 0)
        return -1;
    for (int i = 0; i < SECTIONS; i++) {
        const void *name = NULL, *digest = NULL;
        uint64_t at = 0, len = 0;

        if (view_bytes(&in, &name, ARTIFACT_NAME_BYTES, err) < 0 || view_u64(&in, &at, err) < 0 ||
            view_u64(&in, &len, err) < 0 || view_bytes(&in, &digest, SHA256_BYTES, err) < 0)
            return -1;
        if (memcmp(name, artifact_section_names[i], ARTIFACT_NAME_BYTES) != 0)
            return broken(err, "an unknown section");
        if (at != next || at > file_bytes || len > file_bytes - at)
            return broken(err, "a section lies outside");
        places[i] = (struct artifact_place){ at, len, digest };
        next = at + len;
    }
    return next == file_bytes ? 0 : broken(err, "bytes after the last section");
}
