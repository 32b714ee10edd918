/* look.c - looks at a blob's file (look.h). A small file is hashed. A large one is only measured:
 * whether it exists, may be read, and has the length that its row promises. Whoever reads a large
 * file checks its hash (ctl_blob_check when it is downloaded, the worker when it maps it). What was
 * once found whole in this process is not looked at again as long as the file's identity does not
 * change (blob_is_checked). */
#include "controller/files/look.h"

#include "base/io.h"
#include "store/blob.h"

#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

/* Files up to this size are hashed at once, which takes about a millisecond. */
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
