/* io.c - see io.h. Reading and deleting trees call the system directly, because no promise of
 * durability depends on them. */
#include "base/io.h"

#include "base/fault.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* 64 random bits hardly ever meet an existing name; 8 tries end any loop. */
enum { ASIDE_TRIES = 8 };

static int system_open(const char *path, int flags, mode_t mode)
{
    return open(path, flags | O_CLOEXEC, mode);
}

static int no_fsync(int fd)
{
    (void)fd;
    return 0;
}

const struct io_ops io_system = { system_open, pwrite, fsync, close, rename, unlink, mkdir };
const struct io_ops io_unsynced = { system_open, pwrite, no_fsync, close, rename, unlink, mkdir };
const struct io_ops *io = &io_system;

int io_write_all(int fd, const void *p, size_t n, off_t at, struct err *err)
{
    const char *bytes = p;

    while (n) {
        ssize_t put = 0;

        if (FAULT("io.write")) {
            errno = ENOSPC;
            put = -1;
        } else {
            put = io->pwrite(fd, bytes, n, at);
        }
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            errno = put < 0 ? errno : EIO;
            return err_errno(err, "write");
        }
        bytes += put;
        n -= (size_t)put;
        at += put;
    }
    return 0;
}

/* fsync with a fault point, so that tests can let it fail. */
static int sync_fd(int fd)
{
    if (FAULT("io.fsync")) {
        errno = EIO;
        return -1;
    }
    return io->fsync(fd);
}

int io_fsync_dir(const char *dir, struct err *err)
{
    int fd = io->open(dir, O_RDONLY | O_DIRECTORY, 0), rc = 0;

    if (fd < 0)
        return err_errno(err, "open %s", dir);
    rc = sync_fd(fd);
    if (rc < 0)
        err_errno(err, "fsync %s", dir);
    io->close(fd);
    return rc < 0 ? -1 : 0;
}

/* The folder that holds `path`, or "." if the path names none; heap. */
static char *dir_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = NULL;

    if (!slash)
        return mem_strdup(".");
    dir = mem_strdup(path);
    dir[slash == path ? 1 : slash - path] = '\0';
    return dir;
}

int io_open_aside(const char *path, const char *end, mode_t mode, char **aside, struct err *err)
{
    size_t size = strlen(path) + strlen(end) + 20;
    uint64_t random = 0;
    int fd = -1;

    *aside = mem_alloc(size);
    for (int i = 0; i < ASIDE_TRIES; i++) {
        CHECK(getrandom(&random, sizeof random, 0) == (ssize_t)sizeof random);
        (void)!snprintf(*aside, size, "%s.%s-%016" PRIx64, path, end, random);
        fd = FAULT("io.open") ? (errno = EMFILE, -1)
                              : io->open(*aside, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    if (fd >= 0)
        return fd;
    err_errno(err, "create %s", *aside);
    mem_free(*aside);
    *aside = NULL;
    return -1;
}

int io_replace(const char *path, const void *p, size_t n, mode_t mode, struct err *err)
{
    char *dir = dir_of(path), *tmp = NULL;
    int fd = io_open_aside(path, "tmp", mode, &tmp, err), rc = -1;

    if (fd < 0)
        goto out;
    if (io_write_all(fd, p, n, 0, err) < 0) {
        err_wrap(err, "%s", path);
        goto undo;
    }
    if (sync_fd(fd) < 0) {
        err_errno(err, "fsync %s", path);
        goto undo;
    }
    rc = io->close(fd);
    fd = -1;
    if (rc < 0 || (rc = FAULT("io.rename") ? (errno = EIO, -1) : io->rename(tmp, path)) < 0) {
        err_errno(err, "rename to %s", path);
        goto undo;
    }
    rc = io_fsync_dir(dir, err);
    goto out;
undo:
    rc = -1;
    if (fd >= 0)
        io->close(fd);
    io->unlink(tmp);
out:
    mem_free(tmp);
    mem_free(dir);
    return rc;
}

/* Appends everything from the descriptor's position to the end of the file. */
static int read_rest(int fd, size_t max, struct buf *out, struct err *err)
{
    char *chunk = mem_alloc(65536);
    int rc = -1;

    for (;;) {
        ssize_t got = FAULT("io.read") ? (errno = EIO, -1) : read(fd, chunk, 65536);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            err_errno(err, "read");
            break;
        }
        if (got == 0) {
            rc = 0;
            break;
        }
        if ((size_t)got > max - out->len) {
            err_set(err, ERR_TOOBIG, "larger than %zu bytes", max);
            break;
        }
        if (buf_add(out, chunk, (size_t)got, err) < 0)
            break;
    }
    mem_free(chunk);
    return rc;
}

long io_read_at(int fd, void *out, size_t n, int64_t at, struct err *err)
{
    size_t done = 0;

    while (done < n) {
        ssize_t got = pread(fd, (char *)out + done, n - done, (off_t)(at + (int64_t)done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, "read");
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (long)done;
}

int io_read_file(const char *path, size_t max, struct buf *out, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;

    buf_init(out, max);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return err_set(err, ERR_NOTFOUND, "%s: no such file", path);
    if (fd < 0)
        return err_errno(err, "open %s", path);
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        close(fd);
        return err_set(err, ERR_ARG, "%s is a folder, not a file", path);
    }
    rc = read_rest(fd, max, out, err);
    if (rc == 0)
        rc = buf_add(out, "", 0, err); /* makes data a string for an empty file too */
    close(fd);
    if (rc < 0) {
        buf_fini(out);
        err_wrap(err, "%s", path);
    }
    return rc;
}

static int make_dir(const char *path, mode_t mode, struct err *err)
{
    struct stat st;
    int saved = 0;

    if (io->mkdir(path, mode) == 0)
        return 0;
    saved = errno;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    errno = saved;
    return err_errno(err, "make folder %s", path);
}

int io_mkdirs(const char *path, mode_t mode, struct err *err)
{
    char *copy = mem_strdup(path);
    int rc = 0;

    for (char *p = copy + 1; copy[0] && *p && rc == 0; p++) {
        if (*p == '/' && p[-1] != '/') {
            *p = '\0';
            rc = make_dir(copy, mode, err);
            *p = '/';
        }
    }
    if (rc == 0)
        rc = make_dir(copy, mode, err);
    mem_free(copy);
    return rc;
}

int io_private_dir(const char *path, struct err *err)
{
    struct stat st;

    if (io_mkdirs(path, 0700, err) < 0)
        return -1;
    if (stat(path, &st) < 0)
        return err_errno(err, "%s", path);
    if (st.st_uid != geteuid())
        return err_set(err, ERR_DENIED,
                       "the folder %s belongs to user %ld, but this program runs as user %ld: run "
                       "it as the owner, or name another folder",
                       path, (long)st.st_uid, (long)geteuid());
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, ERR_DENIED,
                       "%s: other users may write into this folder (mode %04o): take that right "
                       "away (chmod go-w), or name another folder",
                       path, (unsigned)(st.st_mode & 07777));
    return 0;
}

/* Empties the folder that `fd` is open on, and closes `fd`. It goes by descriptors and never by
 * paths, so that nobody can lead it elsewhere by replacing a folder with a link meanwhile. */
static int empty_dir(int fd, const char *shown, struct err *err) // NOLINT(misc-no-recursion)
{
    DIR *dir = fdopendir(fd);
    int rc = 0;

    if (!dir) {
        err_errno(err, "open %s", shown);
        close(fd);
        return -1;
    }
    for (struct dirent *e = NULL; rc == 0 && (e = readdir(dir));) {
        int sub = -1;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (unlinkat(fd, e->d_name, 0) == 0 || errno == ENOENT)
            continue;
        if (errno == EISDIR || errno == EPERM)
            sub = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub < 0)
            rc = err_errno(err, "remove %s/%s", shown, e->d_name);
        else if (empty_dir(sub, e->d_name, err) < 0)
            rc = err_wrap(err, "in %s", shown);
        else if (unlinkat(fd, e->d_name, AT_REMOVEDIR) < 0)
            rc = err_errno(err, "remove %s/%s", shown, e->d_name);
    }
    closedir(dir);
    return rc;
}

int io_remove_tree(const char *path, struct err *err)
{
    int fd = -1;

    if (unlink(path) == 0 || errno == ENOENT)
        return 0;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, "remove %s", path);
    if (empty_dir(fd, path, err) < 0)
        return -1;
    return rmdir(path) < 0 ? err_errno(err, "remove %s", path) : 0;
}

int64_t io_file_bytes(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

int io_disk_bytes(const char *dir, int64_t *free_bytes, int64_t *whole, struct err *err)
{
    struct statvfs vfs;

    if (statvfs(dir, &vfs) < 0)
        return err_errno(err, "free space of %s", dir);
    *free_bytes = (int64_t)vfs.f_bavail * (int64_t)vfs.f_frsize;
    *whole = (int64_t)vfs.f_blocks * (int64_t)vfs.f_frsize;
    return 0;
}

int io_free_bytes(const char *dir, int64_t *out, struct err *err)
{
    int64_t whole = 0;

    return io_disk_bytes(dir, out, &whole, err);
}
