/* backup.c - see backup.h. The database is copied first, as it is at one moment; then every file that
 * its rows name. The database's name is given last in a restored folder, so that a restore which
 * was cut off is seen as one. */
#include "store/backup.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/blob.h"
#include "store/query.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PART = 1 << 20 };

struct copying {
    const char *from, *to; /* folders with blobs/ in them */
    bool links;            /* hard links where the file system has them */
    bool checks;           /* a missing or damaged file is an error */
    struct store_backup *done;
};

static int path_join(char out[PATH_MAX], const char *dir, const char *name, struct err *err)
{
    return snprintf(out, PATH_MAX, "%s/%s", dir, name) < PATH_MAX
               ? 0
               : err_set(err, ERR_TOOBIG, "the folder's path is too long");
}

/* ---- files ---- */

static int bytes_copy(int in, int out, struct err *err)
{
    char *part = mem_alloc(PART);
    int64_t at = 0;
    long n = 0;

    while ((n = io_read_at(in, part, PART, at, err)) > 0) {
        if (io_write_all(out, part, (size_t)n, (off_t)at, err) < 0) {
            n = -1;
            break;
        }
        at += n;
    }
    mem_free(part);
    if (n == 0 && io->fsync(out) < 0)
        return err_errno(err, "fsync");
    return n < 0 ? -1 : 0;
}

static int file_copy(const char *from, const char *to, struct err *err)
{
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), out = -1, rc = -1;

    if (in < 0)
        return err_errno(err, "open %s", from);
    out = io->open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0)
        err_errno(err, "create %s", to);
    else
        rc = bytes_copy(in, out, err);
    if (out >= 0)
        io->close(out);
    close(in);
    return rc;
}

/* One blob: linked, or copied. */
static int blob_take(struct copying *c, const char *sha256, struct err *err)
{
    char from[PATH_MAX], to[PATH_MAX], folder[80];

    if (!str_sha256_ok(sha256))
        return err_set(err, ERR_DAMAGED, "a row names the blob \"%.70s\"", sha256);
    if (c->checks && blob_verify(c->from, sha256, err) < 0)
        return -1;
    if (blob_path(c->from, sha256, from, sizeof from, err) < 0) {
        c->done->missing++;
        return 0;
    }
    (void)snprintf(folder, sizeof folder, "blobs/%.2s", sha256);
    if (path_join(to, c->to, folder, err) < 0 || io_mkdirs(to, 0700, err) < 0)
        return -1;
    (void)snprintf(folder, sizeof folder, "blobs/%.2s/%s", sha256, sha256);
    if (path_join(to, c->to, folder, err) < 0)
        return -1;
    if ((!c->links || link(from, to) < 0) && file_copy(from, to, err) < 0)
        return -1;
    c->done->blobs++;
    c->done->bytes += MAX(io_file_bytes(to), 0);
    return 0;
}

/* All blobs that the rows of this database name. */
static int blobs_take(struct copying *c, const char *db_path, struct err *err)
{
    sqlite3 *db = db_open(db_path, NULL, SQLITE_OPEN_READONLY, err);
    sqlite3_stmt *stmt = NULL;
    int rc = db ? sqlite3_prepare_v2(db, setup_text[SETUP_BLOBS], -1, &stmt, NULL) : SQLITE_ERROR;
    int bad = 0;

    while (rc == SQLITE_OK && !bad && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        rc = SQLITE_OK;
        bad = blob_take(c, (const char *)sqlite3_column_text(stmt, 0), err);
    }
    if (db && !bad && rc != SQLITE_DONE)
        bad = db_fail(db, rc, err);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return db ? bad : -1;
}

/* Makes the names in a folder and in its folders durable. */
static int names_sync(const char *dir, struct err *err)
{
    char path[PATH_MAX];
    struct dirent *d = NULL;
    DIR *list = NULL;
    int rc = path_join(path, dir, "blobs", err);

    if (rc == 0 && (list = opendir(path))) {
        char sub[PATH_MAX];

        while (rc == 0 && (d = readdir(list))) {
            if (d->d_name[0] != '.' && (rc = path_join(sub, path, d->d_name, err)) == 0)
                rc = io_fsync_dir(sub, err);
        }
        closedir(list);
        rc = rc < 0 ? -1 : io_fsync_dir(path, err);
    }
    return rc < 0 ? -1 : io_fsync_dir(dir, err);
}

/* Removes what a copy has made: files of blobs/xy/, folders, the database. */
static void undo(const char *dir)
{
    char blobs[PATH_MAX], sub[PATH_MAX], file[PATH_MAX];
    struct dirent *d = NULL, *f = NULL;

    if (path_join(file, dir, "assay.db", NULL) == 0)
        io->unlink(file);
    DIR *list = path_join(blobs, dir, "blobs", NULL) == 0 ? opendir(blobs) : NULL;
    while (list && (d = readdir(list))) {
        if (d->d_name[0] == '.' || path_join(sub, blobs, d->d_name, NULL) < 0)
            continue;
        DIR *files = opendir(sub);
        while (files && (f = readdir(files))) {
            if (f->d_name[0] != '.' && path_join(file, sub, f->d_name, NULL) == 0)
                io->unlink(file);
        }
        if (files)
            closedir(files);
        rmdir(sub);
    }
    if (list)
        closedir(list);
    rmdir(blobs);
    rmdir(dir);
}

/* ---- backup ---- */

int store_backup_folder(struct store *s, const char *data_dir, const char *to,
                        struct store_backup *out, struct err *err)
{
    struct copying c = { .from = data_dir, .to = to, .links = true, .done = out };
    char db[PATH_MAX];

    *out = (struct store_backup){ 0 };
    if (path_join(db, to, "assay.db", err) < 0)
        return -1;
    if (io->mkdir(to, 0700) < 0)
        return errno == EEXIST ? err_set(err, ERR_CONFLICT, "%s exists", to)
                               : err_errno(err, "make %s", to);
    if (store_backup(s, db, err) == 0 && blobs_take(&c, db, err) == 0 && names_sync(to, err) == 0) {
        out->db_bytes = io_file_bytes(db);
        return 0;
    }
    undo(to);
    return -1;
}

/* ---- restore ---- */

/* Whether the folder is empty, or not there. */
static int empty_check(const char *dir, struct err *err)
{
    DIR *list = opendir(dir);
    struct dirent *d = NULL;
    bool has = false;

    if (!list)
        return errno == ENOENT ? 0 : err_errno(err, "open %s", dir);
    while (!has && (d = readdir(list)))
        has = strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
    closedir(list);
    return has ? err_set(err, ERR_CONFLICT,
                         "%s is not empty: restore into a new folder, and start assayd with it",
                         dir)
               : 0;
}

/* Whether SQLite finds the database whole. */
static int db_check(const char *path, struct err *err)
{
    sqlite3 *db = db_open(path, NULL, SQLITE_OPEN_READONLY, err);
    sqlite3_stmt *stmt = NULL;
    int rc = -1;

    if (!db)
        return -1;
    if (sqlite3_prepare_v2(db, setup_text[SETUP_QUICK_CHECK], -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW &&
        str_eq((const char *)sqlite3_column_text(stmt, 0), "ok"))
        rc = 0;
    else
        err_set(err, ERR_DAMAGED, "%s is damaged", path);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return rc;
}

int store_restore(const char *from, const char *to, struct store_backup *out, struct err *err)
{
    struct copying c = { .from = from, .to = to, .checks = true, .done = out };
    char db[PATH_MAX], aside[PATH_MAX], final[PATH_MAX];

    *out = (struct store_backup){ 0 };
    if (path_join(db, from, "assay.db", err) < 0 || path_join(aside, to, "restoring", err) < 0 ||
        path_join(final, to, "assay.db", err) < 0)
        return -1;
    if (access(from, F_OK) < 0)
        return err_set(err, ERR_NOTFOUND, "%s: no such folder", from);
    if (io_file_bytes(db) < 0)
        return err_set(err, ERR_NOTFOUND, "%s is no backup: it has no assay.db", from);
    if (empty_check(to, err) < 0 || io_mkdirs(to, 0700, err) < 0)
        return -1;
    if (file_copy(db, aside, err) < 0 || db_check(aside, err) < 0 ||
        blobs_take(&c, aside, err) < 0 || names_sync(to, err) < 0)
        return -1;
    out->db_bytes = io_file_bytes(aside);
    if (io->rename(aside, final) < 0)
        return err_errno(err, "rename");
    return io_fsync_dir(to, err);
}
