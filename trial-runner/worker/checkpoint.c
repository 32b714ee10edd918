/* checkpoint.c - see checkpoint.h. A worker may be killed while it writes. So a file gets its name
 * by rename when it is complete, and the next worker removes files that have no final name. */
#include "trial-runner/worker/checkpoint.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* A file that is being written and does not have its name yet. */
struct aside {
    char *path;
    int fd;
    off_t at;
    struct sha256 hash;
};

static int aside_open(struct aside *a, const char *path, struct err *err)
{
    a->at = 0;
    sha256_init(&a->hash);
    if (FAULT("checkpoint.open"))
        return err_set(err, ERR_IO, "%s: injected", path);
    a->fd = io_open_aside(path, "tmp", 0600, &a->path, err);
    return a->fd < 0 ? -1 : 0;
}

static int aside_add(void *ctx, const void *p, size_t n, struct err *err)
{
    struct aside *a = ctx;

    if (io_write_all(a->fd, p, n, a->at, err) < 0)
        return -1;
    a->at += (off_t)n;
    sha256_add(&a->hash, p, n);
    return 0;
}

/* Closes the file and gives it its name, or removes it if rc, the result so far, is an error. */
static int aside_close(struct aside *a, int rc, const char *path, char sha256[SHA256_HEX],
                       struct err *err)
{
    if (close(a->fd) < 0 && rc == 0)
        rc = err_errno(err, "%s", a->path);
    if (rc == 0 && rename(a->path, path) < 0)
        rc = err_errno(err, "%s", path);
    if (rc < 0)
        unlink(a->path);
    mem_free(a->path);
    sha256_end_hex(&a->hash, sha256);
    return rc;
}

int checkpoint_file(const char *path, const struct buf *bytes, char sha256[SHA256_HEX],
                    struct err *err)
{
    struct aside a;

    if (aside_open(&a, path, err) < 0)
        return -1;
    return aside_close(&a, aside_add(&a, bytes->data ? bytes->data : "", bytes->len, err), path,
                       sha256, err);
}

/* Writes the state piece by piece, because a copy of it would double the trial's memory. */
int checkpoint_save(struct fit_trial *t, const char *path, char sha256[SHA256_HEX], struct err *err)
{
    struct aside a;
    struct buf bytes;

    if (aside_open(&a, path, err) < 0)
        return err_wrap(err, "checkpoint");
    buf_init_sink(&bytes, CHECKPOINT_MAX_BYTES, aside_add, &a);
    int rc = fit_trial_save(t, &bytes, err) < 0 ? -1 : buf_flush(&bytes, err);
    buf_fini(&bytes);
    return aside_close(&a, rc, path, sha256, err) < 0 ? err_wrap(err, "checkpoint") : 0;
}

int checkpoint_load(struct fit_trial *t, const char *path, struct err *err)
{
    struct buf bytes;
    struct view in = { 0 };
    int rc = io_read_file(path, CHECKPOINT_MAX_BYTES, &bytes, err);

    if (rc == 0) {
        in.data = (const uint8_t *)bytes.data;
        in.len = bytes.len;
        rc = fit_trial_load(t, &in, err);
    }
    buf_fini(&bytes);
    return rc < 0 ? err_wrap(err, "checkpoint") : 0;
}
