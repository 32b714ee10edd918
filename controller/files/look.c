/* look.c - can a blob be read here, and is it what its name says? The loop asks this before it gives work away, so a large
 * file that this process has not read yet is only measured; who maps it checks its hash. */
#include "controller/files/look.h"

#include "base/io.h"
#include "store/blob.h"

#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

/* So many bytes are hashed in about a millisecond. */
enum { HASH_AT_ONCE = 1 << 20 };

static int measure(struct ctl *ctl, const char *sha256, const char *path, struct err *err)
{
    int64_t promised = 0, bytes = io_file_bytes(path);
    int rc = store_blob_has(ctl->store, sha256, &promised, err);

    if (rc < 0)
        return -1;
    if (access(path, R_OK) < 0)
        return err_errno(err, "%s", path);
    if (rc == 1 && bytes != promised)
        return err_set(err, ERR_IO,
                       "the file %s is damaged: it has %" PRId64 " bytes instead of %" PRId64, path,
                       bytes, promised);
    return 0;
}

int blob_look(struct ctl *ctl, const char *sha256, struct err *err)
{
    const char *dir = ctl->conf.data_dir;
    char path[PATH_MAX];

    if (blob_is_checked(dir, sha256))
        return 0;
    if (blob_path(dir, sha256, path, sizeof path, NULL) < 0)
        return err_set(err, ERR_NOTFOUND, "the file %s/blobs/%.2s/%s is missing", dir, sha256,
                       sha256);
    return io_file_bytes(path) > HASH_AT_ONCE ? measure(ctl, sha256, path, err)
                                              : blob_check(dir, sha256, err);
}
