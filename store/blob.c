/* blob.c - the files of blobs: uploads, commit, reading back. (Rows and collection: blob_row.c.)
 *
 * A file becomes a blob in one order only: its bytes are written under uploads/, hashed, synced, and
 * renamed to blobs/ab/<sha256>, and the folders are synced. Therefore a file under blobs/ has the
 * bytes that its name promises, and a row written afterwards can rely on the file after any crash.
 *
 * No database connection is used here, so every function may run on a pool thread. Names that come
 * from outside (ids, hashes) are checked to be plain hexadecimal before they become part of a path.
 * Called by the controller's uploads and by whatever reads a stored file. */
#include "store/blob.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/known.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/blob_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* ID_BYTES: 128 random bits, so that ids neither collide nor can be guessed. KNOWN_SLOTS: how many
 * checked files are remembered; a file that was forgotten is only hashed once more. */
enum { ID_BYTES = 16, KNOWN_SLOTS = 4096 };

pthread_mutex_t blob_dir_lock = PTHREAD_MUTEX_INITIALIZER;

/* The blobs that this process has hashed or written. One table serves all data folders of the
 * process, because it identifies a file by its device and inode. */
static struct known *known;

static void known_make(void)
{
    known = known_new(KNOWN_SLOTS);
}

static struct known *known_blobs(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, known_make);
    return known;
}

static int upload_path(const char *dir, const char *id, char *out, size_t size, struct err *err)
{
    uint8_t bytes[ID_BYTES];

    if (!id || strlen(id) != 2 * ID_BYTES || str_unhex(id, bytes, ID_BYTES, NULL) < 0)
        return err_set(err, ERR_ARG, "an upload's id is %d hexadecimal digits", 2 * ID_BYTES);
    if (snprintf(out, size, "%s/uploads/%s", dir, id) >= (int)size)
        return err_set(err, ERR_TOOBIG, "the folder's path is too long");
    return 0;
}

/* The paths of a blob's folder and file; both buffers have PATH_MAX bytes. */
static int blob_paths(const char *dir, const char *sha256, char *folder, char *file,
                      struct err *err)
{
    if (!sha256 || !str_sha256_ok(sha256))
        return err_set(err, ERR_ARG, "a hash is 64 lower-case hexadecimal digits");
    if (snprintf(folder, PATH_MAX, "%s/blobs/%.2s", dir, sha256) >= PATH_MAX ||
        snprintf(file, PATH_MAX, "%s/blobs/%.2s/%s", dir, sha256, sha256) >= PATH_MAX)
        return err_set(err, ERR_TOOBIG, "the folder's path is too long");
    return 0;
}

/* Opens the upload; ERR_NOTFOUND when there is none. */
static int upload_open(const char *path, int flags, struct err *err)
{
    int fd = FAULT("blob.open") ? (errno = EMFILE, -1) : io->open(path, flags | O_NOFOLLOW, 0600);

    if (fd < 0 && errno == ENOENT)
        return err_set(err, ERR_NOTFOUND, "no such upload");
    return fd < 0 ? err_errno(err, "open upload") : fd;
}

static int fd_size(int fd, int64_t *size, struct err *err)
{
    struct stat st;

    if (FAULT("blob.stat") || fstat(fd, &st) < 0)
        return err_errno(err, "stat");
    *size = (int64_t)st.st_size;
    return 0;
}

int blob_upload_new(const char *dir, char id[33], struct err *err)
{
    uint8_t bytes[ID_BYTES];
    char path[PATH_MAX];
    int fd = -1;

    CHECK(getrandom(bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes);
    str_hex(bytes, sizeof bytes, id);
    if (upload_path(dir, id, path, sizeof path, err) < 0)
        return -1;
    fd = upload_open(path, O_WRONLY | O_CREAT | O_EXCL, err);
    if (fd < 0)
        return -1;
    io->close(fd);
    return 0;
}

int blob_upload_size(const char *dir, const char *id, int64_t *size, struct err *err)
{
    char path[PATH_MAX];
    struct stat st;

    if (upload_path(dir, id, path, sizeof path, err) < 0)
        return -1;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? err_set(err, ERR_NOTFOUND, "no such upload")
                               : err_errno(err, "stat upload");
    *size = (int64_t)st.st_size;
    return 0;
}

int blob_upload_write(const char *dir, const char *id, int64_t offset, const void *p, size_t n,
                      struct err *err)
{
    char path[PATH_MAX];
    int64_t size = 0;
    int fd = -1, rc = -1;

    CHECK(p || n == 0);
    if (n > BLOB_PART_MAX)
        return err_set(err, ERR_TOOBIG, "a part holds at most %d bytes", (int)BLOB_PART_MAX);
    if (offset < 0)
        return err_set(err, ERR_ARG, "the offset is negative");
    if (offset > BLOB_MAX_BYTES - (int64_t)n)
        return err_set(err, ERR_TOOBIG, "a blob holds at most %" PRId64 " bytes", BLOB_MAX_BYTES);
    if (upload_path(dir, id, path, sizeof path, err) < 0)
        return -1;
    fd = upload_open(path, O_WRONLY, err);
    if (fd < 0)
        return -1;
    if (fd_size(fd, &size, err) < 0)
        goto out;
    if (offset > size) /* the text names the size, so that the client can go on from there */
        err_set(err, ERR_CONFLICT, "the upload has %" PRId64 " bytes, the part begins at %" PRId64,
                size, offset);
    else
        rc = io_write_all(fd, p, n, (off_t)offset, err);
out:
    io->close(fd);
    return rc < 0 ? err_wrap(err, "upload") : 0;
}

/* Syncs the blob's folder and blobs/ itself. This is done every time, also when the folder existed,
 * because the process that made it may have been killed before it synced the name. A sync with
 * nothing to write costs little. */
static int names_sync(const char *dir, const char *sha256, struct err *err)
{
    char folder[PATH_MAX], file[PATH_MAX], blobs[PATH_MAX];

    if (blob_paths(dir, sha256, folder, file, err) < 0)
        return -1;
    if (snprintf(blobs, sizeof blobs, "%s/blobs", dir) >= (int)sizeof blobs)
        return err_set(err, ERR_TOOBIG, "the folder's path is too long");
    return io_fsync_dir(folder, err) < 0 ? -1 : io_fsync_dir(blobs, err);
}

/* Makes the file at `from` the blob; its bytes have the hash sha256, and fd is open on it. */
static int place(const char *dir, const char *from, int fd, const char *sha256, struct err *err)
{
    char folder[PATH_MAX], file[PATH_MAX];
    int rc = 0;

    if (blob_paths(dir, sha256, folder, file, err) < 0)
        return -1;
    if (FAULT("blob.fsync") ? (errno = EIO, -1) : io->fsync(fd))
        return err_errno(err, "fsync blob");
    /* A new modification time: collection sees the file as changed and waits again for a row. */
    if (futimens(fd, NULL) < 0)
        return err_errno(err, "touch blob");
    if ((FAULT("blob.mkdir") ? (errno = EIO, -1) : io->mkdir(folder, 0700)) < 0 && errno != EEXIST)
        return err_errno(err, "make folder of the blob");
    /* An existing blob of this name is replaced, because the new file is known to be undamaged and
     * the old one is not. */
    pthread_mutex_lock(&blob_dir_lock);
    rc = FAULT("blob.rename") ? (errno = EIO, -1) : io->rename(from, file);
    pthread_mutex_unlock(&blob_dir_lock);
    if (rc < 0)
        return err_errno(err, "rename blob");
    known_note(known_blobs(), file, sha256);
    return names_sync(dir, sha256, err);
}

/* Answers a commit that is repeated because its first answer was lost. The upload is gone and the
 * blob exists, but its name may not be durable yet, so the folders are synced again. */
static int committed_already(const char *dir, const char *sha256, int64_t *bytes, struct err *err)
{
    char path[PATH_MAX];
    int rc = 0;

    if (blob_path(dir, sha256, path, sizeof path, NULL) < 0)
        return err_set(err, ERR_NOTFOUND, "no such upload");
    if (known_check(known_blobs(), path, sha256, err) < 0)
        return -1;
    /* A new time protects the file: collection removes only files that are unchanged since it
     * looked at them. */
    pthread_mutex_lock(&blob_dir_lock);
    rc = utimensat(AT_FDCWD, path, NULL, 0) < 0 || (*bytes = io_file_bytes(path)) < 0;
    pthread_mutex_unlock(&blob_dir_lock);
    if (rc)
        return err_errno(err, "touch blob");
    known_note(known_blobs(), path, sha256);
    return names_sync(dir, sha256, err);
}

int blob_upload_commit(const char *dir, const char *id, const char *sha256, int64_t *bytes,
                       struct err *err)
{
    char path[PATH_MAX], folder[PATH_MAX], file[PATH_MAX], got[SHA256_HEX];
    struct stat st;
    int fd = -1, rc = -1;

    if (upload_path(dir, id, path, sizeof path, err) < 0 ||
        blob_paths(dir, sha256, folder, file, err) < 0)
        return -1;
    if (lstat(path, &st) < 0 && errno == ENOENT)
        return committed_already(dir, sha256, bytes, err);
    fd = upload_open(path, O_RDWR, err);
    if (fd < 0)
        return -1;
    if (file_hash(fd, got, bytes, err) == 0) {
        if (strcmp(got, sha256) != 0)
            err_set(err, ERR_ARG, "the %" PRId64 " bytes received hash to %s, not %s", *bytes, got,
                    sha256);
        else
            rc = place(dir, path, fd, sha256, err);
    }
    io->close(fd);
    return rc < 0 ? err_wrap(err, "commit of the upload") : 0;
}

void blob_upload_each(const char *dir, void (*on_upload)(void *arg, const char *id, int64_t bytes),
                      void *arg)
{
    char folder[PATH_MAX];
    int64_t bytes = 0;
    DIR *d = NULL;

    if (snprintf(folder, sizeof folder, "%s/uploads", dir) < (int)sizeof folder)
        d = opendir(folder);
    for (struct dirent *e = NULL; d && (e = readdir(d));) {
        if (strlen(e->d_name) == 2 * ID_BYTES &&
            blob_upload_size(dir, e->d_name, &bytes, NULL) == 0)
            on_upload(arg, e->d_name, bytes);
    }
    if (d)
        closedir(d);
}

int blob_upload_drop(const char *dir, const char *id, struct err *err)
{
    char path[PATH_MAX];

    if (upload_path(dir, id, path, sizeof path, err) < 0)
        return -1;
    if (io->unlink(path) == 0)
        return 0;
    return errno == ENOENT ? err_set(err, ERR_NOTFOUND, "no such upload")
                           : err_errno(err, "drop upload");
}

int blob_put(const char *dir, const void *p, size_t n, char sha256[SHA256_HEX], struct err *err)
{
    char id[33], path[PATH_MAX];
    int fd = -1, rc = -1;

    CHECK(p || n == 0);
    sha256_hex(p, n, sha256);
    if (blob_upload_new(dir, id, err) < 0 || upload_path(dir, id, path, sizeof path, err) < 0)
        return err_wrap(err, "blob");
    fd = upload_open(path, O_RDWR, err);
    if (fd >= 0 && io_write_all(fd, p, n, 0, err) == 0)
        rc = place(dir, path, fd, sha256, err);
    if (fd >= 0)
        io->close(fd);
    if (rc < 0)
        io->unlink(path);
    return rc < 0 ? err_wrap(err, "blob") : 0;
}

int blob_path(const char *dir, const char *sha256, char *out, size_t size, struct err *err)
{
    char folder[PATH_MAX], file[PATH_MAX];

    if (blob_paths(dir, sha256, folder, file, err) < 0)
        return -1;
    if (io_file_bytes(file) < 0)
        return err_set(err, ERR_NOTFOUND, "no blob %s", sha256);
    if (str_copy(out, size, file) >= size)
        return err_set(err, ERR_TOOBIG, "the folder's path is too long");
    return 0;
}

bool blob_is_checked(const char *dir, const char *sha256)
{
    char path[PATH_MAX];

    return blob_path(dir, sha256, path, sizeof path, NULL) == 0 &&
           known_is_good(known_blobs(), path, sha256);
}

int blob_check(const char *dir, const char *sha256, struct err *err)
{
    char path[PATH_MAX];

    return blob_path(dir, sha256, path, sizeof path, err) < 0
               ? -1
               : known_check(known_blobs(), path, sha256, err);
}

int blob_verify(const char *dir, const char *sha256, struct err *err)
{
    char path[PATH_MAX], got[SHA256_HEX];
    int64_t bytes = 0;
    int fd = -1, rc = -1;

    if (blob_path(dir, sha256, path, sizeof path, err) < 0)
        return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return err_errno(err, "open blob");
    rc = file_hash(fd, got, &bytes, err);
    close(fd);
    if (rc == 0 && strcmp(got, sha256) != 0)
        rc = err_set(err, ERR_IO, "blob %s is damaged", sha256);
    return rc;
}
