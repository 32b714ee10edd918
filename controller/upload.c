/* upload.c - the blob files behind web/: parts of an upload, their commit, the path of a blob. The file
 * work is store/blob.h's and needs no connection, so a commit (hash of every byte, fsync) runs on the
 * loop's pool and the loop never waits for a disk. Rows are not written here: the caller names a blob by
 * ctl_blob_add only after its file is durable. Called by web/api_data.c. */
#include "base/io.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/ctl.h"
#include "store/blob.h"

#include <limits.h>
#include <string.h>

enum { CHECK_AT_ONCE = 1 << 20 }; /* hashing so much takes about a millisecond */

struct commit {
    const char *dir; /* the controller's, which outlives its loop's pool */
    char id[33];
    char sha256[SHA256_HEX];
    int64_t bytes;
    bool failed;
    struct err err;
    void (*on_done)(void *arg, int64_t bytes, const struct err *err);
    void *arg;
};

static int id_check(const char *id, struct err *err)
{
    uint8_t bytes[16];

    if (!id || strlen(id) != 32 || str_unhex(id, bytes, sizeof bytes, NULL) < 0)
        return err_at(err, "id", "an upload's id is 32 hexadecimal digits");
    return 0;
}

static int sha_check(const char *sha256, struct err *err)
{
    if (!sha256 || !str_sha256_ok(sha256))
        return err_at(err, "sha256", "a hash is 64 lower-case hexadecimal digits");
    return 0;
}

int ctl_blob_path(struct ctl *ctl, const char *sha256, char *out, size_t size, struct err *err)
{
    int64_t bytes = 0;
    int rc = sha_check(sha256, err) < 0 ? -1 : store_blob_has(ctl->store, sha256, &bytes, err);

    /* A file without a row (the process ended between the two) is no blob: who asks must upload it again, or nothing
     * that names it would be accepted. */
    if (rc == 0)
        return err_set(err, ERR_NOTFOUND, "no blob %s", sha256);
    return rc < 0 ? -1 : blob_path(ctl_data_dir(ctl), sha256, out, size, err);
}

struct check {
    const char *dir; /* the controller's, which outlives its loop's pool */
    char sha256[SHA256_HEX];
    bool failed;
    struct err err;
    void (*on_done)(void *arg, const struct err *err);
    void *arg;
};

/* What a client is told of a file that is not what it should be. */
static int damaged(const char *sha256, struct err *err)
{
    if (err && err->code == ERR_IO) {
        struct err why = *err;

        log_error("blob.damaged blob=%.12s err=\"%s\"", sha256, why.text);
        err_set(err, ERR_NOTFOUND, "%s; uploading the same bytes again mends it", why.text);
    }
    return -1;
}

static void check_work(void *arg)
{
    struct check *c = arg;

    c->failed = blob_check(c->dir, c->sha256, &c->err) < 0;
}

static void check_done(void *arg)
{
    struct check *c = arg;

    if (c->failed)
        damaged(c->sha256, &c->err);
    c->on_done(c->arg, c->failed ? &c->err : NULL);
    mem_free(c);
}

int ctl_blob_check(struct ctl *ctl, const char *sha256,
                   void (*on_done)(void *arg, const struct err *err), void *arg, struct err *err)
{
    const char *dir = ctl_data_dir(ctl);
    char path[PATH_MAX];
    struct check *c = NULL;

    if (ctl_blob_path(ctl, sha256, path, sizeof path, err) < 0)
        return -1;
    if (blob_is_checked(dir, sha256))
        return 1;
    if (!ctl_loop(ctl) || io_file_bytes(path) <= CHECK_AT_ONCE)
        return blob_check(dir, sha256, err) < 0 ? damaged(sha256, err) : 1;
    c = mem_zalloc(sizeof *c);
    c->dir = dir;
    str_copy(c->sha256, sizeof c->sha256, sha256);
    c->on_done = on_done;
    c->arg = arg;
    loop_pool_submit(ctl_loop(ctl), check_work, check_done, c);
    return 0;
}

int ctl_upload_new(struct ctl *ctl, char id[33], struct err *err)
{
    return blob_upload_new(ctl_data_dir(ctl), id, err);
}

int ctl_upload_size(struct ctl *ctl, const char *id, int64_t *size, struct err *err)
{
    return id_check(id, err) < 0 ? -1 : blob_upload_size(ctl_data_dir(ctl), id, size, err);
}

int ctl_upload_write(struct ctl *ctl, const char *id, int64_t offset, const void *p, size_t n,
                     struct err *err)
{
    if (id_check(id, err) < 0)
        return -1;
    if (n > BLOB_PART_MAX)
        return err_set(err, ERR_TOOBIG, "a part holds at most %d bytes, this one %zu",
                       (int)BLOB_PART_MAX, n);
    if (offset < 0 || offset > BLOB_MAX_BYTES - (int64_t)n)
        return err_at(err, "offset", "out of range");
    return blob_upload_write(ctl_data_dir(ctl), id, offset, p, n, err);
}

int ctl_upload_drop(struct ctl *ctl, const char *id, struct err *err)
{
    return id_check(id, err) < 0 ? -1 : blob_upload_drop(ctl_data_dir(ctl), id, err);
}

static void commit_work(void *arg)
{
    struct commit *c = arg;

    c->failed = blob_upload_commit(c->dir, c->id, c->sha256, &c->bytes, &c->err) < 0;
}

static void commit_done(void *arg)
{
    struct commit *c = arg;

    c->on_done(c->arg, c->bytes, c->failed ? &c->err : NULL);
    mem_free(c);
}

int ctl_upload_commit(struct ctl *ctl, const char *id, const char *sha256,
                      void (*on_done)(void *arg, int64_t bytes, const struct err *err), void *arg,
                      struct err *err)
{
    struct commit *c = NULL;

    if (id_check(id, err) < 0 || sha_check(sha256, err) < 0)
        return -1;
    c = mem_zalloc(sizeof *c);
    c->dir = ctl_data_dir(ctl);
    str_copy(c->id, sizeof c->id, id);
    str_copy(c->sha256, sizeof c->sha256, sha256);
    c->on_done = on_done;
    c->arg = arg;
    loop_pool_submit(ctl_loop(ctl), commit_work, commit_done, c);
    return 0;
}
