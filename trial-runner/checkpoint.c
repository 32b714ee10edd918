/* checkpoint.c - files that a worker leaves for the supervisor to upload; see checkpoint.h. A worker may be killed in the
 * middle of one: the name appears by rename, and a new worker clears what has no name. */
#include "trial-runner/checkpoint.h"

#include "base/fault.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int checkpoint_file(const char *path, const struct buf *bytes, char sha256[SHA256_HEX],
                    struct err *err)
{
    char aside[4200];
    int fd = -1, rc = -1;

    snprintf(aside, sizeof aside, "%s.tmp", path);
    fd = FAULT("checkpoint.open") ? (errno = EIO, -1)
                                  : open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(err, "%s", aside);
    rc = io_write_all(fd, bytes->data ? bytes->data : "", bytes->len, 0, err);
    if (close(fd) < 0 && rc == 0)
        rc = err_errno(err, "%s", aside);
    if (rc == 0 && rename(aside, path) < 0)
        rc = err_errno(err, "%s", path);
    if (rc < 0)
        unlink(aside);
    else
        sha256_hex(bytes->data ? bytes->data : "", bytes->len, sha256);
    return rc;
}

int checkpoint_save(struct fit_trial *t, const char *path, char sha256[SHA256_HEX], struct err *err)
{
    struct buf bytes;
    int rc = 0;

    buf_init(&bytes, CHECKPOINT_MAX_BYTES);
    rc = fit_trial_save(t, &bytes, err);
    if (rc == 0)
        rc = checkpoint_file(path, &bytes, sha256, err);
    buf_fini(&bytes);
    return rc < 0 ? err_wrap(err, "checkpoint") : 0;
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
